"""Which findings come first."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import inf
from typing import Final

from rebalance_audit.audit.findings.finding import Severity
from rebalance_audit.audit.findings.lost_time import STANDSTILLS
from rebalance_audit.figures.rows import TableRow, Tables, began_ms, duration_of

RANKS: Final[Mapping[str, int]] = {Severity.CRITICAL: 0, Severity.WARNING: 1, Severity.INFO: 2}


def most_severe_first(tables: Tables) -> list[TableRow]:
    """Rows of `findings` by severity, and those that cost most time first.

    `rebalances` say how much that was, unless the rows say so themselves as `lost_ms`.
    """
    found = tables.get("findings", ())
    rebalances: dict[str, list[TableRow]] = defaultdict(list)
    named = {row["group_id"] for row in found if row["kind"] not in STANDSTILLS}
    for row in tables.get("rebalances", ()):
        if row["group_id"] in named:
            rebalances[row["group_id"]].append(row)
    return sorted(
        found,
        key=lambda row: (
            RANKS[row["severity"]],
            -_lost_ms(row, rebalances.get(row["group_id"], ())),
            row["to_at"] is not None,
            (row["from_at"] or 0) - (row["to_at"] or 0),
            -(row["to_at"] or row["from_at"] or 0),
            row["group_id"] or "",
            row["kind"],
            row["finding_id"],
        ),
    )


def _lost_ms(finding: TableRow, rebalances: Sequence[TableRow]) -> float:
    """Time in which the group stood still while the finding lasted; infinite for a standstill that goes on."""
    if "lost_ms" in finding:
        known: int = finding["lost_ms"]
        return known
    from_ms, to_ms = finding["from_at"], finding["to_at"]
    end_ms = inf if to_ms is None else to_ms
    if from_ms is None or finding["kind"] in STANDSTILLS:
        return 0 if from_ms is None else end_ms - from_ms
    lost = 0.0
    for row in rebalances:
        took, ended_ms = duration_of(row), row["ended_at"]
        if took is None:
            lost += 0 if to_ms is None else max(0, to_ms - max(from_ms, row["started_at"] or to_ms))
        else:
            lost += max(0, min(end_ms, ended_ms) - max(from_ms, began_ms(row) or ended_ms))
    return lost
