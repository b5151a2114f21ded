"""The compiled walk: batches of magic 2 in a window of a segment become columns, in one loop over its bytes.

It is only as wide as it is certain. Every batch is judged whole before anything of it counts; where a batch is not
exactly as a broker of today writes it, the walk stops before it and says so. `wire.segments` then decides about
that batch, so this module knows no kind of damage.

It keeps nothing: all it knows between two calls is in the arrays that it is given (`buffers.ColumnBuffers`).
"""

from typing import Any, Final, cast

import numpy as np
from numba import njit

from rebalance_audit.segments.numbers import (
    Function,
    blob,
    crc32c,
    i16,
    i32,
    i64,
    inlined,
    u16,
    varint,
)

DONE: Final = 0
"""Every batch that begins before the end was taken."""
CUT: Final = 1
"""The batch reaches beyond the window."""
FULL: Final = 2
"""The arrays may not have room for the batch."""
COMPRESSED: Final = 3
"""The batch has its checksum; its records are compressed."""
ODD: Final = 4
"""The batch is left to the readers of `wire.segments`."""
WHOLE: Final = 5

RECORDS, RUNS, KEY_BYTES, VALUE_BYTES = range(4)
"""Places in `tally`: how much of the arrays is in use."""
TALLIES: Final = 4

HEAD_RECORDS, HEAD_BITS, HEAD_EPOCH, HEAD_PRODUCER, HEAD_PRODUCER_EPOCH = range(5)
"""Places in `head`: fields of a batch's header."""
HEADS: Final = 5

ROW_OFFSET, ROW_MS, ROW_KEY, ROW_KEY_BYTES, ROW_VALUE, ROW_VALUE_BYTES = range(6)
"""Columns of `batch`; a length of -1 is null."""
EPOCH, PRODUCER_ID, PRODUCER_EPOCH, BITS, RUN_RECORDS = range(5)
"""Columns of `runs`."""


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
    base_ms = i64(data, at + 27)
    append_ms = i64(data, at + 35) if bits & APPEND_TIME else np.int64(-1)
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


BATCH_RECORDS: Final = 1 << 14
"""Records of the largest batch that is walked; a coordinator's has hundreds."""
_RUN_BITS: Final = APPEND_TIME | TRANSACTIONAL_BIT | CONTROL_BIT


def _compiled_once(function: Function) -> Function:
    """Compiled once a machine, if there is a folder for that; else once a process."""
    try:
        return cast("Function", njit(nogil=True, cache=True)(function))
    except RuntimeError:  # no folder that can be written
        return inlined(function)


@_compiled_once
def walk(data: Any, at: Any, end: Any, loaded: Any, end_offset: Any, proven: Any, room: Any) -> Any:
    """From batch to batch in `data`: (status, position of the batch that it stopped at, or after the last).

    `end`: batches that begin before are walked; `loaded`: so many bytes of the window are those of the file.
    `end_offset`: batches that reach it are left alone. `proven`: checksums are not looked at again. `room`:
    `buffers.Room`, which takes the records.
    """
    batch, head, tally = room.batch, room.head, room.tally
    keys, values = room.keys, room.values
    while at < end:
        status, stop = judge(data, at, loaded, end_offset, proven, batch, head)
        if status != WHOLE:
            return status, at
        size = stop - at
        if size > len(keys.data) or size > len(values.data):
            return ODD, at
        count, bits = head[HEAD_RECORDS], head[HEAD_BITS]
        if (
            tally[RECORDS] + count > len(room.times)
            or tally[RUNS] + 1 > len(room.runs)
            or tally[KEY_BYTES] + size > len(keys.data)
            or tally[VALUE_BYTES] + size > len(values.data)
        ):
            return FULL, at
        for row in range(count):
            place = tally[RECORDS] + row
            room.offsets[place] = batch[row, ROW_OFFSET]
            room.times[place] = batch[row, ROW_MS]
            key, key_size = batch[row, ROW_KEY], batch[row, ROW_KEY_BYTES]
            tally[KEY_BYTES] = _take(data, key, key_size, keys, place, tally[KEY_BYTES])
            value, value_size = batch[row, ROW_VALUE], batch[row, ROW_VALUE_BYTES]
            tally[VALUE_BYTES] = _take(data, value, value_size, values, place, tally[VALUE_BYTES])
        if count:
            _extend_run(head, bits & _RUN_BITS, count, room.runs, tally)
        tally[RECORDS] += count
        at = stop
    return DONE, at


@inlined
def _take(data: Any, at: Any, size: Any, blobs: Any, place: Any, begin: Any) -> Any:
    """Append a string, of size -1 for null, as number `place`; the place after its bytes."""
    for byte in range(size):
        blobs.data[np.uint64(begin + byte)] = data[np.uint64(at + byte)]
    end = begin + max(size, 0)
    blobs.there[place] = size >= 0
    blobs.ends[place + 1] = end
    return end


@inlined
def _extend_run(head: Any, bits: Any, records: Any, runs: Any, tally: Any) -> None:
    """So many records more whose batches agree in these fields."""
    run = tally[RUNS] - 1
    if run < 0 or not (
        runs[run, EPOCH] == head[HEAD_EPOCH]
        and runs[run, PRODUCER_ID] == head[HEAD_PRODUCER]
        and runs[run, PRODUCER_EPOCH] == head[HEAD_PRODUCER_EPOCH]
        and runs[run, BITS] == bits
    ):
        run = tally[RUNS]
        tally[RUNS] += 1
        runs[run, EPOCH] = head[HEAD_EPOCH]
        runs[run, PRODUCER_ID] = head[HEAD_PRODUCER]
        runs[run, PRODUCER_EPOCH] = head[HEAD_PRODUCER_EPOCH]
        runs[run, BITS] = bits
        runs[run, RUN_RECORDS] = 0
    runs[run, RUN_RECORDS] += records
