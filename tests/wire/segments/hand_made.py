"""Batches and segment files made for a test, mostly by aiokafka's own writers."""

import struct
import zlib
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import TypeAlias

from aiokafka.record._crecords import DefaultRecordBatchBuilder, LegacyRecordBatchBuilder

from rebalance_audit.wire.segments.batches import (
    ATTRIBUTES,
    BASE_OFFSET,
    BASE_TIMESTAMP,
    CRC,
    CRC_COVERS_FROM,
    HEADER,
    LAST_OFFSET_DELTA,
    LEADER_EPOCH,
    LENGTH,
    MAX_TIMESTAMP,
    RECORD_COUNT,
)
from rebalance_audit.wire.segments.c_reader import crc32c

Rec: TypeAlias = tuple[int, int, bytes | None, bytes | None]
"""Offset, timestamp in ms, key, value."""

CODEC_NUMBERS = {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}


def commits(count: int, first_offset: int = 0, at_ms: int = 1_700_000_000_000) -> list[Rec]:
    """Offset commits of 50 groups: keys and values as a coordinator writes them, every seventh a tombstone."""
    return [
        (
            offset,
            at_ms + offset,
            b"\x00\x01\x00\x05"
            + f"g-{offset % 50:03d}".encode()
            + b"\x00\x01t"
            + struct.pack(">i", offset % 7),
            None
            if offset % 7 == 6
            else b"\x00\x03" + struct.pack(">qiHq", offset, -1, 0, at_ms + offset),
        )
        for offset in range(first_offset, first_offset + count)
    ]


def batch(
    records: Sequence[Rec],
    codec: str = "none",
    *,
    producer: tuple[int, int] = (-1, -1),
    transactional: bool = False,
    leader_epoch: int = 0,
    attributes: int = 0,
    **header: int,
) -> bytes:
    """A batch of magic 2 by aiokafka's writer; `attributes` are or-ed in, header fields are set afterwards."""
    base = records[0][0] if records else 0
    builder = DefaultRecordBatchBuilder(
        2, CODEC_NUMBERS[codec], int(transactional), *producer, -1, 1 << 26
    )
    for offset, timestamp_ms, key, value in records:
        builder.append(offset - base, timestamp_ms, key, value, [])
    made = bytes(builder.build())
    fields = list(HEADER.unpack_from(made))
    fields[BASE_OFFSET], fields[LEADER_EPOCH] = base, leader_epoch
    fields[ATTRIBUTES] |= attributes
    for name, number in header.items():
        fields[FIELDS[name]] = number
    return with_crc(HEADER.pack(*fields) + made[HEADER.size :])


FIELDS = {
    "base_offset": BASE_OFFSET,
    "length": LENGTH,
    "last_offset_delta": LAST_OFFSET_DELTA,
    "base_timestamp": BASE_TIMESTAMP,
    "max_timestamp": MAX_TIMESTAMP,
    "record_count": RECORD_COUNT,
    "attribute_bits": ATTRIBUTES,
}


def with_crc(made: bytes) -> bytes:
    """The batch with the checksum of its current bytes."""
    fields = list(HEADER.unpack_from(made))
    fields[CRC] = crc32c(made[CRC_COVERS_FROM:])
    return HEADER.pack(*fields) + made[HEADER.size :]


def raw_batch(blob: bytes, record_count: int, base_offset: int = 0, attributes: int = 0) -> bytes:
    """A batch with any bytes in place of the records, and a valid checksum."""
    last_delta = max(record_count - 1, 0)
    head = (base_offset, 49 + len(blob), 0, 2, 0, attributes, last_delta, 5, 5, -1, -1, -1)
    return with_crc(HEADER.pack(*head, record_count) + blob)


def varint(value: int) -> bytes:
    """A signed varint as records use it."""
    number = value << 1 ^ value >> 63
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*encoded, number))


def message_set(records: Sequence[Rec], magic: int, codec: str = "none") -> bytes:
    """Messages of magic 0 or 1 by aiokafka's writer, plain or in one wrapper, at their offsets.

    The writer numbers from 0; plain messages and wrappers get the offsets that a broker would assign.
    """
    builder = LegacyRecordBatchBuilder(magic, CODEC_NUMBERS[codec], 1 << 26)
    for at, (_, timestamp_ms, key, value) in enumerate(records):
        builder.append(at, timestamp_ms if magic else None, key, value)
    made = bytearray(builder.build())
    if codec != "none":
        struct.pack_into(">q", made, 0, records[-1][0])
        return bytes(made)
    at = 0
    for offset, *_ in records:
        struct.pack_into(">q", made, at, offset)
        at += 12 + int.from_bytes(made[at + 8 : at + 12])
    return bytes(made)


def message(
    offset: int,
    magic: int,
    value: bytes | None,
    *,
    key: bytes | None = None,
    attributes: int = 0,
    at_ms: int = 0,
) -> bytes:
    """One message of magic 0 or 1, byte by byte."""
    body = struct.pack(">BB", magic, attributes) + (struct.pack(">q", at_ms) if magic else b"")
    for part in (key, value):
        body += struct.pack(">i", -1) if part is None else struct.pack(">i", len(part)) + part
    return struct.pack(">qiI", offset, 4 + len(body), zlib.crc32(body)) + body


def segment(folder: Path, parts: Iterable[bytes], base_offset: int = 0) -> Path:
    """A segment file of the parts, one after the other."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{base_offset:020d}.log"
    path.write_bytes(b"".join(parts))
    return path


def batches_of(records: Sequence[Rec], sizes: Iterable[int], codec: str = "none") -> list[bytes]:
    """The records in batches of the given sizes; the rest in the last one."""
    made, at = [], 0
    for size in chain(sizes, [len(records)]):
        if at < len(records) and size:
            made.append(batch(records[at : at + size], codec))
            at += size
    return made
