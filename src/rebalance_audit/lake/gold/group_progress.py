"""Rows of gold.progress: what one group committed of each topic partition, minute by minute, with owner and lag.

A minute has a row if the group committed the partition in it, if the partition got an owner, or if its end offset was
sampled; not before the first commit, and not after the committed offset was deleted. Commits are ordered by the time
from which they count, see `PartitionCommits`. A later part of the log that has something of a time before the end of an
earlier one makes the state unusable, so that the group is replayed from its first record.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from rebalance_audit.audit.lag.end_offsets import PartitionSamples
from rebalance_audit.audit.lag.lag import BOUNDED_BY_NEXT_MS
from rebalance_audit.audit.rows import Row
from rebalance_audit.lake.gold.partition_commits import Ints, PartitionCommits
from rebalance_audit.lake.gold.partition_owners import PartitionOwners, Place
from rebalance_audit.lake.gold.progress_minutes import KeptProgress, MinuteChanges, ProgressMinutes
from rebalance_audit.replay.partitions import TopicPartition
from rebalance_audit.wire.generated.messages import LegacyOffsetCommitKey, OffsetCommitKey
from rebalance_audit.wire.records import Undecodable, decode_record

HELD: Final = 1 << 20
"""Commits that are held before they are reduced."""


class _Partition:
    """One topic partition of the group."""

    def __init__(self, samples: PartitionSamples | None, kept: KeptProgress) -> None:
        self.kept = kept
        self.commits = PartitionCommits(samples, kept.commits)
        self.owners = PartitionOwners()
        self.deletions: list[Place] = []
        """Of this part."""
        self.begun: list[Place] = []
        """Where the ownerships begin that this part counts."""

    def settle(self, from_offset: int, before_offset: int) -> None:
        """Everything was taken: ownerships count that begin between two log offsets."""
        self.begun = sorted(self.owners.begun(from_offset, before_offset))
        self.deletions.sort()

    def changed_from(self) -> int | None:
        """The earliest time (epoch ms) from which on rows may change; None if none does."""
        commits, kept = self.commits, self.kept
        found = [commits.new_from_ms] if commits.new_from_ms is not None else []
        if kept.commits:  # otherwise the first commit decides
            times = commits.sample_times
            new = times if kept.sampled_ms is None else times[times > kept.sampled_ms]
            found += new[:1].tolist()
            found += [at_ms for at_ms, _ in (*self.deletions, *self.begun, *self.owners.ended())]
        return min(found, default=None)

    def has_first_samples(self) -> bool:
        """Whether there are samples, and there were none when the commits of an earlier part were counted."""
        kept = self.kept
        return bool(kept.commits) and kept.sampled_ms is None and len(self.commits.sample_times) > 0

    def minutes(self, oldest_ms: int) -> ProgressMinutes:
        """After `settle`; no later sample bounds lag before `oldest_ms` (epoch ms)."""
        return ProgressMinutes(
            self.commits, self.owners, self.deletions, self.begun, self.kept, oldest_ms
        )

    def end_ms(self) -> int:
        """The latest time of commits, tombstones and owners."""
        places = [*self.deletions, *self.begun, *self.owners.ended()]
        return max([self.commits.new_to_ms, *(at_ms for at_ms, _ in places)])


class GroupProgress:
    """Takes the commits, tombstones and ownerships of a group, in parts, each later than the one before."""

    def __init__(
        self, group_id: str, log_partition: int, state: Mapping[str, Any] | None = None
    ) -> None:
        """`state` is what an earlier part has left."""
        self._key = {"group_id": group_id, "log_partition": log_partition}
        self._is_resumed = state is not None
        self._until_ms: int = -1 if state is None else state["until_ms"]
        """Latest time of what an earlier part had."""
        self._settled: int = 0 if state is None else state["settled"]
        """Ownerships that began with records before this log offset are in rows already."""
        kept = [] if state is None else state["partitions"]
        self._kept = {(topic, number): KeptProgress(*of_it) for topic, number, *of_it in kept}
        self._partitions: dict[TopicPartition, _Partition] = {}
        self._names: dict[bytes, TopicPartition | None] = {}
        self._samples: dict[tuple[str, int], PartitionSamples] = {}
        self._held = 0
        self.is_lost = False
        """Something is earlier than the end of an earlier part: the rows must be made from everything."""

    def sampled(self, samples: dict[tuple[str, int], PartitionSamples]) -> None:
        """All samples, before any commit."""
        self._samples = samples

    def committed(self, key: bytes, columns: Ints, *, is_transactional: bool = False) -> None:
        """Take commits with one key: log offsets, times (epoch ms) from which they count, and committed offsets."""
        found = self._of_key(key)
        if found is not None:
            found.commits.add(columns, is_transactional=is_transactional)
            self._held += columns.shape[1]
            if self._held > HELD:
                self._held = 0
                for each in self._partitions.values():
                    each.commits.reduce()

    def decided(self, key: bytes, columns: Ints) -> None:
        """Take commits of committed transactions, after all tombstones: as above, and the markers' offsets.

        A tombstone deletes pending commits, too.
        """
        found = self._of_key(key)
        if found is not None:
            offsets, markers = columns[0], columns[3]
            tombstones = [offset for _, offset in (*found.kept.deleted, *found.deletions)]
            deleted = np.array([-1, *sorted(tombstones)], np.int64)
            last = deleted[np.searchsorted(deleted, markers) - 1]
            self.committed(key, columns[:3, last < offsets], is_transactional=True)

    def deleted(self, key: bytes, columns: Ints) -> None:
        """Take tombstones with one key: log offsets and times (epoch ms)."""
        found = self._of_key(key)
        if found is not None:
            found.deletions += zip(columns[1].tolist(), columns[0].tolist(), strict=True)

    def owned(self, row: Row) -> None:
        """Take a row of gold.ownership."""
        if row["topic"] is not None:
            self._of((row["topic"], row["topic_partition"])).owners.add(row)

    def changes(self, settled: int) -> Iterator[MinuteChanges]:
        """New and changed rows of each topic partition. Call it once.

        `settled`: an ownership is certain if it began before this log offset.
        """
        for partition in [*self._kept, *self._samples]:
            self._of(partition)
        until_ms = self._until_ms
        for each in self._partitions.values():
            settled = max([settled, *(log_offset for _, log_offset in each.deletions)])
        changed_from: dict[TopicPartition, int | None] = {}
        for partition, each in self._partitions.items():
            each.settle(self._settled, settled)
            changed_from[partition] = from_ms = each.changed_from()
            is_earlier = from_ms is not None and from_ms < self._until_ms
            if self._is_resumed and (is_earlier or each.has_first_samples()):
                self.is_lost = True
                return
            until_ms = max(until_ms, each.end_ms())
        for partition, each in self._partitions.items():
            key = self._key | {"topic": partition[0], "topic_partition": partition[1]}
            minutes = each.minutes(until_ms - BOUNDED_BY_NEXT_MS)
            yield minutes.changed(key, changed_from[partition])
            self._kept[partition] = minutes.kept()
        self._until_ms, self._settled = until_ms, max(settled, self._settled)
        self._partitions.clear()

    def state(self) -> dict[str, Any]:
        """For a later part, after `changes`; to be kept as JSON."""
        return {
            "until_ms": self._until_ms,
            "settled": self._settled,
            "partitions": [
                [*partition, *kept]
                for partition, kept in self._kept.items()
                if kept.commits or kept.deleted
            ],
        }

    def _of_key(self, key: bytes) -> _Partition | None:
        if key not in self._names:
            record = decode_record(key, None)
            partition: TopicPartition | None = None
            if not isinstance(record, Undecodable) and isinstance(
                record.key, LegacyOffsetCommitKey | OffsetCommitKey
            ):
                partition = record.key.topic, record.key.partition
            self._names[key] = partition
        found = self._names[key]
        return None if found is None else self._of(found)

    def _of(self, partition: TopicPartition) -> _Partition:
        found = self._partitions.get(partition)
        if found is None:
            topic, number = partition
            samples = self._samples.get((str(topic), number))
            found = _Partition(samples, self._kept.get(partition, KeptProgress()))
            self._partitions[partition] = found
        return found
