"""Topic ids and their names, from every record that has both.

An id belongs to one topic for ever: a topic that is deleted and created again gets a new id. So a name may have several
ids, but an id with two names is a contradiction in the log.
"""

import base64
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

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
from rebalance_audit.wire.primitives import CorruptError, DecodeError, TruncatedError, read_uvarint
from rebalance_audit.wire.segments.bad_bytes import BadBytes, TailNote
from rebalance_audit.wire.segments.columns import ColumnChunk, read_columns
from rebalance_audit.wire.segments.folder import LogFolder, not_readable

ZERO_TOPIC_ID: Final = bytes(16)
"""What a record holds if its writer knew no topic id."""
TOPIC_ID_BYTES: Final = 16

TOPIC_RECORD: Final = 2
REMOVE_TOPIC_RECORD: Final = 9
FRAME_VERSION: Final = 1


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
            found = found._replace(deleted_at_ms=known.deleted_at_ms)
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

    def merge(self, others: Iterable[TopicName]) -> None:
        """Take over what another collection learned, by the same rules."""
        for other in others:
            self.add(other.topic_id, other.name, other.source, other.record_timestamp_ms)
            if other.deleted_at_ms is not None:
                self.mark_deleted(other.topic_id, other.deleted_at_ms)

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


def read_topic_names(folder: LogFolder) -> TopicNames:
    """The topics that the `__cluster_metadata` log beside the folder's segments defines; none if it is not there.

    Raises SourceNotReadable for a file that cannot be read.
    """
    names = TopicNames()
    for file in folder.metadata_segments:
        try:
            for found in read_columns(file):
                if isinstance(found, BadBytes):
                    names.notes.append(found.detail)
                elif not isinstance(found, TailNote):
                    _add_metadata_records(names, file, found)
        except OSError as error:
            raise not_readable(file, error) from error
    return names


def _add_metadata_records(names: TopicNames, file: Path, chunk: ColumnChunk) -> None:
    rows = zip(
        chunk.log_offsets,
        chunk.record_timestamps_ms,
        chunk.values,
        chunk.column("is_control"),
        strict=True,
    )
    for offset, timestamp_ms, value, is_control in rows:
        if value is None or is_control:
            continue
        try:
            _add_metadata_record(names, value, timestamp_ms)
        except DecodeError as error:
            names.notes.append(f"The metadata record at offset {offset} of {file}: {error}.")


def _add_metadata_record(names: TopicNames, value: bytes, record_timestamp_ms: int) -> None:
    """One record of the KRaft log: frame version, type, version, then a flexible message.

    Sources: MetadataRecordSerde, TopicRecord.json, RemoveTopicRecord.json of Kafka. Both have had version 0 only; a
    later version may append fields, which this does not read.
    """
    frame_version, at = read_uvarint(value, 0)
    if frame_version != FRAME_VERSION:
        raise CorruptError(f"the frame version is {frame_version}")
    record_type, at = read_uvarint(value, at)
    _, at = read_uvarint(value, at)
    if record_type == TOPIC_RECORD:
        size, at = read_uvarint(value, at)
        name = value[at : at + max(size - 1, 0)]
        at += len(name)
        topic_id = value[at : at + TOPIC_ID_BYTES]
        if len(topic_id) < TOPIC_ID_BYTES:
            raise TruncatedError("the bytes end inside a topic record")
        try:
            text = name.decode()
        except UnicodeDecodeError as error:
            raise CorruptError("a topic name is not UTF-8") from error
        names.add(topic_id, text, TopicNameSource.CLUSTER_METADATA, record_timestamp_ms)
    elif record_type == REMOVE_TOPIC_RECORD:
        names.mark_deleted(value[at : at + TOPIC_ID_BYTES], record_timestamp_ms)


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
