"""Moves of partitions between members in an assignment under construction."""

from rebalance_audit.coordinator.assignors.client_members import NamedPartition
from rebalance_audit.replay.java_order import hash_map_order


class PartitionMoves:
    """Tracks moves, so that two members do not trade partitions of one topic with each other."""

    def __init__(self) -> None:
        self._pairs: dict[NamedPartition, tuple[str, str]] = {}
        self._partitions: dict[tuple[str, str, str], dict[NamedPartition, None]] = {}

    def better_choice(self, partition: NamedPartition, giver: str, taker: str) -> NamedPartition:
        """What to move instead of the partition: one of its topic that came from the taker before, else the same."""
        first_owner, _ = self._pairs.get(partition, (giver, taker))
        came_back = self._partitions.get((partition[0], taker, first_owner))
        if not came_back:
            return partition
        return hash_map_order(came_back)[0]

    def note(self, partition: NamedPartition, giver: str, taker: str) -> None:
        """Track a move; a partition that returns to its first owner has not moved."""
        pair = self._pairs.pop(partition, None)
        if pair is None:
            self._add(partition, giver, taker)
            return
        first_owner, _ = pair
        key = (partition[0], *pair)
        del self._partitions[key][partition]
        if not self._partitions[key]:
            del self._partitions[key]
        if first_owner != taker:
            self._add(partition, first_owner, taker)

    def _add(self, partition: NamedPartition, giver: str, taker: str) -> None:
        self._pairs[partition] = (giver, taker)
        self._partitions.setdefault((partition[0], giver, taker), {})[partition] = None
