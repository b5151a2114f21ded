"""A thread that asks a live cluster now and then, as for end offsets: it only reads, and never blocks a watch."""

import threading
import time
from collections import deque
from collections.abc import Callable, Collection
from typing import Final, Generic, Self, TypeAlias, TypeVar

from rebalance_audit.audit.lag.end_offsets import EndOffset, EndOffsets, PartitionSamples
from rebalance_audit.wire.segments.folder import SourceNotReadable

PAUSES_MAX: Final = 32
"""A cluster that does not answer is asked half as often each time, at least after so many intervals."""
FRESH: Final = 3
"""Intervals after which an answer counts no more: the next one is late."""

Answer = TypeVar("Answer")


class Poller(Generic[Answer]):
    """Keeps the newest answer; there is none while the cluster does not answer."""

    def __init__(self, ask: Callable[[], Answer], every_s: float) -> None:
        """`ask` raises SourceNotReadable."""
        self._ask = ask
        self._every_s = every_s
        self._ended = threading.Event()
        self._may_ask = threading.Event()
        self._tried = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._newest: tuple[float, Answer] | None = None
        self.problem = ""
        """Why there is no answer; empty while the cluster answers."""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._may_ask.set()

    def start(self) -> None:
        """Ask from now on."""
        self._may_ask.set()

    def await_first(self, timeout_s: float) -> None:
        """Wait for the first answer, or until there is none."""
        self._tried.wait(timeout_s)

    @property
    def newest(self) -> tuple[float, Answer] | None:
        """When the cluster was asked (by the monotonic clock), and what it said; None if that is long ago."""
        newest = self._newest
        is_fresh = newest and time.monotonic() - newest[0] < FRESH * self._every_s
        return newest if is_fresh else None

    def _run(self) -> None:
        pauses = 1
        self._may_ask.wait()
        while not self._ended.is_set():
            asked_s = time.monotonic()
            try:
                answer = self._ask()
            except SourceNotReadable as error:
                self._newest, self.problem = None, str(error)
                pauses = min(2 * pauses, PAUSES_MAX)
            else:
                self._newest, self.problem, pauses = (asked_s, answer), "", 1
            self._tried.set()
            self._ended.wait(self._every_s * pauses)


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
        found, wanted = self._sample(self._wanted), frozenset(self._wanted)
        with self._lock:
            for partition, of_it in found.items():
                self._samples.setdefault(partition, deque(maxlen=KEPT)).extend(of_it.samples)
            for partition in self._samples.keys() - wanted:
                del self._samples[partition]
            self.count += 1
