"""The offset commits of one group hour by hour: how many, and how long the group was silent in between.

A *stretch* is the time from the last commit of a second to the first commit of the next second that has any, over the
whole group; it counts in the hour in which it ends. It is a gap if it lasts more than LONG_STRETCH_MS and more than
LONG_STRETCHES times the median of the stretches that end in the same hour. A silence of more than SILENCE_MS, Kafka's
default retention of offsets, is not a stretch: the group starts over.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from rebalance_audit.audit.hours.group_hours import HourCommits
from rebalance_audit.audit.hours.hour_sums import HOUR_MS

LONG_STRETCH_MS: Final = 60_000
LONG_STRETCHES: Final = 10
SHORT_MS: Final = LONG_STRETCH_MS // LONG_STRETCHES
"""Where the median is no longer than this, it does not matter how long it is."""
SILENCE_MS: Final = 7 * 86_400_000
SECOND_MS: Final = 1000
HELD: Final = 1 << 20
"""How many commit times are held before they are counted by second."""

Times = npt.NDArray[np.int64]
"""Epoch milliseconds."""


class _Seconds(NamedTuple):
    """Commits counted by second, in order of time."""

    firsts: Times
    lasts: Times
    counts: npt.NDArray[np.int64]


class _Hour(NamedTuple):
    """The last hour with commits, as far as it goes."""

    hour: int
    commits: int
    short: int
    """Stretches of up to SHORT_MS."""
    longest_short_ms: int
    longer_ms: Sequence[int]
    """The other stretches, sorted: 600 at the most."""
    last_ms: int


class CommitHours:
    """The hours of a group's commits, which may come in parts, each later than the one before."""

    def __init__(self, state: Sequence[Any] | None = None) -> None:
        """`state` is what an earlier part has left."""
        self._last = None if state is None else _Hour(*state)
        self._times: list[Times] = []
        self._held = 0
        self._seconds: list[_Seconds] = []
        self.is_lost = False
        """A commit is earlier than those of an earlier part: the hours must be computed from all commits."""

    def add(self, times: Times) -> None:
        """Take commits in any order."""
        if len(times):
            self._times.append(times)
            self._held += len(times)
        if self._held > HELD:
            self._count()

    def hours(self) -> Mapping[int, HourCommits]:
        """Hour since 1970 -> its commits, for each hour with new ones. Call it once."""
        self._count()
        if not self._seconds:
            return {}
        seconds = self._seconds[0]
        if self._last is not None and seconds.firsts[0] < self._last.last_ms:
            self.is_lost = True
            return {}
        return dict(self._hours(seconds))

    def state(self) -> Sequence[Any] | None:
        """For a later part, after `hours`; to be kept as JSON."""
        return None if self._last is None else [*self._last]

    def _count(self) -> None:
        """Make seconds of the times that are held."""
        parts = [_Seconds(times, times, np.ones(len(times), np.int64)) for times in self._times]
        parts += self._seconds
        self._times, self._held = [], 0
        if not parts:
            return
        firsts = np.concatenate([part.firsts for part in parts])
        lasts = np.concatenate([part.lasts for part in parts])
        counts = np.concatenate([part.counts for part in parts])
        order = np.argsort(firsts, kind="stable")
        firsts, lasts, counts = firsts[order], lasts[order], counts[order]
        begins = _begins(firsts // SECOND_MS)
        self._seconds = [
            _Seconds(
                firsts[begins],
                np.maximum.reduceat(lasts, begins),
                np.add.reduceat(counts, begins),
            )
        ]

    def _hours(self, seconds: _Seconds) -> Iterator[tuple[int, HourCommits]]:
        before = np.append(self._before(int(seconds.firsts[0])), seconds.lasts[:-1])
        stretches = seconds.firsts - before
        hours = seconds.firsts // HOUR_MS
        begins = _begins(hours)
        for begin, end in zip(begins, np.append(begins[1:], len(hours)), strict=True):
            found = stretches[begin:end]
            # The group's first commit ends no stretch.
            found = found[found <= SILENCE_MS]
            known, hour = self._last, int(hours[begin])
            if known is None or known.hour != hour:
                known = _Hour(hour, 0, 0, 0, (), 0)
            is_short = found <= SHORT_MS
            self._last = _Hour(
                hour,
                known.commits + int(seconds.counts[begin:end].sum()),
                known.short + int(np.count_nonzero(is_short)),
                max(known.longest_short_ms, int(found[is_short].max(initial=0))),
                sorted([*known.longer_ms, *found[~is_short].tolist()]),
                int(seconds.lasts[end - 1]),
            )
            yield hour, _summed_up(self._last)

    def _before(self, first_ms: int) -> int:
        """Start of the stretch that ends with the first new commit."""
        known = self._last
        if known is None or known.last_ms // SECOND_MS == first_ms // SECOND_MS:
            return first_ms - SILENCE_MS - 1
        return known.last_ms


def _summed_up(hour: _Hour) -> HourCommits:
    stretches = hour.short + len(hour.longer_ms)
    longest = hour.longer_ms[-1] if hour.longer_ms else hour.longest_short_ms
    least = max(LONG_STRETCH_MS, LONG_STRETCHES * _median_ms(hour)) if stretches else 0
    gaps = sum(stretch > least for stretch in hour.longer_ms)
    return HourCommits(hour.commits, gaps, longest if stretches else None, hour.last_ms)


def _median_ms(hour: _Hour) -> float:
    """Of all stretches; where it is up to SHORT_MS, it may be any such number."""
    stretches = hour.short + len(hour.longer_ms)
    middle = [(stretches - 1) // 2, stretches // 2]
    return (
        sum(
            hour.longest_short_ms if place < hour.short else hour.longer_ms[place - hour.short]
            for place in middle
        )
        / 2
    )


def _begins(numbers: Times) -> npt.NDArray[np.int64]:
    """Places of the numbers that differ from the one before, and of the first."""
    return np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1]))
