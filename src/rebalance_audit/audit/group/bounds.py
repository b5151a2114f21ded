"""Durations of which the log tells no more than bounds, and the best estimate between them."""

from typing import Any, NamedTuple


class Bounds(NamedTuple):
    """Milliseconds, or sums of them over partitions: the true value lies between `least` and `most`."""

    least: int
    most: int | None
    """None where nothing bounds it."""
    estimate: int

    @staticmethod
    def exactly(value: int) -> "Bounds":
        """What the log tells to the millisecond."""
        return Bounds(value, value, value)

    @staticmethod
    def between(least: int, most: int | None, estimate: int) -> "Bounds":
        """The estimate is brought between the bounds; clocks of two coordinators may contradict each other."""
        least = max(0, least)
        if most is not None:
            most = max(least, most)
            estimate = min(estimate, most)
        return Bounds(least, most, max(least, estimate))

    def times(self, partitions: int) -> "Bounds":
        """The same for several partitions."""
        most = None if self.most is None else self.most * partitions
        return Bounds(self.least * partitions, most, self.estimate * partitions)

    def plus(self, other: "Bounds") -> "Bounds":
        """The sum."""
        most = None if self.most is None or other.most is None else self.most + other.most
        return Bounds(self.least + other.least, most, self.estimate + other.estimate)

    @property
    def exact(self) -> int | None:
        """The value where it is known; else None."""
        return self.least if self.least == self.most else None

    def columns(self, stem: str) -> dict[str, Any]:
        """`<stem>_min_ms`, `<stem>_max_ms`, `<stem>_estimate_ms`."""
        return {
            f"{stem}_min_ms": self.least,
            f"{stem}_max_ms": self.most,
            f"{stem}_estimate_ms": self.estimate,
        }


NOTHING = Bounds(0, 0, 0)
UNKNOWN_COLUMNS = ("min", "max", "estimate")


def bounds_columns(bounds: Bounds | None, stem: str) -> dict[str, Any]:
    """The columns; all null where there is no such duration."""
    if bounds is None:
        return {f"{stem}_{name}_ms": None for name in UNKNOWN_COLUMNS}
    return bounds.columns(stem)
