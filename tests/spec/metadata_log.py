"""The cluster's topics over time, as its metadata log has them: names, ids and numbers of partitions."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from rebalance_audit.wire.metadata_records import (
    PARTITION_RECORD,
    REMOVE_TOPIC_RECORD,
    TOPIC_RECORD,
)
from rebalance_audit.wire.primitives import read_uvarint
from rebalance_audit.wire.segments.columns import ColumnChunk, read_columns
from rebalance_audit.wire.segments.folder import LogFolder
from rebalance_audit.wire.topic_names import TOPIC_ID_BYTES


class LoggedTopic(NamedTuple):
    """One topic at one moment."""

    topic_id: bytes
    partition_count: int


Topics = Mapping[str, LoggedTopic]


class TopicHistory:
    """What the topics were when."""

    def __init__(self, files: Iterable[Path]) -> None:
        """Reads the segments of the metadata log."""
        self._times: list[int] = []
        self._topics: list[Topics] = []
        names: dict[bytes, str] = {}
        counts: dict[bytes, int] = {}
        for file in files:
            for chunk in read_columns(file):
                assert isinstance(chunk, ColumnChunk)
                for run, rows in chunk.by_run():
                    for _, time_ms, _, value in () if run.is_control else rows:
                        if value is not None and _learn(value, names, counts):
                            self._note(time_ms, names, counts)

    def _note(self, time_ms: int, names: Mapping[bytes, str], counts: Mapping[bytes, int]) -> None:
        topics = {
            name: LoggedTopic(topic_id, counts[topic_id])
            for topic_id, name in names.items()
            if counts.get(topic_id)
        }
        if self._times and self._times[-1] == time_ms:
            self._topics[-1] = topics
        else:
            self._times.append(time_ms)
            self._topics.append(topics)

    def about(self, time_ms: int, before_ms: int, after_ms: int) -> list[Topics]:
        """The topics at that time, and those shortly before and after it: brokers learn of them a little later."""
        at = bisect_right(self._times, time_ms) - 1
        found = [self._topics[at]] if at >= 0 else [{}]
        for place in range(at - 1, -1, -1):
            if self._times[place + 1] < time_ms - before_ms:
                break
            found.append(self._topics[place])
        for place in range(at + 1, len(self._times)):
            if self._times[place] > time_ms + after_ms:
                break
            found.append(self._topics[place])
        return found


def topic_history(folder: LogFolder) -> TopicHistory:
    """Of the metadata log beside a folder's segments."""
    return TopicHistory(folder.metadata_segments)


def _learn(value: bytes, names: dict[bytes, str], counts: dict[bytes, int]) -> bool:
    """One record: frame version, type, version, fields (Kafka's TopicRecord, PartitionRecord, RemoveTopicRecord)."""
    _, at = read_uvarint(value, 0)
    record_type, at = read_uvarint(value, at)
    _, at = read_uvarint(value, at)
    if record_type == TOPIC_RECORD:
        size, at = read_uvarint(value, at)
        name = value[at : at + size - 1]
        names[value[at + size - 1 : at + size - 1 + TOPIC_ID_BYTES]] = name.decode()
    elif record_type == PARTITION_RECORD:
        number = int.from_bytes(value[at : at + 4], "big")
        topic_id = value[at + 4 : at + 4 + TOPIC_ID_BYTES]
        counts[topic_id] = max(counts.get(topic_id, 0), number + 1)
    elif record_type == REMOVE_TOPIC_RECORD:
        topic_id = value[at : at + TOPIC_ID_BYTES]
        names.pop(topic_id, None)
        counts.pop(topic_id, None)
    else:
        return False
    return True
