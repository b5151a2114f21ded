"""How far a client has read its partitions: as far as records arrived, while it polls."""

from collections.abc import Callable, Iterator

from rebalance_audit.coordinator.handling import TopicImage
from rebalance_audit.coordinator.requests.offsets import NO_OFFSET, OffsetFetchResponseGroup
from rebalance_audit.sim.clients.traffic import Traffic
from rebalance_audit.sim.holdings import HeldPartition


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
