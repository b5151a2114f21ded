"""Partitions without owner for a while; those with the same story share a line."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from rebalance_audit.figures.rows import TableRow
from rebalance_audit.report.terminal.extent import Extent
from rebalance_audit.report.terminal.layout import ConsoleReport, cell, title_of
from rebalance_audit.report.timeline import by_story, gaps
from rebalance_audit.sentences import words
from rebalance_audit.sentences.sentence import Name, Sentence

SHOWN: Final = 20
"""Gaps, the longest first, unless all are wanted."""


def print_ownership_gaps(
    layout: ConsoleReport,
    ownership: Sequence[TableRow],
    rebalances: Sequence[TableRow],
    extent: Extent,
) -> None:
    """A line for the partitions that were without owner together; prints nothing where there are none.

    What goes on lasts until the log ends.
    """
    together = by_story(gaps(ownership, rebalances, layout.end_ms))
    if not together:
        return
    shown = list(together.items())[: extent.rows(SHOWN)]
    layout.title(title_of("Partitions without owner", len(shown), len(together), "longest"))
    table = layout.table("Until", "Unowned", "Partitions", "Before", "After", right=("Unowned",))
    for (from_ms, to_ms, before, after), found in shown:
        group_id = found[0].row["group_id"]
        table.add_row(
            layout.moment(to_ms),
            words.duration(to_ms - from_ms),
            cell(layout.names.in_sentence(group_id, partitions_text(gap.row for gap in found))),
            cell(layout.names.of(group_id, before)),
            cell(layout.names.of(group_id, after)),
        )
    layout.print_table(table)


def partitions_text(rows: Iterable[TableRow]) -> Sentence:
    """`orders 0-3,7; payments 1`: topic partitions of ownership rows, consecutive numbers as ranges."""
    numbers: dict[str, list[int]] = defaultdict(list)
    for row in rows:
        numbers[row["topic"] or row["topic_id"]].append(row["topic_partition"])
    return Sentence.joined(
        "; ",
        (
            Sentence((Name(topic), f" {_joined(sorted(numbers[topic]))}"))
            for topic in sorted(numbers)
        ),
    )


def _joined(ascending: list[int]) -> str:
    stretches: list[list[int]] = []
    for number in ascending:
        if stretches and number == stretches[-1][1] + 1:
            stretches[-1][1] = number
        else:
            stretches.append([number, number])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in stretches)
