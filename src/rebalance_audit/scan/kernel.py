"""The compiled walk: batches of magic 2 in a window of a segment, in one loop over its bytes.

It is only as wide as it is certain. Every batch is judged whole before anything of it counts; where a batch is not
exactly as a broker of today writes it, the walk stops before it and says so. `wire.segments` then says what is to
become of that batch, so this module knows no kind of damage.

It reads no clock and keeps nothing: all it knows between two calls is in the arrays that it is given (`room.Room`).
"""

from pathlib import Path
from typing import Any, Final, cast

import numpy as np
from numba import njit

from rebalance_audit.scan.commit_rows import (
    add_commit,
    end_summaries,
    group_of,
    key_of,
    names_new_topic,
)
from rebalance_audit.scan.numbers import (
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
from rebalance_audit.scan.places import (
    BITS,
    COMMITS,
    COMPRESSED,
    CUT,
    CUTS,
    DONE,
    EPOCH,
    FIRST_MS,
    FULL,
    GROUPS,
    KEPT,
    KEY_BYTES,
    KEYS,
    LAST_MS,
    MARKERS,
    NAMING,
    NEXT_OFFSET,
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
    SUMMARIES,
    TOPIC_IDS,
)

PARTS: Final = "6c056487d8567ce9"
"""Start of the SHA-256 of what comes into the walk from other files. Numba keeps compiled code as long as this file
stays as it is, so it must change with them."""

HEADER_BYTES: Final = 61
_LENGTH_MIN: Final = 49
_LENGTH_MAX: Final = 128 << 20
_CRC_FROM: Final = 21
_KNOWN_BITS: Final = 0x78
_APPEND_TIME: Final = 0x08
_TRANSACTIONAL: Final = 0x10
_CONTROL: Final = 0x20
_RUN_BITS: Final = _APPEND_TIME | _TRANSACTIONAL
_FAR: Final = 1 << 60
"""Times and offsets beyond are left alone, so that no sum overflows."""


def _compiled_once(function: Function) -> Function:
    """Compiled once a machine, if there is a folder for that; else once a process."""
    try:
        return cast("Function", njit(nogil=True, cache=True)(function))
    except RuntimeError:  # no folder that can be written
        return inlined(function)


def is_compiled() -> bool:
    """Whether a process on this machine has compiled the walk before, and kept it."""
    folder = cast("Any", walk).stats.cache_path
    return folder is not None and any(Path(folder).glob("kernel.walk-*.nbc"))


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


@_compiled_once
def walk(
    data: Any,
    at: Any,
    end: Any,
    loaded: Any,
    end_offset: Any,
    proven: Any,
    batch: Any,
    kept: Any,
    naming: Any,
    runs: Any,
    key_slots: Any,
    keys: Any,
    group_slots: Any,
    groups: Any,
    key_bytes: Any,
    summaries: Any,
    cuts: Any,
    id_slots: Any,
    ids: Any,
    tally: Any,
) -> Any:
    """From batch to batch in `data`: (status, position of the batch that it stopped at, or after the last).

    `end`: batches that begin before are walked; `loaded`: so many bytes of the window are those of the file.
    `end_offset`: batches that reach it are left alone. `proven`: checksums are not looked at again.
    """
    while at < end:
        if at + HEADER_BYTES > loaded:
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
        is_control = bits & _CONTROL != 0
        append_ms = last_ms if bits & _APPEND_TIME else np.int64(-1)
        if (
            count > len(batch)
            or stop - at > len(key_bytes)
            or not -_FAR < base_ms < _FAR
            or (bits & _APPEND_TIME and not 0 <= append_ms < _FAR)
            or not _parse(
                data,
                at + HEADER_BYTES,
                stop,
                count,
                last_delta,
                first,
                base_ms,
                append_ms,
                is_control,
                batch,
            )
        ):
            return ODD, at
        if tally[TOPIC_IDS] + count > len(ids):
            id_slots[:] = -1
            tally[TOPIC_IDS] = 0
        if (
            tally[KEPT] + count > len(kept)
            or tally[NAMING] + count > len(naming)
            or tally[RUNS] + 1 > len(runs)
            or tally[KEYS] + count > len(keys)
            or tally[GROUPS] + count > len(groups)
            or tally[SUMMARIES] + count > len(summaries)
            or tally[CUTS] + count > len(cuts)
            or tally[KEY_BYTES] + stop - at > len(key_bytes)
        ):
            return FULL, at
        leader, producer = i32(data, at + 12), i64(data, at + 43)
        producer_epoch = i16(data, at + 51)
        transaction = 1 if bits & _TRANSACTIONAL else 0
        for row in range(count):
            offset, at_ms = batch[row, ROW_OFFSET], batch[row, ROW_MS]
            key, key_size = batch[row, ROW_KEY], batch[row, ROW_KEY_BYTES]
            value, value_size = batch[row, ROW_VALUE], batch[row, ROW_VALUE_BYTES]
            if tally[RECORDS] == 0:
                tally[FIRST_MS] = tally[LAST_MS] = at_ms
            tally[FIRST_MS] = min(at_ms, tally[FIRST_MS])
            tally[LAST_MS] = max(at_ms, tally[LAST_MS])
            tally[NEXT_OFFSET] = max(offset + 1, tally[NEXT_OFFSET])
            tally[RECORDS] += 1
            kind = u16(data, key) if key_size >= 2 else np.int64(-1)
            if is_control:
                tally[MARKERS] += 1
                tally[COMMITS] += kind <= 1
                continue
            has_group = key_size > 4 and 4 + u16(data, key + 2) <= key_size
            if 0 <= kind <= 1:
                tally[COMMITS] += 1
                if has_group and value_size >= 0 and at_ms >= 0:
                    known = key_of(
                        data, key, key_size, key_slots, group_slots, keys, groups, key_bytes, tally
                    )
                    add_commit(
                        known, at_ms, offset, leader, transaction, keys, groups, summaries, tally
                    )
                if (
                    value_size >= 2
                    and u16(data, value) == 4
                    and names_new_topic(
                        data, key, key_size, value, value_size, id_slots, ids, tally
                    )
                ):
                    naming[tally[NAMING], :6] = batch[row, :6]
                    tally[NAMING] += 1
                continue
            if has_group:
                group, _, _ = group_of(
                    data, key + 4, u16(data, key + 2), group_slots, groups, keys, key_bytes
                )
                if group >= 0:
                    end_summaries(group, keys, groups, summaries, cuts, tally)
            run = tally[RUNS] - 1
            if run < 0 or not (
                runs[run, EPOCH] == leader
                and runs[run, PRODUCER_ID] == producer
                and runs[run, PRODUCER_EPOCH] == producer_epoch
                and runs[run, BITS] == bits & _RUN_BITS
            ):
                run = tally[RUNS]
                tally[RUNS] += 1
                runs[run, EPOCH] = leader
                runs[run, PRODUCER_ID] = producer
                runs[run, PRODUCER_EPOCH] = producer_epoch
                runs[run, BITS] = bits & _RUN_BITS
                runs[run, RUN_RECORDS] = 0
            runs[run, RUN_RECORDS] += 1
            kept[tally[KEPT], :6] = batch[row, :6]
            tally[KEPT] += 1
        at = stop
    return DONE, at
