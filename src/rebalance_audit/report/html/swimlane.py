"""All groups over time, as data of a picture: a lane for each group, a bar for each rebalance, by what cost it.

Times are milliseconds after the picture's origin.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from rebalance_audit.figures.rows import TableRow
from rebalance_audit.report.html.facts import rows_by_group
from rebalance_audit.report.html.rebalances import rebalance_bar
from rebalance_audit.report.names import MemberNames


def swimlane(
    group_ids: Sequence[str],
    rows: Sequence[TableRow],
    end_ms: int,
    cause_numbers: Mapping[str, int],
    names: MemberNames,
) -> dict[str, Any]:
    """`groups`: for each of `group_ids` its bars of from, width, cause, what cost the time, text, key, doubt before.

    The best estimate says where the bar of a classic group begins, and the doubt since how long before that the group
    may have been rebalancing (ms).
    """
    origin = min((row["began_ms"] for row in rows), default=0)
    of_group = rows_by_group(rows)
    return {
        "origin": origin,
        "groups": [
            [_bar(row, origin, end_ms, cause_numbers, names) for row in of_group.get(group_id, ())]
            for group_id in group_ids
        ],
    }


def _bar(
    row: TableRow,
    origin: int,
    end_ms: int,
    cause_numbers: Mapping[str, int],
    names: MemberNames,
) -> list[Any]:
    bar = rebalance_bar(row, end_ms, names)
    doubt = 0 if bar.maybe_from_ms is None else max(0, bar.from_ms - bar.maybe_from_ms)
    cause = cause_numbers.get(row["primary_cause"])
    return [
        bar.from_ms - origin,
        bar.to_ms - bar.from_ms,
        cause,
        bar.cost,
        bar.text,
        bar.key,
        doubt,
    ]
