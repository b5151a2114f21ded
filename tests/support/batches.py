"""The batches of a segment one by one, with their headers: what a test looks at, and no command needs."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from rebalance_audit.wire.segments import message_sets
from rebalance_audit.wire.segments.bad_bytes import BadBytes, BadBytesReason, TailNote
from rebalance_audit.wire.segments.batches import (
    ATTRIBUTES,
    BASE_OFFSET,
    BASE_TIMESTAMP,
    CODEC_MASK,
    CONTROL,
    DELETE_HORIZON,
    HEADER,
    LAST_OFFSET_DELTA,
    LEADER_EPOCH,
    MAGIC,
    MAX_TIMESTAMP,
    PADDING,
    PRODUCER_EPOCH,
    PRODUCER_ID,
    RECORD_COUNT,
    TRANSACTIONAL,
    WRONG_CHECKSUM,
    Damage,
    RawHeader,
    TimestampType,
    TransactionMarker,
    bad_batch,
    crc_holds,
    judged,
    parse_marker,
    timestamp_type_of,
)
from rebalance_audit.wire.segments.codecs import CODEC_NAMES
from rebalance_audit.wire.segments.walk import SegmentWalk

BASE_SEQUENCE = 11
"""Place in a RawHeader."""


class LogRecord(NamedTuple):
    """One record of a batch, its key and value as they are."""

    log_offset: int
    record_timestamp_ms: int
    """-1 in the oldest message format, which has no timestamps."""
    key: bytes | None
    value: bytes | None


class BatchHeader(NamedTuple):
    """What a batch says about itself. Positions are bytes in the segment file."""

    base_offset: int
    """Offset of the first record before compaction; for a compressed message of magic 0 or 1, that of the last one."""
    last_offset: int
    leader_epoch: int | None
    """None for magic 0 and 1, which do not have it."""
    magic: int
    codec: str
    timestamp_type: TimestampType
    is_transactional: bool
    is_control: bool
    delete_horizon_ms: int | None
    """When the cleaner may drop the batch's tombstones; compaction overwrites the base timestamp with it."""
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int | None
    """None for a compressed message of magic 0 or 1."""
    base_timestamp_ms: int | None
    """None if the delete horizon took its place."""
    max_timestamp_ms: int
    byte_position: int
    size_bytes: int


class Batch:
    """One batch of a segment whose checksum holds. Records are decoded when they are asked for."""

    __slots__ = ("_data", "_raw_header", "header", "path")

    def __init__(self, path: str, byte_position: int, batch: memoryview) -> None:
        """`batch` is the whole batch; its bytes are copied."""
        self.path = path
        self._data = bytes(batch) + PADDING
        self._raw_header: RawHeader = HEADER.unpack_from(self._data)
        size_bytes = len(batch)
        if self._raw_header[MAGIC] == 2:
            self.header = _header_of(self._raw_header, byte_position, size_bytes)
        else:
            self.header = _legacy_header_of(self._data, byte_position, size_bytes)

    def records(self) -> list[LogRecord] | BadBytes:
        """The records in offset order, control records included, or the damage that a good checksum hides."""
        view = memoryview(self._data)[: self.header.size_bytes]
        found = judged(self._raw_header, view)
        if isinstance(found, Damage):
            return bad_batch(self.path, self.header.byte_position, view, found)
        return [LogRecord(*record) for record in zip(*found, strict=True)]

    def control_marker(self) -> TransactionMarker | BadBytes | None:
        """How the transaction ended, if this is the control batch that ends one; else None."""
        records = self.records() if self.header.is_control else []
        if isinstance(records, BadBytes):
            return records
        markers = (parse_marker(record.key, record.value) for record in records)
        return next((each for each in markers if isinstance(each, TransactionMarker)), None)


def read_batches(
    path: str | Path, start_byte: int = 0, end_byte: int | None = None
) -> Iterator[Batch | BadBytes | TailNote]:
    """The batches that begin in [start_byte, end_byte), and damaged or unfinished stretches, in file order.

    Start and end must come from `split_points`. Every Batch has passed its checksum. Raises OSError that names the
    file if it cannot be read; never raises because of the bytes.
    """
    with SegmentWalk(path, start_byte, end_byte) as walk:
        for position, following, found in walk.steps():
            if isinstance(found, BadBytes | TailNote):
                yield found
                continue
            batch = walk.view(position, following)
            if crc_holds(batch):
                yield Batch(walk.path, position, batch)
            else:
                wrong = Damage(BadBytesReason.CRC_MISMATCH, WRONG_CHECKSUM)
                yield bad_batch(walk.path, position, batch, wrong)


def _codec_name(attributes: int) -> str:
    """Name of the codec in the attributes, `unknown-N` for numbers that Kafka does not define."""
    codec = attributes & CODEC_MASK
    return CODEC_NAMES[codec] if codec < len(CODEC_NAMES) else f"unknown-{codec}"


def _header_of(raw: RawHeader, byte_position: int, size_bytes: int) -> BatchHeader:
    attributes = raw[ATTRIBUTES]
    horizon = bool(attributes & DELETE_HORIZON)
    return BatchHeader(
        base_offset=raw[BASE_OFFSET],
        last_offset=raw[BASE_OFFSET] + raw[LAST_OFFSET_DELTA],
        leader_epoch=raw[LEADER_EPOCH],
        magic=raw[MAGIC],
        codec=_codec_name(attributes),
        timestamp_type=timestamp_type_of(raw[MAGIC], attributes),
        is_transactional=bool(attributes & TRANSACTIONAL),
        is_control=bool(attributes & CONTROL),
        delete_horizon_ms=raw[BASE_TIMESTAMP] if horizon else None,
        producer_id=raw[PRODUCER_ID],
        producer_epoch=raw[PRODUCER_EPOCH],
        base_sequence=raw[BASE_SEQUENCE],
        record_count=raw[RECORD_COUNT],
        base_timestamp_ms=None if horizon else raw[BASE_TIMESTAMP],
        max_timestamp_ms=raw[MAX_TIMESTAMP],
        byte_position=byte_position,
        size_bytes=size_bytes,
    )


def _legacy_header_of(data: bytes, byte_position: int, size_bytes: int) -> BatchHeader:
    magic = data[message_sets.MAGIC_AT]
    message_offset, _, _, _, attributes, *timestamp = message_sets.HEADERS[magic].unpack_from(data)
    timestamp_ms = timestamp[0] if timestamp else message_sets.NO_TIMESTAMP
    return BatchHeader(
        base_offset=message_offset,
        last_offset=message_offset,
        leader_epoch=None,
        magic=magic,
        codec=_codec_name(attributes),
        timestamp_type=timestamp_type_of(magic, attributes),
        is_transactional=False,
        is_control=False,
        delete_horizon_ms=None,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        record_count=None if attributes & CODEC_MASK else 1,
        base_timestamp_ms=timestamp_ms,
        max_timestamp_ms=timestamp_ms,
        byte_position=byte_position,
        size_bytes=size_bytes,
    )
