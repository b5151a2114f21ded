"""How far a client has read each of its partitions, and what of that it has to commit."""

from collections.abc import Callable, Iterator

from rebalance_audit.coordinator.handling import TopicImage
from rebalance_audit.coordinator.requests.offsets import (
    NO_OFFSET,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetFetchResponseGroup,
)
from rebalance_audit.sim.clients.client_config import ClientConfig, CommitScope, Traffic
from rebalance_audit.sim.holdings import HeldPartition


class Positions:
    """The positions of one client; times in epoch milliseconds."""

    def __init__(self, config: ClientConfig) -> None:
        """No partition is consumed yet."""
        self._config = config
        self._committed: dict[HeldPartition, int] = {}
        """Positions that need no commit: where it began, or what it committed."""
        self._grouped: tuple[object, object, dict[str, list[int]]] = (None, None, {})
        """Partitions, topics, and what `by_name` made of them."""

    def begin(self, partitions: frozenset[HeldPartition], now_ms: int) -> None:
        """The client begins to consume partitions."""
        traffic = self._config.traffic
        for each in partitions:
            self._committed[each] = traffic.position(each[1], now_ms)

    def by_name(
        self, partitions: frozenset[HeldPartition], image: TopicImage
    ) -> dict[str, list[int]]:
        """Partitions of the existing topics, by name; the same object while neither changed."""
        if self._grouped[0] is not partitions or self._grouped[1] is not image:
            by_name: dict[str, list[int]] = {}
            for topic_id, number in sorted(partitions):
                topic = image.topic_by_id(topic_id)
                if topic is not None:
                    by_name.setdefault(topic.name, []).append(number)
            self._grouped = partitions, image, by_name
        return self._grouped[2]

    def commit(
        self,
        partitions: frozenset[HeldPartition],
        scope: CommitScope,
        image: TopicImage,
        now_ms: int,
    ) -> tuple[OffsetCommitRequestTopic, ...]:
        """The offsets to commit now, of the existing topics; empty if there are none."""
        position_of = self._config.traffic.position
        if scope is not CommitScope.ALL:
            moved = frozenset(
                each
                for each in partitions
                if self._committed.get(each) != position_of(each[1], now_ms)
            )
            if scope is CommitScope.NOTHING or not moved:
                return ()
            partitions = moved if scope is CommitScope.NEW else partitions
            for each in partitions:
                self._committed[each] = position_of(each[1], now_ms)
        return tuple(
            [
                OffsetCommitRequestTopic(
                    name,
                    tuple(
                        [
                            OffsetCommitRequestPartition(number, position_of(number, now_ms), 0, "")
                            for number in numbers
                        ]
                    ),
                )
                for name, numbers in self.by_name(partitions, image).items()
            ]
        )


class ReadProgress:
    """Times in epoch milliseconds."""

    def __init__(self, traffic: Traffic, is_paused: Callable[[int], bool]) -> None:
        """`is_paused`: whether the client is frozen, or does not poll, at this time."""
        self._traffic = traffic
        self._is_paused = is_paused
        self._paused_ms: int | None = None

    def pause(self, now_ms: int) -> None:
        """Nothing is read from now on, if anything is. Call it before the client freezes or stops to poll."""
        self._paused_ms = self.until_ms(now_ms)

    def until_ms(self, now_ms: int) -> int:
        """Until when everything is read that has arrived."""
        paused_ms = self._paused_ms
        return paused_ms if paused_ms is not None and self._is_paused(now_ms) else now_ms

    def next_offset(self, partition: HeldPartition, now_ms: int) -> int:
        """The offset after the last record read."""
        return self._traffic.position(partition[1], self.until_ms(now_ms))

    def beginnings(
        self, group: OffsetFetchResponseGroup, image: TopicImage, now_ms: int
    ) -> Iterator[tuple[HeldPartition, int]]:
        """Where it begins to read each partition: `auto.offset.reset` is latest, Kafka's default."""
        for of_topic in group.topics:
            topic = image.topic(of_topic.name)
            if topic is None:
                continue
            for each in of_topic.partitions:
                partition = topic.topic_id, each.partition_index
                first_offset = each.committed_offset
                if first_offset == NO_OFFSET:
                    first_offset = self.next_offset(partition, now_ms)
                yield partition, first_offset
