"""Logs as the core takes them: records with their positions, and shards that have them applied."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeAlias

from rebalance_audit.replay.changes import Change, Position
from rebalance_audit.replay.shard import Shard
from rebalance_audit.wire.records import Record, decode_record
from rebalance_audit.wire.segments.bad_bytes import BadBytes, TailNote
from rebalance_audit.wire.segments.batches import TransactionMarker, parse_marker
from rebalance_audit.wire.segments.columns import ColumnChunk, read_columns
from rebalance_audit.wire.segments.folder import (
    OFFSETS_TOPIC,
    LogFolder,
    Segment,
    SourceNotReadable,
    not_readable,
    open_log_folder,
)


class PositionedRecord(NamedTuple):
    """A record of the log with its position and what its batch says about it."""

    log_partition: int
    log_offset: int
    record_timestamp_ms: int
    leader_epoch: int | None
    producer_id: int
    producer_epoch: int
    is_transactional: bool
    key: bytes | None
    value: bytes | None


class PositionedMarker(NamedTuple):
    """The end of a producer's transaction, with its position."""

    log_partition: int
    log_offset: int
    record_timestamp_ms: int
    leader_epoch: int | None
    producer_id: int
    producer_epoch: int
    committed: bool
    coordinator_epoch: int


LogEntry: TypeAlias = PositionedRecord | PositionedMarker | BadBytes | TailNote


Entry: TypeAlias = PositionedRecord | PositionedMarker


def log_entries(folder: LogFolder, partition: int | None = None) -> Iterator[LogEntry]:
    """All records, transaction markers, damage and unfinished ends, partition by partition in offset order.

    Streams in bounded memory. An offset that two segments hold is returned once. Control records that end no
    transaction are left out. Raises SourceNotReadable for a partition that is missing and for a file that cannot be
    read; never raises because of the bytes.
    """
    if partition is not None and partition not in folder.segments:
        raise SourceNotReadable(f"{folder.path} has no partition {partition} of {OFFSETS_TOPIC}.")
    for number in folder.segments if partition is None else (partition,):
        next_offset = 0
        for segment in folder.segments[number]:
            for found in _read_segment(segment, next_offset):
                if isinstance(found, ColumnChunk):
                    next_offset = found.log_offsets[-1] + 1
                    yield from _entries(number, found)
                else:
                    yield found._replace(log_partition=number)


def _read_segment(
    segment: Segment, from_offset: int
) -> Iterator[ColumnChunk | BadBytes | TailNote]:
    try:
        yield from read_columns(
            segment.path, from_offset=from_offset, end_offset=segment.end_offset
        )
    except OSError as error:
        raise not_readable(segment.path, error) from error


def _entries(partition: int, chunk: ColumnChunk) -> Iterator[PositionedRecord | PositionedMarker]:
    columns = zip(
        chunk.log_offsets, chunk.record_timestamps_ms, chunk.keys, chunk.values, strict=True
    )
    for (
        count,
        leader_epoch,
        producer_id,
        producer_epoch,
        transactional,
        is_control,
        _,
    ) in chunk.runs:
        rows = islice(columns, count)
        if not is_control:
            for offset, timestamp_ms, key, value in rows:
                yield PositionedRecord(
                    partition,
                    offset,
                    timestamp_ms,
                    leader_epoch,
                    producer_id,
                    producer_epoch,
                    transactional,
                    key,
                    value,
                )
            continue
        for offset, timestamp_ms, key, value in rows:
            marker = parse_marker(key, value)
            if isinstance(marker, TransactionMarker):
                yield PositionedMarker(
                    partition,
                    offset,
                    timestamp_ms,
                    leader_epoch,
                    producer_id,
                    producer_epoch,
                    marker.committed,
                    marker.coordinator_epoch,
                )


def entries_of(segments: Path, log_partition: int | None = None) -> Iterator[Entry]:
    """Records and markers of a log that is not damaged."""
    for entry in log_entries(open_log_folder(segments), log_partition):
        assert isinstance(entry, PositionedRecord | PositionedMarker), entry
        yield entry


def records_of(segments: Path) -> Iterator[tuple[Record, Position]]:
    """The records alone, decoded."""
    for entry in entries_of(segments):
        if isinstance(entry, PositionedRecord):
            yield decoded(entry), position_of(entry)


def decoded(entry: PositionedRecord) -> Record:
    """The record, which must be one that we know."""
    record = decode_record(entry.key, entry.value)
    assert isinstance(record, Record), record
    return record


def position_of(entry: Entry) -> Position:
    """Its place and time; a marker is its transaction's last entry."""
    return Position(
        entry.log_partition,
        entry.log_offset,
        entry.record_timestamp_ms,
        entry.leader_epoch,
        entry.producer_id,
        isinstance(entry, PositionedMarker) or entry.is_transactional,
    )


def apply_entry(shard: Shard, entry: Entry) -> list[Change]:
    """What the entry changes in its partition."""
    if isinstance(entry, PositionedMarker):
        ended = shard.apply_transaction_marker(
            entry.producer_id, entry.committed, position_of(entry)
        )
        return [change for _, changes in ended for change in changes]
    return shard.apply(decoded(entry), position_of(entry))[1]
