"""Topic ids and their names, from every record that has both.

An id belongs to one topic for ever: a topic that is deleted and created again gets a new id. So a name may have several
ids, but an id with two names is a contradiction in the log.
"""

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final, NamedTuple

from rebalance_audit.wire.generated.messages import (
    ConsumerGroupPartitionMetadataValue,
    Key,
    OffsetCommitKey,
    OffsetCommitValue,
    ShareGroupPartitionMetadataValue,
    ShareGroupStatePartitionMetadataValue,
    StreamsGroupPartitionMetadataValue,
    Value,
)
from rebalance_audit.wire.topic_shapes import TopicShape, one_history

ZERO_TOPIC_ID: Final = bytes(16)
"""What a record holds if its writer knew no topic id."""
TOPIC_ID_BYTES: Final = 16


class TopicNameSource(StrEnum):
    """Where a name was found, strongest source first."""

    CLUSTER_METADATA = "cluster_metadata"
    """Records of the `__cluster_metadata` log, which define the topics."""
    CLUSTER = "cluster"
    """The live cluster: topics that exist now."""
    PARTITION_METADATA = "partition_metadata"
    """Coordinator records about the topics of a group: types 4, 9 and 15."""
    OFFSET_COMMIT = "offset_commit"
    """An offset commit of version 4, whose key has the name and whose value the id."""


STRENGTH: Final = {source: -rank for rank, source in enumerate(TopicNameSource)}


class TopicName(NamedTuple):
    """One topic."""

    topic_id: bytes
    name: str
    source: TopicNameSource
    record_timestamp_ms: int | None
    """Time of the record that the name comes from."""
    deleted_at_ms: int | None = None
    """Time of the topic's deletion, if the metadata log has it."""
    shapes: tuple[TopicShape, ...] = ()
    """What it was like, and from when on, if the metadata log has it."""

    @property
    def made_at_ms(self) -> int | None:
        """Time of the topic's creation, if the metadata log has it; any other record only mentions the topic."""
        is_made = self.source is TopicNameSource.CLUSTER_METADATA
        return self.record_timestamp_ms if is_made else None

    @property
    def is_deleted(self) -> bool:
        """Whether the metadata log says that the topic is gone."""
        return self.deleted_at_ms is not None


class TopicNames(Mapping[bytes, TopicName]):
    """Names by topic id, collected from several sources in any order."""

    def __init__(self) -> None:
        self._by_id: dict[bytes, TopicName] = {}
        self._ids_by_name: dict[str, list[bytes]] = {}
        self.conflicts: list[tuple[TopicName, TopicName]] = []
        """(name kept, name rejected) for each id with two names."""
        self.notes: list[str] = []
        """Sentences about records of the metadata log that could not be read."""

    def __getitem__(self, topic_id: bytes) -> TopicName:
        return self._by_id[topic_id]

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._by_id)

    def __len__(self) -> int:
        return len(self._by_id)

    def add(
        self,
        topic_id: bytes,
        name: str,
        source: TopicNameSource,
        record_timestamp_ms: int | None = None,
    ) -> None:
        """Learn a name. Of two names for one id, the stronger source wins; of equally strong ones, the first."""
        known = self._by_id.get(topic_id)
        if known is not None and known.name == name and STRENGTH[source] <= STRENGTH[known.source]:
            return
        if topic_id == ZERO_TOPIC_ID or not name:
            return
        found = TopicName(topic_id, name, source, record_timestamp_ms)
        if known is not None:
            found = found._replace(deleted_at_ms=known.deleted_at_ms, shapes=known.shapes)
            if known.name != name:
                if STRENGTH[source] <= STRENGTH[known.source]:
                    self.conflicts.append((known, found))
                    return
                self.conflicts.append((found, known))
                self._ids_by_name[known.name].remove(topic_id)
        self._by_id[topic_id] = found
        ids = self._ids_by_name.setdefault(name, [])
        if topic_id not in ids:
            ids.append(topic_id)

    def add_record(self, key: Key, value: Value | None, record_timestamp_ms: int) -> None:
        """Learn what a decoded coordinator record says about topics, if anything."""
        if isinstance(value, OffsetCommitValue) and isinstance(key, OffsetCommitKey):
            source = TopicNameSource.OFFSET_COMMIT
            self.add(value.topic_id, key.topic, source, record_timestamp_ms)
            return
        for topic_id, name in _topics_of(value):
            self.add(topic_id, name, TopicNameSource.PARTITION_METADATA, record_timestamp_ms)

    def mark_deleted(self, topic_id: bytes, record_timestamp_ms: int) -> None:
        """Note a topic's deletion. Its name is kept, since old records still refer to it."""
        known = self._by_id.get(topic_id)
        if known is not None:
            self._by_id[topic_id] = known._replace(deleted_at_ms=record_timestamp_ms)

    def add_shapes(self, topic_id: bytes, shapes: Sequence[TopicShape]) -> None:
        """Learn what a topic was like, in addition to what is known of it."""
        known = self._by_id.get(topic_id)
        if known is not None and shapes:
            self._by_id[topic_id] = known._replace(shapes=one_history(known.shapes, shapes))

    def merge(self, others: Iterable[TopicName]) -> None:
        """Take over what another collection learned, by the same rules."""
        for other in others:
            self.add(other.topic_id, other.name, other.source, other.record_timestamp_ms)
            if other.deleted_at_ms is not None:
                self.mark_deleted(other.topic_id, other.deleted_at_ms)
            self.add_shapes(other.topic_id, other.shapes)

    def name_of(self, topic_id: bytes) -> str | None:
        """Name of the topic; None if no record has it."""
        known = self._by_id.get(topic_id)
        return known.name if known else None

    def deleted_at_ms(self, topic_id: bytes) -> int | None:
        """When the topic was deleted; None if it was not, or if no record says so."""
        known = self._by_id.get(topic_id)
        return known.deleted_at_ms if known else None

    def lives_of(self, name: str) -> tuple[tuple[int | None, int | None], ...]:
        """(created, deleted), in ms, of each topic that the metadata log has by that name; () if it has none."""
        lives = (self._by_id[topic_id] for topic_id in self.ids_of(name))
        return tuple(
            (life.made_at_ms, life.deleted_at_ms)
            for life in lives
            if life.source is TopicNameSource.CLUSTER_METADATA
        )

    def shapes_of(self, name: str) -> tuple[TopicShape, ...]:
        """Shapes of every topic that had the name, the oldest first; () if the metadata log has none."""
        ids = self.ids_of(name)
        return tuple(sorted(shape for topic_id in ids for shape in self._by_id[topic_id].shapes))

    def text_of(self, topic_id: bytes) -> str:
        """Name of the topic, or its id as Kafka prints it."""
        return self.name_of(topic_id) or topic_id_text(topic_id)

    def ids_of(self, name: str) -> tuple[bytes, ...]:
        """Ids that the name had, in the order they were learned: more than one if a topic was created again."""
        return tuple(self._ids_by_name.get(name, ()))


@lru_cache(4096)
def topic_id_text(topic_id: bytes) -> str:
    """A topic id as Kafka prints it: url-safe base64 without padding. Raises ValueError for other than 16 bytes."""
    if len(topic_id) != TOPIC_ID_BYTES:
        raise ValueError(f"topic_id has {len(topic_id)} bytes, a uuid has {TOPIC_ID_BYTES}")
    return base64.urlsafe_b64encode(topic_id)[:22].decode()


def topic_id_of(text: str) -> bytes:
    """The 16 bytes of an id as `topic_id_text` prints it."""
    return base64.urlsafe_b64decode(f"{text}==")


def names_in_table(topics: Iterable[Mapping[str, Any]]) -> list[TopicName]:
    """The names in rows of gold.topics, which earlier runs wrote; moments in epoch milliseconds."""
    # Among topics of one name the one that was created first comes first, as in the metadata log.
    rows = sorted(topics, key=lambda row: (row["made_at"] or -1, row["topic_id"]))
    return [
        TopicName(
            topic_id_of(row["topic_id"]),
            row["topic"],
            TopicNameSource(row["source"]),
            row["made_at"],
            row["deleted_at"],
            tuple(TopicShape(*shape.values()) for shape in row["shapes"] or ()),
        )
        for row in rows
    ]


def _topics_of(value: Value | None) -> Iterator[tuple[bytes, str]]:
    match value:
        case ConsumerGroupPartitionMetadataValue() | StreamsGroupPartitionMetadataValue():
            yield from ((topic.topic_id, topic.topic_name) for topic in value.topics)
        case ShareGroupPartitionMetadataValue():
            for topics in (value.topics, value.initialized_topics, value.deleting_topics):
                yield from ((topic.topic_id, topic.topic_name) for topic in topics)
        case ShareGroupStatePartitionMetadataValue():
            for listed in (
                value.initializing_topics,
                value.initialized_topics,
                value.deleting_topics,
            ):
                yield from ((topic.topic_id, topic.topic_name) for topic in listed)
