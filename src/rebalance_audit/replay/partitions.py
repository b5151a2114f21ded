"""Sets of topic partitions, as values.

A `Partitions` maps a topic to the set of its partition numbers. The topic is the 16 bytes of a topic id (consumer and
share groups), a topic name (classic groups) or a subtopology id (streams groups); the functions never look inside it.
Topics with no partition are left out, so equal sets compare equal.
"""

import base64
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

Topic: TypeAlias = bytes | str
TopicPartition: TypeAlias = tuple[Topic, int]
Partitions: TypeAlias = Mapping[Topic, frozenset[int]]

NOTHING: Partitions = {}


def partitions_of(
    entries: Iterable[tuple[Topic, Iterable[int]] | tuple[Topic, Iterable[int], object]],
) -> Partitions:
    """The set that (topic, partition numbers, …) entries name; entries of one topic are merged."""
    collected: dict[Topic, frozenset[int]] = {}
    for entry in entries:
        topic = entry[0]
        numbers = frozenset(entry[1])
        if numbers:
            known = collected.get(topic)
            collected[topic] = numbers if known is None else known | numbers
    return collected


def each(partitions: Partitions) -> Sequence[TopicPartition]:
    """Every (topic, partition) once; topics in the order they were added, partitions ascending."""
    return [(topic, number) for topic, numbers in partitions.items() for number in sorted(numbers)]


def count(partitions: Partitions) -> int:
    """How many topic partitions the set holds."""
    return sum(map(len, partitions.values()))


def minus(left: Partitions, right: Partitions) -> Partitions:
    """What is in `left` and not in `right`."""
    if not right:
        return left
    if left == right:
        return NOTHING
    kept: dict[Topic, frozenset[int]] = {}
    for topic, numbers in left.items():
        other = right.get(topic)
        rest = numbers if other is None else numbers - other
        if rest:
            kept[topic] = rest
    return kept


def union(left: Partitions, right: Partitions) -> Partitions:
    """What is in either."""
    if not right:
        return left
    if not left:
        return right
    joined = dict(left)
    for topic, numbers in right.items():
        joined[topic] = joined.get(topic, frozenset()) | numbers
    return joined


def union_of(sets: Iterable[Partitions]) -> Partitions:
    """What is in any of them."""
    joined: dict[Topic, set[int]] = {}
    for partitions in sets:
        for topic, numbers in partitions.items():
            joined.setdefault(topic, set()).update(numbers)
    return {topic: frozenset(numbers) for topic, numbers in joined.items()}


def text_of(topic: Topic) -> str:
    """A topic for people: a name as it is, an id as Kafka prints it (url-safe base64 without padding)."""
    if isinstance(topic, str):
        return topic
    return base64.urlsafe_b64encode(topic).rstrip(b"=").decode()
