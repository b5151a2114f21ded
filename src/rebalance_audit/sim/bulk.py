"""A load of offset commits, far more than requests could produce: whole batches at a time."""

import struct
from typing import Final

from rebalance_audit.coordinator.handling import RecordDraft
from rebalance_audit.sim.brokers.batch_writer import LoggedRecord
from rebalance_audit.sim.brokers.broker import ServedPartition
from rebalance_audit.sim.brokers.dialects import LOG_RULES, TOPIC_ID_FROM_VERSION, encode_draft
from rebalance_audit.sim.cluster import Cluster
from rebalance_audit.wire.generated.messages import OffsetCommitKey, OffsetCommitValue

LOAD_TOPIC: Final = "load"
TOPIC_PARTITIONS: Final = 25
GROUPS_PER_PARTITION: Final = 2
INTERVAL_MS: Final = 1_000
_BATCH_RECORDS_MAX: Final = 8_000
_OFFSET: Final = struct.Struct(">q")
_OFFSET_AT: Final = 2
"""The committed offset follows the version in all value versions."""
_OFFSET_END: Final = _OFFSET_AT + _OFFSET.size


class BulkLoad:
    """Standalone committers in any number: every second, each partition gets its share of commits."""

    def __init__(self, cluster: Cluster, commits_per_minute: int) -> None:
        """Not started; the load has a topic and groups of its own."""
        self._cluster = cluster
        self._per_second = max(commits_per_minute // 60, 1)
        self._targets: list[tuple[ServedPartition, list[bytes]]] = []
        self._position = 0
        self._running = False

    def start(self) -> None:
        """Commit from now on."""
        self._cluster.topics.create(LOAD_TOPIC, TOPIC_PARTITIONS)
        keys: dict[int, list[bytes]] = {}
        partition_count = self._cluster.options.partition_count
        for number in range(GROUPS_PER_PARTITION * partition_count):
            group_id = f"load-{number}"
            served = self._cluster.partition_of(group_id)
            keys.setdefault(served.number, []).extend(
                encode_draft(
                    RecordDraft(OffsetCommitKey(group_id, LOAD_TOPIC, partition), None),
                    self._cluster.config.dialect,
                )[0]
                for partition in range(TOPIC_PARTITIONS)
            )
        self._targets = [
            (self._cluster.partitions[number], of_partition)
            for number, of_partition in sorted(keys.items())
        ]
        self._running = True
        self._cluster.scheduler.after(INTERVAL_MS, self._round)

    def stop(self) -> None:
        """Stop committing."""
        self._running = False

    def _round(self) -> None:
        if not self._running:
            return
        topic = self._cluster.topics.image.topic(LOAD_TOPIC)
        if topic is not None:
            share, rest = divmod(self._per_second, len(self._targets))
            for place, (served, keys) in enumerate(self._targets):
                if served.is_active:
                    self._commit(served, keys, share + (place < rest), topic.topic_id)
        self._cluster.scheduler.after(INTERVAL_MS, self._round)

    def _commit(
        self, served: ServedPartition, keys: list[bytes], count: int, topic_id: bytes
    ) -> None:
        now_ms = self._cluster.scheduler.now_ms
        head, tail = self._value_around_offset(topic_id, now_ms)
        pack = _OFFSET.pack
        while count > 0:
            size = min(count, _BATCH_RECORDS_MAX)
            count -= size
            first, position = served.next_offset, self._position
            self._position += size
            served.append_bulk(
                [
                    LoggedRecord(
                        first + place,
                        now_ms,
                        keys[(position + place) % len(keys)],
                        head + pack(position + place) + tail,
                    )
                    for place in range(size)
                ]
            )

    def _value_around_offset(self, topic_id: bytes, now_ms: int) -> tuple[bytes, bytes]:
        """The bytes before and after the committed offset in every value of this moment."""
        dialect = self._cluster.config.dialect
        commit = OffsetCommitValue(0, "", now_ms, leader_epoch=0)
        if LOG_RULES[dialect].commit_version >= TOPIC_ID_FROM_VERSION:
            commit = commit._replace(topic_id=topic_id)
        draft = RecordDraft(OffsetCommitKey("", LOAD_TOPIC, 0), commit)
        value = encode_draft(draft, dialect)[1]
        assert value is not None
        return value[:_OFFSET_AT], value[_OFFSET_END:]
