"""The smallest parts of Kafka messages: fixed-width numbers, variable-length integers, limits."""

import struct
from typing import Final

SCALARS: Final = {
    "int8": struct.Struct(">b"),
    "int16": struct.Struct(">h"),
    "int32": struct.Struct(">i"),
    "int64": struct.Struct(">q"),
    "uint16": struct.Struct(">H"),
    "uuid": struct.Struct("16s"),
}
"""Fixed-width types, big endian."""

STRING_BYTES_MAX: Final = 0x7FFF
"""Kafka refuses longer strings in every version."""

_UVARINT_MAX: Final = 0x7FFF_FFFF


class DecodeError(ValueError):
    """Bytes that do not hold the message."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.path = ""
        """Where in the message, in the names of the schema; set on the way up."""
        self.position = -1
        """Where in the bytes."""


class TruncatedError(DecodeError):
    """The bytes end before the message does."""


class CorruptError(DecodeError):
    """The bytes hold something that no message of this schema can hold."""


def read_uvarint(data: bytes, position: int) -> tuple[int, int]:
    """Read an unsigned varint; returns it and the position after it.

    Raises TruncatedError, and CorruptError above 2^31 - 1: lengths and tags are Java ints.
    """
    value, position = _varint(data, position, "is above 2^31 - 1")
    if value > _UVARINT_MAX:
        raise CorruptError("a variable-length integer is above 2^31 - 1")
    return value, position


def read_wrapping_uvarint(data: bytes, position: int) -> tuple[int, int]:
    """The same as Java's `ByteUtils.readUnsignedVarint` reads it: the fifth byte overflows into the sign.

    Raises TruncatedError, and CorruptError where a sixth byte would follow.
    """
    value, position = _varint(data, position, "has more than five bytes")
    value &= 0xFFFF_FFFF
    return value - (1 << 32) if value > _UVARINT_MAX else value, position


def _varint(data: bytes, position: int, beyond: str) -> tuple[int, int]:
    value = 0
    for shift in (0, 7, 14, 21, 28):
        if position >= len(data):
            raise TruncatedError("the bytes end inside a variable-length integer")
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
    raise CorruptError(f"a variable-length integer {beyond}")


def uvarint(value: int) -> bytes:
    """Bytes of an unsigned varint."""
    if value < 0x80:
        return bytes((value,))
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
