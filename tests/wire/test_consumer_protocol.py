"""Subscriptions and assignments of classic consumers."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.consumer import ConsumerProtocolAssignment as OracleAssignment
from kafka.protocol.consumer import ConsumerProtocolSubscription as OracleSubscription

from rebalance_audit.wire.consumer_protocol import (
    Assignment,
    Subscription,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
    read_assignment,
    read_subscription,
)
from rebalance_audit.wire.embedded import Malformed
from rebalance_audit.wire.generated.messages import GroupMetadataMember, GroupMetadataValue
from rebalance_audit.wire.json_shape import value_data
from rebalance_audit.wire.records import Record, decode_record, encode_value
from tests.wire.golden_records import plain_key
from tests.wire.mutation import mutated

TOPICS = "00000001 0003 666f6f"
OWNED = "00000001 0003 666f6f 00000002 00000000 00000001"
FOO = (("foo", (0, 1)),)

SUBSCRIPTIONS: list[tuple[str, str, Subscription]] = [
    ("0", f"0000 {TOPICS} ffffffff", Subscription(("foo",), None, protocol_version=0)),
    (
        "user data",
        f"0000 {TOPICS} 00000002 cafe",
        Subscription(("foo",), b"\xca\xfe", protocol_version=0),
    ),
    ("empty user data", f"0000 {TOPICS} 00000000", Subscription(("foo",), b"", protocol_version=0)),
    ("nothing", "0000 00000000 ffffffff", Subscription((), None, protocol_version=0)),
    ("1", f"0001 {TOPICS} ffffffff {OWNED}", Subscription(("foo",), None, FOO, protocol_version=1)),
    (
        "2",
        f"0002 {TOPICS} ffffffff {OWNED} 00000007",
        Subscription(("foo",), None, FOO, 7, protocol_version=2),
    ),
    (
        "3",
        f"0003 {TOPICS} ffffffff {OWNED} 00000007 0002 7231",
        Subscription(("foo",), None, FOO, 7, "r1"),
    ),
    (
        "3 as the Java client joins",
        f"0003 {TOPICS} ffffffff 00000000 ffffffff ffff",
        Subscription(("foo",), None, (), -1, None),
    ),
    (
        "3 as librdkafka joins",
        f"0003 {TOPICS} 00000000 00000000 ffffffff 0000",
        Subscription(("foo",), b"", (), -1, ""),
    ),
]
ASSIGNMENTS: list[tuple[str, str, Assignment]] = [
    ("0", f"0000 {OWNED} ffffffff", Assignment(FOO, None, 0)),
    ("3", f"0003 {OWNED} 00000001 aa", Assignment(FOO, b"\xaa", 3)),
    ("nothing", "0001 00000000 00000000", Assignment((), b"", 1)),
]


@pytest.mark.parametrize(
    ("text", "subscription"), [c[1:] for c in SUBSCRIPTIONS], ids=[c[0] for c in SUBSCRIPTIONS]
)
def test_subscriptions_read_and_write(text: str, subscription: Subscription) -> None:
    """Each version has its fields; what a version lacks shows its default."""
    assert decode_subscription(bytes.fromhex(text)) == subscription
    assert encode_subscription(subscription).hex() == bytes.fromhex(text).hex()


@pytest.mark.parametrize(
    ("text", "assignment"), [c[1:] for c in ASSIGNMENTS], ids=[c[0] for c in ASSIGNMENTS]
)
def test_assignments_read_and_write(text: str, assignment: Assignment) -> None:
    """All versions have the same fields."""
    assert decode_assignment(bytes.fromhex(text)) == assignment
    assert encode_assignment(assignment).hex() == bytes.fromhex(text).hex()


def test_a_newer_version_is_read_as_far_as_it_is_known() -> None:
    """Later versions add fields at the end, so the known ones are read and the version is reported."""
    future = bytes.fromhex(f"0009 {TOPICS} ffffffff {OWNED} 00000007 0002 7231 cafecafe")
    assert decode_subscription(future) == Subscription(("foo",), None, FOO, 7, "r1", 9)
    assert decode_assignment(bytes.fromhex(f"0009 {OWNED} ffffffff cafe")) == Assignment(
        FOO, None, 9
    )


def test_bytes_behind_a_known_version_are_ignored() -> None:
    """As Kafka's readers do."""
    known = decode_subscription(bytes.fromhex(f"0000 {TOPICS} ffffffff cafe"))
    assert known == Subscription(("foo",), None, protocol_version=0)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "0 bytes"),
        ("00", "1 bytes"),
        ("ffff 00000000 ffffffff", "version -1"),
        ("0000", "topics at byte 2"),
        ("0000 ffffffff ffffffff", "topics at byte 6: null"),
        ("0000 7fffffff", "an array of 2147483647 elements"),
        ("0000 00000001 0002 c328 ffffffff", "not UTF-8"),
    ],
)
def test_malformed_subscriptions_say_why(text: str, why: str) -> None:
    """Any client may send any bytes: those are no subscription, with a reason, and nothing raises."""
    data = bytes.fromhex(text)
    assert decode_subscription(data) is None
    outcome = read_subscription(data)
    assert isinstance(outcome, Malformed)
    assert why.replace("\\", "") in outcome.detail


LEADING: list[tuple[str, str, Subscription]] = [
    (
        "kafka-go leaves out what version 1 added",
        f"0001 {TOPICS} ffffffff",
        Subscription(("foo",), None, (), -1, None, 1, ("ownedPartitions",)),
    ),
    (
        "faust writes version 4 with the fields of version 0",
        f"0004 {TOPICS} 00000001 aa",
        Subscription(
            ("foo",), b"\xaa", (), -1, None, 4, ("ownedPartitions", "generationId", "rackId")
        ),
    ),
    (
        "no user data",
        f"0000 {TOPICS}",
        Subscription(("foo",), None, protocol_version=0, unread=("userData",)),
    ),
    (
        "user data cut short",
        f"0000 {TOPICS} 00000005 aa",
        Subscription(("foo",), None, protocol_version=0, unread=("userData",)),
    ),
    (
        "owned partitions cut short",
        f"0002 {TOPICS} ffffffff 00000002 0003 666f6f 00000000 0001",
        Subscription(("foo",), None, (), -1, None, 2, ("ownedPartitions", "generationId")),
    ),
    (
        "no rack",
        f"0003 {TOPICS} ffffffff {OWNED} 00000007",
        Subscription(("foo",), None, FOO, 7, None, 3, ("rackId",)),
    ),
]


@pytest.mark.parametrize(
    ("text", "subscription"), [c[1:] for c in LEADING], ids=[c[0] for c in LEADING]
)
def test_subscriptions_are_read_as_far_as_they_go(text: str, subscription: Subscription) -> None:
    """What the bytes hold is known, and what they lack is named: it is not known, and never empty."""
    data = bytes.fromhex(text)
    assert read_subscription(data) == subscription
    assert decode_subscription(data) is None


def test_an_assignment_may_lack_its_user_data() -> None:
    """Its partitions are complete; partitions that are cut short are no assignment."""
    assert read_assignment(bytes.fromhex(f"0000 {OWNED}")) == Assignment(
        FOO, None, 0, ("userData",)
    )
    cut = read_assignment(bytes.fromhex("0000 00000001 0003 666f6f 00000002 00000000"))
    assert isinstance(cut, Malformed)


@given(
    version=st.integers(0, 3),
    topics=st.lists(st.text(max_size=6, alphabet="abc"), max_size=3),
    cut=st.integers(0, 60),
)
def test_a_cut_subscription_never_gains_anything(version: int, topics: list[str], cut: int) -> None:
    """Whatever is read of the first bytes of a subscription is what the whole one says."""
    whole = Subscription(tuple(topics), b"data", FOO if version else (), protocol_version=version)
    data = encode_subscription(whole)
    read = read_subscription(data[: max(0, len(data) - cut)])
    if isinstance(read, Subscription):
        assert read.topics == whole.topics
        assert read.owned_partitions in (whole.owned_partitions, ())
        assert read.unread or read == whole


def test_a_member_without_assignment_has_none() -> None:
    """The coordinator stores empty bytes for a member that the leader left out."""
    assert decode_assignment(b"") is None
    assert read_assignment(b"") == Malformed("0 bytes, and the version alone has 2")


TOPIC_PARTITIONS = st.lists(
    st.tuples(
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6),
        st.lists(st.integers(0, 2**31 - 1), max_size=4).map(tuple),
    ),
    max_size=3,
).map(tuple)
USER_DATA = st.none() | st.binary(max_size=6)


@given(
    version=st.integers(0, 3),
    topics=st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=6), max_size=3),
    user_data=USER_DATA,
    owned=TOPIC_PARTITIONS,
    generation_id=st.integers(-1, 2**31 - 1),
    rack_id=st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
)
def test_subscriptions_agree_with_another_implementation(
    version: int,
    topics: list[str],
    user_data: bytes | None,
    owned: tuple[tuple[str, tuple[int, ...]], ...],
    generation_id: int,
    rack_id: str | None,
) -> None:
    """kafka-python writes the same bytes for the same subscription, in every version."""
    ours = Subscription(
        tuple(topics),
        user_data,
        owned if version >= 1 else (),
        generation_id if version >= 2 else -1,
        rack_id if version >= 3 else None,
        version,
    )
    theirs = OracleSubscription(
        topics=topics,
        user_data=user_data,
        owned_partitions=[
            OracleSubscription.TopicPartition(topic=topic, partitions=list(numbers))
            for topic, numbers in owned
        ],
        generation_id=generation_id,
        rack_id=rack_id,
    ).encode(version=version)
    assert encode_subscription(ours) == theirs
    assert decode_subscription(theirs) == ours


@given(version=st.integers(0, 3), user_data=USER_DATA, assigned=TOPIC_PARTITIONS)
def test_assignments_agree_with_another_implementation(
    version: int, user_data: bytes | None, assigned: tuple[tuple[str, tuple[int, ...]], ...]
) -> None:
    """kafka-python writes the same bytes for the same assignment, in every version."""
    theirs = OracleAssignment(
        assigned_partitions=[
            OracleAssignment.TopicPartition(topic=topic, partitions=list(numbers))
            for topic, numbers in assigned
        ],
        user_data=user_data,
    ).encode(version=version)
    ours = Assignment(assigned, user_data, version)
    assert encode_assignment(ours) == theirs
    assert decode_assignment(theirs) == ours


def test_damaged_payloads_never_raise() -> None:
    """Every outcome is a value, whatever the damage to the bytes."""
    chance = random.Random(5)
    whole = [bytes.fromhex(case[1]) for case in (*SUBSCRIPTIONS, *ASSIGNMENTS)]
    outcomes = {
        type(read(mutated(data, chance)))
        for _ in range(200)
        for data in whole
        for read in (read_subscription, read_assignment)
    }
    assert outcomes == {Subscription, Assignment, Malformed}


@pytest.mark.parametrize(
    ("protocol_type", "subscription", "assignment", "shown"),
    [
        (
            "consumer",
            f"0000 {TOPICS} ffffffff",
            f"0000 {OWNED} ffffffff",
            (
                {"topics": ["foo"], "userData": None},
                {"assignedPartitions": [{"topic": "foo", "partitions": [0, 1]}], "userData": None},
            ),
        ),
        (
            "consumer",
            f"0002 {TOPICS} 00000001 aa {OWNED} 00000007",
            "",
            (
                {
                    "topics": ["foo"],
                    "userData": "qg==",
                    "ownedPartitions": [{"topic": "foo", "partitions": [0, 1]}],
                    "generationId": 7,
                },
                "",
            ),
        ),
        (
            "consumer",
            f"0009 {TOPICS} ffffffff 00000000 ffffffff ffff",
            "cafe",
            ("AAkAAAABAANmb2//////AAAAAP///////w==", "yv4="),
        ),
        ("connect", f"0000 {TOPICS} ffffffff", "", ("AAAAAAABAANmb2//////", "")),
    ],
    ids=["version 0", "version 2, no assignment", "newer version, malformed", "other protocol"],
)
def test_members_are_shown_with_their_payloads(
    protocol_type: str, subscription: str, assignment: str, shown: tuple[object, object]
) -> None:
    """In JSON a consumer's bytes are objects with the fields of their version; others stay base64."""
    member = GroupMetadataMember(
        "m", "c", "/h", 1000, bytes.fromhex(subscription), bytes.fromhex(assignment)
    )
    value = encode_value(GroupMetadataValue(protocol_type, 1, "range", "m", (member,)), 3)
    record = decode_record(plain_key(2), value)
    assert isinstance(record, Record)
    (fields,) = value_data(record)["members"]
    assert (fields["subscription"], fields["assignment"]) == shown
