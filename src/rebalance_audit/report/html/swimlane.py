"""All groups over time, as data of a picture: a lane for each group, a bar for each rebalance, coloured by cause.

Times are milliseconds after the picture's origin.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from rebalance_audit.report import causes, words
from rebalance_audit.report.html.facts import rows_by_group
from rebalance_audit.report.summary import TableRow, bounds_in, is_classic


def swimlane(
    group_ids: Sequence[str],
    marks: Sequence[TableRow],
    totals: TableRow,
    cause_numbers: Mapping[str, int],
) -> dict[str, Any]:
    """`groups`: for each of `group_ids` its bars of from, width, number of the cause, text.

    The best estimate says where the bar of a classic group begins, and the text between which bounds it lies.
    """
    origin = min((row["at_ms"] for row in marks), default=0)
    end = totals["last_ms"] or origin
    of_group = rows_by_group(marks)
    return {
        "origin": origin,
        "groups": [
            [_bar(row, origin, end, cause_numbers) for row in of_group.get(group_id, ())]
            for group_id in group_ids
        ],
    }


def _bar(row: TableRow, origin: int, end: int, cause_numbers: Mapping[str, int]) -> list[Any]:
    until = max(end, row["at_ms"]) if row["ended_at"] is None else row["ended_at"]
    estimate = row["took_estimate_ms"]
    began = row["at_ms"] if estimate is None or not is_classic(row) else until - estimate
    return [began - origin, until - began, cause_numbers.get(row["primary_cause"]), _text(row)]


def _text(row: TableRow) -> str:
    first, last = row["first_epoch"], row["last_epoch"]
    noun = "generation" if is_classic(row) else "epoch"
    which = "no epoch in the log"
    if first is not None:
        which = f"{noun} {first}" if first == last else f"{noun}s {first} to {last}"
    took = words.bounds(bounds_in(row, "took"))
    lasted = "still going on" if row["outcome"] == "open" else took
    cause = row["primary_cause"]
    why = f"{causes.label(cause)} ({row['primary_certainty']})" if cause else "cause unknown"
    return f"{which}: {why}, {lasted}"
