"""The compiled walk: batches of magic 2 in a window of a segment become columns, in one loop over its bytes.

It is only as wide as it is certain. Every batch is judged whole before anything of it counts; where a batch is not
exactly as a broker of today writes it, the walk stops before it and says so. `wire.segments` then decides about
that batch, so this module knows no kind of damage.

It keeps nothing: all it knows between two calls is in the arrays that it is given (`buffers.ColumnBuffers`).
"""

from typing import Any, Final, cast

import numpy as np
from numba import njit

from rebalance_audit.segments.batch import APPEND_TIME, CONTROL_BIT, TRANSACTIONAL_BIT, judge
from rebalance_audit.segments.numbers import Function, inlined, u16
from rebalance_audit.segments.places import (
    BITS,
    DONE,
    EPOCH,
    EXCLUDED,
    EXCLUDED_LAST_MS,
    EXCLUDED_LAST_OFFSET,
    FULL,
    HEAD_BITS,
    HEAD_EPOCH,
    HEAD_LAST_MS,
    HEAD_PRODUCER,
    HEAD_PRODUCER_EPOCH,
    HEAD_RECORDS,
    KEPT,
    KEY_BYTES,
    ODD,
    PRODUCER_EPOCH,
    PRODUCER_ID,
    RECORDS,
    ROW_KEY,
    ROW_KEY_BYTES,
    ROW_MS,
    ROW_OFFSET,
    ROW_VALUE,
    ROW_VALUE_BYTES,
    RUN_RECORDS,
    RUNS,
    VALUE_BYTES,
    WHOLE,
)

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
def walk(
    data: Any,
    at: Any,
    end: Any,
    loaded: Any,
    end_offset: Any,
    proven: Any,
    without: Any,
    room: Any,
) -> Any:
    """From batch to batch in `data`: (status, position of the batch that it stopped at, or after the last).

    `end`: batches that begin before are walked; `loaded`: so many bytes of the window are those of the file.
    `end_offset`: batches that reach it are left alone. `proven`: checksums are not looked at again. `without`: a bit
    for each record type that is left out. `room`: `buffers.Room`, which takes the records.
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
            tally[KEPT] + count > len(room.times)
            or tally[RUNS] + 1 > len(room.runs)
            or tally[KEY_BYTES] + size > len(keys.data)
            or tally[VALUE_BYTES] + size > len(values.data)
        ):
            return FULL, at
        before = tally[KEPT]
        for row in range(count):
            key, key_size = batch[row, ROW_KEY], batch[row, ROW_KEY_BYTES]
            if key_size >= 2 and not bits & CONTROL_BIT:
                kind = u16(data, key)
                if kind < 64 and without >> np.uint64(kind) & np.uint64(1):
                    continue
            place = tally[KEPT]
            tally[KEPT] += 1
            room.offsets[place] = batch[row, ROW_OFFSET]
            room.times[place] = batch[row, ROW_MS]
            tally[KEY_BYTES] = _take(data, key, key_size, keys, place, tally[KEY_BYTES])
            value, value_size = batch[row, ROW_VALUE], batch[row, ROW_VALUE_BYTES]
            tally[VALUE_BYTES] = _take(data, value, value_size, values, place, tally[VALUE_BYTES])
        taken = tally[KEPT] - before
        if taken:
            _extend_run(head, bits & _RUN_BITS, taken, room.runs, tally)
        if taken < count:
            last_ms = head[HEAD_LAST_MS]
            if tally[EXCLUDED]:
                last_ms = max(last_ms, tally[EXCLUDED_LAST_MS])
            tally[EXCLUDED] += count - taken
            tally[EXCLUDED_LAST_MS] = last_ms
            tally[EXCLUDED_LAST_OFFSET] = batch[count - 1, ROW_OFFSET]
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
