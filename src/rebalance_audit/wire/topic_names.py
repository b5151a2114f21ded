"""Topics by id: their names and shapes, and the hash of the subscribed topics that group epochs record.

An id belongs to one topic for ever: a topic that is deleted and created again gets a new id. So a name may have several
ids, but an id with two names is a contradiction in the log.

Shapes over time are those of topics that the `__cluster_metadata` log has. From 4.1 on the record of a group epoch
has one number for all subscribed topics (KIP-1101). It is recomputed here from that log, bit by bit as
`Utils.computeTopicHash` and `computeGroupHash` of Kafka's group coordinator do, which are the same in 4.1 to 4.4. Where
the two are equal, the metadata are those that the coordinator had.
"""

import base64
import struct
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final, NamedTuple

from xxhash import xxh3_64_intdigest

from rebalance_audit.wire import metadata_records
from rebalance_audit.wire.generated import messages

MAGIC_BYTE: Final = b"\0"
"""`Utils.TOPIC_HASH_MAGIC_BYTE`: the version of the hash."""
_INT: Final = struct.Struct("<i")
_LONG: Final = struct.Struct("<q")
_SIGN: Final = 1 << 63

Racks = tuple[tuple[str, ...], ...]
"""Racks of each partition's replicas."""


class TopicShape(NamedTuple):
    """A topic as it was from one record of the metadata log on."""

    metadata_offset: int
    """Offset of that record in the `__cluster_metadata` log."""
    at_ms: int
    partitions: int
    """0 = the topic was deleted."""
    topic_hash: int


def one_history(*histories: Sequence[TopicShape]) -> tuple[TopicShape, ...]:
    """The shapes of a topic from several readings of the metadata log, which may begin at different offsets."""
    found: list[TopicShape] = []
    for shape in sorted({shape for history in histories for shape in history}):
        if not found or found[-1].topic_hash != shape.topic_hash:
            found.append(shape)
    return tuple(found)


def topic_hash(topic_id: bytes, name: str, racks: Racks) -> int:
    """`Utils.computeTopicHash`: a signed 64-bit number over id, name, partitions and racks."""
    high, low = struct.unpack(">qq", topic_id)
    parts = [MAGIC_BYTE, _LONG.pack(high), _LONG.pack(low), _chars(name), _INT.pack(len(racks))]
    for number, of_partition in enumerate(racks):
        parts.append(_INT.pack(number))
        for rack in sorted(of_partition):
            parts += (_INT.pack(len(rack)), _chars(rack))
    return _signed(xxh3_64_intdigest(b"".join(parts)))


def group_hash(topic_hashes: Mapping[str, int]) -> int:
    """`Utils.computeGroupHash` of the subscribed topics that exist: 0 if there are none."""
    if not topic_hashes:
        return 0
    parts = [_LONG.pack(topic_hashes[name]) for name in sorted(topic_hashes)]
    return _signed(xxh3_64_intdigest(b"".join(parts)))


def _chars(text: str) -> bytes:
    """A Java string as hash4j puts it: its UTF-16 units, then how many there are."""
    units = text.encode("utf-16-le")
    return units + _INT.pack(len(units) // 2)


def _signed(number: int) -> int:
    return number - 2 * _SIGN if number >= _SIGN else number


class ClusterImage:
    """Topics and racks as the metadata log leaves them, and every shape that a topic had on the way.

    Records of one moment make one shape: the controller writes what belongs together in one batch.
    """

    def __init__(self) -> None:
        self.shapes: dict[bytes, list[TopicShape]] = defaultdict(list)
        """Topic id -> its shapes, the oldest first."""
        self._names: dict[bytes, str] = {}
        self._replicas: dict[bytes, dict[int, tuple[int, ...]]] = defaultdict(dict)
        self._leaders: dict[bytes, dict[int, int]] = defaultdict(dict)
        self._racks: dict[int, str] = {}
        self._changed: dict[bytes, tuple[int, int]] = {}
        """Topic id -> (offset, epoch ms) of the last record about it since its last shape."""
        self._open: list[tuple[metadata_records.MetadataRecord, int, int]] | None = None
        """What a transaction has written so far."""
        self._at_ms = 0
        self._gone: set[bytes] = set()

    def add(
        self, record: metadata_records.MetadataRecord, metadata_offset: int, at_ms: int
    ) -> None:
        """Take the next record of the log."""
        match record:
            case metadata_records.MetadataTransactionBegan():
                self._open = []
            case metadata_records.MetadataTransactionEnded():
                done, self._open = self._open or [], None
                for each, offset, _ in done if record.committed else ():
                    self._apply(each, offset, at_ms)
            case _ if self._open is not None:
                self._open.append((record, metadata_offset, at_ms))
            case _:
                self._apply(record, metadata_offset, at_ms)

    def finish(self) -> Mapping[bytes, tuple[TopicShape, ...]]:
        """The shapes of every topic, after the last record."""
        self._settle()
        return {topic_id: tuple(found) for topic_id, found in self.shapes.items()}

    def leaders(self, topic: str) -> Mapping[int, int]:
        """Partition -> broker id of its last leader, of a topic by name; none of one that is not known."""
        found = [each for each in self._leaders if self._names.get(each) == topic]
        return self._leaders[found[-1]] if found else {}

    def _apply(
        self, record: metadata_records.MetadataRecord, metadata_offset: int, at_ms: int
    ) -> None:
        if at_ms != self._at_ms:
            self._settle()
            self._at_ms = at_ms
        changed: Iterable[bytes] = ()
        match record:
            case metadata_records.TopicMade(topic_id, name):
                self._names[topic_id] = name
                changed = (topic_id,)
            case metadata_records.PartitionPlaced(topic_id, number, replicas, leader_id):
                if leader_id is not None and leader_id >= 0:
                    self._leaders[topic_id][number] = leader_id
                if replicas is None:
                    return
                self._replicas[topic_id][number] = replicas
                changed = (topic_id,)
            case metadata_records.TopicRemoved(topic_id):
                self._replicas.pop(topic_id, None)
                self._leaders.pop(topic_id, None)
                self._gone.add(topic_id)
                changed = (topic_id,)
            case metadata_records.BrokerRegistered(broker_id, rack):
                changed = self._move(broker_id, rack)
            case _:
                return
        self._changed.update(dict.fromkeys(changed, (metadata_offset, at_ms)))

    def _move(self, broker_id: int, rack: str | None) -> Iterable[bytes]:
        """A broker's rack; returns the topics that have replicas there, if it is another one."""
        if self._racks.get(broker_id) == rack:
            return ()
        if rack is None:
            del self._racks[broker_id]
        else:
            self._racks[broker_id] = rack
        return [
            topic_id
            for topic_id, placed in self._replicas.items()
            if any(broker_id in replicas for replicas in placed.values())
        ]

    def _settle(self) -> None:
        """Make a shape of each topic that changed."""
        for topic_id, (offset, at_ms) in self._changed.items():
            name, placed = self._names.get(topic_id), self._replicas.get(topic_id, {})
            if name is None or (placed and not 0 <= min(placed) <= max(placed) < len(placed)):
                continue  # its beginning is not in the log
            if not placed and topic_id not in self._gone:
                continue
            racks = tuple(
                tuple(self._racks[each] for each in placed[number] if each in self._racks)
                for number in range(len(placed))
            )
            digest = topic_hash(topic_id, name, racks) if racks else 0
            last = self.shapes[topic_id][-1:]
            if not last or last[0].topic_hash != digest:
                self.shapes[topic_id].append(TopicShape(offset, at_ms, len(racks), digest))
        self._changed = {}


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

    def add_record(
        self, key: messages.Key, value: messages.Value | None, record_timestamp_ms: int
    ) -> None:
        """Learn what a decoded coordinator record says about topics, if anything."""
        if isinstance(value, messages.OffsetCommitValue) and isinstance(
            key, messages.OffsetCommitKey
        ):
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


def rows_in_table(names: TopicNames) -> list[dict[str, Any]]:
    """Rows of gold.topics, without the cluster; moments are epoch milliseconds."""
    return [
        {
            "topic_id": topic_id_text(name.topic_id),
            "topic": name.name,
            "source": name.source.value,
            "made_at": name.made_at_ms,
            "deleted_at": name.deleted_at_ms,
            "shapes": [
                {
                    "metadata_offset": shape.metadata_offset,
                    "at": shape.at_ms,
                    "partitions": shape.partitions,
                    "topic_hash": shape.topic_hash,
                }
                for shape in name.shapes
            ],
        }
        for name in names.values()
    ]


def _topics_of(value: messages.Value | None) -> Iterator[tuple[bytes, str]]:
    if isinstance(value, _WITH_TOPICS):
        for name in ("topics", "initializing_topics", "initialized_topics", "deleting_topics"):
            for topic in getattr(value, name, ()):
                yield topic.topic_id, topic.topic_name


_WITH_TOPICS: Final = (
    messages.ConsumerGroupPartitionMetadataValue,
    messages.ShareGroupPartitionMetadataValue,
    messages.ShareGroupStatePartitionMetadataValue,
    messages.StreamsGroupPartitionMetadataValue,
)
