"""Clients that only commit offsets: standalone ones in no group, transactional producers, and a load in bulk."""

import struct
from typing import Final

from rebalance_audit.coordinator.handling import RecordDraft
from rebalance_audit.coordinator.requests.offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from rebalance_audit.sim.brokers.batch_writer import LoggedRecord
from rebalance_audit.sim.brokers.broker import ServedPartition
from rebalance_audit.sim.brokers.dialects import LOG_RULES, TOPIC_ID_FROM_VERSION, encode_draft
from rebalance_audit.sim.chance import Chance
from rebalance_audit.sim.clients.client import COMMIT_BY_NAME_VERSION
from rebalance_audit.sim.clients.transactions import Transactions
from rebalance_audit.sim.cluster import Cluster, ignore_response
from rebalance_audit.wire.generated.messages import OffsetCommitKey, OffsetCommitValue


class Committer:
    """Commits the offsets of one topic at an interval, without being a member."""

    def __init__(
        self, cluster: Cluster, group_id: str, topic: str, interval_ms: int, chance: Chance
    ) -> None:
        """Not started."""
        self.name = f"{group_id}-committer"
        self._cluster = cluster
        self._group_id = group_id
        self._topic = topic
        self._interval_ms = interval_ms
        self._chance = chance
        self._served = cluster.partition_of(group_id)

    def start(self) -> None:
        """Commit from now on."""
        self._cluster.scheduler.after(self._chance.between(1, self._interval_ms), self._round)

    def _round(self) -> None:
        self._commit()
        self._cluster.scheduler.after(self._interval_ms, self._round)

    def _commit(self) -> None:
        topics = self._offsets()
        if topics:
            request = OffsetCommitRequest(
                self._group_id, topics, api_version=COMMIT_BY_NAME_VERSION
            )
            self._cluster.ask(self.name, self._served, request, ignore_response)

    def _offsets(self) -> tuple[OffsetCommitRequestTopic, ...]:
        topic = self._cluster.topics.image.topic(self._topic)
        if topic is None:
            return ()
        position = self._cluster.scheduler.now_ms // 100
        metadata = self._chance.choice(("", "", "checkpoint-7", "Größe=3"))
        partitions = tuple(
            OffsetCommitRequestPartition(number, position + number, 3, metadata)
            for number in range(len(topic.partition_racks))
        )
        return (OffsetCommitRequestTopic(self._topic, partitions),)


class TransactionalCommitter(Committer):
    """A producer that commits offsets in transactions; it aborts some, and some it never ends itself."""

    def __init__(
        self,
        cluster: Cluster,
        group_id: str,
        topic: str,
        interval_ms: int,
        chance: Chance,
        producer_id: int,
    ) -> None:
        """Not started."""
        super().__init__(cluster, group_id, topic, interval_ms, chance)
        self._transactions = Transactions(cluster, self._served, f"{self.name}-tx", producer_id)

    def _commit(self) -> None:
        topics = self._offsets()
        if not topics or self._transactions.is_open:
            return
        request = self._transactions.begin(self._group_id, topics)
        self._cluster.ask(self.name, self._served, request, ignore_response)
        if self._chance.happens(0.1):
            self._transactions.hang()
        else:
            committed = self._chance.happens(0.8)
            self._transactions.end_after(self._chance.latency_ms(50), committed=committed)


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
