"""Orders of Java's and Kafka's hash tables."""

import pytest

from rebalance_audit.replay.java_order import (
    Key,
    copied_capacity,
    hash_code,
    hash_map_order,
    string_rank,
    timeline_order,
    topic_rank,
)
from tests.coordinator.assignors.kafka_answers import questions

UUID_MAX = b"\xff" * 16


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("", 0),
        ("a", 97),
        ("range", 108280125),
        ("uniform", -286926412),
        ("é", 233),
        ("\U0001f600", 1772899),  # two UTF-16 code units
        ("consumer-with-a-name-longer-than-an-int-holds", -1441143388),
        (7, 7),
        (bytes(16), 0),
        (bytes(15) + b"\x07", 7),
        (UUID_MAX, 0),
        (b"\x80" + bytes(15), -(2**31)),
        (("t", 3), 31 * (31 + 3) + 116),
    ],
)
def test_hash_codes_are_java_s(key: Key, expected: int) -> None:
    """String, Integer, Uuid and TopicPartition hash as their Java classes do, to a signed int."""
    assert hash_code(key) == expected


def test_members_come_in_hash_map_order() -> None:
    """Twenty members in a HashMap that grew to 32 slots."""
    order = hash_map_order([f"member-{number}" for number in range(20)])
    assert [int(key.removeprefix("member-")) for key in order] == [
        19, 18, 17, 16, 5, 15, 6, 14, 3, 13, 4, 12, 9, 11, 10, 7, 8, 1, 2, 0,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("numbers", "order"),
    [
        ((5, 20, 3), [3, 20, 5]),
        ((16, 0), [16, 0]),
        ((0, 16), [0, 16]),
        (tuple(range(12, -1, -1)), list(range(13))),
    ],
)
def test_partition_numbers_come_by_slot_then_as_put(
    numbers: tuple[int, ...], order: list[int]
) -> None:
    """A HashSet of 16 slots iterates numbers modulo 16, and keeps the order of puts inside a slot."""
    assert hash_map_order(numbers) == order


@pytest.mark.parametrize(("size", "slots"), [(0, 16), (11, 16), (12, 32), (13, 32), (24, 64)])
def test_a_copied_set_has_room_for_one_more(size: int, slots: int) -> None:
    """Java 17 gives a copy of twelve keys more slots than twelve puts would."""
    assert copied_capacity(size) == slots


@pytest.mark.parametrize("question", questions("orders.jsonl", "strings"))
def test_string_keys_iterate_as_kafka_s_own_tables_do(question: dict[str, list[str]]) -> None:
    """HashMap and TimelineHashMap with puts, repeated puts and removals."""
    answer: dict[str, list[object]] = question["answer"]  # type: ignore[assignment]
    keys: dict[str, None] = {}
    entries_max = 0
    for key in question["puts"]:
        entries_max = max(entries_max, len(keys) + 1)
        keys[key] = None
    assert [hash_code(key) for key in question["puts"]] == answer["hashes"]
    assert hash_map_order(keys) == answer["hash_map"]
    left = [key for key in keys if key not in question["removes"]]
    assert timeline_order(left, entries_max) == answer["timeline"]


@pytest.mark.parametrize("question", questions("orders.jsonl", "numbers"))
def test_numbers_iterate_as_java_s_own_sets_do(question: dict[str, list[int]]) -> None:
    """HashSets that were copied and that grew, also where nine keys of one slot double a small table."""
    answer: dict[str, list[int]] = question["answer"]  # type: ignore[assignment]
    numbers = question["numbers"]
    assert hash_map_order(numbers, copied_capacity(len(numbers))) == answer["copied"]
    assert hash_map_order(numbers) == answer["grown"]


@pytest.mark.parametrize("question", questions("orders.jsonl", "uuids"))
def test_topic_ids_hash_iterate_and_sort_as_kafka_s_uuids_do(
    question: dict[str, list[str]],
) -> None:
    """Uuid.hashCode, a HashSet of them, and Uuid.compareTo with its signed halves."""
    answer: dict[str, list[object]] = question["answer"]  # type: ignore[assignment]
    ids = [bytes.fromhex(text) for text in question["ids"]]
    assert [hash_code(topic_id) for topic_id in ids] == answer["hashes"]
    copied = hash_map_order(ids, copied_capacity(len(ids)))
    assert [topic_id.hex() for topic_id in copied] == answer["copied"]
    assert [topic_id.hex() for topic_id in sorted(ids, key=topic_rank)] == answer["sorted"]


def test_texts_sort_by_utf_16_code_units() -> None:
    """String.compareTo puts characters beyond the basic plane before U+E000, unlike code points."""
    assert sorted(["\ue000", "\U0001f600", "z"], key=string_rank) == ["z", "\U0001f600", "\ue000"]
