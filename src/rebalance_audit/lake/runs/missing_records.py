"""Where the log lacks records: offsets without one, as far as they are known, and losses that may concern any group.

Only partitions that lack some are read. An offset that a live cluster does not show may be that of a marker. So it
counts only where a source that shows markers was asked for every offset that the partition lacks.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from typing import Final, TypeAlias

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.audit.holes import RANGES_MAX, Holes, hole, holes_of
from rebalance_audit.lake.gold.group_memory import Gaps
from rebalance_audit.lake.records import routing
from rebalance_audit.lake.records.record_counts import RecordCounts
from rebalance_audit.lake.runs.progress import Progress
from rebalance_audit.wire.key_bytes import OFFSET_COMMIT_TYPES


def holes_in(offsets: DataFrame, partitions: Collection[int]) -> dict[int, Holes]:
    """Partition -> the ranges without a record between its rows, which have the columns partition and offset.

    The driver collects about RANGES_MAX rows of each partition: the longest stretches without a missing offset.
    """
    if not partitions:
        return {}
    by_offset = Window.partitionBy("partition").orderBy("offset")
    by_length = Window.partitionBy("partition").orderBy(F.desc_nulls_first("records"))
    ranges = (
        offsets.where(F.col("partition").isin(sorted(partitions)))
        .select("partition", (F.lag("offset").over(by_offset) + 1).alias("first"), "offset")
        .where("first < offset")
        .select(
            "partition",
            "first",
            F.col("offset").alias("end"),
            F.lead("first").over(Window.partitionBy("partition").orderBy("first")).alias("next"),
        )
        .withColumn("lowest", F.min("first").over(Window.partitionBy("partition")))
        .withColumn("records", F.col("next") - F.col("end"))
        .withColumn("place", F.row_number().over(by_length))
        .where(F.col("place") <= RANGES_MAX + 1)
    )
    kept = defaultdict(list)
    for row in ranges.select("partition", "lowest", "end", "next").collect():
        kept[row["partition"]].append(row)
    found = dict.fromkeys(partitions, Holes())
    for number, rows in kept.items():
        rows.sort(key=lambda row: row["end"])
        # Each row ends one range and has the start of the next one.
        firsts = [rows[0]["lowest"], *(row["next"] for row in rows[:-1])]
        found[number] = holes_of(zip(firsts, (row["end"] for row in rows), strict=True))
    return found


LOSSES_MAX: Final = 10_000
"""Up to this many losses of a partition are kept separately; with more, neighbours are merged."""


def losses_without_group(small: DataFrame) -> DataFrame:
    """Records besides commits whose key does not name their group, as `gaps_of` takes them."""
    lost = routing.group_records(small, None).where(F.col("group_id").isNull())
    return lost.select("partition", F.col("offset").alias("before_offset"))


def losses_in_quarantine(quarantine: DataFrame, *, damage_only: bool) -> DataFrame:
    """Damaged stretches in rows of silver.quarantine and, unless `damage_only`, records of unknown groups."""
    before = F.col("before_offset")
    if not damage_only:
        is_unknown = routing.group_id().isNull() & ~F.coalesce(
            routing.has_type(*OFFSET_COMMIT_TYPES), F.lit(False)
        )
        before = F.coalesce(
            before, F.when(F.col("source_file").isNull() & is_unknown, F.col("offset"))
        )
    losses = quarantine.select("partition", before.alias("before_offset"))
    return losses.where("before_offset is not null")


def gaps_of(losses: DataFrame) -> Gaps:
    """Log partition -> offsets, ascending, before which there is a gap.

    `losses` has `partition` and `before_offset`, a row per loss. If there are too many, a stretch of them counts as a
    gap before its first and another before its last.
    """
    ends = losses.groupBy("partition").agg(
        F.min("before_offset").alias("low"),
        F.max("before_offset").alias("high"),
        F.count_distinct("before_offset").alias("losses"),
    )
    wide = F.greatest(F.expr(f"(high - low) div {LOSSES_MAX}"), F.lit(1))
    stretch = F.when(F.col("losses") > LOSSES_MAX, wide).otherwise(1)
    found = (
        losses.join(F.broadcast(ends), "partition")
        .groupBy("partition", F.floor((F.col("before_offset") - F.col("low")) / stretch))
        .agg(F.min("before_offset").alias("first"), F.max("before_offset").alias("last"))
        .select("partition", "first", "last")
    )
    gaps: dict[int, set[int]] = {}
    for row in found.collect():
        gaps.setdefault(row["partition"], set()).update((row["first"], row["last"]))
    return {partition: sorted(offsets) for partition, offsets in gaps.items()}


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
