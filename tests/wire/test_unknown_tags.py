"""Tagged fields of future releases: kept with their position, and written back."""

import pytest

from rebalance_audit.wire.generated.messages import ConsumerGroupMetadataValue
from rebalance_audit.wire.generic import UnknownTag
from rebalance_audit.wire.records import Record, decode_record, encode_value
from tests.wire.golden_records import plain_key

TOPIC = "000102030405060708090a0b0c0d0e0f"

CASES = [
    ("of the value", 3, "0000 0000000a 01 07 02 cafe", [("", 7, "cafe")]),
    ("two, one empty", 3, "0000 0000000a 02 07 00 09 01 aa", [("", 7, ""), ("", 9, "aa")]),
    ("beside a known one", 3, "0000 0000000a 02 00 08 1122334455667788 03 01 aa", [("", 3, "aa")]),
    ("a number of two bytes", 3, "0000 0000000a 01 8001 01 aa", [("", 128, "aa")]),
    (
        "of an array's element",
        8,
        f"0000 0000000a 00000009 00 02 {TOPIC} 02 00000001 01 05 01 bb 01 00",
        [("assignedPartitions[0]", 5, "bb")],
    ),
    (
        "in several structs",
        8,
        (
            f"0000 0000000a 00000009 00 02 {TOPIC} 02 00000001 02 00 05 02 00000009 05 01 bb"
            f" 02 {TOPIC} 01 01 06 00 01 07 00"
        ),
        [
            ("assignedPartitions[0]", 5, "bb"),
            ("partitionsPendingRevocation[0]", 6, ""),
            ("", 7, ""),
        ],
    ),
    (
        "of a struct in a tag",
        5,
        "0000 00 00 0263 0268 01 00 00000000 00 01 00 0a 01 00000001 01 01 03 01 aa",
        [("classicMemberMetadata", 3, "aa")],
    ),
    (
        "of a struct in a tag that is otherwise its default",
        5,
        "0000 00 00 0263 0268 01 00 00000000 00 01 00 0a 01 00000000 01 01 03 01 aa",
        [("classicMemberMetadata", 3, "aa")],
    ),
    (
        "of a nullable struct",
        19,
        "0000 00 00 0263 0268 00000000 00000000 0270 01 0268 0001 01 04 01 cc 01 00",
        [("userEndpoint", 4, "cc")],
    ),
]


@pytest.mark.parametrize(
    ("record_type", "text", "tags"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_unknown_tags_are_kept_and_written_back(
    record_type: int, text: str, tags: list[tuple[str, int, str]]
) -> None:
    """A record with unknown tags decodes, reports them, and encodes to the same bytes."""
    value = bytes.fromhex(text)
    record = decode_record(plain_key(record_type), value)
    assert isinstance(record, Record), record
    assert list(record.unknown_tags) == [
        UnknownTag(path, tag, bytes.fromhex(data)) for path, tag, data in tags
    ]
    assert record.value is not None
    assert encode_value(record.value, 0, "", record.unknown_tags) == value


def test_a_place_that_the_value_does_not_have_is_an_error() -> None:
    """Tags for a missing struct would be lost, so they are refused."""
    value = ConsumerGroupMetadataValue(epoch=1)
    with pytest.raises(ValueError, match=r"members\[0\]"):
        encode_value(value, 0, "", (UnknownTag("members[0]", 5, b""),))


def test_an_unknown_tag_cannot_stand_for_a_known_one() -> None:
    """The number of a tag that the schema has and the value writes is taken."""
    value = ConsumerGroupMetadataValue(epoch=1, metadata_hash=5)
    with pytest.raises(ValueError, match="tag 0 twice"):
        encode_value(value, 0, "", (UnknownTag("", 0, b""),))
