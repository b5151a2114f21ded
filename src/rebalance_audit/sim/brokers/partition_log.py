"""The log of one partition as a broker holds it: batches in segments, appended, read back, rolled, written to files."""

import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, NamedTuple

from rebalance_audit.replay.changes import Change, Position
from rebalance_audit.replay.groups import GroupSlot
from rebalance_audit.replay.shard import Shard
from rebalance_audit.sim.brokers.batch_writer import (
    NO_PRODUCER,
    Codec,
    LoggedRecord,
    Producer,
    encode_batch,
    encode_empty_batch,
    encode_marker,
)
from rebalance_audit.wire.generated.messages import RecordType
from rebalance_audit.wire.records import Record, decode_record
from rebalance_audit.wire.segments.bad_bytes import BadBytes, TailNote
from rebalance_audit.wire.segments.batches import (
    ATTRIBUTES,
    BASE_OFFSET,
    BASE_TIMESTAMP,
    CODEC_MASK,
    CONTROL,
    DELETE_HORIZON,
    LAST_OFFSET_DELTA,
    LEADER_EPOCH,
    LOG_APPEND_TIME,
    MAX_TIMESTAMP,
    PRODUCER_EPOCH,
    PRODUCER_ID,
    Damage,
    RawHeader,
    TransactionMarker,
    judged,
    parse_marker,
)
from rebalance_audit.wire.segments.walk import SegmentWalk

OFFSETS_TOPIC: Final = "__consumer_offsets"
MEMORY_BYTES_MAX: Final = 1 << 18
"""How many bytes of a segment stay in memory before they go to its file; as objects they take several times as much."""
MANY_RECORDS: Final = 500
_COMMIT_PREFIX: Final = int(RecordType.OFFSET_COMMIT).to_bytes(2, "big")
_BATCH_OVERHEAD_BYTES: Final = 61
_COUNT_AT: Final = 57
_RECORD_OVERHEAD_BYTES: Final = 10


class Marker(NamedTuple):
    """The control record that ends a transaction."""

    committed: bool
    coordinator_epoch: int


@dataclass(slots=True)
class LoggedBatch:
    """One batch; when a cleaner removes records, its first and last offset stay as they were."""

    base_offset: int
    last_offset: int
    leader_epoch: int
    records: list[LoggedRecord]
    """Empty for a marker and for a batch whose records were all removed."""
    max_timestamp_ms: int
    producer: Producer = NO_PRODUCER
    marker: Marker | None = None
    codec: Codec = Codec.NONE
    append_time_ms: int | None = None
    """Set where the topic stamps batches with the time of their append; epoch milliseconds."""
    delete_horizon_ms: int | None = None
    """When tombstones may be removed; a cleaner sets it when it first meets them."""
    packed: bytes | None = None
    """The whole batch as bytes; `records` may then hold only the last one of every key, which is all replay needs."""

    def record_count(self) -> int:
        """How many records the batch has."""
        if self.packed is not None:
            return int.from_bytes(self.packed[_COUNT_AT:_BATCH_OVERHEAD_BYTES])
        return len(self.records)

    def size_bytes(self) -> int:
        """Approximate size of the batch in bytes."""
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
    """Batches of one segment file; the first ones may already be in the file."""

    base_offset: int
    path: Path | None = None
    """Path of the file; None where everything stays in memory."""
    batches: list[LoggedBatch] = field(default_factory=list)
    """The batches in memory."""
    memory_bytes: int = 0
    """Their approximate size in bytes."""
    size_bytes: int = 0
    last_offset: int = -1
    has_file: bool = False

    def append(self, batch: LoggedBatch, size_bytes: int) -> None:
        """Append a batch, and write to the file when too much is in memory."""
        self.batches.append(batch)
        self.size_bytes += size_bytes
        self.memory_bytes += size_bytes
        self.last_offset = batch.last_offset
        if self.memory_bytes > MEMORY_BYTES_MAX:
            self.spill()

    def spill(self) -> None:
        """Write the batches in memory to the file, where there is one."""
        if self.path is None or not self.batches:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as file:
            file.writelines(batch.encoded() for batch in self.batches)
        self.has_file = True
        self.batches = []
        self.memory_bytes = 0

    def read(self, *, with_bytes: bool = False) -> Iterator[LoggedBatch]:
        """Its batches in offset order; those from the file with their bytes, where that is asked for."""
        if self.has_file and self.path is not None:
            yield from read_back(self.path, with_bytes=with_bytes)
        yield from self.batches

    def rewrite(self, batches: Iterable[LoggedBatch]) -> None:
        """Replace its batches with others, which may be made from them while they are read."""
        self.size_bytes = 0
        if not self.has_file or self.path is None:
            kept = self.batches = list(batches)
            self.size_bytes = self.memory_bytes = sum(batch.size_bytes() for batch in kept)
            return
        cleaned = self.path.with_suffix(".cleaned")
        with cleaned.open("wb") as file:
            for batch in batches:
                self.size_bytes += file.write(batch.encoded())
        cleaned.replace(self.path)
        if not self.size_bytes:
            self.path.unlink()
            self.has_file = False
        self.batches = []
        self.memory_bytes = 0


class PartitionLog:
    """The batches of one partition; the last segment is the active one."""

    def __init__(self, log_partition: int, segment_bytes: int, folder: Path | None = None) -> None:
        """An empty log; with a folder its segments are written there as they grow, without one it stays in memory."""
        self.log_partition = log_partition
        self.folder = folder
        self.segments = [self._segment(0)]
        self.next_offset = 0
        self.was_cleaned = False
        """Whether a cleaner removed records, so that replay no longer meets a complete history."""
        self._segment_bytes = segment_bytes

    def append(self, batch: LoggedBatch) -> None:
        """Append a batch; it must begin where the log ends."""
        assert batch.base_offset == self.next_offset
        size_bytes = batch.size_bytes()
        active = self.segments[-1]
        if active.size_bytes and active.size_bytes + size_bytes > self._segment_bytes:
            active.spill()
            active = self._segment(batch.base_offset)
            self.segments.append(active)
        active.append(batch, size_bytes)
        self.next_offset = batch.last_offset + 1

    def _segment(self, base_offset: int) -> LogSegment:
        if self.folder is None:
            return LogSegment(base_offset)
        return LogSegment(base_offset, segment_path(self.folder, self.log_partition, base_offset))

    def batches(self) -> Iterator[LoggedBatch]:
        """All batches in offset order."""
        for segment in self.segments:
            yield from segment.read()

    def replay_into(self, shard: Shard) -> None:
        """Bring a shard to the end of the log, as a loading coordinator does."""
        for batch in self.batches():
            replay_batch(self.log_partition, batch, shard)

    def replay_outcome_into(self, shard: Shard) -> None:
        """Bring a shard to the end of the log with the last record of every key among consecutive offset commits.

        The final state of the partition is the same; the order in which its groups first appeared is not.
        """
        waiting: dict[bytes, tuple[LoggedRecord, LoggedBatch]] = {}
        for batch in self.batches():
            if batch.marker is None and batch.producer.producer_id < 0 and _is_plain(batch.records):
                for record in batch.records:
                    waiting[record.key or b""] = record, batch
                continue
            _replay_commits(self.log_partition, waiting, shard)
            replay_batch(self.log_partition, batch, shard)
        _replay_commits(self.log_partition, waiting, shard)


def segment_path(folder: Path, log_partition: int, base_offset: int) -> Path:
    """Path at which a broker keeps a segment: the partition's folder, and 20 digits."""
    return folder / f"{OFFSETS_TOPIC}-{log_partition}" / segment_name(base_offset)


def segment_name(base_offset: int) -> str:
    """Name of a segment file."""
    return f"{base_offset:020d}.log"


def read_back(path: Path, *, with_bytes: bool = False) -> Iterator[LoggedBatch]:
    """Batches of a file that this module wrote."""
    with SegmentWalk(path) as walk:
        for position, following, header in walk.steps():
            assert not isinstance(header, BadBytes | TailNote), header
            batch = walk.view(position, following)
            logged = _logged(header, batch)
            if with_bytes:
                logged.packed = bytes(batch)
            yield logged


def _logged(header: RawHeader, batch: memoryview) -> LoggedBatch:
    found = judged(header, batch)
    assert not isinstance(found, Damage), found
    bits, last_ms = header[ATTRIBUTES], header[MAX_TIMESTAMP]
    logged = LoggedBatch(
        header[BASE_OFFSET],
        header[BASE_OFFSET] + header[LAST_OFFSET_DELTA],
        header[LEADER_EPOCH],
        [LoggedRecord(*record) for record in zip(*found, strict=True)],
        last_ms,
        Producer(header[PRODUCER_ID], header[PRODUCER_EPOCH]),
        codec=Codec(bits & CODEC_MASK),
        append_time_ms=last_ms if bits & LOG_APPEND_TIME else None,
        delete_horizon_ms=header[BASE_TIMESTAMP] if bits & DELETE_HORIZON else None,
    )
    for marker in map(parse_marker, found.keys, found.values) if bits & CONTROL else ():
        if isinstance(marker, TransactionMarker):
            logged.marker, logged.records = Marker(*marker), []
    return logged


def replay_batch(
    log_partition: int, batch: LoggedBatch, shard: Shard
) -> list[tuple[GroupSlot, list[Change]]]:
    """Apply a batch from its bytes; returns what each record changed."""
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
    for log_offset, at_ms, key, value in _effective(batch.records, producer_id):
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


def _is_plain(records: Sequence[LoggedRecord]) -> bool:
    """Whether all records are offset commits, without tombstones."""
    return all(
        key is not None and value is not None and key[:2] == _COMMIT_PREFIX
        for _, _, key, value in records
    )


def _replay_commits(
    log_partition: int, waiting: dict[bytes, tuple[LoggedRecord, LoggedBatch]], shard: Shard
) -> None:
    """Apply the commits in the order of the log, each as part of its batch."""
    for record, batch in sorted(waiting.values(), key=lambda each: each[0].log_offset):
        replay_batch(log_partition, replace(batch, records=[record]), shard)
    waiting.clear()


def _effective(records: list[LoggedRecord], producer_id: int) -> Sequence[LoggedRecord]:
    """The records that count: in a large batch of plain commits, the last one of every key."""
    if len(records) < MANY_RECORDS or producer_id >= 0:
        return records
    last_of_key = {record.key: record for record in records}
    if len(last_of_key) == len(records) or not all(map(is_commit_key, last_of_key)):
        return records
    return sorted(last_of_key.values())


def is_commit_key(key: bytes | None) -> bool:
    """Whether a record with this key is an offset commit."""
    return key is not None and key[:2] == _COMMIT_PREFIX


METADATA_FOLDER: Final = "__cluster_metadata-0"


def write_log(log: PartitionLog, folder: Path) -> None:
    """Write the segments of one partition, or what the files there lack of them; empty segments get no file."""
    for segment in log.segments:
        if log.folder == folder:
            segment.spill()
        if log.folder == folder or not segment.size_bytes:
            continue
        target = segment_path(folder, log.log_partition, segment.base_offset)
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("wb") as file:
            if segment.has_file and segment.path is not None:
                with segment.path.open("rb") as spilled:
                    shutil.copyfileobj(spilled, file)
            file.writelines(batch.encoded() for batch in segment.batches)


def write_folder(logs: Iterable[PartitionLog], metadata_log: bytes, folder: Path) -> None:
    """Write every partition that holds anything, and the metadata log for topic names."""
    for log in logs:
        write_log(log, folder)
    if metadata_log:
        target = folder / METADATA_FOLDER
        target.mkdir(parents=True, exist_ok=True)
        (target / segment_name(0)).write_bytes(metadata_log)
