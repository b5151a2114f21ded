"""What the compiled walk knows of commits: their keys, groups and summaries, and the topic ids they have named."""

from typing import Any, Final

import numpy as np

from rebalance_audit.audit.commits.summary import NO_POSITION
from rebalance_audit.scan.numbers import hash_of, i64, inlined, same_bytes, u16
from rebalance_audit.scan.places import (
    COUNT,
    CUT_AT,
    CUT_FIRST,
    CUT_GROUP,
    CUTS,
    FIRST,
    FIRST_AT,
    FIRST_POSITION,
    GROUP_FIRST,
    GROUP_HASH,
    GROUP_KEY,
    GROUP_LAST,
    GROUPS,
    KEPT,
    KEPT_BEFORE,
    KEY,
    KEY_AT,
    KEY_BYTES,
    KEY_GROUP,
    KEY_HASH,
    KEY_OPEN,
    KEY_SIZE,
    KEYS,
    LAST,
    LAST_AT,
    LAST_POSITION,
    LEADER,
    LONGEST,
    NEXT,
    PAUSE,
    SUMMARIES,
    TOPIC_IDS,
    TRANSACTION,
    UNCHANGED,
)

_FIXED_OF_V4: Final = 14
"""Bytes of a commit's value before its metadata: version, offset, leader epoch."""


@inlined
def group_of(
    data: Any,
    at: Any,
    size: Any,
    slots: Any,
    groups: Any,
    keys: Any,
    key_bytes: Any,
    secrets: Any,
) -> Any:
    """(row of the group with the id at this position, or -1; the slot where it is or belongs; hash)."""
    found_hash = hash_of(data, at, size, secrets)
    mask = len(slots) - 1
    slot = found_hash & mask
    while slots[slot] >= 0:
        group = slots[slot]
        if groups[group, GROUP_HASH] == found_hash:
            begin = keys[groups[group, GROUP_KEY], KEY_AT]
            if u16(key_bytes, begin + 2) == size and same_bytes(
                data, at, key_bytes, begin + 4, size
            ):
                return np.int64(group), slot, found_hash
        slot = (slot + 1) & mask
    return np.int64(-1), slot, found_hash


@inlined
def key_of(
    data: Any,
    at: Any,
    size: Any,
    slots: Any,
    group_slots: Any,
    keys: Any,
    groups: Any,
    key_bytes: Any,
    secrets: Any,
    tally: Any,
) -> Any:
    """Row of the commit's key, which is added where it is not known; its group with it. The key must name a group."""
    found_hash = hash_of(data, at, size, secrets)
    mask = len(slots) - 1
    slot = found_hash & mask
    while slots[slot] >= 0:
        key = slots[slot]
        if (
            keys[key, KEY_HASH] == found_hash
            and keys[key, KEY_SIZE] == size
            and same_bytes(data, at, key_bytes, keys[key, KEY_AT], size)
        ):
            return np.int64(key)
        slot = (slot + 1) & mask
    key = tally[KEYS]
    tally[KEYS] += 1
    slots[slot] = key
    begin = tally[KEY_BYTES]
    tally[KEY_BYTES] += size
    for byte in range(size):
        key_bytes[begin + byte] = data[at + byte]
    keys[key, KEY_AT] = begin
    keys[key, KEY_SIZE] = size
    keys[key, KEY_HASH] = found_hash
    keys[key, KEY_OPEN] = -1
    id_size = u16(data, at + 2)
    group, slot, found_hash = group_of(
        data, at + 4, id_size, group_slots, groups, keys, key_bytes, secrets
    )
    if group < 0:
        group = tally[GROUPS]
        tally[GROUPS] += 1
        group_slots[slot] = group
        groups[group, GROUP_KEY] = key
        groups[group, GROUP_FIRST] = groups[group, GROUP_LAST] = -1
        groups[group, GROUP_HASH] = found_hash
    keys[key, KEY_GROUP] = group
    return key


@inlined
def committed_position_of(data: Any, value: Any, value_size: Any) -> Any:
    """The offset that a commit's value commits, as `position_in` has it."""
    return i64(data, value + 2) if value_size >= 10 else np.int64(NO_POSITION)


@inlined
def add_commit(
    key: Any,
    at_ms: Any,
    offset: Any,
    leader: Any,
    transaction: Any,
    position: Any,
    keys: Any,
    groups: Any,
    summaries: Any,
    tally: Any,
) -> None:
    """One more commit in the key's open summary, or in a new one."""
    row = keys[key, KEY_OPEN]
    if row >= 0:
        pause = at_ms - summaries[row, LAST_AT]
        summaries[row, LONGEST] = max(pause, summaries[row, LONGEST])
        summaries[row, PAUSE] = pause
        summaries[row, COUNT] += 1
        if position != NO_POSITION and position == summaries[row, LAST_POSITION]:
            summaries[row, UNCHANGED] += 1
    else:
        row = tally[SUMMARIES]
        tally[SUMMARIES] += 1
        keys[key, KEY_OPEN] = row
        group = keys[key, KEY_GROUP]
        last = groups[group, GROUP_LAST]
        if last < 0:
            groups[group, GROUP_FIRST] = row
        else:
            summaries[last, NEXT] = row
        groups[group, GROUP_LAST] = row
        summaries[row, FIRST_AT] = at_ms
        summaries[row, FIRST] = offset
        summaries[row, COUNT] = 1
        summaries[row, LONGEST] = summaries[row, PAUSE] = summaries[row, UNCHANGED] = 0
        summaries[row, FIRST_POSITION] = position
        summaries[row, KEY] = key
        summaries[row, NEXT] = -1
    summaries[row, LAST_AT] = at_ms
    summaries[row, LAST] = offset
    summaries[row, LAST_POSITION] = position
    summaries[row, LEADER] = leader
    summaries[row, TRANSACTION] = transaction


@inlined
def end_summaries(
    group: Any, keys: Any, groups: Any, summaries: Any, cuts: Any, tally: Any
) -> None:
    """The group's commits so far are over: one of its other records follows."""
    first = groups[group, GROUP_FIRST]
    if first < 0:
        return
    cut = tally[CUTS]
    tally[CUTS] += 1
    cuts[cut, CUT_AT] = tally[KEPT_BEFORE] + tally[KEPT]
    cuts[cut, CUT_GROUP] = group
    cuts[cut, CUT_FIRST] = first
    row = first
    while row >= 0:
        keys[summaries[row, KEY], KEY_OPEN] = -1
        row = summaries[row, NEXT]
    groups[group, GROUP_FIRST] = groups[group, GROUP_LAST] = -1


@inlined
def names_new_topic(
    data: Any,
    key: Any,
    key_size: Any,
    value: Any,
    value_size: Any,
    id_slots: Any,
    ids: Any,
    secrets: Any,
    tally: Any,
) -> Any:
    """Whether a commit with a value of version 4 may be the first with the name of a topic id."""
    end = value + value_size
    at = value + _FIXED_OF_V4
    if at >= end:
        return True
    size = np.int64(data[at])
    if size == 0 or size > 127:
        return True  # null, or longer than one byte can say: for the decoder
    at += size + 8
    if at + 1 == end and data[at] == 0:
        return False  # it has no id
    if at + 19 != end or data[at] != 1 or data[at + 1] != 0 or data[at + 2] != 16:
        return True
    high, low = i64(data, at + 3), i64(data, at + 11)
    mask = len(id_slots) - 1
    slot = hash_of(data, at + 3, 16, secrets) & mask
    while id_slots[slot] >= 0:
        known = id_slots[slot]
        if ids[known, 0] == high and ids[known, 1] == low:
            return False
        slot = (slot + 1) & mask
    for byte in range(key, key + key_size):
        if byte >= key + 2 and data[byte] >= 128:
            return True
    for byte in range(value + _FIXED_OF_V4 + 1, at - 8):
        if data[byte] >= 128:
            return True
    id_size = u16(data, key + 2)
    if 4 + id_size + 2 > key_size:
        return True
    topic_size = u16(data, key + 4 + id_size)
    if 10 + id_size + topic_size != key_size:
        return True
    id_slots[slot] = tally[TOPIC_IDS]
    ids[tally[TOPIC_IDS], 0] = high
    ids[tally[TOPIC_IDS], 1] = low
    tally[TOPIC_IDS] += 1
    return True
