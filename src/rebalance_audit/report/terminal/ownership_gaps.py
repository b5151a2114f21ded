"""Partitions without owner for a while; those with the same story share a line."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from rebalance_audit.report import words
from rebalance_audit.report.sentence import Name, Sentence
from rebalance_audit.report.summary import TableRow
from rebalance_audit.report.terminal.extent import Extent
from rebalance_audit.report.terminal.layout import ConsoleReport, cell, title_of

SHOWN: Final = 20
"""Gaps, the longest first, unless all are wanted."""


def print_ownership_gaps(
    layout: ConsoleReport, ownership: Sequence[TableRow], extent: Extent
) -> None:
    """A line for the partitions that were without owner together; prints nothing where there are none."""
    together: dict[tuple[object, ...], list[TableRow]] = defaultdict(list)
    for row in ownership:
        if row["unowned_before_ms"]:
            story = ("from_at", "unowned_before_ms", "previous_member_id", "member_id")
            together[tuple(row[column] for column in story)].append(row)
    if not together:
        return
    longest = sorted(together.values(), key=lambda rows: -rows[0]["unowned_before_ms"])
    shown = longest[: extent.rows(SHOWN)]
    layout.title(title_of("Partitions without owner", len(shown), len(longest), "longest"))
    table = layout.table("Until", "Unowned", "Partitions", "Before", "After", right=("Unowned",))
    for rows in shown:
        first = rows[0]
        table.add_row(
            layout.moment(first["from_at"]),
            words.duration(first["unowned_before_ms"]),
            cell(layout.names.in_sentence(first["group_id"], partitions_text(rows))),
            cell(layout.names.of(first["group_id"], first["previous_member_id"])),
            cell(layout.names.of(first["group_id"], first["member_id"])),
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
