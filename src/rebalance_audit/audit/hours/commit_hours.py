"""The offset commits of one group hour by hour: how many, and how long the group was silent in between.

A *stretch* is the time from the last commit of a second to the first commit of the next second that has any, over the
whole group; it counts in the hour in which it ends. It is a gap if it lasts more than LONG_STRETCH_MS and more than
LONG_STRETCHES times the median of the stretches that end in the same hour. A silence of more than SILENCE_MS, Kafka's
default retention of offsets, is not a stretch: the group starts over.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from rebalance_audit.audit.hours.group_hours import HOUR_MS, HourCommits

LONG_STRETCH_MS: Final = 60_000
LONG_STRETCHES: Final = 10
SHORT_MS: Final = LONG_STRETCH_MS // LONG_STRETCHES
"""Where the median is no longer than this, it does not matter how long it is."""
SILENCE_MS: Final = 7 * 86_400_000
SECOND_MS: Final = 1000
HELD: Final = 1 << 20
"""How many commits are held before they are counted by second."""

Times = npt.NDArray[np.int64]
"""Epoch milliseconds."""


class Seconds(NamedTuple):
    """Commits counted by second, in order of group and time."""

    groups: npt.NDArray[np.int64]
    """Numbers that stand for groups."""
    firsts: Times
    lasts: Times
    counts: npt.NDArray[np.int64]

    def of(self, chosen: slice) -> "Seconds":
        """Some of them."""
        return Seconds(*(column[chosen] for column in self))


def single_commits(times: Times, groups: npt.NDArray[np.int64] | int = 0) -> Seconds:
    """Commits that are not counted yet."""
    count = len(times)
    return Seconds(np.broadcast_to(groups, count), times, times, np.ones(count, np.int64))


def by_second(parts: Sequence[Seconds]) -> Seconds:
    """All of them, at least one, as one in order."""
    groups, firsts, lasts, counts = (
        np.concatenate(columns) for columns in zip(*parts, strict=True)
    )
    order = np.lexsort((firsts, groups))
    groups, firsts, lasts, counts = groups[order], firsts[order], lasts[order], counts[order]
    begins = run_begins(groups, firsts // SECOND_MS)
    return Seconds(
        groups[begins],
        firsts[begins],
        np.maximum.reduceat(lasts, begins),
        np.add.reduceat(counts, begins),
    )


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

    def __init__(self, state: Sequence[Any] | None = None, *, takes_late: bool = False) -> None:
        """`state` is what an earlier part has left; with `takes_late` nothing is ever lost, see `hours`."""
        self._takes_late = takes_late
        self._last = None if state is None else _Hour(*state)
        self._seconds: list[Seconds] = []
        self.held = 0
        """How many seconds are held."""
        self.is_lost = False
        """A commit is earlier than those of an earlier part: the hours must be computed from all commits."""

    def add(self, seconds: Seconds) -> None:
        """Take commits in any order, of this group alone."""
        if len(seconds.firsts):
            self._seconds.append(seconds)
            self.held += len(seconds.firsts)
        if self.held > HELD:
            self._seconds, self.held = [by_second(self._seconds)], 0

    def hours(self, but_last_ms: int | None = None) -> Mapping[int, HourCommits]:
        """Hour since 1970 -> its commits, for each hour with new ones.

        `but_last_ms`: commits of so long before the last one wait for the next call. What comes even later than they
        do counts at the time of the last one that was counted.
        """
        if not self._seconds:
            return {}
        seconds = by_second(self._seconds)
        self._seconds, self.held = [], 0
        if self._last is not None and seconds.firsts[0] < self._last.last_ms:
            if not self._takes_late:
                self.is_lost = True
                return {}
            late = [
                np.maximum(each, self._last.last_ms) for each in (seconds.firsts, seconds.lasts)
            ]
            seconds = by_second([seconds._replace(firsts=late[0], lasts=late[1])])
        if but_last_ms is not None:
            end = int(np.searchsorted(seconds.firsts, seconds.lasts[-1] - but_last_ms))
            self.add(seconds.of(slice(end, None)))
            seconds = seconds.of(slice(end))
        return dict(self._hours(seconds)) if len(seconds.firsts) else {}

    def state(self) -> Sequence[Any] | None:
        """For a later part, after `hours`; to be kept as JSON."""
        return None if self._last is None else [*self._last]

    def _hours(self, seconds: Seconds) -> Iterator[tuple[int, HourCommits]]:
        before = np.append(self._before(int(seconds.firsts[0])), seconds.lasts[:-1])
        stretches = seconds.firsts - before
        hours = seconds.firsts // HOUR_MS
        begins = run_begins(hours)
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


class LogCommitHours:
    """The hours of the commits of many groups, which come in about the order of their times."""

    def __init__(self, held: int = HELD) -> None:
        """Some `held` seconds wait for others."""
        self._of: dict[tuple[int, str], CommitHours] = defaultdict(
            lambda: CommitHours(takes_late=True)
        )
        self._found: dict[tuple[int, str], dict[int, HourCommits]] = defaultdict(dict)
        self._held, self._most, self._usual = 0, held, held

    def add(self, log_partition: int, group_ids: Sequence[str | None], seconds: Seconds) -> None:
        """Take commits in one partition of the log; `seconds` have the places of `group_ids`, None for no group."""
        bounds = np.searchsorted(seconds.groups, np.arange(len(group_ids) + 1)).tolist()
        for group_id, begin, end in zip(group_ids, bounds, bounds[1:], strict=False):
            if group_id is not None:
                found = seconds.of(slice(begin, end))
                # The next stretch may have another number for the group.
                found.groups[:] = 0
                self._of[log_partition, group_id].add(found)
        self._held += len(seconds.firsts)
        if self._held > self._most:
            self._count(HOUR_MS)
            # Where hardly any are older, the rest is counted when there are twice as many.
            self._most = max(self._usual, 2 * self._held)

    def hours(self) -> Mapping[str, Mapping[int, HourCommits]]:
        """Group id -> hour since 1970 -> its commits. Call it once.

        After partitions were added to the log a group may have commits in two.
        """
        self._count(None)
        found: dict[str, dict[int, HourCommits]] = defaultdict(dict)
        for (_, group_id), hours in self._found.items():
            of_group = found[group_id]
            for hour, commits in hours.items():
                of_group[hour] = commits.and_also(of_group[hour]) if hour in of_group else commits
        return found

    def _count(self, but_last_ms: int | None) -> None:
        """All but those of so long before the group's last commit."""
        self._held = 0
        for key, of_group in self._of.items():
            self._found[key].update(of_group.hours(but_last_ms))
            self._held += of_group.held


def _summed_up(hour: _Hour) -> HourCommits:
    stretches = hour.short + len(hour.longer_ms)
    if not stretches:
        return HourCommits(hour.commits, 0, None, hour.last_ms)
    longest = hour.longer_ms[-1] if hour.longer_ms else hour.longest_short_ms
    # Where the median is up to SHORT_MS, it may be any such number.
    median_ms = fmean(
        hour.longest_short_ms if place < hour.short else hour.longer_ms[place - hour.short]
        for place in ((stretches - 1) // 2, stretches // 2)
    )
    least = max(LONG_STRETCH_MS, LONG_STRETCHES * median_ms)
    gaps = sum(stretch > least for stretch in hour.longer_ms)
    return HourCommits(hour.commits, gaps, longest, hour.last_ms)


def run_begins(*columns: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Places of the rows that differ from the one before, and of the first."""
    differs = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    return np.flatnonzero(np.append(True, differs)[: len(columns[0])])
