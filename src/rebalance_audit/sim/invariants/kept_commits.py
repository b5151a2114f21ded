"""Rule: an acknowledged offset commit is in the log, stays there, and is what the group gets."""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from rebalance_audit.coordinator.handling import ErrorCode
from rebalance_audit.coordinator.requests.offsets import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchResponse,
)
from rebalance_audit.replay.changes import OffsetCommitted
from rebalance_audit.sim.brokers.broker import Changed, ServedPartition
from rebalance_audit.sim.brokers.partition_log import LoggedBatch
from rebalance_audit.sim.invariants.rules import InvariantBrokenError
from rebalance_audit.wire.generated.messages import OffsetCommitKey, RecordType
from rebalance_audit.wire.records import Record, decode_record, encode_key

_COMMIT_PREFIX: Final = int(RecordType.OFFSET_COMMIT).to_bytes(2, "big")
_TopicPartition = tuple[str, int]
"""Topic name and partition."""


@dataclass(slots=True)
class _Commits:
    """Commits that one log partition holds: record key -> offset of the newest record."""

    acknowledged: dict[bytes, int] = field(default_factory=dict)
    pending: dict[int, dict[bytes, int]] = field(default_factory=dict)
    """Producer id -> commits of its open transaction."""
    newest_base: int = 0
    """Base offset of the newest batch."""
    deleted: set[bytes] = field(default_factory=set)
    """Commits that took effect in the newest batch or later."""
    unanswered: dict[int, list[dict[_TopicPartition, int]]] = field(default_factory=dict)
    """Request id -> what each handling of it wrote, the earliest first: partition -> log offset."""


class KeptCommits:
    """Follows the commits of every log partition; each check returns how many single comparisons it made."""

    def __init__(self) -> None:
        """Nothing is committed yet."""
        self._commits: dict[int, _Commits] = {}
        """Partition of the log -> its commits."""

    # --- requests and their answers ----------------------------------------------------------------

    def requested(
        self, shard: ServedPartition, request: OffsetCommitRequest, changed: Changed
    ) -> None:
        """Note what a commit wrote.

        A request that the network delivered twice is handled twice, and answered in that order.
        """
        written = {
            (change.topic, change.topic_partition): change.position.log_offset
            for _, changes in changed
            for change in changes
            if isinstance(change, OffsetCommitted)
        }
        self._of(shard).unanswered.setdefault(id(request), []).append(written)

    def removed(self, shard: ServedPartition, group_id: str, partition: _TopicPartition) -> None:
        """Note a commit that was deleted or has expired."""
        self._of(shard).deleted.add(_commit_key(group_id, partition))

    def check_commit(
        self, shard: ServedPartition, request: OffsetCommitRequest, response: OffsetCommitResponse
    ) -> int:
        """Raises InvariantBrokenError where an acknowledged commit is not in the log.

        The commit's own record counts, not what the coordinator holds: a client that was just answered may have
        committed again, into the batch that is open now.
        """
        unanswered = self._commits[shard.number].unanswered
        handled = unanswered[id(request)]
        written = handled.pop(0)
        if not handled:
            del unanswered[id(request)]
        end = shard.log.next_offset
        checks = 0
        for topic in response.topics:
            checks += len(topic.partitions)
            for partition in topic.partitions:
                if partition.error_code is not ErrorCode.NONE:
                    continue
                committed = topic.name, partition.partition_index
                log_offset = written.get(committed)
                if log_offset is None or log_offset >= end:
                    message = f"the commit of {committed} by {request.group_id} was acknowledged and is not written"
                    raise InvariantBrokenError(message)
        return checks

    def check_fetch(self, shard: ServedPartition, response: OffsetFetchResponse) -> int:
        """Raises InvariantBrokenError where a group gets an older commit than its newest.

        The expected commit is the newest one written before the batch that the answer waited for.
        """
        commits = self._commits.get(shard.number)
        if commits is None:
            return 0
        checks = 0
        for group in response.groups:
            slot = shard.shard.slot(group.group_id)
            for topic in group.topics:
                for partition in topic.partitions:
                    asked = topic.name, partition.partition_index
                    key = _commit_key(group.group_id, asked)
                    written = commits.acknowledged.get(key)
                    if (
                        partition.error_code is not ErrorCode.NONE
                        or written is None
                        or written >= commits.newest_base
                        or key in commits.deleted
                    ):
                        continue
                    checks += 1
                    held = None if slot is None else slot.offsets.get(asked)
                    if held is None or (
                        held.log_offset < commits.newest_base
                        and held.committed_offset != partition.committed_offset
                    ):
                        message = f"{group.group_id} asks for {asked}, gets {partition}, and has committed {held}"
                        raise InvariantBrokenError(message)
        return checks

    # --- the log -----------------------------------------------------------------------------------

    def flushed(self, shard: ServedPartition, batch: LoggedBatch) -> None:
        """Remember what a batch committed for good."""
        commits = self._of(shard)
        commits.newest_base = batch.base_offset
        commits.deleted.clear()
        producer_id = batch.producer.producer_id
        if batch.marker is not None:
            ended = commits.pending.pop(producer_id, {})
            if batch.marker.committed:
                for key, log_offset in ended.items():
                    newest = commits.acknowledged.get(key, -1)
                    commits.acknowledged[key] = max(newest, log_offset)
            return
        target = commits.acknowledged
        if producer_id >= 0:
            target = commits.pending.setdefault(producer_id, {})
        for record in batch.records:
            if record.key is None or record.key[:2] != _COMMIT_PREFIX:
                continue
            if record.value is None:
                commits.acknowledged.pop(record.key, None)
                commits.deleted.add(record.key)
                for pending in commits.pending.values():
                    pending.pop(record.key, None)
            else:
                target[record.key] = record.log_offset

    def loaded(self, shard: ServedPartition) -> None:
        """Deletions that were not written never happened."""
        if shard.number in self._commits:
            self._commits[shard.number].deleted.clear()

    def stopped(self, shard: ServedPartition) -> None:
        """Requests that were not answered never will be."""
        if shard.number in self._commits:
            self._commits[shard.number].unanswered.clear()

    def check(self, shard: ServedPartition) -> int:
        """Raises InvariantBrokenError where a commit in the log is neither held nor replaced by a later one."""
        commits = self._commits.get(shard.number)
        if commits is None:
            return 0
        for key, log_offset in commits.acknowledged.items():
            record = decode_record(key, None)
            assert isinstance(record, Record)
            assert isinstance(record.key, OffsetCommitKey)
            slot = shard.shard.slot(record.key.group)
            committed = record.key.topic, record.key.partition
            held = None if slot is None else slot.offsets.get(committed)
            if held is None or held.log_offset < log_offset:
                message = (
                    f"the commit of {record.key} at offset {log_offset} is lost, there is {held}"
                )
                raise InvariantBrokenError(message)
        return len(commits.acknowledged)

    def _of(self, shard: ServedPartition) -> _Commits:
        return self._commits.setdefault(shard.number, _Commits())


@lru_cache(1 << 14)
def _commit_key(group_id: str, partition: _TopicPartition) -> bytes:
    return encode_key(OffsetCommitKey(group_id, *partition))
