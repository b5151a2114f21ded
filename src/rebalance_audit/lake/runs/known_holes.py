"""Where the log lacks records, as far as that is known; only partitions that lack some are read.

An offset that a live cluster does not show may be that of a marker. So it counts only where a source that shows markers
was asked for every offset that the partition lacks.
"""

from collections.abc import Callable, Collection, Mapping
from typing import TypeAlias

from pyspark.sql import DataFrame

from rebalance_audit.audit.holes import Holes, hole
from rebalance_audit.lake.records.missing_offsets import holes_in
from rebalance_audit.lake.records.record_counts import RecordCounts
from rebalance_audit.lake.runs.progress import Progress

Offsets: TypeAlias = Callable[[], DataFrame]
"""Gives records, or at least their columns partition and offset."""
Known: TypeAlias = Mapping[int, Holes | None]
"""Log partition -> where it lacks records; None if unknown."""


def holes_of_log(
    counts: RecordCounts, seen: Callable[[], Collection[int]], offsets: Offsets
) -> Known:
    """Of all partitions of a log. `seen` gives those whose missing offsets were all asked for."""
    lacking = {number for number, part in counts.partitions.items() if part.has_holes}
    known: dict[int, Holes | None] = dict.fromkeys(counts.partitions.keys() - lacking, Holes())
    known |= dict.fromkeys(lacking)
    asked = lacking and lacking.intersection(seen())
    return known | (holes_in(offsets(), asked) if asked else {})


def holes_since(
    since: Progress,
    counts: RecordCounts,
    seen: Callable[[], Collection[int]],
    new: Offsets,
    history: Offsets,
) -> Known:
    """Of the partitions with `new` records, which are counted; `history` has these as well."""
    reached = since.after(counts)
    known: dict[int, Holes | None] = {}
    """At first without what follows the records that were known."""
    grown, again = set(), set()
    for number, part in counts.partitions.items():
        before = since.partitions.get(number)
        known[number] = Holes()
        if reached.partitions[number].is_whole:
            continue
        if before is None:
            if part.has_holes:
                grown.add(number)
            continue
        known[number] = before.holes if before.holes or not before.is_whole else Holes()
        if known[number] is None or since.is_late(number, counts):
            again.add(number)
        elif part.has_holes or part.first_offset > before.next_offset:
            grown.add(number)
    if not grown | again:
        return known
    asked = frozenset(seen())
    known |= dict.fromkeys((grown | again) - asked)
    grown &= asked
    again &= asked
    within = {number for number in grown if counts.partitions[number].has_holes}
    added = holes_in(new(), within) if within else {}
    for number in grown:
        earlier, before = known[number], since.partitions.get(number)
        assert earlier is not None
        if before is not None:
            earlier = earlier.then(hole(before.next_offset, counts.partitions[number].first_offset))
        known[number] = earlier.then(added.get(number, Holes()))
    return known | (holes_in(history(), again) if again else {})
