"""Partitions of the shorthand: `0-2,5` of foo, `0-2@4+bar:0` of several topics, `-` for none."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from rebalance_audit.replay.partitions import Partitions, text_of
from rebalance_audit.wire.consumer_protocol import TopicPartitions

TOPIC_IDS = {name: bytes([number]) * 16 for number, name in enumerate(("foo", "bar", "zar"), 1)}
TOPIC_NAMES = {topic_id: name for name, topic_id in TOPIC_IDS.items()}


class TopicEntry(NamedTuple):
    """Partitions of one topic as a record lists them."""

    topic: str
    numbers: tuple[int, ...]
    epochs: tuple[int, ...]
    """Their assignment epochs, or () for none."""


def entries(text: str, epoch: int | None = None) -> list[TopicEntry]:
    """Topics in the order of the text, of `0-2@4,5@5+bar:0`.

    `epoch` is the assignment epoch of partitions that have no `@` (None: they have none); `0-2@-` never has one.
    """
    return [_entry(part, epoch) for part in text.split("+") if part not in {"", "-"}]


def _entry(text: str, epoch: int | None) -> TopicEntry:
    topic, _, spans = text.rpartition(":")
    numbers: list[int] = []
    epochs: list[int] = []
    for span in spans.split(","):
        span_range, _, given = span.partition("@")
        run = range_of(span_range)
        numbers += run
        if given != "-" and (given or epoch is not None):
            epochs += [int(given or epoch or 0)] * len(run)
    return TopicEntry(topic or "foo", tuple(numbers), tuple(epochs))


def range_of(text: str) -> range:
    """`0-2` or `3` as numbers."""
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def topic_partitions(text: str) -> TopicPartitions:
    """The partitions as text, by topic name, as clients report them."""
    return tuple((topic, numbers) for topic, numbers, _ in entries(text))


def partitions_text(partitions: Partitions) -> str:
    """Partitions of the state in the shorthand; a topic without a name shows its id."""
    named = (
        (text_of(TOPIC_NAMES.get(topic, topic) if isinstance(topic, bytes) else topic), numbers)
        for topic, numbers in sorted(partitions.items(), key=str)
    )
    return topics_text(named)


def topics_text(topics: Iterable[tuple[str, Iterable[int]]]) -> str:
    """Topics and numbers in the shorthand, in their order."""
    parts = (
        ("" if name == "foo" else f"{name}:") + ",".join(spans(numbers)) for name, numbers in topics
    )
    return "+".join(parts) or "-"


def spans(numbers: Iterable[int]) -> Iterator[str]:
    """Runs of consecutive numbers: `0-2`, `5`."""
    run: list[int] = []
    for number in sorted(numbers):
        if run and run[-1] != number - 1:
            yield _span(run)
            run = []
        run.append(number)
    if run:
        yield _span(run)


def _span(run: list[int]) -> str:
    return f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0])
