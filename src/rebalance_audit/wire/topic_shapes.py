"""Shapes of topics over time, and the hash by which groups record the shapes of the topics they subscribe to.

From 4.1 on the record of a group epoch has one number for all subscribed topics (KIP-1101). It is recomputed here from
the `__cluster_metadata` log, bit by bit as `Utils.computeTopicHash` and `computeGroupHash` of Kafka's group coordinator
do, which are the same in 4.1 to 4.4. Where the two are equal, the metadata are those that the coordinator had.
"""

import struct
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from xxhash import xxh3_64_intdigest

from rebalance_audit.wire.metadata_records import (
    BrokerRegistered,
    MetadataRecord,
    MetadataTransactionBegan,
    MetadataTransactionEnded,
    PartitionPlaced,
    TopicMade,
    TopicRemoved,
)

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
        """Nothing is known yet."""
        self.shapes: dict[bytes, list[TopicShape]] = defaultdict(list)
        """Topic id -> its shapes, the oldest first."""
        self._names: dict[bytes, str] = {}
        self._replicas: dict[bytes, dict[int, tuple[int, ...]]] = defaultdict(dict)
        self._leaders: dict[bytes, dict[int, int]] = defaultdict(dict)
        self._racks: dict[int, str] = {}
        self._changed: dict[bytes, tuple[int, int]] = {}
        """Topic id -> (offset, epoch ms) of the last record about it since its last shape."""
        self._open: list[tuple[MetadataRecord, int, int]] | None = None
        """What a transaction has written so far."""
        self._at_ms = 0
        self._gone: set[bytes] = set()

    def add(self, record: MetadataRecord, metadata_offset: int, at_ms: int) -> None:
        """Take the next record of the log."""
        match record:
            case MetadataTransactionBegan():
                self._open = []
            case MetadataTransactionEnded():
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

    def _apply(self, record: MetadataRecord, metadata_offset: int, at_ms: int) -> None:
        if at_ms != self._at_ms:
            self._settle()
            self._at_ms = at_ms
        changed: Iterable[bytes] = ()
        match record:
            case TopicMade(topic_id, name):
                self._names[topic_id] = name
                changed = (topic_id,)
            case PartitionPlaced(topic_id, number, replicas, leader_id):
                if leader_id is not None and leader_id >= 0:
                    self._leaders[topic_id][number] = leader_id
                if replicas is None:
                    return
                self._replicas[topic_id][number] = replicas
                changed = (topic_id,)
            case TopicRemoved(topic_id):
                self._replicas.pop(topic_id, None)
                self._leaders.pop(topic_id, None)
                self._gone.add(topic_id)
                changed = (topic_id,)
            case BrokerRegistered(broker_id, rack):
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
