"""Early layouts share a version number with the current one; the bytes show which it is."""

from typing import Any

import pytest

from rebalance_audit.wire.json_shape import value_data
from rebalance_audit.wire.records import (
    Record,
    Undecodable,
    decode_record,
    decode_record_by_schema,
    encode_value,
)
from tests.wire.golden_records import plain_key

T = "AAECAwQFBgcICQoLDA0ODw"
TOPIC = "000102030405060708090a0b0c0d0e0f"
MEMBER = "0000 00 00 0263 032f68 02 04746f70 00 000003e8 00"
MEMBER_FIELDS = {
    "instanceId": None,
    "rackId": None,
    "clientId": "c",
    "clientHost": "/h",
    "subscribedTopicNames": ["top"],
    "subscribedTopicRegex": None,
    "rebalanceTimeoutMs": 1000,
    "serverAssignor": None,
}
FOO = {"topicId": T, "topicName": "foo"}
ASSIGNOR = {
    "name": "range",
    "minimumVersion": 0,
    "maximumVersion": 3,
    "reason": 1,
    "version": 2,
    "metadata": "AQI=",
}

GENERATION = "0000 0008 636f6e73756d6572 00000002 0005 72616e6765 0002 6d31"
GENERATION_FIELDS = {
    "protocolType": "consumer",
    "generation": 2,
    "protocol": "range",
    "leader": "m1",
}
CLASSIC_MEMBER = "0002 6d31 0001 63 0002 2f68 0000afc8 00000002 0102 00000000"
CLASSIC_MEMBER_FIELDS = {
    "memberId": "m1",
    "clientId": "c",
    "clientHost": "/h",
    "sessionTimeout": 45000,
    "subscription": "AQI=",
    "assignment": "",
}

CASES: list[tuple[str, int, str, str, dict[str, Any]]] = [
    (
        "2: a version before each member, which reads as a length",
        2,
        "redpanda",
        f"{GENERATION} 00000002 0003 {CLASSIC_MEMBER} 0003 {CLASSIC_MEMBER}",
        GENERATION_FIELDS | {"members": 2 * [{"memberVersion": 3} | CLASSIC_MEMBER_FIELDS]},
    ),
    (
        "2: members without one",
        2,
        "",
        f"{GENERATION} 00000002 {CLASSIC_MEMBER} {CLASSIC_MEMBER}",
        GENERATION_FIELDS | {"members": 2 * [CLASSIC_MEMBER_FIELDS]},
    ),
    (
        "2: no members, so the two look alike",
        2,
        "",
        f"{GENERATION} 00000000",
        GENERATION_FIELDS | {"members": []},
    ),
    (
        "4: an epoch before the topics",
        4,
        "3.7",
        f"0000 00000007 02 {TOPIC} 04666f6f 00000006 01 00 00",
        {"epoch": 7, "topics": [FOO | {"numPartitions": 6, "partitionMetadata": []}]},
    ),
    ("4: no topics", 4, "3.7", "0000 00000000 01 00", {"epoch": 0, "topics": []}),
    (
        "5: no assignors, which reads as one tag that is cut off",
        5,
        "3.7",
        f"{MEMBER} 01 00",
        MEMBER_FIELDS | {"assignors": []},
    ),
    (
        "5: an assignor, which reads as a tag that is too long",
        5,
        "3.7",
        f"{MEMBER} 02 0672616e6765 0000 0003 01 0002 030102 00 00",
        MEMBER_FIELDS | {"assignors": [ASSIGNOR]},
    ),
    (
        "5: explicit null of the classic side",
        5,
        "",
        f"{MEMBER} 01 00 01 00",
        MEMBER_FIELDS | {"classicMemberMetadata": None},
    ),
    ("5: no tag at all", 5, "", f"{MEMBER} 00", MEMBER_FIELDS),
    (
        "7: an error code before and metadata behind",
        7,
        "3.7",
        f"0000 00 02 {TOPIC} 02 00000001 00 0000 01 00",
        {
            "error": 0,
            "topicPartitions": [{"topicId": T, "partitions": [1]}],
            "metadataVersion": 0,
            "metadataBytes": "",
        },
    ),
    (
        "7: an error code that reads as an empty array",
        7,
        "3.7",
        "0000 01 01 0000 01 00",
        {"error": 1, "topicPartitions": [], "metadataVersion": 0, "metadataBytes": ""},
    ),
    (
        "8: a target epoch where the state is",
        8,
        "3.7",
        f"0000 00000003 00000002 00000004 02 {TOPIC} 02 00000001 00 01 01 00 0000 01 00",
        {
            "memberEpoch": 3,
            "previousMemberEpoch": 2,
            "targetMemberEpoch": 4,
            "assignedPartitions": [{"topicId": T, "partitions": [1]}],
            "partitionsPendingRevocation": [],
            "partitionsPendingAssignment": [],
            "error": 0,
            "metadataVersion": 0,
            "metadataBytes": "",
        },
    ),
    (
        "8: fits both, but the current one only with an unknown state and unknown tags",
        8,
        "3.7",
        "0000 00000001 00000000 05010104 01 01 01 02 0100 04 010709 00",
        {
            "memberEpoch": 1,
            "previousMemberEpoch": 0,
            "targetMemberEpoch": 0x05010104,
            "assignedPartitions": [],
            "partitionsPendingRevocation": [],
            "partitionsPendingAssignment": [],
            "error": 2,
            "metadataVersion": 256,
            "metadataBytes": "AQcJ",
        },
    ),
    (
        "8: fits both, but the current one with an unknown state",
        8,
        "3.7",
        "0000 00000001 00000000 050102cc 01 01 01 00 0000 0b 0000000000000000 01 00 00",
        {
            "memberEpoch": 1,
            "previousMemberEpoch": 0,
            "targetMemberEpoch": 0x050102CC,
            "assignedPartitions": [],
            "partitionsPendingRevocation": [],
            "partitionsPendingAssignment": [],
            "error": 0,
            "metadataVersion": 0,
            "metadataBytes": "AAAAAAAAAAABAA==",
        },
    ),
    (
        "9: as 3.9 wrote it",
        9,
        "3.9",
        f"0000 02 {TOPIC} 04666f6f 02 00000001 00 02 {TOPIC} 04666f6f 00 00",
        {"initializedTopics": [FOO | {"partitions": [1]}], "deletingTopics": [FOO]},
    ),
    ("9: empty in 3.9", 9, "3.9", "0000 01 01 00", {"initializedTopics": [], "deletingTopics": []}),
    (
        "9: as 4.0 wrote it",
        9,
        "4.0",
        f"0000 02 {TOPIC} 04666f6f 00000001 02 00000000 02 0272 00 00 00",
        {
            "topics": [
                FOO | {"numPartitions": 1, "partitionMetadata": [{"partition": 0, "racks": ["r"]}]}
            ]
        },
    ),
    ("9: empty in 4.0", 9, "4.0", "0000 01 00", {"topics": []}),
    ("11: without the hash", 11, "4.0", "0000 00000003 00", {"epoch": 3}),
    (
        "11: with a hash that begins like tags",
        11,
        "",
        "0000 00000003 0000000000000005 00",
        {"epoch": 3, "metadataHash": 5},
    ),
    (
        "15: without initialising topics",
        15,
        "4.0",
        f"0000 02 {TOPIC} 04666f6f 02 00000001 00 01 00",
        {"initializedTopics": [FOO | {"partitions": [1]}], "deletingTopics": []},
    ),
    (
        "15: only a deleting topic",
        15,
        "4.0",
        f"0000 01 02 {TOPIC} 04666f6f 00 00",
        {"initializedTopics": [], "deletingTopics": [FOO]},
    ),
    (
        "15: all three lists",
        15,
        "",
        "0000 01 01 01 00",
        {"initializingTopics": [], "initializedTopics": [], "deletingTopics": []},
    ),
]


@pytest.mark.parametrize(
    ("record_type", "layout", "text", "data"), [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)
def test_the_layout_is_known_from_the_bytes(
    record_type: int, layout: str, text: str, data: dict[str, Any]
) -> None:
    """Each layout is recognised, its fields are its own, and it encodes to the same bytes."""
    value = bytes.fromhex(text)
    record = decode_record(plain_key(record_type), value)
    assert isinstance(record, Record), record
    assert record.layout == layout
    assert decode_record_by_schema(plain_key(record_type), value) == record
    assert value_data(record) == data
    assert record.value is not None
    assert encode_value(record.value, 0, layout) == value


def test_bytes_behind_a_value_are_kept() -> None:
    """Kafka ignores bytes after the last field; they are ignored here too, but kept."""
    record = decode_record(plain_key(3), bytes.fromhex("0000 0000000a 00 cafe"))
    assert isinstance(record, Record)
    assert (record.layout, record.value_trailing) == ("", b"\xca\xfe")
    assert value_data(record) == {"epoch": 10}


def test_bytes_behind_a_key_are_kept() -> None:
    """The same for a key: the record counts for the group that the key names."""
    record = decode_record(plain_key(3) + b"\xca\xfe", None)
    assert isinstance(record, Record)
    assert (record.key[0], record.key_trailing) == ("g", b"\xca\xfe")


def test_an_early_layout_fits_to_the_byte_or_not_at_all() -> None:
    """No early release will add anything, so leftover bytes speak against its layout."""
    cut_current_value = bytes.fromhex("0000 00000003 00000000")
    outcome = decode_record(plain_key(11), cut_current_value)
    assert isinstance(outcome, Undecodable), "it would fit 4.0 with three bytes left over"
    assert outcome.reason == "value_truncated"


def test_a_state_that_no_release_writes_is_read() -> None:
    """Kafka reads any state number; without another layout that fits, so does this decoder."""
    record = decode_record(plain_key(8), bytes.fromhex("0000 00000003 00000002 09 01 01 00"))
    assert isinstance(record, Record)
    assert (record.layout, value_data(record)["state"]) == ("", 9)
