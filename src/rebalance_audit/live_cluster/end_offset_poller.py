"""Samples of end offsets of a live cluster."""

import threading
from collections import deque
from collections.abc import Callable, Collection
from typing import Final, TypeAlias

from rebalance_audit.audit.lag.end_offsets import EndOffset, EndOffsets, PartitionSamples
from rebalance_audit.live_cluster.poller import Poller

KEPT: Final = 60
"""Samples of one partition: they bound for how long a record has been waiting."""

WantedPartitions: TypeAlias = Collection[tuple[str, int]]
SampleEndOffsets: TypeAlias = Callable[[WantedPartitions], EndOffsets]
"""One sample of each partition. Raises SourceNotReadable."""


class EndOffsetPoller(Poller[None]):
    """Takes samples of the partitions that it was given last."""

    def __init__(self, sample: SampleEndOffsets, every_s: float, partitions_max: int) -> None:
        """`partitions_max`: no more partitions are sampled; the first ones by name."""
        super().__init__(self._sampled, every_s)
        self._sample = sample
        self._most = partitions_max
        self._wanted: list[tuple[str, int]] = []
        self._samples: dict[tuple[str, int], deque[EndOffset]] = {}
        self._lock = threading.Lock()
        self.count = 0
        """Samples so far."""
        self.left_out = 0
        """WantedPartitions above the bound."""

    def want(self, partitions: WantedPartitions) -> None:
        """Sample these from now on."""
        ordered = sorted(partitions)
        self._wanted, self.left_out = ordered[: self._most], max(0, len(ordered) - self._most)
        if ordered:
            self.start()

    def of(self, topic: str, topic_partition: int) -> PartitionSamples | None:
        """The samples of a partition so far; None if there are none."""
        with self._lock:
            found = self._samples.get((topic, topic_partition))
            return None if found is None else PartitionSamples(found)

    def end_offsets(self) -> EndOffsets:
        """The samples so far, of each partition the newest ones."""
        with self._lock:
            return EndOffsets({partition: [*of_it] for partition, of_it in self._samples.items()})

    def _sampled(self) -> None:
        self._keep(self._sample(self._wanted))

    def _keep(self, found: EndOffsets) -> None:
        wanted = frozenset(self._wanted)
        with self._lock:
            for partition, of_it in found.items():
                self._samples.setdefault(partition, deque(maxlen=KEPT)).extend(of_it.samples)
            for partition in self._samples.keys() - wanted:
                del self._samples[partition]
            self.count += 1
