"""Values that a release cannot read, or whose content is absurd."""

import struct
from collections.abc import Callable
from typing import Final

from rebalance_audit.wire.primitives import uvarint
from workshop.lab_load.cases.case import (
    BILLING,
    CLASSIC,
    CONSUMER,
    MODERN,
    OFFSETS,
    REGEX,
    SHARE,
    STREAMS,
    Case,
)
from workshop.lab_load.logs import Log, joined, key_bytes, patched, raw, written

_LOG_OF_TYPE: Final = {
    **dict.fromkeys((1,), OFFSETS),
    **dict.fromkeys((2,), CLASSIC),
    **dict.fromkeys((3, 5, 6, 7, 8), CONSUMER),
    **dict.fromkeys((10, 11, 12, 13, 14, 15), SHARE),
    **dict.fromkeys((16,), REGEX),
    **dict.fromkeys((17, 19, 20, 21, 22, 23), STREAMS),
    4: joined(CONSUMER, written("4 foo:6")),
    0: written("0 foo:0 10"),
}
"""A log that has the type, and reads well."""

_OFFSET_KEY: Final = key_bytes(1, "g", "foo", partition=0)
_MEMBER_VALUE: Final = b"\0\0"
_INT_MAX: Final = struct.pack(">i", 0x7FFFFFFF)
_HUGE: Final = uvarint(0x7FFFFFFF)


def _version(number: int) -> Callable[[bytes], bytes]:
    return lambda value: struct.pack(">h", number) + value[2:]


def _commit(version: int, fields: bytes) -> Log:
    """An offset commit among good ones."""
    return joined(
        OFFSETS, raw((_OFFSET_KEY, struct.pack(">h", version) + fields)), written("1 foo:2 9")
    )


def _text(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()


def _generation(version: int, fields: bytes) -> Log:
    """A generation of a classic group, by its bytes."""
    return joined(CLASSIC, raw((key_bytes(2, "g"), struct.pack(">h", version) + fields)))


def _member_bytes(
    subscription: bytes, assignment: bytes, timeout_ms: int = 60_000, session_ms: int = 300_000
) -> bytes:
    texts = _text("A") + struct.pack(">h", -1) + _text("client") + _text("/host")
    blobs = b"".join(struct.pack(">i", len(each)) + each for each in (subscription, assignment))
    return texts + struct.pack(">ii", timeout_ms, session_ms) + blobs


def _classic(
    protocol_type: str, members: bytes, count: int, protocol: str = "range", leader: str = "A"
) -> bytes:
    head = _text(protocol_type) + struct.pack(">i", 3) + _text(protocol) + _text(leader)
    return head + struct.pack(">qi", 1_790_000_000_000, count) + members


_SUBSCRIPTION: Final = struct.pack(">hi", 0, 1) + _text("foo") + struct.pack(">i", -1)
_GOOD_MEMBER: Final = _member_bytes(_SUBSCRIPTION, b"")


def _changed(record_type: int, change: Callable[[bytes], bytes | None]) -> Log:
    """The last record of the type with another value, then the log's other records."""
    return patched(_LOG_OF_TYPE[record_type], record_type, 0, value=change)


_UP_TO_BYTES: Final = _GOOD_MEMBER[: -4 - len(_SUBSCRIPTION) - 4]
"""A member up to the length of its subscription."""

_TYPES: Final = sorted(_LOG_OF_TYPE)
_TRUNCATED: Final = (1, 2, 3, 5, 7, 8, 11, 14, 16, 17, 19, 22, 23)

VALUE_CASES: Final = (
    *(Case(f"version-ahead-{each}", f"type {each} in version 9", _changed(each, _version(9))) for each in _TYPES),
    *(
        Case(f"truncated-{each}", f"type {each} without its last three bytes", _changed(each, lambda value: value[:-3]))
        for each in _TRUNCATED
    ),
    *(
        Case(f"trailing-{each}", f"type {each} with three bytes more", _changed(each, lambda value: value + b"\1\2\3"))
        for each in (1, 2, 3, 5, 8, 11, 17)
    ),
    *(Case(f"empty-value-{each}", f"type {each} with a value of 0 bytes",
           _changed(each, lambda _: b"")) for each in (1, 2, 3, 8)),
    *(Case(f"one-byte-value-{each}", f"type {each} with a value of 1 byte",
           _changed(each, lambda _: b"\0")) for each in (1, 5)),
    *(Case(f"only-version-{each}", f"type {each}, nothing but the version",
           _changed(each, lambda value: value[:2])) for each in (1, 2, 3, 7)),
    *(Case(f"version-negative-{each}", f"type {each} in version -1",
           _changed(each, _version(-1))) for each in (1, 2, 3)),
    Case("version-ahead-golden", "a golden consumer group with one assignment in version 1",
         patched(MODERN, 8, 3, value=_version(1))),
    Case("version-ahead-golden-classic", "a golden classic group with one generation in version 5",
         patched(BILLING, 2, 1, value=_version(5))),
    Case("generation-v4", "a generation in version 4, which is readable and never written",
         _generation(4, bytes([9]) + b"consumer" + struct.pack(">i", 3) + b"\0\0" + struct.pack(">q", 5) + b"\1\0")),
    *(
        Case(f"commit-v{version}", f"an offset commit in version {version}", _commit(version, fields))
        for version, fields in (
            (0, struct.pack(">q", 5) + _text("") + struct.pack(">q", 1)),
            (1, struct.pack(">q", 5) + _text("") + struct.pack(">qq", 1, 4_000_000_000_000)),
            (2, struct.pack(">q", 5) + _text("") + struct.pack(">q", 1)),
            (3, struct.pack(">qi", 5, 7) + _text("") + struct.pack(">q", 1)),
            (4, struct.pack(">qi", 5, 7) + b"\1" + struct.pack(">q", 1) + b"\0"),
        )
    ),
    Case("commit-v5", "an offset commit in version 5", _commit(5, struct.pack(">qi", 5, 7) + b"\1" + bytes(8) + b"\0")),
    Case("commit-null-metadata", "an offset commit whose metadata is null",
         _commit(3, struct.pack(">qih", 5, 7, -1) + bytes(8))),
    Case("commit-metadata-length-absurd", "an offset commit whose metadata claims 32767 bytes",
         _commit(3, struct.pack(">qih", 5, 7, 32767) + bytes(8))),
    Case("commit-metadata-not-utf8", "an offset commit whose metadata is not UTF-8",
         _commit(3, struct.pack(">qih", 5, 7, 2) + b"\xff\xfe" + bytes(8))),
    Case("commit-metadata-long", "an offset commit with 32767 bytes of metadata",
         _commit(3, struct.pack(">qi", 5, 7) + _text("m" * 32767) + bytes(8))),
    Case("commit-negative", "an offset commit of offset -1",
         _commit(3, struct.pack(">qi", -1, -1) + _text("") + bytes(8))),
    Case("commit-unknown-tag", "an offset commit with an unknown tag",
         _commit(4, struct.pack(">qi", 5, 7) + b"\1" + bytes(8) + b"\1\x63\3abc")),
    Case("commit-tag-length-absurd", "an offset commit with a tag longer than the value",
         _commit(4, struct.pack(">qi", 5, 7) + b"\1" + bytes(8) + b"\1\x63\x7fabc")),
    Case("epoch-unknown-tag", "a group epoch with an unknown tag",
         _changed(3, lambda _: struct.pack(">hi", 0, 1) + b"\1\x63\3abc")),
    Case("epoch-tag-count-absurd", "a group epoch that claims 2 billion tags",
         _changed(3, lambda _: struct.pack(">hi", 0, 1) + _HUGE)),
    Case("epoch-tag-size-wrong", "a group epoch whose known tag has the wrong size",
         _changed(3, lambda _: struct.pack(">hi", 0, 1) + b"\1\0\3abc")),
    Case("epoch-tag-twice", "a group epoch with one tag twice",
         _changed(3, lambda _: struct.pack(">hi", 0, 1) + b"\2\0\x08" + bytes(8) + b"\0\x08" + bytes(8))),
    Case("target-array-absurd", "a target that claims 2 billion topics", _changed(7, lambda _: _MEMBER_VALUE + _HUGE)),
    Case("target-array-null", "a target whose topics are null", _changed(7, lambda _: _MEMBER_VALUE + b"\0\0")),
    Case("target-partitions-absurd", "a target with 2 billion partitions of one topic",
         _changed(7, lambda _: _MEMBER_VALUE + b"\2" + bytes(16) + _HUGE)),
    Case("target-topic-twice", "a target that names a topic twice",
         _changed(7, lambda _: _MEMBER_VALUE + b"\3" + (b"\1" * 16 + b"\2" + bytes(4) + b"\0") * 2 + b"\0")),
    Case("current-partition-negative", "an assignment of partition -1",
         _changed(8, lambda _: struct.pack(">hiib", 0, 1, 0, 0) + b"\2" + b"\1" * 16 + b"\2\xff\xff\xff\xff\0\1\0")),
    Case("current-partition-twice", "an assignment that has a partition twice",
         _changed(8, lambda _: struct.pack(">hiib", 0, 1, 0, 0) + b"\2" + b"\1" * 16 + b"\3" + bytes(8) + b"\0\1\0")),
    Case("current-epochs-fewer", "an assignment with fewer assignment epochs than partitions",
         _changed(8, lambda _: struct.pack(">hiib", 0, 1, 0, 0) + b"\2" + b"\1" * 16 + b"\3" + bytes(7)
                  + b"\1\1\0\5\2\0\0\0\1\1\0")),
    Case("member-string-absurd", "a member whose rack claims 2 GB",
         _changed(5, lambda _: _MEMBER_VALUE + b"\0" + _HUGE + b"abc")),
    Case("member-client-null", "a member whose client id is null",
         _changed(5, lambda _: _MEMBER_VALUE + b"\0\0\0\0\1\0" + bytes(4) + b"\0\0")),
    Case("member-early-access", "a member as 3.7 writes it",
         _changed(5, lambda _: _MEMBER_VALUE + b"\0\0\7client\6/host\2\4foo\0" + struct.pack(">i", 300_000)
                  + b"\0\1\0")),
    Case("current-early-access", "an assignment as 3.7 writes it",
         _changed(8, lambda _: struct.pack(">hiii", 0, 1, 0, 1) + b"\2" + b"\1" * 16 + b"\2" + bytes(4) + b"\0\1\1\0"
                  + b"\0\0\1\0")),
    Case("classic-side-broken", "a member with the classic protocol whose subscription is no subscription",
         written("5 A classic=range session=300000; 3 1; 7 A 0-2; 6 1; 8 A 1/0 0-2")),
    Case("generation-members-absurd", "a generation that claims 2 billion members",
         _generation(3, _classic("consumer", b"", 0x7FFFFFFF))),
    Case("generation-members-negative", "a generation with -5 members", _generation(3, _classic("consumer", b"", -5))),
    Case("generation-bytes-absurd", "a member whose subscription claims 2 GB",
         _generation(3, _classic("consumer", _UP_TO_BYTES + _INT_MAX, 1))),
    Case("generation-bytes-negative", "a member whose subscription has length -1",
         _generation(3, _classic("consumer", _UP_TO_BYTES + struct.pack(">ii", -1, 0), 1))),
    *(
        Case(f"subscription-{name}", f"a classic member with a subscription that is {name}",
             _generation(3, _classic("consumer", _member_bytes(subscription, b""), 1)))
        for name, subscription in (
            ("empty", b""), ("one-byte", b"\0"), ("garbage", b"\xff" * 40), ("cut", _SUBSCRIPTION[:-5]),
            ("of-a-version-ahead", struct.pack(">h", 99) + _SUBSCRIPTION[2:]),
            ("of-a-negative-version", struct.pack(">h", -1) + _SUBSCRIPTION[2:]),
            ("claiming-2-billion-topics", struct.pack(">h", 0) + _INT_MAX),
        )
    ),
    Case("assignment-garbage", "a classic member with an assignment that is garbage",
         _generation(3, _classic("consumer", _member_bytes(_SUBSCRIPTION, b"\xff" * 40), 1))),
    Case("protocol-type-connect", "a generation of Kafka Connect's protocol",
         _generation(3, _classic("connect", _member_bytes(b"\0\1abc", b""), 1, "sessioned"))),
    Case("protocol-type-empty-with-members", "members, and an empty protocol type",
         _generation(3, _classic("", _GOOD_MEMBER, 1))),
    Case("protocol-type-odd", "an unknown protocol type", _generation(3, _classic("größe", _GOOD_MEMBER, 1))),
    Case("session-negative", "a classic member with a session timeout of -1",
         _generation(3, _classic("consumer", _member_bytes(_SUBSCRIPTION, b"", -1, -1), 1))),
)  # fmt: skip
