"""Partitions that two members of a consumer or streams group have at once, although the log lacks no record.

The coordinator assigns a partition only once it is free (`currentPartitionEpoch` in Kafka's ConsumerGroup), so this
never happens unless the coordinator fails. Where records are missing it looks the same: then nothing is noted.
"""

from typing import NamedTuple

from rebalance_audit.replay.changes import Position
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

    def __init__(self) -> None:
        self.open = {}
        self.fresh: dict[TopicPartition, Overlap] = {}
        """Those that began in the current write."""

    def begin(
        self, partition: TopicPartition, first_member_id: str, second_member_id: str, at: Position
    ) -> None:
        """The second member got a partition that the first one still has."""
        overlap = Overlap(first_member_id, second_member_id, at)
        self.open[partition] = self.fresh[partition] = overlap

    def release(self, partitions: Partitions, member_id: str) -> None:
        """The member has them no more."""
        if self.open:
            for partition in each(partitions):
                overlap = self.open.get(partition)
                if overlap is not None and member_id in overlap[:2]:
                    del self.open[partition]

    def forget(self) -> None:
        """The group is gone, or records are missing from now on."""
        self.open.clear()
        self.fresh.clear()

    def begin_write(self) -> None:
        """Another write begins."""
        self.fresh.clear()
