"""The cluster's topics: created, grown, deleted and created again, and the metadata log that records it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from rebalance_audit.coordinator.handling import TopicDescription
from rebalance_audit.sim.brokers.batch_writer import NO_SEQUENCE, LoggedRecord, encode_batch
from rebalance_audit.sim.chance import Chance
from rebalance_audit.wire.metadata_records import (
    FRAME_VERSION,
    PARTITION_RECORD,
    REMOVE_TOPIC_RECORD,
    TOPIC_RECORD,
)
from rebalance_audit.wire.primitives import uvarint

_LEADER_EPOCH: Final = 1
_NO_TAGS: Final = b"\0"
_ONLY_BROKER: Final = 1


@dataclass(slots=True)
class TopicImageAt:
    """All topics at one version of the metadata."""

    metadata_version: int
    by_name: dict[str, TopicDescription]
    by_id: dict[bytes, TopicDescription]
    sorted_names: tuple[str, ...]

    def topic(self, name: str) -> TopicDescription | None:
        """The existing topic of that name."""
        return self.by_name.get(name)

    def topic_by_id(self, topic_id: bytes) -> TopicDescription | None:
        """The existing topic of that id."""
        return self.by_id.get(topic_id)

    def names(self) -> tuple[str, ...]:
        """Names of all existing topics, sorted."""
        return self.sorted_names


class Topics:
    """Changes topics, writes the metadata log, and notifies listeners."""

    def __init__(self, chance: Chance, now_ms: Callable[[], int]) -> None:
        """No topics yet."""
        self._chance = chance
        self._now_ms = now_ms
        self._batches: list[bytes] = []
        self._next_offset = 0
        self.image = TopicImageAt(0, {}, {}, ())
        self._names: dict[bytes, str] = {}
        """Names of all topics that ever existed, by id."""
        self.listeners: list[Callable[[], None]] = []
        """Called after every change of the image."""

    def create(self, name: str, partition_count: int) -> TopicDescription:
        """Create a topic of that name with a new id; the name must be free."""
        assert name not in self.image.by_name
        topic = TopicDescription(self._chance.uuid(), name, ((),) * partition_count)
        self._names[topic.topic_id] = name
        records = [
            _topic_record(topic),
            *(_partition_record(topic, each) for each in range(partition_count)),
        ]
        self._change({**self.image.by_name, name: topic}, records)
        return topic

    def grow(self, name: str, partition_count: int) -> None:
        """Give a topic more partitions."""
        old = self.image.by_name[name]
        grown = old._replace(partition_racks=((),) * partition_count)
        first = len(old.partition_racks)
        assert partition_count > first
        records = [_partition_record(grown, each) for each in range(first, partition_count)]
        self._change({**self.image.by_name, name: grown}, records)

    def delete(self, name: str) -> TopicDescription:
        """Delete a topic; its name is free again."""
        topic = self.image.by_name[name]
        rest = {each: kept for each, kept in self.image.by_name.items() if each != name}
        self._change(rest, [_frame(REMOVE_TOPIC_RECORD, topic.topic_id)])
        return topic

    def name_of(self, topic_id: bytes) -> str:
        """The name that a topic has, or had."""
        return self._names[topic_id]

    def log_bytes(self) -> bytes:
        """The metadata log as one segment."""
        return b"".join(self._batches)

    def _change(self, by_name: dict[str, TopicDescription], values: list[bytes]) -> None:
        now_ms = self._now_ms()
        records = [
            LoggedRecord(self._next_offset + place, now_ms, None, value)
            for place, value in enumerate(values)
        ]
        self._next_offset += len(records)
        self._batches.append(encode_batch(records, _LEADER_EPOCH, base_sequence=NO_SEQUENCE))
        self.image = TopicImageAt(
            self._next_offset - 1,
            by_name,
            {topic.topic_id: topic for topic in by_name.values()},
            tuple(sorted(by_name)),
        )
        for listener in self.listeners:
            listener()


def _frame(record_type: int, fields: bytes) -> bytes:
    """A metadata record of version 0: frame version, type and version, its fields, no tags."""
    return bytes((FRAME_VERSION, record_type, 0)) + fields + _NO_TAGS


def _topic_record(topic: TopicDescription) -> bytes:
    name = topic.name.encode()
    return _frame(TOPIC_RECORD, uvarint(len(name) + 1) + name + topic.topic_id)


def _partition_record(topic: TopicDescription, number: int) -> bytes:
    """Fields of PartitionRecord: id, topic, replicas, ISR, removing, adding, leader, leader epoch, partition epoch."""
    one_replica = b"\x02" + _int32(_ONLY_BROKER)
    no_member = b"\x01"
    fields = (
        _int32(number)
        + topic.topic_id
        + one_replica * 2
        + no_member * 2
        + _int32(_ONLY_BROKER)
        + _int32(0) * 2
    )
    return _frame(PARTITION_RECORD, fields)


def _int32(number: int) -> bytes:
    return number.to_bytes(4, "big", signed=True)
