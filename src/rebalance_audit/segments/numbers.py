"""Numbers and checksums in bytes, compiled.

The checksum comes from tables and numbers are put together byte by byte, so neither the processor's instructions nor
its byte order matter; the compiler makes single loads of them where the machine has these.
"""

from collections.abc import Callable
from typing import Any, Final, TypeVar, cast

import numpy as np
from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])

_VARINT_BYTES_MAX: Final = 9


def _crc_tables() -> Any:
    """Eight tables of CRC-32C, for eight bytes at a time."""
    tables = np.zeros((8, 256), np.uint32)
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        tables[0, byte] = value
    for at in range(1, 8):
        before = tables[at - 1]
        tables[at] = before >> 8 ^ tables[0][before & 0xFF]
    return tables


_TABLES: Final = _crc_tables()


def inlined(function: Function) -> Function:
    """Compiled where it is called from, and kept with its caller."""
    return cast("Function", njit(nogil=True)(function))


@inlined
def little64(data: Any, at: Any) -> Any:
    """Eight bytes as an unsigned number, the lowest first."""
    place = np.uint64(at)
    value = np.uint64(0)
    for byte in range(8):
        value |= np.uint64(data[place + np.uint64(byte)]) << np.uint64(8 * byte)
    return value


@inlined
def i64(data: Any, at: Any) -> Any:
    """Eight bytes as a signed number, the highest first."""
    place = np.uint64(at)
    value = np.uint64(0)
    for byte in range(8):
        value |= np.uint64(data[place + np.uint64(byte)]) << np.uint64(56 - 8 * byte)
    return np.int64(value)


@inlined
def i32(data: Any, at: Any) -> Any:
    """Four bytes as a signed number, the highest first."""
    place = np.uint64(at)
    value = np.uint32(0)
    for byte in range(4):
        value |= np.uint32(data[place + np.uint64(byte)]) << np.uint32(24 - 8 * byte)
    return np.int64(np.int32(value))


@inlined
def u16(data: Any, at: Any) -> Any:
    """Two bytes as an unsigned number, the highest first."""
    place = np.uint64(at)
    return np.int64(data[place]) << 8 | np.int64(data[place + np.uint64(1)])


@inlined
def i16(data: Any, at: Any) -> Any:
    """Two bytes as a signed number, the highest first."""
    return np.int64(np.int16(u16(data, at)))


@inlined
def crc32c(data: Any, at: Any, end: Any) -> Any:
    """Checksum of the bytes between two positions, as batches of magic 2 have it (RFC 3720, Castagnoli)."""
    low = np.uint64(0xFF)
    crc = np.uint64(0xFFFFFFFF)
    while at + 8 <= end:
        word = little64(data, at) ^ crc
        crc = np.uint64(
            _TABLES[7, word & low]
            ^ _TABLES[6, (word >> np.uint64(8)) & low]
            ^ _TABLES[5, (word >> np.uint64(16)) & low]
            ^ _TABLES[4, (word >> np.uint64(24)) & low]
            ^ _TABLES[3, (word >> np.uint64(32)) & low]
            ^ _TABLES[2, (word >> np.uint64(40)) & low]
            ^ _TABLES[1, (word >> np.uint64(48)) & low]
            ^ _TABLES[0, word >> np.uint64(56)]
        )
        at += 8
    while at < end:
        crc = (crc >> np.uint64(8)) ^ np.uint64(_TABLES[0, (crc ^ np.uint64(data[at])) & low])
        at += 1
    return np.int64(crc ^ np.uint64(0xFFFFFFFF))


@inlined
def varint(data: Any, at: Any, end: Any) -> Any:
    """(value, next position); the position is -1 where there is none of at most nine bytes before the end."""
    value = np.uint64(0)
    for byte in range(_VARINT_BYTES_MAX):
        if at >= end:
            return np.int64(0), np.int64(-1)
        bits = np.uint64(data[np.uint64(at)])
        at += 1
        value |= (bits & np.uint64(0x7F)) << np.uint64(7 * byte)
        if bits < np.uint64(0x80):
            return np.int64(value >> np.uint64(1)) ^ -np.int64(value & np.uint64(1)), np.int64(at)
    return np.int64(0), np.int64(-1)


@inlined
def blob(data: Any, at: Any, end: Any) -> Any:
    """(length or -1, position of the bytes, next position); the last is -1 where they do not fit."""
    size, begin = varint(data, at, end)
    if begin < 0 or size < -1 or size > end - begin:
        return np.int64(0), np.int64(0), np.int64(-1)
    return size, begin, begin + max(size, 0)
