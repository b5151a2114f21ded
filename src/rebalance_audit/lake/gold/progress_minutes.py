"""Rows of gold.progress for one topic partition of a group, made as columns: a minute each."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from rebalance_audit.audit.lag.end_offsets import PartitionSamples
from rebalance_audit.audit.lag.lag import lag_at
from rebalance_audit.audit.rows import Row
from rebalance_audit.lake.gold.partition_commits import (
    MINUTE_MS,
    Ints,
    PartitionCommits,
    begins_of,
    kept_of,
)
from rebalance_audit.lake.gold.partition_owners import AFTER_RECORDS, PartitionOwners, Place

Bools = npt.NDArray[np.bool_]
Columns = dict[str, Sequence[Any]]
"""Name -> values, as many for each name."""

NEVER: Final[Place] = (-1, -1)
BIGINTS: Final = range(-(1 << 63), 1 << 63)
LAG_COLUMNS: Final = (
    *("lag_at", "lag_records_min", "lag_records_max", "lag_min_ms", "lag_max_ms"),
    *("log_start_offset", "records_lost", "beyond_end"),
)


class KeptProgress(NamedTuple):
    """What one part of the log leaves of a partition for a later one, as JSON has it."""

    commits: Sequence[Sequence[int]] = ()
    """See `partition_commits.kept_of`."""
    deleted: Sequence[Sequence[int]] = ()
    """Places of the last tombstones."""
    sampled_ms: int | None = None
    """Time of the last sample."""
    begun_at: Sequence[int] | None = None
    begun: int = 0
    """Where the last ownership began, and how many began in that minute."""
    unbounded: Sequence[tuple[Row, int, int]] = ()
    """Rows whose lag has no upper bound yet, the committed offset that their lag is of, and the time of its commit."""


class MinuteChanges(NamedTuple):
    """What changed of one partition."""

    columns: Columns
    """New and changed rows."""
    bounded: Sequence[Row]
    """Earlier rows whose lag has a new bound."""
    gone: Sequence[Row]
    """Keys of rows that no longer exist."""


class _Events(NamedTuple):
    """One event for each of some minutes."""

    at_ms: Ints
    log_offset: Ints

    def or_later(self, at_ms: Ints, log_offset: Ints) -> "_Events":
        """Of each minute the later event of both."""
        is_later = (at_ms > self.at_ms) | ((at_ms == self.at_ms) & (log_offset > self.log_offset))
        return _Events(
            np.where(is_later, at_ms, self.at_ms), np.where(is_later, log_offset, self.log_offset)
        )

    def of(self, chosen: Bools) -> "_Events":
        """Those of some of the minutes."""
        return _Events(self.at_ms[chosen], self.log_offset[chosen])

    def places(self) -> list[Place]:
        """As tuples."""
        return [*zip(self.at_ms.tolist(), self.log_offset.tolist(), strict=True)]


class ProgressMinutes:
    """The rows of one partition from the minute of the earliest change on."""

    def __init__(
        self,
        commits: PartitionCommits,
        owners: PartitionOwners,
        deletions: Sequence[Place],
        begun: Sequence[Place],
        kept: KeptProgress,
        oldest_ms: int,
    ) -> None:
        """`deletions` and `begun` (handovers) in order. No later sample bounds lag before `oldest_ms` (epoch ms)."""
        self._kept, self._oldest_ms, self._owners = kept, oldest_ms, owners
        self._samples, self._sample_times = commits.samples, commits.sample_times
        self._reduced = commits.reduced()
        self._times, self._offsets, self._committed, self._flags, self._counts = self._reduced
        self._deletions = [*((at_ms, offset) for at_ms, offset in kept.deleted), *deletions]
        self._begun: dict[int, Place] = {}
        self._handovers: dict[int, int] = {}
        """By minute: the last handover, and how many there were."""
        if kept.begun_at is not None:
            at_ms, log_offset = kept.begun_at
            self._begun[at_ms // MINUTE_MS] = at_ms, log_offset
            self._handovers[at_ms // MINUTE_MS] = kept.begun
        for place in begun:
            if commits.first is not None and place > commits.first:
                minute = place[0] // MINUTE_MS
                self._begun[minute] = place
                self._handovers[minute] = self._handovers.get(minute, 0) + 1
        self._unbounded: list[tuple[Row, int, int]] = []

    def changed(self, key: Row, from_ms: int | None) -> MinuteChanges:
        """Everything that changed; `from_ms`: time of the earliest change, None for none.

        `key` has the columns that are the same in all rows.
        """
        from_minute = None if from_ms is None else from_ms // MINUTE_MS
        bounded = [
            changed
            for row, committed, made_ms in self._kept.unbounded
            if from_minute is None or row["minute"] // MINUTE_MS < from_minute
            for changed in self._with_later_samples(row, committed, made_ms)
        ]
        if from_minute is None or not len(self._times):
            return MinuteChanges({}, bounded, ())
        columns, gone = self._minutes(key, from_minute)
        # Without samples no earlier part had a row for such a minute.
        keys = [key | {"minute": at_ms} for at_ms in gone if self._kept.sampled_ms is not None]
        return MinuteChanges(columns, bounded, keys)

    def kept(self) -> KeptProgress:
        """What a later part needs, after `changed`."""
        last_minute = max(self._begun, default=-1)
        last_ms = int(self._times[-1]) // MINUTE_MS * MINUTE_MS if len(self._times) else 0
        recent = [place for place in self._deletions if place[0] >= last_ms]
        times = self._sample_times
        return KeptProgress(
            kept_of(self._reduced),
            recent or self._deletions[-1:],
            int(times[-1]) if len(times) else self._kept.sampled_ms,
            self._begun.get(last_minute),
            self._handovers.get(last_minute, 0),
            self._unbounded,
        )

    def _minutes(self, key: Row, from_minute: int) -> tuple[Columns, Sequence[int]]:
        """The rows from a minute on, and the minutes (epoch ms of their start) that have none."""
        of_commits = self._times // MINUTE_MS
        begins = begins_of(of_commits)
        counts, of_commits = np.add.reduceat(self._counts, begins), of_commits[begins]
        sampled = self._sample_times[self._sample_times >= from_minute * MINUTE_MS]
        minutes = of_commits[counts > 0]
        deleted = {at_ms // MINUTE_MS: (at_ms, offset) for at_ms, offset in self._deletions}
        if len(sampled) or self._begun or deleted:
            begun = np.array([*self._begun, *deleted], np.int64)
            others = [minutes, sampled // MINUTE_MS, begun]
            minutes = np.unique(np.concatenate(others))
        minutes = minutes[minutes >= max(from_minute, int(of_commits[0]))]
        from_ms = minutes * MINUTE_MS
        last = self._last(from_ms + MINUTE_MS - 1)
        is_old = self._times[last] < from_ms
        sampled_ms = self._counted_samples(sampled, from_ms)
        # The last event of each minute: owner and lag are those of its moment.
        events = _Events(self._times[last], self._offsets[last])
        for last_of in (self._begun, deleted):
            places = [last_of.get(minute, NEVER) for minute in minutes.tolist()]
            events = events.or_later(*np.array(places, np.int64).reshape(-1, 2).T)
        events = events.or_later(sampled_ms, np.full(len(minutes), AFTER_RECORDS))
        is_gone = (sampled_ms < 0) & self._are_deleted(events, last)
        ends = _Events(from_ms + MINUTE_MS - 1, np.full(len(minutes), AFTER_RECORDS))
        is_deleted = self._are_deleted(ends, last)
        # The minute of a tombstone has a row, and later ones have none.
        before = _Events(from_ms - 1, np.full(len(minutes), AFTER_RECORDS))
        is_deleted_now = is_deleted & ~(is_old & self._are_deleted(before, last))
        there = is_deleted_now | ~(is_old & (is_gone | (events.at_ms < from_ms)))
        gone = from_ms[~there].tolist()
        is_deleted = is_deleted[there]
        minutes, last, is_old = minutes[there], last[there], is_old[there]
        events, sampled_ms = events.of(there), sampled_ms[there]
        moved, per_second = self._moved(last, is_old, from_ms[there])
        commits = dict(zip(of_commits.tolist(), counts.tolist(), strict=True))
        owners = self._owners.at_each(events.places())
        columns: dict[str, Sequence[Any]] = {
            **{name: [value] * len(last) for name, value in key.items()},
            "minute": from_ms[there].tolist(),
            "committed_offset": self._committed[last].tolist(),
            "last_commit_at": self._times[last].tolist(),
            "is_transactional": self._flags[last].astype(bool).tolist(),
            "commits": [commits.get(minute, 0) for minute in minutes.tolist()],
            "records_committed": moved,
            "committed_per_second": per_second,
            "handovers": [self._handovers.get(minute, 0) for minute in minutes.tolist()],
            "member_id": [None if owner is None else owner.member_id for owner in owners],
            "instance_id": [None if owner is None else owner.instance_id for owner in owners],
            "client_id": [None if owner is None else owner.client_id for owner in owners],
            "is_deleted": is_deleted.tolist(),
        }
        if self._samples is not None:
            columns |= self._lag(self._samples, columns, events, sampled_ms, last)
        return columns, gone

    def _last(self, at_ms: Ints) -> Ints:
        """Which commit is the last one at or before each time; -1 for none."""
        return np.searchsorted(self._times, at_ms, "right") - 1

    def _counted_samples(self, sampled: Ints, from_ms: Ints) -> Ints:
        """Time of the last sample in each minute; -1 without one, and where no committed offset is there to compare."""
        if not len(sampled):
            return np.full(len(from_ms), -1)
        latest = np.searchsorted(sampled, from_ms + MINUTE_MS, "left") - 1
        times = sampled[latest]
        times[(latest < 0) | (times < from_ms)] = -1
        last = self._last(times)
        places = _Events(times, np.full(len(times), AFTER_RECORDS))
        times[(last < 0) | self._are_deleted(places, last)] = -1
        return times

    def _are_deleted(self, events: _Events, commits: Ints) -> Bools:
        """For each event whether the offset of a commit has been deleted since the commit and by then."""
        if not self._deletions:
            return np.full(len(commits), False)
        latest = [bisect_right(self._deletions, place) - 1 for place in events.places()]
        made = _Events(self._times[commits], self._offsets[commits]).places()
        return np.array(
            [
                index >= 0 and self._deletions[index] > place
                for index, place in zip(latest, made, strict=True)
            ],
            np.bool_,
        )

    def _moved(
        self, last: Ints, is_old: Bools, from_ms: Ints
    ) -> tuple[list[int | None], list[float | None]]:
        """By how much each minute's commits moved the offset, and how fast; None without an earlier commit."""
        before = self._last(from_ms - 1)
        made = _Events(self._times[last], self._offsets[last])
        is_known = ~is_old & (before >= 0) & ~self._are_deleted(made, before)
        moved = [
            _bigint(to - start) if known else None
            for known, to, start in zip(
                is_known.tolist(),
                self._committed[last].tolist(),
                self._committed[before].tolist(),
                strict=True,
            )
        ]
        took_ms = (self._times[last] - self._times[before]).tolist()
        per_second = [
            None if by is None or by < 0 or not ms else by * 1000 / ms
            for by, ms in zip(moved, took_ms, strict=True)
        ]
        return moved, per_second

    def _lag(
        self,
        samples: PartitionSamples,
        columns: Columns,
        events: _Events,
        sampled_ms: Ints,
        last: Ints,
    ) -> Columns:
        """The columns of lag, at each minute's last sample or last event."""
        at_ms = np.where(sampled_ms < 0, events.at_ms, sampled_ms)
        counted = np.where(sampled_ms < 0, last, self._last(sampled_ms))
        committed = self._committed[counted].tolist()
        made_ms = self._times[counted].tolist()
        cells = [
            NO_LAG if is_deleted else _lag_cells(samples, *each)
            for is_deleted, *each in zip(
                columns["is_deleted"], committed, made_ms, at_ms.tolist(), strict=True
            )
        ]
        lag: Columns = (
            dict(zip(LAG_COLUMNS, zip(*cells, strict=True), strict=True)) if cells else {}
        )
        for index, at in enumerate(at_ms.tolist()):
            is_deleted = columns["is_deleted"][index]
            if not is_deleted and at >= self._oldest_ms and samples.next_at(at) is None:
                row = {name: values[index] for name, values in (columns | lag).items()}
                self._unbounded.append((row, committed[index], made_ms[index]))
        return lag

    def _with_later_samples(self, row: Row, committed: int, made_ms: int) -> Iterator[Row]:
        """The row again where a sample now bounds its lag; else it waits for one."""
        samples, at_ms = self._samples, row["lag_at"]
        if samples is not None and samples.next_at(at_ms) is not None:
            cells = _lag_cells(samples, committed, made_ms, at_ms)
            yield row | dict(zip(LAG_COLUMNS, cells, strict=True))
        elif at_ms >= self._oldest_ms:
            self._unbounded.append((row, committed, made_ms))


NO_LAG: Final = (None,) * len(LAG_COLUMNS)


def _lag_cells(
    samples: PartitionSamples, committed: int, made_ms: int, at_ms: int
) -> tuple[int | None, ...]:
    """What LAG_COLUMNS say at a time of an offset that was committed at another (both epoch ms)."""
    lag = lag_at(samples, committed, made_ms, at_ms)
    least, most = (None, None) if lag.records is None else (lag.records.least, lag.records.most)
    return (
        *(at_ms, _bigint(least), _bigint(most), lag.least_ms, lag.most_ms),
        *(lag.start_offset, _bigint(lag.lost), _bigint(lag.beyond)),
    )


def _bigint(number: int | None) -> int | None:
    """The number, None if the column cannot hold it: offsets that are committed are any 64 bits."""
    return number if number is not None and number in BIGINTS else None
