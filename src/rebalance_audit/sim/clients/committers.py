"""Clients that only commit offsets: standalone ones that are in no group, and transactional producers."""

from rebalance_audit.coordinator.handling import ErrorCode
from rebalance_audit.coordinator.requests.offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    TxnOffsetCommitResponse,
)
from rebalance_audit.sim.chance import Chance
from rebalance_audit.sim.clients.client import COMMIT_BY_NAME_VERSION
from rebalance_audit.sim.clients.transactions import Transactions
from rebalance_audit.sim.cluster import Cluster


class Committer:
    """Commits the offsets of one topic at an interval, without being a member."""

    def __init__(
        self, cluster: Cluster, group_id: str, topic: str, interval_ms: int, chance: Chance
    ) -> None:
        """Not started."""
        self.name = f"{group_id}-committer"
        self.acknowledged = 0
        self._cluster = cluster
        self._group_id = group_id
        self._topic = topic
        self._interval_ms = interval_ms
        self._chance = chance
        self._served = cluster.partition_of(group_id)
        self._running = False

    def start(self) -> None:
        """Commit from now on."""
        self._running = True
        self._cluster.scheduler.after(self._chance.between(1, self._interval_ms), self._round)

    def stop(self) -> None:
        """Stop committing."""
        self._running = False

    def _round(self) -> None:
        if not self._running:
            return
        self._commit()
        self._cluster.scheduler.after(self._interval_ms, self._round)

    def _commit(self) -> None:
        topics = self._offsets()
        if topics:
            request = OffsetCommitRequest(
                self._group_id, topics, api_version=COMMIT_BY_NAME_VERSION
            )
            self._cluster.ask(self.name, self._served, request, self._committed)

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

    def _committed(self, response: tuple[object, ...]) -> None:
        assert isinstance(response, OffsetCommitResponse | TxnOffsetCommitResponse)
        self.acknowledged += all(
            partition.error_code is ErrorCode.NONE
            for topic in response.topics
            for partition in topic.partitions
        )


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
        self._cluster.ask(self.name, self._served, request, self._committed)
        if self._chance.happens(0.1):
            self._transactions.hang()
        else:
            committed = self._chance.happens(0.8)
            self._transactions.end_after(self._chance.latency_ms(50), committed=committed)
