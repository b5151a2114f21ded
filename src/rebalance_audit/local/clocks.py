"""Sets the clocks of brokers' logs by the records of the segments."""

from typing import Final

from rebalance_audit.audit.broker_log.broker_log import BrokerLog
from rebalance_audit.audit.testimony.clocks import Aligned, Moments, aligned
from rebalance_audit.local.byte_ranges import Range, in_order, ranges_of, workers_for
from rebalance_audit.replay.changes import Position
from rebalance_audit.wire import key_bytes
from rebalance_audit.wire.generated.messages import RecordType
from rebalance_audit.wire.records import Record, decode_record
from rebalance_audit.wire.segments.bad_bytes import BadBytes, TailNote
from rebalance_audit.wire.segments.folder import LogFolder

_EPOCH_TYPES: Final = frozenset({RecordType.GROUP_METADATA, RecordType.CONSUMER_GROUP_METADATA})
_EPOCH_KEYS: Final = key_bytes.of_types(_EPOCH_TYPES)
_OTHER_TYPES: Final = frozenset(RecordType) - _EPOCH_TYPES


def aligned_with(folder: LogFolder, log: BrokerLog) -> Aligned:
    """The log by the clock of the folder's records. Raises OSError that names the file."""
    moments = Moments(log.by_group.keys())
    parts = ranges_of(folder, folder.segments)
    for found in in_order(_epochs_in, parts, workers_for(folder.size_bytes)):
        for record, position in found:
            moments.note(record, position)
    return aligned(log, moments)


def _epochs_in(part: Range) -> list[tuple[Record, Position]]:
    found: list[tuple[Record, Position]] = []
    for each in part.read(_OTHER_TYPES):
        if isinstance(each, BadBytes | TailNote):
            continue
        chunk = each.all()
        rows = zip(
            chunk.log_offsets, chunk.record_timestamps_ms, chunk.keys, chunk.values, strict=True
        )
        for log_offset, timestamp_ms, key, value in rows:
            if key is None or not key.startswith(_EPOCH_KEYS):
                continue
            record = decode_record(key, value)
            if isinstance(record, Record):
                found.append(
                    (record, Position(part.segment.log_partition, log_offset, timestamp_ms))
                )
    return found
