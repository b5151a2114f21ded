"""A moment or a duration that is known within bounds."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from rebalance_audit.sim.chance import Chance


class Spread(NamedTuple):
    """Bounds of a number of milliseconds and, where the log favours one, its most likely value."""

    low: int
    high: int
    likely: int | None = None

    @property
    def middle(self) -> int:
        """The most likely value, else the middle of the bounds."""
        return (self.low + self.high) // 2 if self.likely is None else self.likely

    def draw(self, chance: Chance) -> int:
        """One value: triangular around the most likely one, else uniform."""
        if self.low >= self.high:
            return self.low
        share = chance.uniform(0.0, 1.0)
        width = self.high - self.low
        if self.likely is None:
            return self.low + round(share * width)
        rising = self.likely - self.low
        if share * width < rising:
            return self.low + round(math.sqrt(share * width * rising))
        falling = width - rising
        return self.high - round(math.sqrt((1 - share) * width * falling))

    def within(self, low: int, high: int) -> "Spread":
        """The same, cut to these bounds; a bound that excludes all of it wins."""
        new_low = min(max(self.low, low), high)
        new_high = max(min(self.high, high), new_low)
        likely = None if self.likely is None else min(max(self.likely, new_low), new_high)
        return Spread(new_low, new_high, likely)

    def shifted(self, by_ms: int) -> "Spread":
        """The same, later by so many milliseconds."""
        likely = None if self.likely is None else self.likely + by_ms
        return Spread(self.low + by_ms, self.high + by_ms, likely)


def exactly(value: int) -> Spread:
    """A value that is known."""
    return Spread(value, value)


def spread_of(values: Sequence[int], tail: float = 0.25) -> Spread | None:
    """Measured values as bounds: their quartiles around the median, or what leaves another tail out; None of none."""
    if not values:
        return None
    ordered = sorted(values)
    last = len(ordered) - 1
    low, likely, high = (ordered[round(share * last)] for share in (tail, 0.5, 1 - tail))
    return Spread(low, high, likely)
