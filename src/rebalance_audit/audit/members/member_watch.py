"""What the audit knows about one living member beyond the coordinator's state: evidence for why it later goes."""

from dataclasses import dataclass, field
from typing import NamedTuple

from rebalance_audit.audit.commits.summary import LastCommit
from rebalance_audit.audit.members.stint import Stint
from rebalance_audit.audit.verdicts.cause import Certainty, RebalanceCause
from rebalance_audit.replay.changes import MemberAssigned, Position
from rebalance_audit.replay.groups import STATIC_LEAVE_EPOCH, UNRELEASED, UNREVOKED
from rebalance_audit.replay.partitions import count


class MemberEnd(NamedTuple):
    """Why a member id is gone, as gold.members has it."""

    cause: RebalanceCause
    certainty: Certainty
    last_epoch: int | None
    closed_weight: float | None = None


@dataclass(slots=True)
class MemberWatch:
    """One member, from its join to its end."""

    stint: Stint
    last_life: Position
    """Last record that only a living member can cause: its subscription or its current assignment."""
    unrevoked_since: Position | None = None
    """Last record that asked the member to revoke partitions, until it has; each such record restarts its timer."""
    partitions: int = 0
    """Number of partitions assigned to it."""
    member_epoch: int = 0
    """The member epoch of its last assignment record; 0 before the first."""
    waiting: bool = False
    """Whether it waits for partitions that other members hold."""
    waited_for: set[str] = field(default_factory=set)
    """While it waits: the members that held them."""
    left_for_a_while: bool = False
    """Whether it is a static member whose last assignment record has member epoch -2."""
    last_commit: LastCommit | None = None
    """The latest offset commit for a partition that it owned."""
    speaks_classic: bool = False
    """Whether it is a classic-protocol member of a consumer group, which join and sync timeouts can remove too."""

    @property
    def last_sign(self) -> Position:
        """Where the log last showed it alive, by a record of its own or a commit."""
        if self.last_commit is None:
            return self.last_life
        return max(
            self.last_life, self.last_commit.position, key=lambda each: each.record_timestamp_ms
        )

    @property
    def last_sign_ms(self) -> int:
        """When that was (epoch ms)."""
        return self.last_sign.record_timestamp_ms

    def assigned(self, change: MemberAssigned) -> None:
        """Take over what its assignment record shows."""
        self.stint.last_seen_at_ms = change.position.record_timestamp_ms
        self.last_life = change.position
        self.unrevoked_since = change.position if change.new_state == UNREVOKED else None
        self.partitions = count(change.new_assigned)
        self.member_epoch = change.new_member_epoch
        self.waiting = change.new_state == UNRELEASED
        if not self.waiting:
            self.waited_for.clear()
        self.left_for_a_while = change.new_member_epoch == STATIC_LEAVE_EPOCH
