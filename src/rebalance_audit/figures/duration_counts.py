"""How many rebalances took how long, in the buckets of the metrics' histograms. Imports nothing heavy."""

from bisect import bisect_left
from collections.abc import Iterable
from itertools import accumulate
from typing import Final, NamedTuple, Self

BOUNDS_S: Final = (0.1, 0.5, 1.0, 3.0, 10.0, 30.0, 60.0, 180.0, 300.0, 900.0, 3600.0)
"""Upper bounds of the buckets, from a calm join phase to past Kafka's defaults.

3 s is `group.initial.rebalance.delay.ms`, 300 s is `max.poll.interval.ms`, which classic clients use as their rebalance
timeout.
"""


class DurationCounts(NamedTuple):
    """A histogram."""

    cumulative: tuple[int, ...] = (0,) * (len(BOUNDS_S) + 1)
    """Rebalances that took at most as long as each of BOUNDS_S, and at the end all of them."""
    sum_ms: int = 0

    @classmethod
    def of(cls, durations_ms: Iterable[int]) -> Self:
        """Counts these."""
        own = [0] * (len(BOUNDS_S) + 1)
        sum_ms = 0
        for duration_ms in durations_ms:
            own[bisect_left(BOUNDS_S, duration_ms / 1000)] += 1
            sum_ms += duration_ms
        return cls(tuple(accumulate(own)), sum_ms)

    def plus(self, other: "DurationCounts") -> "DurationCounts":
        """Both together."""
        counts = zip(self.cumulative, other.cumulative, strict=True)
        return DurationCounts(tuple(map(sum, counts)), self.sum_ms + other.sum_ms)


NO_DURATIONS: Final = DurationCounts()
