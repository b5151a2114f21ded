"""How the audit hands out its rows.

A row is a dictionary keyed by the column names of `schemas/tables`, without `cluster`, which only the caller knows.
Times are epoch milliseconds, durations milliseconds, ids strings.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

Row: TypeAlias = dict[str, Any]
Emit: TypeAlias = Callable[[str, Row], None]
"""Takes a table name without its layer (`epochs`) and a finished row."""

EPOCHS = "epochs"
REBALANCE_CAUSES = "rebalance_causes"
CONVERGENCE = "convergence"
REBALANCES = "rebalances"
MEMBERS = "members"
OWNERSHIP = "ownership"
GROUP_STATES = "group_states"
FINDINGS = "findings"
GOLD_OF_GROUP = (
    EPOCHS,
    REBALANCE_CAUSES,
    CONVERGENCE,
    REBALANCES,
    MEMBERS,
    OWNERSHIP,
    GROUP_STATES,
    FINDINGS,
)
"""Tables that the audit of one group fills; findings only where its AuditOptions ask for them."""
TOPICS = "topics"
GOLD_OF_LOG = (*GOLD_OF_GROUP, TOPICS)
"""Tables that the audit of a log fills."""

COMPLETE = "complete"
GAP = "gap"


def duration_ms(start_ms: int | None, end_ms: int | None) -> int | None:
    """Milliseconds between two moments; None when one of them is unknown.

    None too where the end is before the start: two coordinators stamped them, and their clocks differ.
    """
    if start_ms is None or end_ms is None or end_ms < start_ms:
        return None
    return end_ms - start_ms


def completeness(gap: bool) -> str:
    """The `completeness` column."""
    return GAP if gap else COMPLETE
