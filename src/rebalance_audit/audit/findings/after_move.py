"""Base of the kinds that watch a group after its coordinator moved."""

from rebalance_audit.audit.causes.departures import evidence_at
from rebalance_audit.audit.findings.watcher import Trail, Watcher
from rebalance_audit.replay.changes import Position
from rebalance_audit.replay.groups.slot import Group


class AfterMove(Watcher):
    """Watches the leader epoch of the log partition: when it rises, a new coordinator writes."""

    _leader_epoch: int | None
    _moved: Position | None
    """First record of the new coordinator, as long as the move matters."""
    _old_epoch: int
    _members_before: int
    _members: int
    """Number of members as of the last write."""
    _trail: Trail

    def _reset(self) -> None:
        self._leader_epoch = None
        self._moved = None
        self._old_epoch = 0
        self._members_before = 0
        self._members = 0
        self._trail = Trail()

    def write_comes(self, position: Position) -> None:
        """Detect a move before the write that may show its consequences."""
        self.see(position)

    def wrote(self, position: Position, group: Group) -> None:
        """Detect a move; the first write of a group was not announced."""
        self.see(position)
        self._members = len(group.members)

    def see(self, position: Position) -> None:
        """Detect a move: the new coordinator's first record, or the earliest of its commits that is known."""
        leader_epoch = position.leader_epoch
        if leader_epoch is None:
            return
        before, self._leader_epoch = self._leader_epoch, leader_epoch
        if before is None or leader_epoch <= before:
            return
        self.moves_on()
        commits = [
            watch.last_commit.position
            for watch in self.scene.life.watches.values()
            if watch.last_commit is not None
            and watch.last_commit.position.leader_epoch == leader_epoch
        ]
        first = min((position, *commits), key=lambda each: each.log_offset)
        self._moved, self._old_epoch = first, before
        self._members_before = self._members
        self._trail = Trail()
        self._trail.add(evidence_at(first, "leader_epoch", new=leader_epoch, old=before))

    def moves_on(self) -> None:
        """The previous move is over, because another one follows."""
