"""How the audit emits its rows.

A row is a dictionary keyed by the column names of `schemas/tables`, without `cluster`, which only the caller knows.
Times are epoch milliseconds, durations are milliseconds, ids are strings.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

Row: TypeAlias = dict[str, Any]
Emit: TypeAlias = Callable[[str, Row], None]
"""Takes a table name without its layer (`epochs`) and a final row."""

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
"""Tables that the audit of one group fills; `findings` only if its AuditOptions ask for them."""
GROUP_HOURS = "group_hours"
"""Made of rows of the other tables, see `audit.hours`."""
PROGRESS = "progress"
"""Offset commits minute by minute, see `audit.progress`; an audit without a lake makes it where it is asked for."""
TOPICS = "topics"
DEPLOYS = "deploys"
"""Made of rows of the other tables where an audit is given rollouts, see `audit.deploys`."""
GOLD_OF_LOG = (*GOLD_OF_GROUP, GROUP_HOURS, TOPICS)
"""Tables that the audit of a log fills."""

COMPLETE = "complete"
GAP = "gap"


def duration_ms(start_ms: int | None, end_ms: int | None) -> int | None:
    """Milliseconds between two moments; None if either is unknown.

    Also None if the end is before the start: then two coordinators with different clocks stamped them.
    """
    if start_ms is None or end_ms is None or end_ms < start_ms:
        return None
    return end_ms - start_ms


def completeness(gap: bool) -> str:
    """The value of the `completeness` column."""
    return GAP if gap else COMPLETE
