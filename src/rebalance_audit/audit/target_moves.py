"""What a new target assignment moves."""

from collections.abc import Mapping
from typing import NamedTuple

from rebalance_audit.coordinator.partitions import NOTHING, Partitions, TopicPartition, each, minus


class Moves(NamedTuple):
    """Partitions of a target against the one installed before, by owner identity."""

    partitions: int
    moved: Mapping[TopicPartition, str]
    """Partition -> the owner it had."""
    added: frozenset[TopicPartition]
    dropped: frozenset[TopicPartition]


class TargetMoves:
    """Follows the target owner of every partition; cost follows what changes, not what there is.

    An owner is an *identity*: the instance id of a static member, else the member id, so that a static member under a
    new member id moves nothing.
    """

    __slots__ = ("_before", "owners")
    owners: dict[TopicPartition, str]
    _before: dict[TopicPartition, str | None]
    """Owner at the last installation, of every partition touched since."""

    def __init__(self) -> None:
        self.owners = {}
        self._before = {}

    def retarget(self, identity: str, old: Partitions | None, new: Partitions | None) -> None:
        """A member's target changed from `old` to `new`."""
        for partition in each(minus(old or NOTHING, new or NOTHING)):
            if self.owners.get(partition) == identity:
                self._before.setdefault(partition, identity)
                del self.owners[partition]
        for partition in each(minus(new or NOTHING, old or NOTHING)):
            self._before.setdefault(partition, self.owners.get(partition))
            self.owners[partition] = identity

    def install(self) -> Moves:
        """The target is complete: what it moved since the last one."""
        moved: dict[TopicPartition, str] = {}
        added, dropped = set(), set()
        for partition, before in self._before.items():
            now = self.owners.get(partition)
            if before is None:
                if now is not None:
                    added.add(partition)
            elif now is None:
                dropped.add(partition)
            elif now != before:
                moved[partition] = before
        self._before.clear()
        return Moves(len(self.owners), moved, frozenset(added), frozenset(dropped))

    def clear(self) -> None:
        """The group is gone."""
        self.owners.clear()
        self._before.clear()
