"""What a living member would have written: evidence that a member was silent before it went."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from rebalance_audit.audit.members.member_watch import MemberWatch
from rebalance_audit.replay.changes import Position

INSTALLS_MAX: Final = 64
"""Number of targets remembered; a member at an older one has been overdue for longer than the oldest of them."""
COMPARED_MAX: Final = 500
"""Largest group in which successors are looked for; in larger groups members usually share their client ids."""


class Install(NamedTuple):
    """A target assignment was installed."""

    assignment_epoch: int
    at_ms: int


@dataclass(slots=True)
class Liveness:
    """The targets that members had to answer, and since when the current coordinator was there to be answered."""

    installs: list[Install] = field(default_factory=list)
    leader_epoch: int | None = None
    leader_since_ms: int = 0

    def written(self, position: Position) -> None:
        """Note a record; a new leader epoch shows a new coordinator."""
        if position.leader_epoch != self.leader_epoch:
            self.leader_epoch = position.leader_epoch
            self.leader_since_ms = position.record_timestamp_ms

    def installed(self, assignment_epoch: int, at_ms: int) -> None:
        """Note a new target: the next heartbeat of every member at an earlier epoch writes its assignment."""
        self.installs.append(Install(assignment_epoch, at_ms))
        del self.installs[:-INSTALLS_MAX]

    def restart(self) -> None:
        """Drop the state: a new group restarts the epoch counter."""
        self.installs.clear()

    def overdue_ms(self, watch: MemberWatch, now_ms: int) -> int:
        """How long (ms) the member has owed an answer to a new target; 0 if it owes none."""
        since_ms = self.owes_since_ms(watch)
        return 0 if since_ms is None else max(0, now_ms - max(since_ms, self.leader_since_ms))

    def owes_since_ms(self, watch: MemberWatch) -> int | None:
        """When the target came (epoch ms) that the member has not answered, maybe to another coordinator, or None."""
        if watch.unrevoked_since is not None:
            return None  # it is revoking partitions, for which it has its rebalance timeout
        for install in self.installs:
            if install.assignment_epoch > watch.member_epoch:
                return install.at_ms
        return None


def successor_of(watch: MemberWatch, watches: Collection[MemberWatch]) -> str | None:
    """The only other member with the same client id and host, if it joined after this member's last record."""
    stint = watch.stint
    identity = stint.identity
    if len(watches) > COMPARED_MAX or identity.instance_id is not None:
        return None
    alike = [
        other.stint
        for other in watches
        if other.stint.identity.client_id == identity.client_id
        and other.stint.identity.client_host == identity.client_host
        and other is not watch
    ]
    if len(alike) != 1 or alike[0].first_position.log_offset < watch.last_life.log_offset:
        return None
    return alike[0].member_id
