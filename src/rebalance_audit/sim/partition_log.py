"""The log of one partition as a broker holds it: batches in segments, appended, read back, rolled."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from rebalance_audit.coordinator.changes import Change, Position
from rebalance_audit.coordinator.shard import Shard
from rebalance_audit.coordinator.slot import GroupSlot
from rebalance_audit.sim.batch_writer import (
    NO_PRODUCER,
    Codec,
    LoggedRecord,
    Producer,
    encode_batch,
    encode_empty_batch,
    encode_marker,
)
from rebalance_audit.wire.records import Record, decode_record

_BATCH_OVERHEAD_BYTES: Final = 61
_RECORD_OVERHEAD_BYTES: Final = 10


class Marker(NamedTuple):
    """The control record that ends a transaction."""

    committed: bool
    coordinator_epoch: int


@dataclass(slots=True)
class LoggedBatch:
    """One batch; what a cleaner takes from it leaves its ends as they were."""

    base_offset: int
    last_offset: int
    leader_epoch: int
    records: list[LoggedRecord]
    """Empty for a marker and for a batch that was cleaned out."""
    max_timestamp_ms: int
    producer: Producer = NO_PRODUCER
    marker: Marker | None = None
    codec: Codec = Codec.NONE
    append_time_ms: int | None = None
    """Set where the topic stamps batches with the time of their append."""
    delete_horizon_ms: int | None = None
    """When tombstones may go; a cleaner sets it when it first meets them."""
    packed: bytes | None = None
    """The whole batch as bytes, where `records` holds only the last one of every key: all that replay needs."""

    def size_bytes(self) -> int:
        """About how many bytes the batch takes."""
        if self.packed is not None:
            return len(self.packed)
        return _BATCH_OVERHEAD_BYTES + sum(
            _RECORD_OVERHEAD_BYTES + len(record.key or b"") + len(record.value or b"")
            for record in self.records
        )

    def encoded(self) -> bytes:
        """The batch as a segment file holds it."""
        if self.packed is not None:
            return self.packed
        if self.marker is not None:
            return encode_marker(
                self.base_offset,
                self.max_timestamp_ms,
                self.leader_epoch,
                self.producer,
                self.marker.coordinator_epoch,
                committed=self.marker.committed,
                delete_horizon_ms=self.delete_horizon_ms,
            )
        if not self.records:
            return encode_empty_batch(
                self.base_offset,
                self.last_offset,
                self.leader_epoch,
                self.producer,
                self.max_timestamp_ms,
            )
        return encode_batch(
            self.records,
            self.leader_epoch,
            self.codec,
            self.producer,
            self.append_time_ms,
            self.base_offset,
            self.last_offset,
            delete_horizon_ms=self.delete_horizon_ms,
        )


@dataclass(slots=True)
class LogSegment:
    """Batches of one segment file."""

    base_offset: int
    batches: list[LoggedBatch] = field(default_factory=list)
    size_bytes: int = 0


class PartitionLog:
    """The batches of one partition; the last segment is the active one."""

    def __init__(self, log_partition: int, segment_bytes: int) -> None:
        """An empty log."""
        self.log_partition = log_partition
        self.segments = [LogSegment(0)]
        self.next_offset = 0
        self.was_cleaned = False
        """A cleaner took records away: what replay meets is no complete history any more."""
        self._segment_bytes = segment_bytes

    def append(self, batch: LoggedBatch) -> None:
        """Append a batch; it must begin where the log ends."""
        assert batch.base_offset == self.next_offset
        size_bytes = batch.size_bytes()
        active = self.segments[-1]
        if active.batches and active.size_bytes + size_bytes > self._segment_bytes:
            active = LogSegment(batch.base_offset)
            self.segments.append(active)
        active.batches.append(batch)
        active.size_bytes += size_bytes
        self.next_offset = batch.last_offset + 1

    def batches(self) -> Iterator[LoggedBatch]:
        """All batches in offset order."""
        for segment in self.segments:
            yield from segment.batches

    def replay_into(self, shard: Shard) -> None:
        """Bring a shard to the end of the log, as a coordinator does that loads it."""
        for batch in self.batches():
            replay_batch(self.log_partition, batch, shard)


def replay_batch(
    log_partition: int, batch: LoggedBatch, shard: Shard
) -> list[tuple[GroupSlot, list[Change]]]:
    """Apply a batch from its bytes on; what each record changed."""
    producer_id = batch.producer.producer_id
    marker = batch.marker
    if marker is not None:
        position = Position(
            log_partition,
            batch.base_offset,
            batch.max_timestamp_ms,
            batch.leader_epoch,
            producer_id,
            is_transactional=True,
        )
        return shard.apply_transaction_marker(producer_id, marker.committed, position)
    changed: list[tuple[GroupSlot, list[Change]]] = []
    for log_offset, at_ms, key, value in batch.records:
        stamp_ms = at_ms if batch.append_time_ms is None else batch.append_time_ms
        position = Position(
            log_partition,
            log_offset,
            stamp_ms,
            batch.leader_epoch,
            producer_id,
            is_transactional=producer_id >= 0,
        )
        record = decode_record(key, value)
        assert isinstance(record, Record), record
        changed.append(shard.apply(record, position))
    return changed
