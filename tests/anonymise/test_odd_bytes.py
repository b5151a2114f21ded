"""Bytes that are damaged, unknown or chosen by clients: their content is gone, and they are read as before."""

import struct
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_audit.anonymise.embedded_bytes import MemberBytes
from rebalance_audit.anonymise.pseudonyms import Pseudonyms
from rebalance_audit.anonymise.records import LeftOut, RecordRenamer
from rebalance_audit.anonymise.topic_hashes import TopicHashes
from rebalance_audit.local.audit import audit_segments
from rebalance_audit.sim.brokers.batch_writer import LoggedRecord, encode_batch
from rebalance_audit.wire import embedded
from rebalance_audit.wire.connect_protocol import read_worker_assignment, read_worker_state
from rebalance_audit.wire.consumer_protocol import read_assignment, read_subscription
from rebalance_audit.wire.embedded import Malformed, encode_embedded
from rebalance_audit.wire.generated.messages import (
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerProtocolSubscription,
    ConsumerProtocolSubscriptionTopicPartition,
    GroupMetadataKey,
    OffsetCommitKey,
    OffsetCommitValue,
    StreamsSubscriptionInfo,
)
from rebalance_audit.wire.records import Record, decode_record, encode_key, encode_value
from rebalance_audit.wire.segments.batches import BatchRecords
from rebalance_audit.wire.topic_names import TopicNames
from tests.anonymise.renamed import anonymised, plain_bytes
from tests.support.batches import Batch, LogRecord, read_batches
from tests.wire.segments.hand_made import message_set

SECRET = b"secret"
NAMES = Pseudonyms(b"a key of 16 byte", 50)
GROUP = encode_key(GroupMetadataKey("secret"))
COMMIT = encode_key(OffsetCommitKey("secret", "secret.topic", 3))
COMMITTED = encode_value(OffsetCommitValue(5, "", 1_700_000_000_000), 3)


def renamed(key: bytes | None, value: bytes | None) -> tuple[bytes | None, bytes | None]:
    """One record under pseudonyms."""
    left_out: Counter[LeftOut] = Counter()
    renamer = RecordRenamer(NAMES, TopicHashes(NAMES, TopicNames(), TopicNames()), left_out)
    found = renamer.renamed(BatchRecords([7], [1_700_000_000_000], [key], [value]))
    return found.keys[0], found.values[0]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, SECRET),
        (b"", SECRET),
        (b"\0", SECRET),
        (b"\0\x63" + SECRET, SECRET),
        (b"\0\1\0\x20secret", SECRET),
        (GROUP, b"\0\x4d" + SECRET),
        (GROUP, b"\0\3\0\x09" + SECRET),
        (COMMIT, b""),
        (COMMIT, b"\0\x09" + SECRET),
        (b"\0\2\0\x06\xff\xfesecre", None),
    ],
    ids=str,
)
def test_what_cannot_be_decoded_is_refused_alike(key: bytes | None, value: bytes | None) -> None:
    """For the same reason or for a cut, under the same type, and without a byte of content."""
    new_key, new_value = renamed(key, value)
    before, after = decode_record(key, value), decode_record(new_key, new_value)
    assert not isinstance(before, Record)
    assert not isinstance(after, Record)
    assert (after.record_type, after.value_version) == (before.record_type, before.value_version)
    assert after.reason is before.reason or after.reason.endswith("truncated")
    assert SECRET not in (new_key or b"") + (new_value or b"")


@pytest.mark.parametrize(
    ("key", "value"),
    [(COMMIT + SECRET, COMMITTED), (COMMIT, COMMITTED + SECRET), (COMMIT + SECRET, None)],
)
def test_bytes_after_the_last_field_go(key: bytes, value: bytes | None) -> None:
    """Kafka ignores them; a writer of its own may use them."""
    new_key, new_value = renamed(key, value)
    after = decode_record(new_key, new_value)
    assert isinstance(after, Record)
    assert (after.key_trailing, after.value_trailing) == (b"", b"")
    assert SECRET not in (new_key or b"") + (new_value or b"")


@pytest.mark.parametrize("protocol_type", ["consumer", "", "connect", "sr", "of-its-own"])
@given(
    data=st.one_of(st.binary(max_size=60), st.binary(max_size=30).map(lambda tail: b"\0\1" + tail))
)
def test_bytes_of_clients_are_read_as_before(protocol_type: str, data: bytes) -> None:
    """What is malformed stays so, and what is incomplete lacks the same fields."""
    inside = MemberBytes(NAMES, protocol_type, "range")
    for made in (inside.subscription(data), inside.assignment(data)):
        assert bool(made) == bool(data)
    if protocol_type in READERS:
        of_subscription, of_assignment = READERS[protocol_type]
        assert shape(of_subscription(inside.subscription(data))) == shape(of_subscription(data))
        assert shape(of_assignment(inside.assignment(data))) == shape(of_assignment(data))


READERS: dict[str, tuple[Callable[[bytes], Any], Callable[[bytes], Any]]] = {
    "consumer": (read_subscription, read_assignment),
    "connect": (read_worker_state, read_worker_assignment),
}


def shape(read: Any) -> tuple[object, ...]:
    """How far bytes could be read."""
    if isinstance(read, Malformed):
        return ()
    version = read.version if isinstance(read, embedded.Embedded) else read.protocol_version
    return version, read.unread


@pytest.mark.parametrize("data", [b"s", b"se", SECRET, b'{"host": 1}', b"\0secret", b"\0\0\0se"])
def test_bytes_of_a_protocol_of_its_own_show_no_letter(data: bytes) -> None:
    """Where a version would be as well."""
    inside = MemberBytes(NAMES, "consumer", "range")
    for made in (inside.subscription(data), inside.assignment(data)):
        assert len(made) == len(data)
        for size in (1, 2):
            assert not data[:size].isalpha() or made[:size] != data[:size]
        assert not made.startswith(b"\0s")


def test_lists_are_not_in_order_of_names() -> None:
    """Clients and brokers sort them, so a guess of all names would show which is which."""
    topics = tuple(f"topic-{letter}" for letter in "abcdefgh")
    renamed_topics = tuple(sorted(map(NAMES.topic, topics)))
    assert renamed_topics != tuple(map(NAMES.topic, topics))
    owned = tuple(ConsumerProtocolSubscriptionTopicPartition(topic, (0,)) for topic in topics)
    sent = encode_embedded(ConsumerProtocolSubscription(topics, b"", owned), 1)
    read = read_subscription(MemberBytes(NAMES, "consumer", "range").subscription(sent))
    assert not isinstance(read, Malformed)
    assert read.topics == renamed_topics
    assert tuple(each[0] for each in read.owned_partitions) == renamed_topics
    resolved = ConsumerGroupRegularExpressionValue(topics, 1, 1_700_000_000_000)
    _, value = renamed(
        encode_key(ConsumerGroupRegularExpressionKey("group", "topic-.*")),
        encode_value(resolved, 0),
    )
    assert value is not None
    assert [value.index(topic.encode()) for topic in renamed_topics] == sorted(
        value.index(topic.encode()) for topic in renamed_topics
    )


def test_a_newer_version_loses_what_is_not_known() -> None:
    """The part that is known is renamed, the version stays."""
    known = struct.pack(">hih", 9, 1, 6) + b"secret" + struct.pack(">iiih", -1, 0, 4, -1)
    made = MemberBytes(NAMES, "consumer", "range").subscription(known + SECRET)
    read = read_subscription(made)
    assert not isinstance(read, Malformed)
    assert (read.protocol_version, read.generation_id) == (9, 4)
    assert read.topics == (NAMES.topic("secret"),)
    assert SECRET not in made


def test_user_data_of_streams_is_read_and_written_again() -> None:
    """Tasks stay; the process and the address of the client are replaced."""
    info = StreamsSubscriptionInfo(SECRET.ljust(16, b"!"), 11, user_end_point=b"secret.host:8080")
    user_data = b"\0\0" + encode_embedded(info, 11)
    subscription = encode_embedded(ConsumerProtocolSubscription(("secret",), user_data), 1)
    made = MemberBytes(NAMES, "consumer", "stream").subscription(subscription)
    read = read_subscription(made)
    assert not isinstance(read, Malformed)
    assert read.user_data
    after = embedded.read(read.user_data[2:], StreamsSubscriptionInfo)
    assert not isinstance(after, Malformed)
    process_id, address = after.fields.process_id, after.fields.user_end_point
    assert after.fields == info._replace(process_id=process_id, user_end_point=address)
    assert process_id != info.process_id
    assert SECRET not in made


def records_in(batch: object) -> list[LogRecord]:
    """The records of a healthy batch."""
    assert isinstance(batch, Batch)
    found = batch.records()
    assert isinstance(found, list)
    return found


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_the_oldest_formats_keep_their_records(magic: int, codec: str, tmp_path: Path) -> None:
    """Message sets of magic 0 and 1, plain or in a wrapper."""
    records = [(70 + at, 1_700_000_000_000 + at, COMMIT, COMMITTED) for at in range(5)]
    file = tmp_path / "log" / "__consumer_offsets-0" / f"{70:020}.log"
    file.parent.mkdir(parents=True)
    file.write_bytes(message_set(records, magic, codec))
    anonymised(tmp_path / "log", tmp_path / "out")
    before, after = (
        [each for batch in read_batches(each_file) for each in records_in(batch)]
        for each_file in (file, tmp_path / "out" / "__consumer_offsets-0" / file.name)
    )
    assert [each[:2] for each in after] == [each[:2] for each in before]
    assert len(before) == len(records)
    assert not [data for _, data in plain_bytes(tmp_path / "out") if SECRET in data]


ODD_NAMES = st.one_of(
    st.text(min_size=1, max_size=12),
    st.text("ab-.1", min_size=1, max_size=6),
    st.sampled_from(["consumer", "range", ".*", "^(a|b)$", "\0", "group" * 6000, "𝄞" * 9]),
)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(ODD_NAMES, ODD_NAMES, ODD_NAMES), min_size=1, max_size=6))
def test_odd_names_change_no_row(
    tmp_path_factory: pytest.TempPathFactory, given_names: list[tuple[str, str, str]]
) -> None:
    """Prefixes of each other, words of the protocol, expressions, any characters, the longest names."""
    folder = tmp_path_factory.mktemp("odd")
    file = folder / "log" / "__consumer_offsets-0" / f"{0:020}.log"
    file.parent.mkdir(parents=True)
    records = [
        LoggedRecord(
            place,
            1_700_000_000_000 + place,
            encode_key(OffsetCommitKey(group, topic, 0)),
            encode_value(OffsetCommitValue(place, metadata, 1_700_000_000_000), 3),
        )
        for place, (group, topic, metadata) in enumerate(given_names)
    ]
    file.write_bytes(encode_batch(records, 0))
    found = anonymised(folder / "log", folder / "out")
    assert found.records == len(records)
    ours = audit_segments(folder / "out").tables["group_hours"]
    assert len(ours) == len(audit_segments(folder / "log").tables["group_hours"])
    assert len({row["group_id"] for row in ours}) == len({group for group, *_ in given_names})
