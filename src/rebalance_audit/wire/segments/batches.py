"""Record batches: the header, the records, and the markers that end transactions.

Sources: DefaultRecordBatch, DefaultRecord, ControlRecordType, EndTransactionMarker of org.apache.kafka.common.record.
"""

import struct
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from rebalance_audit import limits
from rebalance_audit.wire.segments import message_sets
from rebalance_audit.wire.segments.bad_bytes import RAW_BYTES_MAX, BadBytes, BadBytesReason
from rebalance_audit.wire.segments.codecs import CODEC_NAMES, CompressionError, decompress

TimestampType: TypeAlias = Literal["CreateTime", "LogAppendTime", "none"]

RawHeader: TypeAlias = tuple[int, int, int, int, int, int, int, int, int, int, int, int, int]
"""The 13 header fields in wire order; the constants below index it.

A plain tuple because one is made for every batch, also where only the batch's length matters.
"""
BASE_OFFSET: Final = 0
LENGTH: Final = 1
LEADER_EPOCH: Final = 2
MAGIC: Final = 3
CRC: Final = 4
ATTRIBUTES: Final = 5
LAST_OFFSET_DELTA: Final = 6
BASE_TIMESTAMP: Final = 7
MAX_TIMESTAMP: Final = 8
PRODUCER_ID: Final = 9
PRODUCER_EPOCH: Final = 10
BASE_SEQUENCE: Final = 11
RECORD_COUNT: Final = 12

HEADER: Final = struct.Struct(">qiibIhiqqqhii")
LOG_OVERHEAD_BYTES: Final = 12
"""Base offset and length, which the length does not count."""
LENGTH_MIN: Final = HEADER.size - LOG_OVERHEAD_BYTES
BATCH_BYTES_MAX: Final = limits.BATCH_BYTES.most
"""A length above this is treated as damage."""
BATCH_RECORDS_MAX: Final = limits.BATCH_RECORDS.most
"""A batch of more is treated as damage."""
CRC_COVERS_FROM: Final = 21
PADDING: Final = bytes(64)
"""Follows every buffer that the compiled reader sees: nonsense may make it look up to 20 bytes too far."""

CODEC_MASK: Final = 0x07
LOG_APPEND_TIME: Final = 0x08
TRANSACTIONAL: Final = 0x10
CONTROL: Final = 0x20
DELETE_HORIZON: Final = 0x40

MARKER_KEY: Final = struct.Struct(">hh")
MARKER_VALUE: Final = struct.Struct(">hi")
ABORT: Final = 0
COMMIT: Final = 1


class LogRecord(NamedTuple):
    """One record of a batch, its key and value as they are."""

    log_offset: int
    record_timestamp_ms: int
    """-1 in the oldest message format, which has no timestamps."""
    key: bytes | None
    value: bytes | None


class TransactionMarker(NamedTuple):
    """The control record that ends a producer's transaction."""

    committed: bool
    coordinator_epoch: int
    """Epoch of the transaction coordinator that wrote it, not of the group coordinator."""


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


def header_is_plausible(raw_header: RawHeader, data: bytes, at: int) -> bool:
    """Whether the bytes at `at` could begin a batch of any format. Cheap, but no proof without the checksum."""
    magic = raw_header[MAGIC]
    if magic == 2:
        return is_plausible_v2(raw_header)
    return (
        magic in (0, 1)
        and raw_header[LENGTH] <= BATCH_BYTES_MAX
        and message_sets.message_header_is_plausible(data, at)
    )


def is_plausible_v2(raw_header: RawHeader) -> bool:
    """Whether a header of magic 2 contradicts neither itself nor common sense."""
    base_offset, length, _, _, _, _, last_delta, _, _, _, _, _, count = raw_header
    return (
        LENGTH_MIN <= length <= BATCH_BYTES_MAX
        and base_offset >= 0
        and 0 <= count <= last_delta + 1
    )


def crc_holds(batch: memoryview) -> bool:
    """Whether a whole batch, log overhead included, has the checksum of its header."""
    if batch[message_sets.MAGIC_AT] < 2:
        return message_sets.message_crc_holds(batch)
    from rebalance_audit.wire.segments.c_reader import crc32c  # noqa: PLC0415 - loaded on first use, see there

    return bool(crc32c(batch[CRC_COVERS_FROM:]) == HEADER.unpack_from(batch)[CRC])


def compiled_batch(batch: memoryview, raw_header: RawHeader) -> Any:
    """The batch in aiokafka's reader, decompressed; iterating it gives the records or one of DECODE_ERRORS.

    The view must lie in a buffer that goes on for len(PADDING) bytes. Raises CompressionError.
    """
    from rebalance_audit.wire.segments.c_reader import DefaultRecordBatch  # noqa: PLC0415 - as above

    return DefaultRecordBatch(plain_batch(batch, raw_header))


def plain_batch(batch: memoryview, raw_header: RawHeader) -> memoryview:
    """The batch without compression, in a buffer that goes on for len(PADDING) bytes. Raises CompressionError."""
    codec = raw_header[ATTRIBUTES] & CODEC_MASK
    if codec == 0:
        return batch
    # Decompressed here, not in aiokafka: a bomb must be stopped, and the result needs padding too.
    blob = decompress(codec, bytes(batch[HEADER.size :]))
    plain = list(raw_header)
    plain[LENGTH] = HEADER.size - LOG_OVERHEAD_BYTES + len(blob)
    plain[ATTRIBUTES] &= ~CODEC_MASK
    return memoryview(b"".join((HEADER.pack(*plain), blob, PADDING)))[: HEADER.size + len(blob)]


def parse_marker(key: bytes | None, value: bytes | None) -> TransactionMarker | str | None:
    """The marker in a control record; None for another kind of control record, which Kafka's loader skips as well.

    A string is a clause that says what is wrong with the bytes.
    """
    if key is None or len(key) < MARKER_KEY.size:
        return "has a control record whose key is too short"
    key_version, control_type = MARKER_KEY.unpack_from(key)
    if key_version < 0:
        return f"has a control record whose key has version {key_version}"
    if control_type not in (ABORT, COMMIT):
        return None
    if value is None or len(value) < MARKER_VALUE.size:
        return "has a transaction marker whose value is too short"
    value_version, coordinator_epoch = MARKER_VALUE.unpack_from(value)
    if value_version < 0:
        return f"has a transaction marker whose value has version {value_version}"
    return TransactionMarker(control_type == COMMIT, coordinator_epoch)


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
        if self.header.magic == 2:
            return self._records()
        records = legacy_records(self._view())
        if isinstance(records, str):
            return self._bad(BadBytesReason.BAD_RECORDS, records)
        return records

    def control_marker(self) -> TransactionMarker | BadBytes | None:
        """How the transaction ended, if this is the control batch that ends one; else None."""
        if not self.header.is_control:
            return None
        records = self.records()
        if isinstance(records, BadBytes):
            return records
        for record in records:
            marker = parse_marker(record.key, record.value)
            if isinstance(marker, str):
                return self._bad(BadBytesReason.BAD_MARKER, marker)
            if marker is not None:
                return marker
        return None

    def _records(self) -> list[LogRecord] | BadBytes:
        if self._raw_header[RECORD_COUNT] > BATCH_RECORDS_MAX:
            return self._bad(BadBytesReason.BAD_RECORDS, TOO_MANY_RECORDS)
        from rebalance_audit.wire.segments.c_reader import DECODE_ERRORS  # noqa: PLC0415 - as above

        try:
            records = [
                LogRecord(record.offset, record.timestamp, record.key, record.value)
                for record in compiled_batch(self._view(), self._raw_header)
            ]
        except CompressionError as error:
            return self._bad(BadBytesReason.BAD_COMPRESSION, str(error))
        except DECODE_ERRORS:
            return self._bad(BadBytesReason.BAD_RECORDS, CONTRADICTORY)
        if records and not offsets_fit(
            self._raw_header, records[0].log_offset, records[-1].log_offset
        ):
            return self._bad(BadBytesReason.BAD_RECORDS, OUTSIDE_HEADER)
        return records

    def _view(self) -> memoryview:
        return memoryview(self._data)[: self.header.size_bytes]

    def _bad(self, reason: BadBytesReason, clause: str) -> BadBytes:
        return bad_batch(self.path, self.header.byte_position, self._view(), reason, clause)


def offsets_fit(raw_header: RawHeader, first: int, last: int) -> bool:
    """Whether the first and last record of a batch lie in the range that its header claims."""
    base = raw_header[BASE_OFFSET]
    return base <= first <= last <= base + raw_header[LAST_OFFSET_DELTA]


OUTSIDE_HEADER: Final = "has records with offsets outside its header's range"
TOO_MANY_RECORDS: Final = f"has more than {BATCH_RECORDS_MAX} records"
CONTRADICTORY: Final = "has records that do not fit its size and record count"
"""The compiled reader's own message may depend on bytes after the batch, so it is not repeated."""


def legacy_records(message: memoryview) -> list[LogRecord] | str:
    """The records of a message of magic 0 or 1, unwrapped; or a clause that says what is wrong."""
    outer = message_sets.parse_message(message)
    if isinstance(outer, str):
        return outer
    found = message_sets.unwrap(outer) if outer.attributes & CODEC_MASK else [outer]
    if isinstance(found, str):
        return found
    return [
        LogRecord(inner.message_offset, inner.record_timestamp_ms, inner.key, inner.value)
        for inner in found
    ]


def bad_batch(
    path: str, byte_position: int, batch: memoryview, reason: BadBytesReason, clause: str
) -> BadBytes:
    """A whole batch for quarantine; `clause` completes the sentence "The batch ..."."""
    base_offset = HEADER.unpack_from(bytes(batch[: HEADER.size]) + PADDING)[BASE_OFFSET]
    return BadBytes(
        path,
        byte_position,
        len(batch),
        reason,
        f"The batch at byte {byte_position} of {path} with base offset {base_offset} {clause}.",
        base_offset,
        bytes(batch[:RAW_BYTES_MAX]),
    )


def codec_name(attributes: int) -> str:
    """Name of the codec in the attributes, `unknown-N` for numbers that Kafka does not define."""
    codec = attributes & CODEC_MASK
    return CODEC_NAMES[codec] if codec < len(CODEC_NAMES) else f"unknown-{codec}"


def timestamp_type_of(magic: int, attributes: int) -> TimestampType:
    """Which clock the record timestamps come from; `none` in the format that has no timestamps."""
    if magic == 0:
        return "none"
    return "LogAppendTime" if attributes & LOG_APPEND_TIME else "CreateTime"


def _header_of(raw: RawHeader, byte_position: int, size_bytes: int) -> BatchHeader:
    attributes = raw[ATTRIBUTES]
    horizon = bool(attributes & DELETE_HORIZON)
    return BatchHeader(
        base_offset=raw[BASE_OFFSET],
        last_offset=raw[BASE_OFFSET] + raw[LAST_OFFSET_DELTA],
        leader_epoch=raw[LEADER_EPOCH],
        magic=raw[MAGIC],
        codec=codec_name(attributes),
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
        codec=codec_name(attributes),
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
