"""Sets of topic partitions."""

from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_audit.replay.partitions import (
    Partitions,
    TopicPartition,
    count,
    each,
    minus,
    partitions_of,
    text_of,
    union,
)

ENTRIES = st.lists(
    st.tuples(st.sampled_from(["foo", b"\1" * 16]), st.lists(st.integers(0, 5), max_size=4)),
    max_size=5,
)


def flat(entries: list[tuple[str | bytes, list[int]]]) -> set[TopicPartition]:
    """The entries as a set of pairs."""
    return {(topic, number) for topic, numbers in entries for number in numbers}


def as_set(partitions: Partitions) -> set[TopicPartition]:
    """The partitions as a set of pairs; a topic without any is never there."""
    assert all(partitions.values())
    return set(each(partitions))


@settings(deadline=None)
@given(ENTRIES, ENTRIES)
def test_partitions_behave_as_sets_of_pairs(
    left: list[tuple[str | bytes, list[int]]], right: list[tuple[str | bytes, list[int]]]
) -> None:
    """Entries of one topic are joined, repeated numbers count once, empty topics vanish."""
    a, b = partitions_of(left), partitions_of(right)
    assert as_set(a) == flat(left)
    assert count(a) == len(flat(left)) == len(list(each(a)))
    assert as_set(union(a, b)) == flat(left) | flat(right)
    assert as_set(minus(a, b)) == flat(left) - flat(right)
    assert (a == b) == (flat(left) == flat(right))


def test_a_topic_id_is_printed_as_kafka_prints_it() -> None:
    """Url-safe base64 without padding; a name stays a name."""
    assert text_of(bytes(range(250, 256)) + bytes(10)) == "-vv8_f7_AAAAAAAAAAAAAA"
    assert text_of("orders") == "orders"
