"""Partition numbers that an assignment leaves out, as ranges: their count comes from clients and may be 2³¹."""

from collections.abc import Iterable
from typing import TypeAlias

NumberGaps: TypeAlias = tuple[tuple[int, int], ...]
"""Ranges of absent numbers in ascending order, each as (first, last)."""


def number_gaps(numbers: Iterable[int], highest: int) -> NumberGaps:
    """The ranges of 0 to `highest` that `numbers` leaves out; costs as much as sorting `numbers`."""
    gaps = []
    expected = 0
    for number in sorted(numbers):
        if number > highest:
            break
        if number > expected:
            gaps.append((expected, number - 1))
        expected = max(expected, number + 1)
    if expected <= highest:
        gaps.append((expected, highest))
    return tuple(gaps)
