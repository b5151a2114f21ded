"""What the audit knows of one living member, beyond the coordinator's state: the evidence for how it will go."""

from dataclasses import dataclass

from rebalance_audit.audit.members import Stint
from rebalance_audit.replay.changes import Position


@dataclass(slots=True)
class MemberWatch:
    """One member between its join and its end."""

    stint: Stint
    last_life: Position
    """Last record that only a living member causes: its subscription or its current assignment."""
    unrevoked_since: Position | None = None
    """Last record that told the member to give up partitions, while it has not; restarts the rebalance timer."""
    partitions: int = 0
    """How many partitions it has assigned."""
    member_epoch: int = 0
    """The member epoch of its last assignment record; 0 before the first."""
    waiting: bool = False
    """It waits for partitions that others hold."""
    left_for_a_while: bool = False
    """A static member whose last assignment record has member epoch -2."""
    speaks_classic: bool = False
    """A classic-protocol member of a consumer group: its join and sync timeouts can remove it as well."""
