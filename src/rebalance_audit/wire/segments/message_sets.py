"""Message sets of magic 0 and 1: what brokers before 0.11, and topics with an old message format, wrote.

Every top-level message counts as a batch. A compressed one is a wrapper: its value is a message set of its own. There
is no producer, no transaction and no leader epoch. Brokers from 4.0 on no longer write this format, but old segments
keep it.

Sources: LegacyRecord, AbstractLegacyRecordBatch (its DeepRecordsIterator) of org.apache.kafka.common.record.
"""

import struct
import zlib
from typing import Final, NamedTuple

from rebalance_audit import limits
from rebalance_audit.wire.segments.codecs import CompressionError, decompress, repair_lz4_frame

LOG_OVERHEAD_BYTES: Final = 12
"""Offset and length, which the length does not count."""
MESSAGE_BYTES_MIN: Final = (14, 22)
"""By magic: checksum, magic, attributes, the timestamp of magic 1, and the two length fields."""
CRC_AT: Final = 12
MAGIC_AT: Final = 16
LZ4: Final = 3
CODEC_MASK: Final = 0x07
LOG_APPEND_TIME: Final = 0x08
NO_TIMESTAMP: Final = -1
SET_MESSAGES_MAX: Final = limits.BATCH_RECORDS.most

HEADERS: Final = (struct.Struct(">qiIBB"), struct.Struct(">qiIBBq"))
"""By magic: offset, length, checksum, magic, attributes, and the timestamp of magic 1."""
LENGTH: Final = struct.Struct(">i")


class LegacyMessage(NamedTuple):
    """One message as it stands in a set; the offset inside a magic 1 wrapper is relative."""

    message_offset: int
    magic: int
    attributes: int
    record_timestamp_ms: int
    key: bytes | None
    value: bytes | None


def message_header_is_plausible(data: bytes, at: int) -> bool:
    """Whether the bytes could begin a message. Cheap, but no proof without the checksum."""
    length: int
    attributes: int
    message_offset, length, _, magic, attributes = HEADERS[0].unpack_from(data, at)
    if message_offset < 0 or length < MESSAGE_BYTES_MIN[magic] or attributes >> 4:
        return False
    key_length: int = LENGTH.unpack_from(data, at + HEADERS[magic].size)[0]
    room = length - MESSAGE_BYTES_MIN[magic]
    return -1 <= key_length <= room and (attributes & CODEC_MASK) <= LZ4


def message_crc_holds(message: memoryview) -> bool:
    """Whether a whole message, log overhead included, has the CRC-32 of its header."""
    expected = int.from_bytes(message[CRC_AT:MAGIC_AT])
    return bool(zlib.crc32(message[MAGIC_AT:]) == expected)


def parse_message(data: memoryview) -> LegacyMessage | str:
    """The message that fills `data` exactly, or a clause that says what is wrong with it."""
    magic = data[MAGIC_AT]
    timestamp = NO_TIMESTAMP
    if magic == 0:
        message_offset, _, _, _, attributes = HEADERS[0].unpack_from(data)
    else:
        message_offset, _, _, _, attributes, timestamp = HEADERS[1].unpack_from(data)
    fields: list[bytes | None] = []
    at = HEADERS[magic].size
    for name in ("key", "value"):
        if at + LENGTH.size > len(data):
            return f"ends before the length of its {name}"
        (length,) = LENGTH.unpack_from(data, at)
        at += LENGTH.size
        if not -1 <= length <= len(data) - at:
            return f"has a {name} of {length} bytes, which does not fit"
        fields.append(None if length < 0 else bytes(data[at : at + length]))
        at += max(length, 0)
    if at != len(data):
        return f"has {len(data) - at} bytes after its value"
    return LegacyMessage(message_offset, magic, attributes, timestamp, fields[0], fields[1])


def unwrap(wrapper: LegacyMessage) -> list[LegacyMessage] | str:
    """The messages inside a compressed message, with absolute offsets and final timestamps, or what is wrong with it.

    Inside a magic 0 wrapper offsets are absolute. Inside a magic 1 wrapper they are relative, and the wrapper has the
    offset of the last one.
    """
    if wrapper.value is None:
        return "is compressed and has no value"
    codec = wrapper.attributes & CODEC_MASK
    blob = wrapper.value
    try:
        blob = decompress(
            codec, repair_lz4_frame(blob) if (codec, wrapper.magic) == (LZ4, 0) else blob
        )
    except CompressionError as error:
        return str(error)
    inner = _parse_set(memoryview(blob), wrapper.magic)
    if isinstance(inner, str):
        return inner
    shift = wrapper.message_offset - inner[-1].message_offset if wrapper.magic == 1 else 0
    if shift < 0:
        return "has an offset below the relative offset of its last inner message"
    stamped = wrapper.attributes & LOG_APPEND_TIME
    return [
        message._replace(
            message_offset=message.message_offset + shift,
            record_timestamp_ms=wrapper.record_timestamp_ms
            if stamped
            else message.record_timestamp_ms,
        )
        for message in inner
    ]


def _parse_set(data: memoryview, magic: int) -> list[LegacyMessage] | str:
    inner = []
    at = 0
    while at < len(data):
        if at + HEADERS[0].size > len(data):
            return "ends inside an inner message"
        message_offset, length, _, inner_magic, attributes = HEADERS[0].unpack_from(data, at)
        end = at + LOG_OVERHEAD_BYTES + length
        if message_offset < 0 or inner_magic != magic or attributes & CODEC_MASK:
            return f"has at byte {at} no uncompressed message of its format"
        if length < MESSAGE_BYTES_MIN[magic] or end > len(data):
            return f"holds an inner message of {length} bytes, which does not fit"
        message = parse_message(data[at:end])
        if isinstance(message, str):
            return f"holds an inner message that {message}"
        inner.append(message)
        if len(inner) > SET_MESSAGES_MAX:
            return f"holds more than {SET_MESSAGES_MAX} messages"
        at = end
    return inner or "is compressed and holds no message"
