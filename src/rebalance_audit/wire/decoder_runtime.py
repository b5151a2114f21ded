"""What the decoders that `decoders` compiles call. They read the bytes that writers really produce.

A compiled decoder raises `FAILURES` at anything else (unknown tags, unusual encodings, bytes left
over, damage) and leaves the verdict to the generic codec. It checks only once, when it is done, that
it did not read past the end: until then a slice may come out short, and any other read past the end
raises.
"""

import struct
from typing import Final

from rebalance_audit.wire.primitives import STRING_BYTES_MAX, read_uvarint


class UnfitError(ValueError):
    """The bytes are not in the form that the decoder was made for."""


FAILURES: Final = (ValueError, IndexError, struct.error)
"""All that a compiled decoder raises; DecodeError and UnicodeDecodeError are ValueErrors."""

_TABLED: Final = 64

INT32S: Final = tuple(struct.Struct(f">{count}i").unpack_from for count in range(_TABLED))
INT16S: Final = tuple(struct.Struct(f">{count}h").unpack_from for count in range(_TABLED))


def int32s(data: bytes, position: int, count: int) -> tuple[int, ...]:
    """Read `count` int32 at once. Raises struct.error when the bytes end first."""
    if count < _TABLED:
        return INT32S[count](data, position)
    return struct.unpack_from(f">{count}i", data, position)


def int16s(data: bytes, position: int, count: int) -> tuple[int, ...]:
    """Read `count` int16 at once. Raises struct.error when the bytes end first."""
    if count < _TABLED:
        return INT16S[count](data, position)
    return struct.unpack_from(f">{count}h", data, position)


def uuids(data: bytes, position: int, count: int) -> tuple[bytes, ...]:
    """Read `count` uuids. Raises UnfitError when the bytes end first."""
    end = position + 16 * count
    if end > len(data):
        raise UnfitError
    return tuple([data[start : start + 16] for start in range(position, end, 16)])


def long_length(data: bytes, position: int, distance: int) -> tuple[int, int]:
    """Read a compact length that is not 1 to 127 (bytes, arrays, sizes).

    Returns the length and a position `distance` before the first byte after it. Raises UnfitError for a null.
    """
    length, end = read_uvarint(data, position)
    if length == 0:
        raise UnfitError
    return length, end - distance


def long_string(data: bytes, position: int, distance: int) -> tuple[int, int]:
    """Read the compact length of a string, as `long_length` does. Raises UnfitError above Kafka's limit as well."""
    length, end = read_uvarint(data, position)
    if not 0 < length <= STRING_BYTES_MAX + 1:
        raise UnfitError
    return length, end - distance
