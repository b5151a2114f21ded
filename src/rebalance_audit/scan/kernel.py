"""The compiled walk: batches of magic 2 in a window of a segment, in one loop over its bytes.

It is only as wide as it is certain. Every batch is judged whole before anything of it counts; where a batch is not
exactly as a broker of today writes it, the walk stops before it and says so. `wire.segments` then decides about
that batch, so this module knows no kind of damage.

It reads no clock and keeps nothing: all it knows between two calls is in the arrays that it is given
(`room.ScanBuffers`, `column_buffers.ColumnBuffers`, `line_buffers.LineBuffers`).
"""

from typing import Any, Final, cast

import numpy as np
from numba import njit

from rebalance_audit.scan.batch import APPEND_TIME, CONTROL_BIT, TRANSACTIONAL_BIT, judge
from rebalance_audit.scan.commit_rows import (
    add_commit,
    committed_position_of,
    end_summaries,
    group_of,
    key_of,
    names_new_topic,
)
from rebalance_audit.scan.commit_text import LINE_BYTES as ONE_LINE_BYTES
from rebalance_audit.scan.commit_text import commit_line
from rebalance_audit.scan.numbers import Function, inlined, same_bytes, u16
from rebalance_audit.scan.places import (
    BITS,
    COMMITS,
    CUTS,
    DONE,
    EPOCH,
    EXCLUDED,
    EXCLUDED_LAST_MS,
    EXCLUDED_LAST_OFFSET,
    FIRST_MS,
    FIRST_OFFSET,
    FULL,
    GROUPS,
    HEAD_BITS,
    HEAD_EPOCH,
    HEAD_LAST_MS,
    HEAD_PRODUCER,
    HEAD_PRODUCER_EPOCH,
    HEAD_RECORDS,
    HOLES,
    KEPT,
    KEY_BYTES,
    KEYS,
    LAST_MS,
    LINE_AT,
    LINE_BYTES,
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
    RUN_OF_ROW,
    RUN_RECORDS,
    RUNS,
    SUMMARIES,
    TOPIC_IDS,
    VALUE_BYTES,
    WHOLE,
)

PARTS: Final = "7e1daeefb2830882"
"""Start of the SHA-256 of what comes into the walk from other files. Numba keeps compiled code as long as this file
stays as it is, so it must change with them."""

BATCH_RECORDS: Final = 1 << 14
"""Records of the largest batch that is walked; a coordinator's has hundreds."""
_RUN_BITS: Final = APPEND_TIME | TRANSACTIONAL_BIT


def _compiled_once(function: Function) -> Function:
    """Compiled once a machine, if there is a folder for that; else once a process."""
    try:
        # Numba's cache knows the time of this file alone, not of those whose functions are inlined here.
        return cast("Function", njit(nogil=True, cache=True)(function))
    except RuntimeError:  # no folder that can be written
        return inlined(function)


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


@_compiled_once
def walk(
    data: Any,
    at: Any,
    end: Any,
    loaded: Any,
    end_offset: Any,
    proven: Any,
    batch: Any,
    head: Any,
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
    holes: Any,
    id_slots: Any,
    ids: Any,
    secrets: Any,
    tally: Any,
) -> Any:
    """From batch to batch in `data`: (status, position of the batch that it stopped at, or after the last).

    `end`: batches that begin before are walked; `loaded`: so many bytes of the window are those of the file.
    `end_offset`: batches that reach it are left alone. `proven`: checksums are not looked at again.
    `secrets`: for `hash_of`.
    """
    while at < end:
        status, stop = judge(data, at, loaded, end_offset, proven, batch, head)
        if status != WHOLE:
            return status, at
        if stop - at > len(key_bytes):
            return ODD, at
        count, bits = head[HEAD_RECORDS], head[HEAD_BITS]
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
            or tally[HOLES] + count > len(holes)
            or tally[KEY_BYTES] + stop - at > len(key_bytes)
        ):
            return FULL, at
        is_control = bits & CONTROL_BIT != 0
        transaction = 1 if bits & TRANSACTIONAL_BIT else 0
        for row in range(count):
            offset, at_ms = batch[row, ROW_OFFSET], batch[row, ROW_MS]
            key, key_size = batch[row, ROW_KEY], batch[row, ROW_KEY_BYTES]
            value, value_size = batch[row, ROW_VALUE], batch[row, ROW_VALUE_BYTES]
            if tally[RECORDS] == 0:
                tally[FIRST_MS] = tally[LAST_MS] = at_ms
                tally[FIRST_OFFSET] = offset
            elif offset > tally[NEXT_OFFSET]:
                holes[tally[HOLES], 0], holes[tally[HOLES], 1] = tally[NEXT_OFFSET], offset
                tally[HOLES] += 1
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
                        data,
                        key,
                        key_size,
                        key_slots,
                        group_slots,
                        keys,
                        groups,
                        key_bytes,
                        secrets,
                        tally,
                    )
                    add_commit(
                        known,
                        at_ms,
                        offset,
                        head[HEAD_EPOCH],
                        transaction,
                        committed_position_of(data, value, value_size),
                        keys,
                        groups,
                        summaries,
                        tally,
                    )
                if (
                    value_size >= 2
                    and u16(data, value) == 4
                    and names_new_topic(
                        data, key, key_size, value, value_size, id_slots, ids, secrets, tally
                    )
                ):
                    naming[tally[NAMING], :6] = batch[row, :6]
                    tally[NAMING] += 1
                continue
            if has_group:
                group, _, _ = group_of(
                    data, key + 4, u16(data, key + 2), group_slots, groups, keys, key_bytes, secrets
                )
                if group >= 0:
                    end_summaries(group, keys, groups, summaries, cuts, tally)
            _extend_run(head, bits & _RUN_BITS, 1, runs, tally)
            kept[tally[KEPT], :6] = batch[row, :6]
            tally[KEPT] += 1
        at = stop
    return DONE, at


@_compiled_once
def pick(
    data: Any,
    at: Any,
    end: Any,
    loaded: Any,
    end_offset: Any,
    proven: Any,
    without: Any,
    batch: Any,
    head: Any,
    offsets: Any,
    times: Any,
    key_ends: Any,
    key_bytes: Any,
    key_there: Any,
    value_ends: Any,
    value_bytes: Any,
    value_there: Any,
    runs: Any,
    tally: Any,
) -> Any:
    """As `walk`, but takes the records themselves, as columns, except those of the types whose bit `without` has.

    Key number n is key_bytes[key_ends[n]:key_ends[n + 1]], or null where key_there[n] is 0; values likewise.
    """
    while at < end:
        status, stop = judge(data, at, loaded, end_offset, proven, batch, head)
        if status != WHOLE:
            return status, at
        size = stop - at
        if size > len(key_bytes) or size > len(value_bytes):
            return ODD, at
        count, bits = head[HEAD_RECORDS], head[HEAD_BITS]
        if (
            tally[KEPT] + count > len(times)
            or tally[RUNS] + 1 > len(runs)
            or tally[KEY_BYTES] + size > len(key_bytes)
            or tally[VALUE_BYTES] + size > len(value_bytes)
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
            offsets[place] = batch[row, ROW_OFFSET]
            times[place] = batch[row, ROW_MS]
            key_there[place] = key_size >= 0
            tally[KEY_BYTES] = _copy(data, key, key_size, key_bytes, tally[KEY_BYTES])
            key_ends[place + 1] = tally[KEY_BYTES]
            value_size = batch[row, ROW_VALUE_BYTES]
            value_there[place] = value_size >= 0
            tally[VALUE_BYTES] = _copy(
                data, batch[row, ROW_VALUE], value_size, value_bytes, tally[VALUE_BYTES]
            )
            value_ends[place + 1] = tally[VALUE_BYTES]
        taken = tally[KEPT] - before
        if taken:
            _extend_run(head, bits & (_RUN_BITS | CONTROL_BIT), taken, runs, tally)
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
def _copy(data: Any, at: Any, size: Any, into: Any, place: Any) -> Any:
    """The place after the bytes; `size` may be -1 for none."""
    for byte in range(size):
        into[np.uint64(place + byte)] = data[np.uint64(at + byte)]
    return place + max(size, 0)


@_compiled_once
def render(
    data: Any,
    at: Any,
    end: Any,
    loaded: Any,
    end_offset: Any,
    proven: Any,
    begin: Any,
    wanted: Any,
    wanted_ends: Any,
    without: Any,
    times: Any,
    batch: Any,
    head: Any,
    kept: Any,
    runs: Any,
    line: Any,
    tally: Any,
) -> Any:
    """As `walk`, but prints offset commits as lines of JSON; `kept` are the other records and where they belong.

    `begin`: what each line begins with. `wanted`: the bytes of the keys to print, from their third byte on; all keys
    if there is none. `without`: bits of types to leave out. `times`: the first and the end of the times to print.
    """
    while at < end:
        status, stop = judge(data, at, loaded, end_offset, proven, batch, head)
        if status != WHOLE:
            return status, at
        count, bits = head[HEAD_RECORDS], head[HEAD_BITS]
        size = count * ONE_LINE_BYTES + stop - at
        if size > len(line):
            return ODD, at
        if (
            tally[KEPT] + count > len(kept)
            or tally[RUNS] + 1 > len(runs)
            or tally[LINE_BYTES] + size > len(line)
        ):
            return FULL, at
        tally[RECORDS] += count
        for row in range(count):
            at_ms = batch[row, ROW_MS]
            if at_ms < times[0] or at_ms >= times[1]:
                continue
            if not bits & CONTROL_BIT:
                key, key_size = batch[row, ROW_KEY], batch[row, ROW_KEY_BYTES]
                kind = u16(data, key) if key_size >= 2 else np.int64(-1)
                if 0 <= kind < 64 and without >> np.uint64(kind) & np.uint64(1):
                    continue
                if 0 <= kind <= 1:
                    if not _is_wanted(data, key, key_size, wanted, wanted_ends):
                        continue
                    after = commit_line(
                        data,
                        key,
                        key_size,
                        batch[row, ROW_VALUE],
                        batch[row, ROW_VALUE_BYTES],
                        begin,
                        batch[row, ROW_OFFSET],
                        at_ms,
                        head[HEAD_EPOCH],
                        line,
                        tally[LINE_BYTES],
                    )
                    if after >= 0:
                        tally[LINE_BYTES] = after
                        continue
            _extend_run(head, bits & (_RUN_BITS | CONTROL_BIT), 1, runs, tally)
            kept[tally[KEPT], :6] = batch[row, :6]
            kept[tally[KEPT], LINE_AT] = tally[LINE_BYTES]
            kept[tally[KEPT], RUN_OF_ROW] = tally[RUNS] - 1
            tally[KEPT] += 1
        at = stop
    return DONE, at


@inlined
def _is_wanted(data: Any, key: Any, key_size: Any, wanted: Any, wanted_ends: Any) -> Any:
    """Whether a key of two bytes or more goes on with one of the wanted texts, or all keys are wanted."""
    for number in range(len(wanted_ends) - 1):
        begin, size = wanted_ends[number], wanted_ends[number + 1] - wanted_ends[number]
        if size <= key_size - 2 and same_bytes(data, key + 2, wanted, begin, size):
            return True
    return len(wanted_ends) == 1
