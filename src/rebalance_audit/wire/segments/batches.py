"""Record batches: the header, the records, the markers that end transactions, and where the batches of a file end.

Sources: DefaultRecordBatch, DefaultRecord, ControlRecordType, EndTransactionMarker of org.apache.kafka.common.record.
"""

import os
import struct
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Final, Literal, NamedTuple, TypeAlias

from rebalance_audit import limits
from rebalance_audit.wire.segments import message_sets
from rebalance_audit.wire.segments.bad_bytes import RAW_BYTES_MAX, BadBytes, BadBytesReason
from rebalance_audit.wire.segments.codecs import CompressionError, decompress
from rebalance_audit.wire.segments.regular_file import open_regular

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


WRONG_CHECKSUM: Final = "has a wrong checksum"
OUTSIDE_HEADER: Final = "has records with offsets outside its header's range"
TOO_MANY_RECORDS: Final = f"has more than {BATCH_RECORDS_MAX} records"
CONTRADICTORY: Final = "has records that do not fit its size and record count"
"""The compiled reader's own message may depend on bytes after the batch, so it is not repeated."""


class BatchRecords(NamedTuple):
    """The records of one batch in columns."""

    log_offsets: list[int]
    record_timestamps_ms: list[int]
    """-1 in the oldest message format, which has no timestamps."""
    keys: list[bytes | None]
    values: list[bytes | None]


class Damage(NamedTuple):
    """Why a whole batch cannot be taken."""

    reason: BadBytesReason
    clause: str
    """It completes the sentence "The batch ..."."""


class TransactionMarker(NamedTuple):
    """The control record that ends a producer's transaction."""

    committed: bool
    coordinator_epoch: int
    """Epoch of the transaction coordinator that wrote it, not of the group coordinator."""


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


@cache
def _c_reader() -> ModuleType:
    return import_module("rebalance_audit.wire.segments.c_reader")  # loaded on first use, see there


def crc_holds(batch: memoryview) -> bool:
    """Whether a whole batch, log overhead included, has the checksum of its header."""
    if batch[message_sets.MAGIC_AT] < 2:
        return message_sets.message_crc_holds(batch)
    expected: int = HEADER.unpack_from(batch)[CRC]
    return bool(_c_reader().crc32c(batch[CRC_COVERS_FROM:]) == expected)


def judged(header: RawHeader, batch: memoryview) -> BatchRecords | Damage:
    """The records of a batch in offset order, or why nothing of it can be taken. Never raises because of the bytes.

    Nothing else decides it: what the compiled walk of `segments` is not certain about comes here, too. The view must
    lie in a buffer that goes on for len(PADDING) bytes.
    """
    if header[MAGIC] != 2:
        return _legacy_records(batch)
    reader = _c_reader()
    found = reader.DefaultRecordBatch(batch)
    if not found.validate_crc():  # in half the time of `crc_holds`
        return Damage(BadBytesReason.CRC_MISMATCH, WRONG_CHECKSUM)
    if header[RECORD_COUNT] > BATCH_RECORDS_MAX:
        return Damage(BadBytesReason.BAD_RECORDS, TOO_MANY_RECORDS)
    log_offsets, timestamps, keys, values = records = BatchRecords([], [], [], [])
    try:
        if header[ATTRIBUTES] & CODEC_MASK:
            found = reader.DefaultRecordBatch(_plain_batch(batch, header))
        for record in found:
            log_offsets.append(record.offset)
            timestamps.append(record.timestamp)
            keys.append(record.key)
            values.append(record.value)
    except CompressionError as error:
        return Damage(BadBytesReason.BAD_COMPRESSION, str(error))
    except reader.DECODE_ERRORS:
        return Damage(BadBytesReason.BAD_RECORDS, CONTRADICTORY)
    base = header[BASE_OFFSET]
    end = base + header[LAST_OFFSET_DELTA]
    if log_offsets and not base <= log_offsets[0] <= log_offsets[-1] <= end:
        return Damage(BadBytesReason.BAD_RECORDS, OUTSIDE_HEADER)
    for marker in map(parse_marker, keys, values) if header[ATTRIBUTES] & CONTROL else ():
        if isinstance(marker, str):
            return Damage(BadBytesReason.BAD_MARKER, marker)
    return records


def _plain_batch(batch: memoryview, raw_header: RawHeader) -> memoryview:
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


def _legacy_records(message: memoryview) -> BatchRecords | Damage:
    """The records of a message of magic 0 or 1, unwrapped."""
    if not message_sets.message_crc_holds(message):
        return Damage(BadBytesReason.CRC_MISMATCH, WRONG_CHECKSUM)
    outer = message_sets.parse_message(message)
    found: list[message_sets.LegacyMessage] | str
    if isinstance(outer, str):
        found = outer
    else:
        found = message_sets.unwrap(outer) if outer.attributes & CODEC_MASK else [outer]
    if isinstance(found, str):
        return Damage(BadBytesReason.BAD_RECORDS, found)
    return BatchRecords(
        [each.message_offset for each in found],
        [each.record_timestamp_ms for each in found],
        [each.key for each in found],
        [each.value for each in found],
    )


def bad_batch(path: str, byte_position: int, batch: memoryview, damage: Damage) -> BadBytes:
    """A whole batch for quarantine."""
    base_offset = HEADER.unpack_from(bytes(batch[: HEADER.size]) + PADDING)[BASE_OFFSET]
    return BadBytes(
        path,
        byte_position,
        len(batch),
        damage.reason,
        f"The batch at byte {byte_position} of {path} with base offset {base_offset} {damage.clause}.",
        base_offset,
        bytes(batch[:RAW_BYTES_MAX]),
    )


def timestamp_type_of(magic: int, attributes: int) -> TimestampType:
    """Which clock the record timestamps come from; `none` in the format that has no timestamps."""
    if magic == 0:
        return "none"
    return "LogAppendTime" if attributes & LOG_APPEND_TIME else "CreateTime"


_V2: Final = 2


class BatchEnd(NamedTuple):
    """What a batch's header says about its place in the log."""

    base_offset: int
    end_offset: int
    """After its last record."""
    max_timestamp_ms: int
    """CreateTime of the producer or LogAppendTime of the broker (epoch ms)."""
    is_control: bool
    """Whether it holds markers of transactions and no records."""


def batch_ends(path: Path) -> Iterator[BatchEnd]:
    """The batches of a segment in order, up to the first that is damaged, unfinished or of an older format than 2.

    Raises OSError that names the file.
    """
    descriptor = open_regular(path)
    try:
        at, size = 0, os.fstat(descriptor).st_size
        while at + HEADER.size <= size:
            data = os.pread(descriptor, HEADER.size, at)
            if len(data) < HEADER.size:
                return
            header = HEADER.unpack(data)
            if header[MAGIC] != _V2 or not is_plausible_v2(header):
                return
            at += LOG_OVERHEAD_BYTES + header[LENGTH]
            if at > size:
                return
            base_offset = header[BASE_OFFSET]
            yield BatchEnd(
                base_offset,
                base_offset + header[LAST_OFFSET_DELTA] + 1,
                header[MAX_TIMESTAMP],
                bool(header[ATTRIBUTES] & CONTROL),
            )
    finally:
        os.close(descriptor)
