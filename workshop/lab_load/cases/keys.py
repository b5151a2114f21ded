"""Keys that a release does not know, cannot read, or that name absurd things."""

import struct
from typing import Final

from workshop.lab_load.cases.case import CLASSIC, CONSUMER, OFFSETS, Case
from workshop.lab_load.logs import Log, joined, key_bytes, patched, raw

_COMMIT: Final = struct.pack(">hqih", 3, 5, 7, 0) + struct.pack(">q", 1_790_000_000_000)
_EPOCH: Final = struct.pack(">hi", 0, 1) + b"\0"


def _among(key: bytes | None, value: bytes | None = _COMMIT, log: Log = OFFSETS) -> Log:
    """A record between a log and one more."""
    return joined(log, raw((key, value)), raw((key_bytes(1, "g", "zar", partition=9), _COMMIT)))


KEY_CASES: Final = (
    Case("key-null", "a record without a key", _among(None)),
    Case("key-and-value-null", "a record without key and value", _among(None, None)),
    Case("key-empty", "a key of 0 bytes", _among(b"")),
    Case("key-one-byte", "a key of 1 byte", _among(b"\0")),
    Case("key-type-only", "a key that ends after its type", _among(b"\0\1")),
    *(
        Case(f"type-{number}", f"a record of type {number}", _among(key_bytes(number, "g"), _EPOCH))
        for number in (-1, 9, 18, 24, 25, 99, 32767, -32768)
    ),
    *(
        Case(f"type-{number}-tombstone", f"a tombstone of type {number}", _among(key_bytes(number, "g"), None))
        for number in (9, 24, 99)
    ),
    Case("type-99-garbage", "type 99 and bytes that are no key", _among(b"\0\x63\xff\xff\xff", b"\xff")),
    *(
        Case(f"key-truncated-{number}", f"a key of type {number} without its last byte", _among(key[:-1], value))
        for number, key, value in (
            (1, key_bytes(1, "g", "foo", partition=0), _COMMIT),
            (2, key_bytes(2, "g"), None),
            (3, key_bytes(3, "g"), _EPOCH),
            (5, key_bytes(5, "g", "A"), None),
        )
    ),
    Case("key-truncated-tombstone-1", "a tombstone of a commit without its partition",
         _among(key_bytes(1, "g", "foo"), None)),
    *(
        Case(f"key-trailing-{number}", f"a key of type {number} with three bytes more", _among(key + b"\1\2\3", value))
        for number, key, value in (
            (1, key_bytes(1, "g", "foo", partition=0), _COMMIT),
            (2, key_bytes(2, "g"), None),
            (3, key_bytes(3, "g"), _EPOCH),
        )
    ),
    *(
        Case(f"key-group-length-{name}", f"a key whose group's length is {length}",
             _among(struct.pack(">hh", record_type, length) + b"g\0\3foo\0\0\0\0"))
        for name, record_type, length in (
            ("null", 1, -1), ("negative", 1, -5), ("absurd", 1, 32767), ("absurd-3", 3, 32767)
        )
    ),
    Case("key-topic-null", "a commit's key whose topic is null",
         _among(struct.pack(">hh", 1, 1) + b"g\xff\xff" + bytes(4))),
    Case("key-not-utf8", "a commit's key whose group is not UTF-8",
         _among(struct.pack(">hh", 1, 2) + b"\xff\xfe\0\3foo" + bytes(4))),
    Case("key-partition-negative", "a commit of partition -1", _among(key_bytes(1, "g", "foo", partition=-1))),
    Case("group-empty", "a commit of the group without a name", _among(key_bytes(1, "", "foo", partition=0))),
    Case("topic-empty", "a commit of the topic without a name", _among(key_bytes(1, "g", "", partition=0))),
    Case("topic-odd", "a commit of a topic with a name that Kafka refuses",
         _among(key_bytes(1, "g", "a/ b\n\0", partition=0))),
    Case("group-long", "a group with a name of 32000 bytes", _among(key_bytes(1, "g" * 32000, "foo", partition=0))),
    Case("topic-long", "a topic with a name of 32767 bytes", _among(key_bytes(1, "g", "t" * 32767, partition=0))),
    Case("member-long", "a member with an id of 32767 bytes",
         patched(CONSUMER, 5, 1, key=lambda _: key_bytes(5, "g", "m" * 32767))),
    Case("member-empty", "a member without an id", patched(CONSUMER, 5, 1, key=lambda _: key_bytes(5, "g", ""))),
    Case("group-control-characters", "a group with control characters in its name",
         joined(CLASSIC, raw((key_bytes(1, "g\x1b[31m\n\0", "foo", partition=0), _COMMIT)))),
)  # fmt: skip
