"""Logs as the core takes them: records with their positions, and shards that have them applied."""

from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

from rebalance_audit.replay.changes import Change, Position
from rebalance_audit.replay.shard import Shard
from rebalance_audit.wire.records import Record, decode_record
from rebalance_audit.wire.segments.folder import PositionedMarker, PositionedRecord, open_log_folder

Entry: TypeAlias = PositionedRecord | PositionedMarker


def entries_of(segments: Path, log_partition: int | None = None) -> Iterator[Entry]:
    """Records and markers of a log that is not damaged."""
    for entry in open_log_folder(segments).read(log_partition):
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
