"""Which offsets of a log partition have no record: compaction took it, or the copy of the log lacks it."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Final, NamedTuple

RANGES_MAX: Final = 1_000
"""Ranges kept for a partition."""


class Holes(NamedTuple):
    """Ranges of offsets without a record, ascending."""

    firsts: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()
    """After the last offset of each range."""
    apart: int = 1
    """Ranges with fewer records between them are one. It is the smallest power of two with which there are few enough:
    so it does not matter in how many parts a log was read."""

    def between(self, log_offset: int, later_offset: int) -> bool:
        """Whether an offset between the two has no record."""
        place = bisect_right(self.ends, log_offset + 1)
        if place == len(self.firsts):
            return False
        return max(self.firsts[place], log_offset + 1) < later_offset

    def then(self, later: "Holes") -> "Holes":
        """These ranges and those of a later part of the log."""
        if not later.firsts and later.apart <= self.apart:
            return self
        apart = max(self.apart, later.apart)
        firsts, ends = self.firsts + later.firsts, self.ends + later.ends
        if apart > 1:
            firsts, ends = _merged(firsts, ends, apart)
        while len(firsts) > RANGES_MAX:
            apart *= 2
            firsts, ends = _merged(firsts, ends, apart)
        return Holes(firsts, ends, apart)

    def since(self, log_offset: int) -> "Holes":
        """What of them lies at this offset or after it."""
        place = bisect_right(self.ends, log_offset)
        if place == len(self.firsts):
            return Holes(apart=self.apart)
        first = max(self.firsts[place], log_offset)
        return Holes((first, *self.firsts[place + 1 :]), self.ends[place:], self.apart)

    def until(self, log_offset: int) -> "Holes":
        """What of them lies before this offset."""
        place = bisect_left(self.firsts, log_offset)
        if not place:
            return Holes(apart=self.apart)
        end = min(self.ends[place - 1], log_offset)
        return Holes(self.firsts[:place], (*self.ends[: place - 1], end), self.apart)


def hole(next_offset: int, log_offset: int) -> Holes:
    """The offsets from one, that after all records so far, to the next record."""
    return Holes((next_offset,), (log_offset,)) if next_offset < log_offset else Holes()


def holes_among(log_offsets: Sequence[int]) -> Holes:
    """The offsets between records, at least one, which are given in the log's order.

    A damaged log may go back: what it had skipped stays a hole.
    """
    if log_offsets == [*range(log_offsets[0], log_offsets[0] + len(log_offsets))]:
        return Holes()
    highest = accumulate(log_offsets, max)
    pairs = zip(highest, log_offsets[1:], strict=False)
    return holes_of((so_far + 1, other) for so_far, other in pairs if other > so_far + 1)


def holes_of(ranges: Iterable[tuple[int, int]]) -> Holes:
    """Ranges of (first offset, offset after the last)."""
    found = list(ranges)
    return Holes().then(Holes(tuple(first for first, _ in found), tuple(end for _, end in found)))


def _merged(
    firsts: tuple[int, ...], ends: tuple[int, ...], apart: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    kept = [place for place in range(1, len(firsts)) if firsts[place] - ends[place - 1] >= apart]
    return (
        (*firsts[:1], *(firsts[place] for place in kept)),
        (*(ends[place - 1] for place in kept), *ends[-1:]),
    )
