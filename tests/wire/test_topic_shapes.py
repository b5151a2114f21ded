"""The hash over subscribed topics, and what topics were like when, from the cluster's metadata log."""

import struct
from collections.abc import Sequence

import pytest

from rebalance_audit.wire.metadata_records import (
    BrokerRegistered,
    MetadataRecord,
    MetadataTransactionBegan,
    MetadataTransactionEnded,
    PartitionPlaced,
    TopicMade,
    TopicRemoved,
    decode_metadata_record,
    encode_metadata_record,
)
from rebalance_audit.wire.topic_names import (
    ClusterImage,
    TopicShape,
    group_hash,
    one_history,
    topic_hash,
)

A = bytes.fromhex("000102030405060788090a0b0c0d0e0f")
MADE = TopicMade(A, "foo")


def shapes(*moments: Sequence[MetadataRecord]) -> list[tuple[int, int]]:
    """(offset, partitions) of each shape of topic A; one moment after the other, each a batch."""
    return [(shape.metadata_offset, shape.partitions) for shape in history(*moments)]


def history(*moments: Sequence[MetadataRecord]) -> Sequence[TopicShape]:
    """The shapes of topic A."""
    image, offset = ClusterImage(), 0
    for at_ms, batch in enumerate(moments):
        for record in batch:
            image.add(record, offset, at_ms)
            offset += 1
    return image.finish()[A]


def placed(number: int, *replicas: int) -> PartitionPlaced:
    """A partition of topic A."""
    return PartitionPlaced(A, number, replicas)


def test_hashes_are_those_of_kafka() -> None:
    """Computed with hash4j 0.22.0 and `Utils` of kafka-group-coordinator 4.3.1."""
    racks = (("b", "a"), ("rack-zwei", "a"), ())
    assert topic_hash(A, "größe", racks) == 1990726969131034432
    hashes = {"b": -5, "a": 7, "c": 123456789012345}
    assert group_hash(hashes) == 4475735492887964101
    assert group_hash({}) == 0


@pytest.mark.parametrize(
    ("records", "leaders"),
    [
        ((PartitionPlaced(A, 0, (1, 2), 1), PartitionPlaced(A, 1, (2, 1), 2)), {0: 1, 1: 2}),
        ((PartitionPlaced(A, 0, (1, 2), 1), PartitionPlaced(A, 0, None, 2)), {0: 2}),
        ((PartitionPlaced(A, 0, (1, 2), 1), PartitionPlaced(A, 0, None, -1)), {0: 1}),
        ((PartitionPlaced(A, 0, (1,), 1), TopicRemoved(A)), {}),
        (
            (
                PartitionPlaced(A, 0, (1, 2), 1),
                MetadataTransactionBegan(),
                PartitionPlaced(A, 0, None, 2),
                MetadataTransactionEnded(committed=False),
            ),
            {0: 1},
        ),
    ],
)
def test_the_leader_is_the_last_broker_that_led(
    records: Sequence[MetadataRecord], leaders: dict[int, int]
) -> None:
    """One that stops gives up what it leads, and is still the one whose load is of interest."""
    image = ClusterImage()
    for offset, record in enumerate((TopicMade(A, "orders"), *records)):
        decoded = decode_metadata_record(encode_metadata_record(record))
        assert decoded is not None
        image.add(decoded, offset, 0)
    assert image.leaders("orders") == leaders
    assert image.leaders("payments") == {}


def test_a_topic_is_made_grows_and_goes() -> None:
    """What one batch brings is one shape; a leader's election is none."""
    assert shapes(
        [MADE, placed(0, 1), placed(1, 2)],
        [placed(1, 2)],
        [placed(2, 1)],
        [TopicRemoved(A)],
    ) == [(2, 2), (4, 3), (5, 0)]


def test_racks_are_part_of_a_shape() -> None:
    """Another rack of a broker, and other replicas, are other shapes; a broker that comes back unchanged is none."""
    one, two = BrokerRegistered(1, "a"), BrokerRegistered(2, "b")
    found = history(
        [one, two],
        [MADE, placed(0, 1)],
        [one],
        [BrokerRegistered(1, "b")],
        [placed(0, 2)],
        [placed(0, 1, 2)],
        [BrokerRegistered(2, None)],
    )
    assert [shape.metadata_offset for shape in found] == [3, 5, 7, 8]
    assert len({shape.topic_hash for shape in found}) == 3
    assert found[1].topic_hash == found[3].topic_hash


def test_a_transaction_counts_as_a_whole_or_not_at_all() -> None:
    """The controller writes some changes in several batches."""
    made: list[MetadataRecord] = [MADE, placed(0, 1)]
    begun, ended = [MetadataTransactionBegan()], [MetadataTransactionEnded(committed=True)]
    aborted = [MetadataTransactionEnded(committed=False)]
    assert shapes(made, begun, [placed(1, 1)], [placed(2, 1)], ended) == [(1, 1), (4, 3)]
    assert shapes(made, begun, [placed(1, 1)], aborted) == [(1, 1)]


def test_a_topic_whose_beginning_is_lost_has_no_shape() -> None:
    """Its name or some partitions are unknown."""
    image = ClusterImage()
    image.add(placed(0, 1), 0, 0)
    image.add(TopicMade(b"B" * 16, "bar"), 1, 0)
    image.add(PartitionPlaced(b"B" * 16, 1, (1,)), 2, 0)
    assert image.finish() == {}


def test_two_readings_of_one_log() -> None:
    """A log that was cut begins with the shape that the topic had by then, which is no new one."""
    first, second, third = (
        TopicShape(3, 10, 1, 111),
        TopicShape(8, 20, 2, 222),
        TopicShape(15, 30, 3, 333),
    )
    cut = TopicShape(12, 25, 2, 222)
    assert one_history((first, second), (cut, third)) == (first, second, third)


INT, UUID = struct.Struct(">i").pack, bytes(16)
ENDPOINT = b"\x02" + b"\x03EP" + b"\x02h" + b"\x23\x84\0\0" + b"\0"
FEATURE = b"\x02" + b"\x02f" + b"\0\0\0\1" + b"\0"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b"\1\0\0" + INT(7) + UUID + bytes(8) + ENDPOINT + FEATURE + b"\x03r1\1\0", "r1"),
        (b"\1\0\3" + INT(7) + b"\0" + UUID + bytes(8) + b"\1\1" + b"\x03r2\1\0\0", "r2"),
        (b"\1\0\3" + INT(7) + b"\0" + UUID + bytes(8) + b"\1\1" + b"\0\1\0\0", None),
        (b"\1\1\0" + INT(7) + bytes(8) + b"\0", None),
    ],
)
def test_brokers_and_their_racks(value: bytes, expected: str | None) -> None:
    """RegisterBrokerRecord of several versions; UnregisterBrokerRecord."""
    assert decode_metadata_record(value) == BrokerRegistered(7, expected)


def test_changes_of_partitions() -> None:
    """Another list of replicas, or an election, which changes no shape."""
    start = b"\1\5\0" + INT(3) + A
    replicas = b"\x03" + INT(1) + INT(2)
    leader, moved = b"\1\4" + INT(1), b"\2" + bytes((len(replicas),)) + replicas
    elected = PartitionPlaced(A, 3, None, 1)
    assert decode_metadata_record(start + b"\1" + leader) == elected
    assert encode_metadata_record(elected) == start + b"\1" + leader
    assert decode_metadata_record(start + b"\2" + leader + moved) == PartitionPlaced(
        A, 3, (1, 2), 1
    )
    assert decode_metadata_record(start + b"\1\0\1\0") is None
    assert decode_metadata_record(b"\1\x14\0\0") is None
