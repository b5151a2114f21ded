"""Offset commits as the lines of JSON that `decode` prints, compiled.

Only what `wire.json_shape` and a JSON encoder would print byte for byte the same: a commit of any known version, whose
texts are printable ASCII and need no escape. Others are left to them.
"""

from typing import Any, Final

import numpy as np

from rebalance_audit.scan.numbers import i32, i64, inlined, u16

LINE_BYTES: Final = 512
"""More than a line has beside its texts."""

_MINUS: Final = 0x2D
_ZERO: Final = 0x30
_STRING_BYTES_MAX: Final = (1 << 15) - 1
_SHORTEST_KEY: Final = 10
_LONGEST_UVARINT_BYTE: Final = 127


def _text(words: bytes) -> Any:
    return np.frombuffer(words, np.uint8).copy()


_TIMESTAMP: Final = _text(b',"timestamp":')
_LEADER_EPOCH: Final = _text(b',"leaderEpoch":')
_KEY_0: Final = _text(b',"key":{"type":0,"data":{"group":"')
_KEY_1: Final = _text(b',"key":{"type":1,"data":{"group":"')
_TOPIC: Final = _text(b'","topic":"')
_PARTITION: Final = _text(b'","partition":')
_TOMBSTONE: Final = _text(b'}},"value":null}\n')
_VERSION: Final = _text(b'}},"value":{"version":')
_OFFSET: Final = _text(b',"data":{"offset":')
_METADATA: Final = _text(b',"metadata":"')
_COMMIT_TIMESTAMP: Final = _text(b'","commitTimestamp":')
_EXPIRE_TIMESTAMP: Final = _text(b',"expireTimestamp":')
_TOPIC_ID: Final = _text(b',"topicId":"')
_END_OF_TOPIC_ID: Final = _text(b'"}}}\n')
_END: Final = _text(b"}}}\n")
_BASE64: Final = _text(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
_AS_THEY_ARE: Final = np.array(
    [0x20 <= letter < 0x7F and letter not in b'"\\' for letter in range(256)]
)
"""Of each byte whether it stands for itself in a text of JSON."""


@inlined
def put(words: Any, line: Any, at: Any) -> Any:
    """Copy a text; the place after it."""
    for byte in range(len(words)):
        line[np.uint64(at + byte)] = words[byte]
    return at + len(words)


@inlined
def commit_line(
    data: Any,
    key: Any,
    key_size: Any,
    value: Any,
    value_size: Any,
    begin: Any,
    offset: Any,
    at_ms: Any,
    leader_epoch: Any,
    line: Any,
    at: Any,
) -> Any:
    """Write the line of an offset commit; the place after it, or -1 where another has to write it.

    `begin`: the line as far as the offset, which depends on the partition of the log alone.
    """
    if key_size < _SHORTEST_KEY:
        return np.int64(-1)
    kind = u16(data, key)
    group_size = u16(data, key + 2)
    if group_size > key_size - _SHORTEST_KEY:
        return np.int64(-1)
    topic_size = u16(data, key + 4 + group_size)
    if group_size + topic_size + _SHORTEST_KEY != key_size or (
        max(group_size, topic_size) > _STRING_BYTES_MAX
    ):
        return np.int64(-1)
    at = put(begin, line, at)
    at = _number(offset, line, at)
    at = put(_TIMESTAMP, line, at)
    at = _number(at_ms, line, at)
    at = put(_LEADER_EPOCH, line, at)
    at = _number(leader_epoch, line, at)
    at = put(_KEY_1 if kind == 1 else _KEY_0, line, at)
    at = _string(data, key + 4, group_size, line, at)
    if at < 0:
        return at
    at = put(_TOPIC, line, at)
    at = _string(data, key + 6 + group_size, topic_size, line, at)
    if at < 0:
        return at
    at = put(_PARTITION, line, at)
    at = _number(i32(data, key + key_size - 4), line, at)
    if value_size < 0:
        return put(_TOMBSTONE, line, at)
    return _value(data, value, value_size, kind, line, at)


@inlined
def _value(data: Any, value: Any, size: Any, kind: Any, line: Any, at: Any) -> Any:
    """The rest of the line, from the value on; -1 where it is not as brokers write it."""
    end = value + size
    if size < 2:
        return np.int64(-1)
    version = u16(data, value)
    if version > (4 if kind == 1 else 0):
        return np.int64(-1)
    has_epoch = version >= 3
    place = value + (14 if has_epoch else 10)
    times = 16 if version == 1 else 8
    if version == 4:
        if place >= end:
            return np.int64(-1)
        text_size = np.int64(data[place]) - 1
        place += 1
        if text_size < 0 or text_size >= _LONGEST_UVARINT_BYTE:
            return np.int64(-1)
    else:
        if place + 2 > end:
            return np.int64(-1)
        text_size = u16(data, place)
        place += 2
        if text_size > _STRING_BYTES_MAX:
            return np.int64(-1)
    after = place + text_size + times
    if after > end:
        return np.int64(-1)
    at = put(_VERSION, line, at)
    at = _number(version, line, at)
    at = put(_OFFSET, line, at)
    at = _number(i64(data, value + 2), line, at)
    if has_epoch:
        at = put(_LEADER_EPOCH, line, at)
        at = _number(i32(data, value + 10), line, at)
    at = put(_METADATA, line, at)
    at = _string(data, place, text_size, line, at)
    if at < 0:
        return at
    at = put(_COMMIT_TIMESTAMP, line, at)
    at = _number(i64(data, place + text_size), line, at)
    if version < 4:
        if after != end:
            return np.int64(-1)
        if version == 1:
            at = put(_EXPIRE_TIMESTAMP, line, at)
            at = _number(i64(data, place + text_size + 8), line, at)
        return put(_END, line, at)
    if after + 1 == end and data[after] == 0:
        return put(_END, line, at)
    if (
        after + 19 != end
        or data[after] != 1
        or data[after + 1] != 0
        or data[after + 2] != 16
        or (i64(data, after + 3) == 0 and i64(data, after + 11) == 0)
    ):
        return np.int64(-1)
    at = put(_TOPIC_ID, line, at)
    at = _id(data, after + 3, line, at)
    return put(_END_OF_TOPIC_ID, line, at)


@inlined
def _string(data: Any, begin: Any, size: Any, line: Any, at: Any) -> Any:
    """Copy a text; the place after it, or -1 where it is not its own JSON."""
    for byte in range(size):
        letter = data[np.uint64(begin + byte)]
        if not _AS_THEY_ARE[letter]:
            return np.int64(-1)
        line[np.uint64(at + byte)] = letter
    return at + size


@inlined
def _number(number: Any, line: Any, at: Any) -> Any:
    """Write a whole number in decimal; the place after it."""
    rest = np.uint64(number)
    if number < 0:
        line[np.uint64(at)] = _MINUS
        at += 1
        rest = np.uint64(0) - rest
    digits, more = 1, rest
    while more >= np.uint64(10):
        more //= np.uint64(10)
        digits += 1
    for place in range(at + digits - 1, at - 1, -1):
        line[np.uint64(place)] = np.uint8(rest % np.uint64(10)) + np.uint8(_ZERO)
        rest //= np.uint64(10)
    return at + digits


@inlined
def _id(data: Any, begin: Any, line: Any, at: Any) -> Any:
    """Write the 16 bytes of a uuid in url-safe base64 without padding: 22 letters."""
    for triple in range(5):
        bits = np.int64(0)
        for byte in range(3):
            bits = bits << 8 | np.int64(data[np.uint64(begin + 3 * triple + byte)])
        for letter in range(4):
            line[np.uint64(at + letter)] = _BASE64[bits >> (18 - 6 * letter) & 63]
        at += 4
    last = np.int64(data[np.uint64(begin + 15)])
    line[np.uint64(at)] = _BASE64[last >> 2]
    line[np.uint64(at + 1)] = _BASE64[(last & 3) << 4]
    return at + 2
