"""Bytes that are no record: each case has a declared outcome, and none raises, hangs or exhausts memory."""

import random
import tracemalloc

import orjson
import pytest

from rebalance_audit.wire.generated.messages import ConsumerGroupMetadataKey
from rebalance_audit.wire.json_shape import key_data, value_data
from rebalance_audit.wire.records import (
    Record,
    Undecodable,
    UndecodableReason,
    decode_record,
)
from tests.wire.golden_records import (
    KeyVector,
    ValueVector,
    all_golden,
    key_vectors,
    plain_key,
    value_vectors,
)
from tests.wire.mutation import mutated

R = UndecodableReason
HUGE = "ff ff ff ff 07"
"""2^31 - 1 as a varint."""

UNDECODABLE: list[tuple[str, str | None, str | None, UndecodableReason, int | None, int | None]] = [
    # what                                key               value             reason, type, version
    ("no key", None, "0000 0000000a 00", R.NO_KEY, None, None),
    ("no key, no value", None, None, R.NO_KEY, None, None),
    ("empty key", "", None, R.KEY_TRUNCATED, None, None),
    ("half a type", "00", None, R.KEY_TRUNCATED, None, None),
    ("type without fields", "0003", None, R.KEY_TRUNCATED, 3, None),
    ("key ends in a string", "0003 0005 6767", None, R.KEY_TRUNCATED, 3, None),
    ("group is null", "0003 ffff", None, R.KEY_CORRUPT, 3, None),
    ("group is not UTF-8", "0003 0002 c328", None, R.KEY_CORRUPT, 3, None),
    ("type to come", "0019 000167", "0000 00", R.UNKNOWN_RECORD_TYPE, 25, None),
    ("negative type", "ffff 000167", None, R.UNKNOWN_RECORD_TYPE, -1, None),
    ("empty value", "0003 000167", "", R.VALUE_TRUNCATED, 3, None),
    ("half a version", "0003 000167", "00", R.VALUE_TRUNCATED, 3, None),
    ("version without fields", "0003 000167", "0000", R.VALUE_TRUNCATED, 3, 0),
    ("no tag section", "0003 000167", "0000 0000000a", R.VALUE_TRUNCATED, 3, 0),
    ("version to come", "0003 000167", "0001 0000000a 00", R.UNKNOWN_VALUE_VERSION, 3, 1),
    ("negative version", "0003 000167", "ffff 0000000a 00", R.UNKNOWN_VALUE_VERSION, 3, -1),
    ("version 5 of [2]", "0002 000167", "0005 0000", R.UNKNOWN_VALUE_VERSION, 2, 5),
    ("array is null", "0007 000167 00016d", "0000 00 00", R.VALUE_CORRUPT, 7, 0),
    ("tags descend", "0003 000167", "0000 0000000a 02 05 00 04 00", R.VALUE_CORRUPT, 3, 0),
    ("tag twice", "0003 000167", "0000 0000000a 02 05 00 05 00", R.VALUE_CORRUPT, 3, 0),
    ("tag is cut", "0003 000167", "0000 0000000a 01 05 02 00", R.VALUE_TRUNCATED, 3, 0),
    ("varint too long", "0006 000167", "0000 0000000a ff ff ff ff ff 01", R.VALUE_CORRUPT, 6, 0),
    ("varint above 2^31", "0010 000167 00016d", "0000 ff ff ff ff 0f", R.VALUE_CORRUPT, 16, 0),
    ("bad UTF-8", "000a 000167 00016d", "0000 00 02ff 0263 01 00", R.VALUE_CORRUPT, 10, 0),
    ("string null", "000a 000167 00016d", "0000 00 00 0263 01 00", R.VALUE_CORRUPT, 10, 0),
    (
        "string of 32 KiB",
        "000a 000167 00016d",
        f"0000 00 8180 02 {'61' * 32768} 0263 01 00",
        R.VALUE_CORRUPT,
        10,
        0,
    ),
]


def raw(text: str | None) -> bytes | None:
    """Bytes from spaced hexadecimal."""
    return None if text is None else bytes.fromhex(text)


@pytest.mark.parametrize(
    ("key", "value", "reason", "record_type", "value_version"),
    [case[1:] for case in UNDECODABLE],
    ids=[case[0] for case in UNDECODABLE],
)
def test_what_cannot_be_decoded_says_why(
    key: str | None,
    value: str | None,
    reason: UndecodableReason,
    record_type: int | None,
    value_version: int | None,
) -> None:
    """The reason is one of a closed list; type and version are reported as far as the bytes allow."""
    outcome = decode_record(raw(key), raw(value))
    assert isinstance(outcome, Undecodable), outcome
    assert (outcome.reason, outcome.record_type, outcome.value_version) == (
        reason,
        record_type,
        value_version,
    )
    assert outcome.detail


def test_every_reason_is_tried() -> None:
    """The table above covers the closed list."""
    assert {case[3] for case in UNDECODABLE} == set(UndecodableReason)


def test_a_bad_value_still_names_the_group_and_the_place() -> None:
    """A reader of the quarantine learns the group, the field and the byte."""
    outcome = decode_record(plain_key(8), bytes.fromhex("0000 0000000a 00000009 00 02 0001"))
    assert isinstance(outcome, Undecodable)
    assert outcome.key is not None
    assert outcome.key[0] == "g"
    assert "assignedPartitions[0].topicId at byte 12" in outcome.detail


@pytest.mark.parametrize("vector", key_vectors(), ids=lambda v: str(v.record_type))
def test_a_key_cut_anywhere_is_truncated(vector: KeyVector) -> None:
    """A key that ends too early is never taken for another one."""
    for length in range(len(vector.key)):
        outcome = decode_record(vector.key[:length], None)
        assert isinstance(outcome, Undecodable)
        assert outcome.reason is R.KEY_TRUNCATED


CUT_INTO_AN_EARLY_LAYOUT = {
    # The beginning of a tag section with tag 0 is an empty list of 3.7's assignors and no tags.
    (5, "000000000263032f680204666f6f000000ea60000100"): "3.7",
    (5, "000000000263032f68030462617204666f6f01000493e008756e69666f726d0100"): "3.7",
    # The epoch and a hash that begins with a zero byte is the epoch alone and no tags.
    (11, "00000000000300"): "4.0",
}


@pytest.mark.parametrize(
    "vector", value_vectors(), ids=lambda v: f"{v.record_type}-v{v.value_version}"
)
def test_a_value_cut_anywhere_is_truncated(vector: ValueVector) -> None:
    """A value that ends too early is no record, except where the cut leaves a complete early layout."""
    key = plain_key(vector.record_type)
    for length in range(len(vector.value)):
        cut = vector.value[:length]
        outcome = decode_record(key, cut)
        layout = CUT_INTO_AN_EARLY_LAYOUT.get((vector.record_type, cut.hex()))
        if layout is not None:
            assert isinstance(outcome, Record)
            assert outcome.layout == layout
        else:
            assert isinstance(outcome, Undecodable), (cut.hex(), outcome)
            assert outcome.reason is R.VALUE_TRUNCATED


@pytest.mark.parametrize("trial", range(12))
def test_no_damage_raises(trial: int) -> None:
    """Real records with any damage decode or give a reason, and what decodes can be shown as JSON."""
    chance = random.Random(1000 + trial)
    decoded = undecodable = 0
    for key, value in all_golden():
        outcome = decode_record(mutated(key, chance), mutated(value, chance))
        if isinstance(outcome, Undecodable):
            undecodable += 1
            continue
        decoded += 1
        shown = [key_data(outcome), outcome.value and value_data(outcome)]
        assert orjson.loads(orjson.dumps(shown)) == shown
    assert decoded + undecodable == len(all_golden())
    assert decoded
    assert undecodable


HUGE_COUNTS = [
    # a count or size of 2^31 - 1 with nothing after it
    ("array of structs", 7, f"0000 {HUGE}"),
    ("array of structs in an early layout", 7, f"0000 00 {HUGE}"),
    ("array of int32", 7, f"0000 02 {'00' * 16} {HUGE}"),
    ("array of strings", 16, f"0000 {HUGE}"),
    ("array of int16", 23, f"0000 00000000 02 0230 01 01 01 01 01 02 {HUGE}"),
    ("array of uuids", 24, f"0000 00000000 02 0230 {HUGE}"),
    ("string", 10, f"0000 00 {HUGE}"),
    ("bytes", 5, f"0000 00 00 0263 0268 01 00 00000000 00 01 00 09 01 00000000 02 0272 {HUGE}"),
    ("tags", 3, f"0000 00000000 {HUGE}"),
    ("tag size", 3, f"0000 00000000 01 09 {HUGE}"),
    ("known tag's size", 3, f"0000 00000000 01 00 {HUGE}"),
    ("old array", 2, "0003 0000 00000000 ffff ffff 0000000000000000 7fffffff"),
    ("old bytes", 2, "0000 0000 00000000 ffff ffff 00000001 0000 0000 0000 00000000 7fffffff"),
]


@pytest.mark.parametrize(
    ("record_type", "value"), [c[1:] for c in HUGE_COUNTS], ids=[c[0] for c in HUGE_COUNTS]
)
def test_absurd_counts_cost_nothing(record_type: int, value: str) -> None:
    """A count that the bytes cannot hold is refused before anything of that size is made.

    A string of that size is corrupt wherever the bytes end: Kafka allows 32,767 bytes.
    """
    data = bytes.fromhex(value)
    decode_record(plain_key(record_type), data[:2])  # loads the schemas and compiles the decoder
    tracemalloc.start()
    try:
        outcome = decode_record(plain_key(record_type), data)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert isinstance(outcome, Undecodable)
    assert outcome.reason is (R.VALUE_CORRUPT if record_type == 10 else R.VALUE_TRUNCATED)
    assert peak_bytes < 100_000


def test_tombstones_need_no_value() -> None:
    """A null value is a tombstone of the key, whatever the type."""
    record = decode_record(bytes.fromhex("0003 000167"), None)
    assert isinstance(record, Record)
    assert (record.key, record.value) == (ConsumerGroupMetadataKey("g"), None)
    assert record.value_version is None
