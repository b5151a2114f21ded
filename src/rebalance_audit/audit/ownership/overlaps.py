"""Partitions that two members of a consumer or streams group have at once, although the log lacks no record.

The coordinator assigns a partition only once it is free (`currentPartitionEpoch` in Kafka's ConsumerGroup), so this
never happens unless the coordinator fails. Where records are missing it looks the same: then nothing is noted.
"""

from typing import NamedTuple

from rebalance_audit.audit.ownership.ownership import Ownership
from rebalance_audit.replay.changes import MemberAssigned, Position
from rebalance_audit.replay.partitions import Partitions, TopicPartition, each


class Overlap(NamedTuple):
    """One partition with two owners."""

    first_member_id: str
    """It had the partition before."""
    second_member_id: str
    since: Position


class Overlaps:
    """What goes on now."""

    open: dict[TopicPartition, Overlap]
    _has_lost: bool = False
    """A record of the group could not be decoded, at any time."""

    def __init__(self, *, is_whole: bool | None) -> None:
        """`is_whole`: whether the log partition lacks no record; None if that is not known."""
        self.open = {}
        self._is_whole = is_whole
        self.fresh: dict[TopicPartition, Overlap] = {}
        """Those that began in the current write."""

    @property
    def lacks_nothing(self) -> bool:
        """Whether it is certain that no record of the group is missing: whatever they show has happened."""
        return self._is_whole is True and not self._has_lost

    def take(self, partitions: Partitions, change: MemberAssigned, ownership: Ownership) -> None:
        """The member of the change got the partitions, which `ownership` does not have from it yet."""
        if ownership.is_shared or not self.lacks_nothing:
            return
        for partition in each(partitions):
            owner = ownership.owner_of(partition)
            if owner is not None and owner.member_id != change.member_id:
                overlap = Overlap(owner.member_id, change.member_id, change.position)
                self.open[partition] = self.fresh[partition] = overlap

    def release(self, partitions: Partitions, member_id: str) -> None:
        """The member has them no more."""
        if self.open:
            for partition in each(partitions):
                overlap = self.open.get(partition)
                if overlap is not None and member_id in overlap[:2]:
                    del self.open[partition]

    def lose(self) -> None:
        """A record of the group cannot be read."""
        self._has_lost = True
        self.forget()

    def forget(self) -> None:
        """The group is gone."""
        self.open.clear()
        self.fresh.clear()

    def begin_write(self) -> None:
        """Another write begins."""
        self.fresh.clear()
