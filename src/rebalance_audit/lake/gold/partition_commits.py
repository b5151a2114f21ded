"""The commits of one group for one topic partition, reduced to what rows of minutes need.

A plain commit counts when it is written, one of a transaction from its COMMIT marker on. Of those that count, the one
with the highest log offset is the committed offset, as in Kafka's `OffsetMetadataManager.replayEndTransactionMarker`.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from rebalance_audit.audit.lag.end_offsets import PartitionSamples

if TYPE_CHECKING:
    from rebalance_audit.lake.gold.partition_owners import Place

MINUTE_MS: Final = 60_000
_FIELDS: Final = 5
"""Rows of the arrays: time (epoch ms) from which it counts, log offset, committed offset, whether it is transactional,
and the number of commits it sums up; 0 if its minute is written and stays as it is."""

Ints = npt.NDArray[np.int64]


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
        """Take commits: log offsets, times (epoch ms) from which they count, and committed offsets."""
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
        every = np.concatenate(self._parts, axis=1) if len(self._parts) > 1 else self._parts[0]
        every = every[:, np.lexsort((every[1], every[0]))]
        is_latest = every[1] >= np.maximum.accumulate(every[1])
        if not is_latest.all():
            # A later commit counted already.
            every = every[:, is_latest]
        times = every[0]
        minutes = times // MINUTE_MS
        buckets = 2 * minutes + 1
        if len(self.sample_times):
            after = np.searchsorted(self.sample_times, times)
            later = np.append(self.sample_times, -1)[after]
            # Up to the last sample of its minute.
            buckets -= later // MINUTE_MS == minutes
        begins = begins_of(buckets)
        reduced = every[:, np.append(begins[1:], len(buckets)) - 1]
        reduced[4] = np.add.reduceat(every[4], begins)
        self._parts = [reduced]

    def reduced(self) -> Ints:
        """What is left, in order of time: a column each, see `_FIELDS`."""
        self.reduce()
        return self._parts[0] if self._parts else np.empty((_FIELDS, 0), np.int64)


def begins_of(numbers: Ints) -> Ints:
    """Where each stretch of equal numbers begins; there is at least one."""
    return np.append(0, np.flatnonzero(numbers[1:] != numbers[:-1]) + 1)


def kept_of(reduced: Ints) -> list[list[int]]:
    """What a later part needs of them: those of the last minute, and the last one before, which counts no more."""
    if not reduced.shape[1]:
        return []
    begin = int(np.searchsorted(reduced[0], reduced[0, -1] // MINUTE_MS * MINUTE_MS))
    kept: list[list[int]] = reduced[:, max(begin - 1, 0) :].T.tolist()
    if begin:
        kept[0][-1] = 0
    return kept
