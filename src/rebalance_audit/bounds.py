"""Durations and counts of records that are only known within bounds, and the best estimate between them."""

from collections.abc import Iterable
from functools import reduce
from typing import Any, Final, NamedTuple

WORTH_NAMING_MS: Final = 1000
"""A shorter rebalance is nothing to worry about."""


class Bounds(NamedTuple):
    """A duration in ms, a number of records, or a sum of either over partitions.

    The true value lies between `least` and `most`.
    """

    least: int
    most: int | None
    """None if it has no upper bound."""
    estimate: int | None
    """None where nothing shows more than the bounds: it is withheld, not made up."""

    @staticmethod
    def exactly(value: int) -> "Bounds":
        """A value that is known exactly."""
        return Bounds(value, value, value)

    @staticmethod
    def between(least: int, most: int | None, estimate: int | None) -> "Bounds":
        """Clamp the estimate to the bounds: clocks of two coordinators may contradict each other."""
        least = max(0, least)
        if most is not None:
            most = max(least, most)
        if estimate is None:
            return Bounds(least, most, least if least == most else None)
        return Bounds(least, most, max(least, estimate if most is None else min(estimate, most)))

    def times(self, partitions: int) -> "Bounds":
        """This duration summed over so many partitions."""
        most = None if self.most is None else self.most * partitions
        estimate = None if self.estimate is None else self.estimate * partitions
        return Bounds(self.least * partitions, most, estimate)

    def plus(self, other: "Bounds") -> "Bounds":
        """The sum; without an estimate where one of them has none."""
        most = None if self.most is None or other.most is None else self.most + other.most
        parts = (self.estimate, other.estimate)
        estimate = None if None in parts else sum(part for part in parts if part is not None)
        return Bounds(self.least + other.least, most, estimate)

    def minus(self, other: "Bounds") -> "Bounds":
        """The difference of two numbers, the second not greater than the first."""
        least = 0 if other.most is None else self.least - other.most
        most = None if self.most is None else self.most - other.least
        estimate = None
        if self.estimate is not None and other.estimate is not None:
            estimate = self.estimate - other.estimate
        return Bounds.between(least, most, estimate)

    def at_least(self, least: int) -> "Bounds":
        """These bounds with a lower bound of at least this."""
        return Bounds.between(max(least, self.least), self.most, self.estimate)

    @property
    def rank(self) -> tuple[int, int]:
        """Order by what is likely, then by what is certain; in ms."""
        return self.likely, self.least

    @property
    def likely(self) -> int:
        """The estimate; where it is withheld the lower bound, which alone counts in sums over rebalances."""
        return self.least if self.estimate is None else self.estimate

    @property
    def exact(self) -> int | None:
        """The value if it is known exactly, else None."""
        return self.least if self.least == self.most else None

    def columns(self, stem: str) -> dict[str, Any]:
        """The columns `<stem>_min_ms`, `<stem>_max_ms` and `<stem>_estimate_ms`."""
        return {
            f"{stem}_min_ms": self.least,
            f"{stem}_max_ms": self.most,
            f"{stem}_estimate_ms": self.estimate,
        }


NOTHING = Bounds(0, 0, 0)
UNBOUNDED = Bounds(0, None, 0)
BOUND_NAMES = ("min", "max", "estimate")


def total_of(parts: Iterable[Bounds]) -> Bounds:
    """The sum; where an estimate is withheld, the lower bound counts."""
    return reduce(Bounds.plus, (part._replace(estimate=part.likely) for part in parts), NOTHING)


def bounds_columns(bounds: Bounds | None, stem: str) -> dict[str, Any]:
    """The columns of `Bounds.columns`; all are null if there is no such duration."""
    if bounds is None:
        return {f"{stem}_{name}_ms": None for name in BOUND_NAMES}
    return bounds.columns(stem)
