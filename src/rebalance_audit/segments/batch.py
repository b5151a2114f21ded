"""One batch of magic 2: judged whole before anything of it counts, compiled."""

from typing import Any, Final

import numpy as np

from rebalance_audit.segments.numbers import blob, crc32c, i16, i32, i64, inlined, u16, varint
from rebalance_audit.segments.places import (
    COMPRESSED,
    CUT,
    HEAD_BITS,
    HEAD_EPOCH,
    HEAD_LAST_MS,
    HEAD_PRODUCER,
    HEAD_PRODUCER_EPOCH,
    HEAD_RECORDS,
    ODD,
    ROW_KEY,
    ROW_KEY_BYTES,
    ROW_MS,
    ROW_OFFSET,
    ROW_VALUE,
    ROW_VALUE_BYTES,
    WHOLE,
)

APPEND_TIME: Final = 0x08
TRANSACTIONAL_BIT: Final = 0x10
CONTROL_BIT: Final = 0x20
"""Attributes of a batch."""
_HEADER_BYTES: Final = 61
_LENGTH_MIN: Final = 49
_LENGTH_MAX: Final = 128 << 20
_CRC_FROM: Final = 21
_KNOWN_BITS: Final = 0x78
_FAR: Final = 1 << 60
"""Times and offsets beyond are left alone, so that no sum overflows."""


@inlined
def judge(
    data: Any, at: Any, loaded: Any, end_offset: Any, proven: Any, batch: Any, head: Any
) -> Any:
    """(WHOLE, CUT, COMPRESSED or ODD; position after the batch): a whole one is in `head` and `batch` then.

    Parameters as for `kernel.walk`.
    """
    if at + _HEADER_BYTES > loaded:
        return CUT, at
    length = i32(data, at + 8)
    last_delta = i32(data, at + 23)
    count = i32(data, at + 57)
    first = i64(data, at)
    if (
        data[at + 16] != 2
        or length < _LENGTH_MIN
        or length > _LENGTH_MAX
        or first < 0
        or count < 0
        or count > last_delta + 1
        or first >= _FAR
        or first + last_delta >= end_offset
    ):
        return ODD, at
    stop = at + 12 + length
    if stop > loaded:
        return CUT, at
    bits = i16(data, at + 21)
    if not proven and crc32c(data, at + _CRC_FROM, stop) != i32(data, at + 17) & 0xFFFFFFFF:
        return ODD, at
    if bits & ~_KNOWN_BITS:
        return COMPRESSED if bits & ~_KNOWN_BITS & ~7 == 0 else ODD, at
    base_ms, last_ms = i64(data, at + 27), i64(data, at + 35)
    append_ms = last_ms if bits & APPEND_TIME else np.int64(-1)
    if (
        count > len(batch)
        or not -_FAR < base_ms < _FAR
        or (bits & APPEND_TIME and not 0 <= append_ms < _FAR)
        or not _parse(
            data,
            at + _HEADER_BYTES,
            stop,
            count,
            last_delta,
            first,
            base_ms,
            append_ms,
            bits & CONTROL_BIT != 0,
            batch,
        )
    ):
        return ODD, at
    head[HEAD_RECORDS] = count
    head[HEAD_BITS] = bits
    head[HEAD_LAST_MS] = last_ms
    head[HEAD_EPOCH] = i32(data, at + 12)
    head[HEAD_PRODUCER] = i64(data, at + 43)
    head[HEAD_PRODUCER_EPOCH] = i16(data, at + 51)
    return WHOLE, stop


@inlined
def _parse(
    data: Any,
    at: Any,
    end: Any,
    count: Any,
    last_delta: Any,
    first: Any,
    base_ms: Any,
    append_ms: Any,
    is_control: Any,
    batch: Any,
) -> Any:
    """The records between two positions as rows of `batch`; False where they are not exactly as expected.

    `append_ms`: the time of all of them, or -1 where each has its own.
    """
    previous = np.int64(-1)
    for row in range(count):
        length, at = varint(data, at, end)
        if at < 0 or length < 1 or length > end - at:
            return False
        if data[np.uint64(at)] != 0:
            return False  # attributes: always 0, and a varint to the judge but a byte to Kafka
        stop = at + length
        ms, at = varint(data, at + 1, stop)
        if at < 0 or not -_FAR < ms < _FAR:
            return False
        delta, at = varint(data, at, stop)
        if at < 0 or delta <= previous or delta > last_delta:
            return False
        previous = delta
        key_size, key, at = blob(data, at, stop)
        if at < 0:
            return False
        value_size, value, at = blob(data, at, stop)
        if at < 0:
            return False
        headers, at = varint(data, at, stop)
        if headers != 0 or at != stop:
            return False
        if is_control and not (
            key_size == 4
            and u16(data, key) == 0
            and u16(data, key + 2) <= 1
            and value_size >= 6
            and u16(data, value) <= 3
        ):
            return False
        batch[row, ROW_OFFSET] = first + delta
        batch[row, ROW_MS] = base_ms + ms if append_ms < 0 else append_ms
        batch[row, ROW_KEY] = key
        batch[row, ROW_KEY_BYTES] = key_size
        batch[row, ROW_VALUE] = value
        batch[row, ROW_VALUE_BYTES] = value_size
    return at == end
