"""Record batches of magic 2, as a broker's log holds them."""

import struct
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from typing import Final, NamedTuple

from aiokafka.codec import gzip_encode, lz4_encode, snappy_encode, zstd_encode
from aiokafka.record.default_records import DefaultRecordBatchBuilder

from rebalance_audit.wire.primitives import uvarint
from rebalance_audit.wire.segments.batches import (
    ATTRIBUTES,
    BASE_OFFSET,
    BASE_TIMESTAMP,
    CODEC_MASK,
    RECORD_COUNT,
    RawHeader,
)
from rebalance_audit.wire.segments.c_reader import crc32c

_HEADER: Final = struct.Struct(">qiibIhiqqqhii")
_CRC_COVERS_FROM: Final = 21
_MAX_BATCH_BYTES: Final = 1 << 26
_LOG_APPEND_TIME: Final = 0x08
_CONTROL: Final = 0x20
_DELETE_HORIZON: Final = 0x40
_TRANSACTIONAL: Final = 0x10
_COMMIT: Final = 1
_GZIP_TIME_AT: Final = 4
_GZIP_TIME_BYTES: Final = 4
"""The modification time in a gzip header: 0 as Java writes it, so that the same records give the same bytes."""


class Codec(IntEnum):
    """Compression codecs by their number in a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


_COMPRESS: Final[Mapping[Codec, Callable[[bytes], bytes]]] = {
    Codec.NONE: bytes,
    Codec.GZIP: gzip_encode,
    Codec.SNAPPY: snappy_encode,
    Codec.LZ4: lz4_encode,
    Codec.ZSTD: zstd_encode,
}
"""Codec -> its encoder, those of the batch builder."""


class LoggedRecord(NamedTuple):
    """One record as bytes, at its offset in the log."""

    log_offset: int
    record_timestamp_ms: int
    key: bytes | None
    value: bytes | None


class Producer(NamedTuple):
    """A transactional producer; (-1, -1) is the coordinator itself."""

    producer_id: int = -1
    producer_epoch: int = -1


NO_PRODUCER: Final = Producer()

COORDINATOR_SEQUENCE: Final = 0
"""Base sequence of the group coordinator's batches, with and without a producer id."""
NO_SEQUENCE: Final = -1
"""Base sequence of control batches and of the metadata log."""


def encode_batch(
    records: Sequence[LoggedRecord],
    leader_epoch: int,
    codec: Codec = Codec.NONE,
    producer: Producer = NO_PRODUCER,
    append_time_ms: int | None = None,
    base_offset: int | None = None,
    last_offset: int | None = None,
    base_sequence: int = COORDINATOR_SEQUENCE,
    delete_horizon_ms: int | None = None,
) -> bytes:
    """One batch of at least one record; with `append_time_ms` it carries LogAppendTime.

    `base_offset` and `last_offset` are the ends that the batch had before a cleaner removed records, and
    `delete_horizon_ms` is the time from which its tombstones may be removed: it takes the base timestamp's field.
    """
    base = records[0].log_offset if base_offset is None else base_offset
    transactional = int(producer.producer_id >= 0)
    builder = DefaultRecordBatchBuilder(
        2, int(codec), transactional, *producer, base_sequence, _MAX_BATCH_BYTES
    )
    for log_offset, at_ms, key, value in records:
        builder.append(log_offset - base, at_ms, key, value, [])
    fields = list(_HEADER.unpack_from(built := bytes(builder.build())))
    fields[0], fields[2] = base, leader_epoch
    if last_offset is not None:
        fields[6] = last_offset - base
    if append_time_ms is not None:
        fields[5] |= _LOG_APPEND_TIME
        fields[8] = append_time_ms
    body = built[_HEADER.size :]
    if delete_horizon_ms is not None:
        fields[5] |= _DELETE_HORIZON
        fields[7] = delete_horizon_ms
        body = _COMPRESS[codec](_records_from(records, base, delete_horizon_ms))
    return _sealed(fields, _without_gzip_time(codec, body))


def encode_like(header: RawHeader, records: Sequence[LoggedRecord]) -> bytes:
    """A batch of these records that differs from the one of the header in nothing else, its compression included."""
    codec = Codec(header[ATTRIBUTES] & CODEC_MASK)
    body = _records_from(records, header[BASE_OFFSET], header[BASE_TIMESTAMP])
    fields = list(header)
    fields[RECORD_COUNT] = len(records)
    return _sealed(fields, _without_gzip_time(codec, _COMPRESS[codec](body)) if body else body)


def _without_gzip_time(codec: Codec, body: bytes) -> bytes:
    if codec is not Codec.GZIP:
        return body
    end = _GZIP_TIME_AT + _GZIP_TIME_BYTES
    return body[:_GZIP_TIME_AT] + bytes(_GZIP_TIME_BYTES) + body[end:]


def _records_from(records: Sequence[LoggedRecord], base_offset: int, base_ms: int) -> bytes:
    """The records of a batch, with timestamps relative to any base; the batch builder takes the first record's."""
    out = bytearray()
    for log_offset, at_ms, key, value in records:
        body = b"\0" + _varint(at_ms - base_ms) + _varint(log_offset - base_offset)
        for part in (key, value):
            body += _varint(-1) if part is None else _varint(len(part)) + part
        body += b"\0"  # no headers
        out += _varint(len(body)) + body
    return bytes(out)


def _varint(number: int) -> bytes:
    """A signed number in zigzag coding."""
    return uvarint((number << 1) ^ (number >> 63))


def encode_marker(
    log_offset: int,
    at_ms: int,
    leader_epoch: int,
    producer: Producer,
    coordinator_epoch: int,
    *,
    committed: bool,
    delete_horizon_ms: int | None = None,
) -> bytes:
    """The control batch that ends a transaction."""
    key = struct.pack(">hh", 0, _COMMIT if committed else 0)
    value = struct.pack(">hi", 0, coordinator_epoch)
    base_ms = at_ms if delete_horizon_ms is None else delete_horizon_ms
    record = _records_from([LoggedRecord(log_offset, at_ms, key, value)], log_offset, base_ms)
    attributes = _TRANSACTIONAL | _CONTROL
    if delete_horizon_ms is not None:
        attributes |= _DELETE_HORIZON
    fields = [log_offset, 0, leader_epoch, 2, 0, attributes, 0, base_ms, at_ms, *producer, -1, 1]
    return _sealed(fields, record)


def encode_empty_batch(
    base_offset: int, last_offset: int, leader_epoch: int, producer: Producer, at_ms: int
) -> bytes:
    """What a cleaner leaves of a batch whose records are gone but whose producer state must be kept."""
    delta = last_offset - base_offset
    fields = [base_offset, 0, leader_epoch, 2, 0, 0, delta, -1, at_ms, *producer, -1, 0]
    return _sealed(fields, b"")


def _sealed(fields: list[int], body: bytes) -> bytes:
    """The batch with the length and the checksum that match its bytes."""
    fields[1] = _HEADER.size - 12 + len(body)
    fields[4] = 0
    fields[4] = crc32c(_HEADER.pack(*fields)[_CRC_COVERS_FROM:] + body)
    return _HEADER.pack(*fields) + body
