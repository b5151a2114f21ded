"""The commits of one group for one topic partition, reduced to what rows of minutes need."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from rebalance_audit.audit.lag.end_offsets import PartitionSamples

if TYPE_CHECKING:
    from rebalance_audit.lake.gold.partition_owners import Place

MINUTE_MS: Final = 60_000
_FIELDS: Final = 5
"""Rows of the arrays: time (epoch ms), log offset, committed offset, whether it is transactional, number of commits."""

Ints = npt.NDArray[np.int64]


class MinuteCommit(NamedTuple):
    """The last commit of a minute, or of the part of a minute up to its last sample, and how many it stands for."""

    at_ms: int
    log_offset: int
    committed: int
    is_transactional: int
    commits: int
    """0 if its minute is written and stays as it is."""


class PartitionCommits:
    """Commits in any order; all but the last one of each minute, and the last one before a sample, are dropped."""

    def __init__(self, samples: PartitionSamples | None, kept: Sequence[Any] = ()) -> None:
        """`kept` are fields of commits that an earlier part left."""
        self.samples = samples
        self.sample_times: Ints = np.array(
            [each.sampled_at_ms for each in samples.samples] if samples else [], np.int64
        )
        self._parts: list[Ints] = []
        if kept:
            self._parts.append(np.array(kept, np.int64).T)
        self.first: Place | None = (kept[0][0], kept[0][1]) if kept else None
        """The earliest commit."""
        self.new_from_ms: int | None = None
        """Time of the earliest new commit (epoch ms)."""
        self.new_to_ms = -1

    def add(self, columns: Ints, *, is_transactional: bool) -> None:
        """Take commits: log offsets, times (epoch ms) and committed offsets."""
        offsets, times, committed = columns
        count = len(offsets)
        if not count:
            return
        part = np.empty((_FIELDS, count), np.int64)
        part[:3] = times, offsets, committed
        part[3], part[4] = is_transactional, 1
        first_ms = int(times.min())
        if self.new_from_ms is None or first_ms < self.new_from_ms:
            self.new_from_ms = first_ms
        first = first_ms, int(offsets[times == first_ms].min())
        if self.first is None or first < self.first:
            self.first = first
        self.new_to_ms = max(self.new_to_ms, int(times.max()))
        self._parts.append(part)

    def reduce(self) -> None:
        """Drop what no row needs."""
        if not self._parts:
            return
        every = np.concatenate(self._parts, axis=1)
        every = every[:, np.lexsort((every[1], every[0]))]
        times = every[0]
        minutes = times // MINUTE_MS
        buckets = 2 * minutes + 1
        if len(self.sample_times):
            after = np.searchsorted(self.sample_times, times)
            later = np.append(self.sample_times, -1)[after]
            # Up to the last sample of its minute.
            buckets -= later // MINUTE_MS == minutes
        lasts = np.flatnonzero(np.append(buckets[1:] != buckets[:-1], True))
        sums = np.add.reduceat(every[4], np.append(0, lasts[:-1] + 1))
        reduced = every[:, lasts]
        reduced[4] = sums
        self._parts = [reduced]

    def commits(self) -> list[MinuteCommit]:
        """What is left, in order of time."""
        self.reduce()
        return (
            [MinuteCommit(*fields) for fields in self._parts[0].T.tolist()] if self._parts else []
        )

    def kept(self, commits: Sequence[MinuteCommit]) -> Sequence[MinuteCommit]:
        """Of those the ones that a later part needs: of the last minute, and the last one before."""
        if not commits:
            return ()
        minute = commits[-1].at_ms // MINUTE_MS
        begin = len(commits)
        while begin and commits[begin - 1].at_ms // MINUTE_MS == minute:
            begin -= 1
        before = [commits[begin - 1]._replace(commits=0)] if begin else []
        return [*before, *commits[begin:]]
