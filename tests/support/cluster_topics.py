"""Topics of a KRaft cluster, as its metadata log creates them."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from rebalance_audit.wire.metadata_records import (
    FRAME_VERSION,
    PARTITION_RECORD,
    REMOVE_TOPIC_RECORD,
    TOPIC_RECORD,
)
from tests.support.batches import Batch, read_batches

ONLY_BROKER: Final = 1

_PARTITION = slice(3, 7)
_TOPIC_OF_PARTITION = slice(7, 23)
_REMOVED_TOPIC = slice(3, 19)


class ClusterTopic(NamedTuple):
    """One topic."""

    topic_id: bytes
    partition_count: int


def read_topics(metadata_log: Path) -> dict[str, ClusterTopic]:
    """The topics that live at the end of a metadata log segment, by name."""
    names: dict[bytes, str] = {}
    counts: dict[bytes, int] = {}
    for value in _values(metadata_log):
        if value[1] == TOPIC_RECORD:
            end = 3 + value[3]  # names of up to 126 bytes have one byte of length
            names[value[end : end + 16]] = value[4:end].decode()
        elif value[1] == PARTITION_RECORD:
            topic_id = value[_TOPIC_OF_PARTITION]
            counts[topic_id] = max(counts.get(topic_id, 0), int.from_bytes(value[_PARTITION]) + 1)
        elif value[1] == REMOVE_TOPIC_RECORD:
            del names[value[_REMOVED_TOPIC]]
    return {name: ClusterTopic(topic_id, counts[topic_id]) for topic_id, name in names.items()}


def creating(topics: Mapping[str, ClusterTopic], leader_epoch: int) -> list[bytes]:
    """Metadata records that create topics on the only broker, their partitions at that leader epoch."""
    values: list[bytes] = []
    for name, (topic_id, partition_count) in topics.items():
        text = name.encode()
        values.append(_frame(TOPIC_RECORD, bytes((len(text) + 1,)) + text + topic_id))
        values += [
            _frame(PARTITION_RECORD, _partition(topic_id, number, leader_epoch))
            for number in range(partition_count)
        ]
    return values


def _values(metadata_log: Path) -> Iterator[bytes]:
    for batch in read_batches(metadata_log):
        if isinstance(batch, Batch) and not batch.header.is_control:
            records = batch.records()
            assert isinstance(records, list)
            for record in records:
                assert record.value is not None
                yield record.value


def _frame(record_type: int, fields: bytes) -> bytes:
    return bytes((FRAME_VERSION, record_type, 0)) + fields + b"\0"


def _partition(topic_id: bytes, number: int, leader_epoch: int) -> bytes:
    """Replicas and ISR are the only broker, none is removed or added, and it leads."""
    only = b"\x02" + _int32(ONLY_BROKER)
    leading = _int32(ONLY_BROKER) + _int32(leader_epoch) + _int32(0)
    return _int32(number) + topic_id + only * 2 + b"\x01" * 2 + leading


def _int32(number: int) -> bytes:
    return number.to_bytes(4, "big", signed=True)
