"""Which findings come first."""

from collections.abc import Sequence
from typing import Final

from rebalance_audit.audit.findings.finding import Severity
from rebalance_audit.report.summary import TableRow

_RANKS: Final = {Severity.CRITICAL: 0, Severity.WARNING: 1, Severity.INFO: 2}


def gravest_first(rows: Sequence[TableRow]) -> list[TableRow]:
    """Rows of gold.findings by severity; ongoing ones before past ones, those that cost most time first."""
    return sorted(
        rows,
        key=lambda row: (
            _RANKS[row["severity"]],
            row["to_at"] is not None,
            (row["from_at"] or 0) - (row["to_at"] or 0),
            -(row["to_at"] or row["from_at"] or 0),
            row["group_id"] or "",
            row["kind"],
        ),
    )
