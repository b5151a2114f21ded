"""What the kinds share that look at a group from a move of its coordinator on."""

from rebalance_audit.audit.causes.departures import evidence_at
from rebalance_audit.audit.findings.watcher import Scene, Trail, Watcher
from rebalance_audit.replay.changes import Position


class AfterMove(Watcher):
    """Watches the leader epoch of the log partition: where it rises, another coordinator writes."""

    _leader_epoch: int | None
    _moved: Position | None
    """Its first record, as long as it matters."""
    _old_epoch: int
    _members_before: int
    _members: int
    """As of the last write; whoever inherits keeps it."""
    _trail: Trail

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._leader_epoch = None
        self._moved = None
        self._old_epoch = 0
        self._members_before = 0
        self._members = 0
        self._trail = Trail()

    def see(self, position: Position) -> None:
        """Notice a move; any hook may be the first to see a record of the new coordinator."""
        leader_epoch = position.leader_epoch
        if leader_epoch is None:
            return
        before, self._leader_epoch = self._leader_epoch, leader_epoch
        if before is None or leader_epoch <= before:
            return
        self.moves_on()
        self._moved, self._old_epoch = position, before
        self._members_before = self._members
        self._trail = Trail()
        fact = f"first record with leader epoch {leader_epoch}, was {before}"
        self._trail.add(evidence_at(position, fact))

    def moves_on(self) -> None:
        """A move is over, since there is another one."""
