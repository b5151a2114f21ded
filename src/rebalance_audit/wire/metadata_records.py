"""Records of the `__cluster_metadata` log, as far as they are about topics and the brokers' racks.

A record is a frame version, its type, its version, then a flexible message. Sources: `MetadataRecordSerde`, and the
schemas in `metadata/src/main/resources/common/metadata` of Kafka 3.3 to 4.4. Only the fields that matter here are
read; later versions have added fields after them.
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, TypeAlias

from rebalance_audit.wire.primitives import (
    SCALARS,
    CorruptError,
    TruncatedError,
    read_uvarint,
    uvarint,
)

FRAME_VERSION: Final = 1
TOPIC_RECORD: Final = 2
PARTITION_RECORD: Final = 3
PARTITION_CHANGE_RECORD: Final = 5
REMOVE_TOPIC_RECORD: Final = 9
UUID_BYTES: Final = 16
_LEADER_TAG: Final = 1
_REPLICAS_TAG: Final = 2
_MIGRATION_VERSION: Final = 2
"""Version of RegisterBrokerRecord from which on it says whether the broker comes from ZooKeeper."""


_BROKER_RECORD: Final = 0
_BROKER_GONE_RECORD: Final = 1
_BEGIN_TRANSACTION_RECORD: Final = 23
_END_TRANSACTION_RECORD: Final = 24
_ABORT_TRANSACTION_RECORD: Final = 25
_NO_TAGS: Final = b"\0"
_EMPTY: Final = b"\x01"
"""A compact array without elements."""


class BrokerRegistered(NamedTuple):
    """A broker has a rack, or none. `rack` is None also for a broker that is no longer registered."""

    broker_id: int
    rack: str | None


class TopicMade(NamedTuple):
    """A topic begins."""

    topic_id: bytes
    name: str


class PartitionPlaced(NamedTuple):
    """A partition begins, or has other replicas, or another leader."""

    topic_id: bytes
    topic_partition: int
    replicas: tuple[int, ...] | None
    """None: as before."""
    leader_id: int | None = None
    """The leader's broker id, -1 without a leader; None: as before."""


class TopicRemoved(NamedTuple):
    """A topic is gone."""

    topic_id: bytes


class MetadataTransactionBegan(NamedTuple):
    """The records up to the end of the transaction count together, or not at all (KIP-866, KIP-868)."""


class MetadataTransactionEnded(NamedTuple):
    """The records since its begin count, unless it was aborted."""

    committed: bool


MetadataRecord: TypeAlias = (
    BrokerRegistered
    | TopicMade
    | PartitionPlaced
    | TopicRemoved
    | MetadataTransactionBegan
    | MetadataTransactionEnded
)


class _Reader:
    def __init__(self, data: bytes, at: int) -> None:
        self._data, self._at = data, at

    def skip(self, size: int) -> None:
        self._at += size

    def take(self, size: int) -> bytes:
        """The next bytes. Raises TruncatedError."""
        start, self._at = self._at, self._at + size
        if self._at > len(self._data):
            raise TruncatedError("the bytes end inside a field")
        return self._data[start : self._at]

    def int32(self) -> int:
        (number,) = SCALARS["int32"].unpack(self.take(4))
        return int(number)

    def length(self) -> int:
        """An unsigned varint."""
        value, self._at = read_uvarint(self._data, self._at)
        return value

    def text(self) -> str | None:
        """A compact string; None for null. Raises CorruptError."""
        size = self.length()
        if not size:
            return None
        try:
            return self.take(size - 1).decode()
        except UnicodeDecodeError as error:
            raise CorruptError("a string is not UTF-8") from error

    def int32s(self) -> tuple[int, ...]:
        """A compact array of numbers; () for null."""
        return tuple(self.int32() for _ in range(self.length() - 1))

    def tags(self) -> Mapping[int, bytes]:
        found = {}
        for _ in range(self.length()):
            tag, size = self.length(), self.length()
            found[tag] = self.take(size)
        return found


def decode_metadata_record(value: bytes) -> MetadataRecord | None:
    """The record; None for one of a type that is not about topics or racks. Raises DecodeError."""
    frame_version, at = read_uvarint(value, 0)
    if frame_version != FRAME_VERSION:
        raise CorruptError(f"the frame version is {frame_version}")
    record_type, at = read_uvarint(value, at)
    version, at = read_uvarint(value, at)
    read = _READERS.get(record_type)
    return None if read is None else read(_Reader(value, at), version)


def _broker(reader: _Reader, version: int) -> MetadataRecord:
    broker_id = reader.int32()
    reader.skip((version >= _MIGRATION_VERSION) + UUID_BYTES + SCALARS["int64"].size)
    for _ in range(reader.length() - 1):  # endpoints: name, host, port, protocol
        reader.text()
        reader.text()
        reader.skip(4)
        reader.tags()
    for _ in range(reader.length() - 1):  # features: name, lowest and highest level
        reader.text()
        reader.skip(4)
        reader.tags()
    return BrokerRegistered(broker_id, reader.text())


def _topic(reader: _Reader, _version: int) -> MetadataRecord:
    name = reader.text()
    if not name:
        raise CorruptError("a topic has no name")
    return TopicMade(reader.take(UUID_BYTES), name)


def _partition(reader: _Reader, _version: int) -> MetadataRecord:
    number, topic_id = reader.int32(), reader.take(UUID_BYTES)
    replicas = reader.int32s()
    for _ in range(3):  # in sync, removing, adding
        reader.int32s()
    return PartitionPlaced(topic_id, number, replicas, reader.int32())


def _partition_change(reader: _Reader, _version: int) -> MetadataRecord | None:
    number, topic_id = reader.int32(), reader.take(UUID_BYTES)
    tags = reader.tags()
    replicas, leader = tags.get(_REPLICAS_TAG), tags.get(_LEADER_TAG)
    if replicas is None and leader is None:
        return None
    return PartitionPlaced(
        topic_id,
        number,
        None if replicas is None else _Reader(replicas, 0).int32s(),
        None if leader is None else _Reader(leader, 0).int32(),
    )


_READERS: Final[Mapping[int, Callable[[_Reader, int], MetadataRecord | None]]] = {
    _BROKER_RECORD: _broker,
    _BROKER_GONE_RECORD: lambda reader, _: BrokerRegistered(reader.int32(), None),
    TOPIC_RECORD: _topic,
    PARTITION_RECORD: _partition,
    PARTITION_CHANGE_RECORD: _partition_change,
    REMOVE_TOPIC_RECORD: lambda reader, _: TopicRemoved(reader.take(UUID_BYTES)),
    _BEGIN_TRANSACTION_RECORD: lambda *_: MetadataTransactionBegan(),
    _END_TRANSACTION_RECORD: lambda *_: MetadataTransactionEnded(committed=True),
    _ABORT_TRANSACTION_RECORD: lambda *_: MetadataTransactionEnded(committed=False),
}
"""Type of a record (`apiKey`) -> how it is read."""


def encode_metadata_record(record: MetadataRecord) -> bytes:
    """A record of version 0 that decodes to the same; fields that are not read here say nothing.

    The replicas in sync are all replicas, and the leader is the first of them if it is not known, at leader epoch 0.
    """
    match record:
        case BrokerRegistered(broker_id, None):
            return _frame(_BROKER_GONE_RECORD, _int32(broker_id) + _int64(0))
        case BrokerRegistered(broker_id, rack):
            name = str(rack).encode()
            fields = _int32(broker_id) + bytes(UUID_BYTES) + _int64(0) + _EMPTY * 2
            return _frame(_BROKER_RECORD, fields + uvarint(len(name) + 1) + name + b"\0")
        case TopicMade(topic_id, topic):
            name = topic.encode()
            return _frame(TOPIC_RECORD, uvarint(len(name) + 1) + name + topic_id)
        case PartitionPlaced(topic_id, number, None, leader_id):
            leader = b"" if leader_id is None else _tag(_LEADER_TAG, _int32(leader_id))
            tags = uvarint(bool(leader)) + leader
            return _frame(PARTITION_CHANGE_RECORD, _int32(number) + topic_id, tags)
        case PartitionPlaced(topic_id, number, replicas, leader_id):
            assert replicas is not None  # the case above
            placed = uvarint(len(replicas) + 1) + b"".join(map(_int32, replicas))
            leader_id = next(iter(replicas), -1) if leader_id is None else leader_id
            fields = _int32(number) + topic_id + placed * 2 + _EMPTY * 2 + _int32(leader_id)
            return _frame(PARTITION_RECORD, fields + _int32(0) * 2)
        case TopicRemoved(topic_id):
            return _frame(REMOVE_TOPIC_RECORD, topic_id)
        case MetadataTransactionBegan():
            return _frame(_BEGIN_TRANSACTION_RECORD, b"")
        case MetadataTransactionEnded(committed):
            return _frame(_END_TRANSACTION_RECORD if committed else _ABORT_TRANSACTION_RECORD, b"")


def _frame(record_type: int, fields: bytes, tags: bytes = _NO_TAGS) -> bytes:
    return bytes((FRAME_VERSION, record_type, 0)) + fields + tags


def _tag(number: int, data: bytes) -> bytes:
    return uvarint(number) + uvarint(len(data)) + data


def _int32(number: int) -> bytes:
    return SCALARS["int32"].pack(number)


def _int64(number: int) -> bytes:
    return SCALARS["int64"].pack(number)
