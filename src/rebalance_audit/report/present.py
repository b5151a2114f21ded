"""A group's state, type, members and life at the end of the log, or at a time before it.

Everything that shows a group's present asks here: the overview, the detail of a group, `explain`, the page.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from rebalance_audit.replay.describe import UNKNOWN
from rebalance_audit.sentences import words

GONE: Final = "Empty or gone"
"""State of a group whose own record was removed: while it has committed offsets, Kafka lists it as Empty."""


class Present(NamedTuple):
    """A group at the end of the log."""

    protocol: str
    group_state: str
    members: int | None
    """None while the state is unknown."""
    incarnation: int
    """0 for the first life of the group id."""
    since_ms: int | None
    epoch: int | None
    """Epoch or generation; None where the tables are those of an earlier release."""

    def text(self) -> str:
        """`Stable with 3 members`, `Empty`, `Unknown (its last record cannot be decoded)`."""
        if self.group_state == UNKNOWN:
            return f"{UNKNOWN} (its last record cannot be decoded)"
        if not self.members:
            return self.group_state
        return f"{self.group_state} with {words.counted(self.members, 'member')}"

    def cell(self) -> str:
        """`Stable (3)`, `Empty`."""
        return f"{self.group_state} ({self.members:,})" if self.members else self.group_state


def present_of(
    states: Iterable[Mapping[str, Any]], members: Iterable[Mapping[str, Any]]
) -> Present | None:
    """The present of one group from its rows of gold.group_states and gold.members; None where its record was removed.

    The tables of earlier releases show neither which state is the current one nor how many members there are now: the
    current state is the one that no record ended, the members are those that no record shows leaving.
    """
    current = [row for row in states if row.get("to_offset") is None and row["to_at"] is None]
    if not current:
        return None
    row = max(current, key=lambda row: (row["incarnation"], row["from_at"] or 0))
    count = row.get("members_at_end")
    if count is None and row["group_state"] != UNKNOWN:
        count = sum(
            member["left_at"] is None and member["incarnation"] == row["incarnation"]
            for member in members
        )
    return Present(
        row["protocol"],
        row["group_state"],
        count,
        row["incarnation"],
        row["from_at"],
        row.get("epoch_at_end"),
    )


def group_text(present: Present | None) -> str:
    """The group in words, even one that is gone."""
    return GONE if present is None else present.text()


def cell_of(present: Present | None) -> str:
    """The same for a cell of a table."""
    return GONE if present is None else present.cell()
