"""What cannot be written is an error that names the field."""

from typing import Any

import pytest

from rebalance_audit.wire.generated.messages import (
    ConsumerGroupCurrentMemberAssignmentTopicPartitions,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    GroupMetadataMember,
    GroupMetadataValue,
    Key,
    OffsetCommitKey,
    OffsetCommitValue,
    ShareGroupMetadataValue,
    ShareGroupPartitionMetadataValue,
    StreamsGroupMemberMetadataEndpoint,
    StreamsGroupMemberMetadataValue,
    Value,
)
from rebalance_audit.wire.records import encode_key, encode_value

COMMIT = OffsetCommitValue(offset=1, metadata="", commit_timestamp=2)
MEMBER = GroupMetadataMember("m", "c", "/h", 1000, b"", b"")
GROUP = GroupMetadataValue("consumer", 1, "range", "m", (MEMBER,))
STANDING = ConsumerGroupCurrentMemberAssignmentValue(1, 0, (), (), state=0)
SUBSCRIBER = ConsumerGroupMemberMetadataValue(None, None, "c", "/h", (), None, 1000, None)
STREAMER = StreamsGroupMemberMetadataValue(None, None, "c", "/h", 1000, 0, "p", None, ())


def partitions(topic_id: bytes) -> tuple[ConsumerGroupCurrentMemberAssignmentTopicPartitions, ...]:
    """One topic of a current assignment."""
    return (ConsumerGroupCurrentMemberAssignmentTopicPartitions(topic_id, (0,)),)


def wrong(value: Any, **fields: Any) -> Any:
    """The value with fields that its type forbids."""
    return value._replace(**fields)


REFUSED: list[tuple[str, Value, int, str, str]] = [
    ("null", wrong(COMMIT, metadata=None), 3, "", "metadata is None"),
    ("too large", COMMIT._replace(offset=2**63), 3, "", "offset = 9223372036854775808 is no int64"),
    ("no number", wrong(COMMIT, offset="1"), 3, "", "offset = '1' is no int64"),
    (
        "a later field",
        COMMIT._replace(leader_epoch=5),
        2,
        "",
        "leaderEpoch does not exist in version 2",
    ),
    (
        "an earlier field",
        COMMIT._replace(expire_timestamp=5),
        3,
        "",
        "expireTimestamp does not exist",
    ),
    ("a later tag", COMMIT._replace(topic_id=b"x" * 16), 3, "", "topicId does not exist"),
    ("unknown version", COMMIT, 5, "", "OffsetCommitValue version 5 has no layout ''"),
    ("no such layout", COMMIT, 3, "3.7", "version 3 has no layout '3.7'"),
    ("no current layout", ShareGroupPartitionMetadataValue(), 0, "", "has no layout ''"),
    (
        "inside an array",
        GROUP._replace(members=(MEMBER, wrong(MEMBER, client_id=None))),
        3,
        "",
        r"members\[1\].clientId is None",
    ),
    (
        "a later field inside an array",
        GROUP._replace(members=(MEMBER._replace(group_instance_id="i"),)),
        2,
        "",
        r"members\[0\].groupInstanceId does not exist in version 2",
    ),
    ("long text", COMMIT._replace(metadata="é" * 16384), 3, "", "metadata has 32768 bytes"),
    ("half a surrogate pair", COMMIT._replace(metadata="\ud800"), 3, "", "metadata is no text"),
    (
        "a short uuid",
        STANDING._replace(assigned_partitions=partitions(b"x")),
        0,
        "",
        r"assignedPartitions\[0\].topicId has 1 bytes",
    ),
    (
        "a field of the current layout",
        ShareGroupMetadataValue(epoch=1, metadata_hash=5),
        0,
        "4.0",
        "metadata_hash does not exist in layout '4.0'",
    ),
    (
        "a field of an early layout",
        STANDING._replace(error=1),
        0,
        "",
        "error does not exist in layout ''",
    ),
    (
        "null in an array",
        wrong(SUBSCRIBER, subscribed_topic_names=("a", None)),
        0,
        "",
        r"subscribedTopicNames\[1\] is None",
    ),
    (
        "a port out of range",
        STREAMER._replace(user_endpoint=StreamsGroupMemberMetadataEndpoint("h", 65536)),
        0,
        "",
        "userEndpoint.port = 65536 is no uint16",
    ),
]


@pytest.mark.parametrize(
    ("value", "version", "layout", "message"),
    [case[1:] for case in REFUSED],
    ids=[case[0] for case in REFUSED],
)
def test_what_the_bytes_cannot_hold_is_refused(
    value: Value, version: int, layout: str, message: str
) -> None:
    """Nothing is dropped or adjusted to fit: the error names the field and what is wrong with it."""
    with pytest.raises(ValueError, match=message):
        encode_value(value, version, layout)


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (wrong(ConsumerGroupMetadataKey("g"), group_id=None), "groupId is None"),
        (OffsetCommitKey("g", "t", 2**31), "partition = 2147483648 is no int32"),
        (ConsumerGroupMemberMetadataKey("g", "m" * 40_000), "memberId has 40000 bytes"),
    ],
)
def test_what_a_key_cannot_hold_is_refused(key: Key, message: str) -> None:
    """The same for keys."""
    with pytest.raises(ValueError, match=message):
        encode_key(key)
