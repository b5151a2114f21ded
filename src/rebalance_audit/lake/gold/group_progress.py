"""Rows of gold.progress: what one group committed of each topic partition, minute by minute, with owner and lag.

A minute has a row if the group committed the partition in it, if the partition got an owner, or if its end offset was
sampled; not before the first commit, and not after the committed offset was deleted. Commits are ordered by their time.
A later part of the log that has something of a time before the end of an earlier one makes the state unusable, so that
the group is replayed from its first record.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from rebalance_audit.audit.lag.end_offsets import PartitionSamples
from rebalance_audit.audit.lag.lag import BOUNDED_BY_NEXT_MS, lag_at
from rebalance_audit.audit.rows import Row
from rebalance_audit.lake.gold.partition_commits import (
    MINUTE_MS,
    Ints,
    MinuteCommit,
    PartitionCommits,
)
from rebalance_audit.lake.gold.partition_owners import AFTER_RECORDS, PartitionOwners, Place
from rebalance_audit.replay.partitions import TopicPartition
from rebalance_audit.wire.generated.messages import LegacyOffsetCommitKey, OffsetCommitKey
from rebalance_audit.wire.records import Undecodable, decode_record

HELD: Final = 1 << 20
"""Commits that are held before they are reduced."""

LAG_COLUMNS: Final = (
    *("lag_at", "lag_records_min", "lag_records_max", "lag_min_ms", "lag_max_ms"),
    *("log_start_offset", "records_lost"),
)


class _Kept(NamedTuple):
    """What one part of the log leaves of a partition for a later one, as JSON has it."""

    commits: Sequence[Sequence[int]] = ()
    """See `MinuteCommit`."""
    deleted: Sequence[Sequence[int]] = ()
    """Places of the last tombstones."""
    sampled_ms: int | None = None
    """Time of the last sample."""
    begun_at: Sequence[int] | None = None
    begun: int = 0
    """Where the last ownership began, and how many began in that minute."""
    unbounded: Sequence[tuple[Row, int]] = ()
    """Rows whose lag has no upper bound yet, and the offset from which their lag counts."""


class _Partition:
    """One topic partition of the group."""

    def __init__(self, samples: PartitionSamples | None, kept: _Kept) -> None:
        self.kept = kept
        self.commits = PartitionCommits(samples, kept.commits)
        self.owners = PartitionOwners()
        self.deletions: list[Place] = []
        """Of this part."""
        self.begun: list[Place] = []
        """Where the ownerships begin that this part counts."""

    def settle(self, from_offset: int, before_offset: int) -> None:
        """Everything was taken: ownerships count that begin between two log offsets."""
        self.begun = sorted(self.owners.begun(from_offset, before_offset))
        self.deletions.sort()

    def changes(self) -> list[int]:
        """Times (epoch ms) from which on rows may change: the earliest of each kind."""
        commits, kept = self.commits, self.kept
        found = [commits.new_from_ms] if commits.new_from_ms is not None else []
        if kept.commits:  # otherwise the first commit decides
            times = commits.sample_times
            new = times if kept.sampled_ms is None else times[times > kept.sampled_ms]
            found += new[:1].tolist()
            found += [at_ms for at_ms, _ in (*self.deletions, *self.begun, *self.owners.ended())]
        return found

    def has_first_samples(self) -> bool:
        """Whether there are samples, and there were none when the commits of an earlier part were counted."""
        kept = self.kept
        return bool(kept.commits) and kept.sampled_ms is None and len(self.commits.sample_times) > 0

    def end_ms(self) -> int:
        """The latest time of commits, tombstones and owners."""
        places = [*self.deletions, *self.begun, *self.owners.ended()]
        return max([self.commits.new_to_ms, *(at_ms for at_ms, _ in places)])


class GroupProgress:
    """Takes the commits, tombstones and ownerships of a group, in parts, each later than the one before."""

    def __init__(self, log_partition: int, state: Mapping[str, Any] | None = None) -> None:
        """`state` is what an earlier part has left."""
        self._log_partition = log_partition
        self._is_resumed = state is not None
        self._until_ms: int = -1 if state is None else state["until_ms"]
        """Latest time of what an earlier part had."""
        self._settled: int = 0 if state is None else state["settled"]
        """Ownerships that began with records before this log offset are in rows already."""
        kept = [] if state is None else state["partitions"]
        self._kept = {(topic, number): _Kept(*of_it) for topic, number, *of_it in kept}
        self._partitions: dict[TopicPartition, _Partition] = {}
        self._names: dict[bytes, TopicPartition | None] = {}
        self._samples: dict[tuple[str, int], PartitionSamples] = {}
        self._held = 0
        self.is_lost = False
        """Something is earlier than the end of an earlier part: the rows must be made from everything."""

    def sampled(self, samples: dict[tuple[str, int], PartitionSamples]) -> None:
        """All samples, before any commit."""
        self._samples = samples

    def committed(self, key: bytes, columns: Ints, *, is_transactional: bool) -> None:
        """Take commits with one key: log offsets, times (epoch ms) and committed offsets."""
        found = self._of_key(key)
        if found is not None:
            found.commits.add(columns, is_transactional=is_transactional)
            self._held += columns.shape[1]
            if self._held > HELD:
                self._held = 0
                for each in self._partitions.values():
                    each.commits.reduce()

    def deleted(self, key: bytes, columns: Ints) -> None:
        """Take tombstones with one key: log offsets and times (epoch ms)."""
        found = self._of_key(key)
        if found is not None:
            found.deletions += zip(columns[1].tolist(), columns[0].tolist(), strict=True)

    def owned(self, row: Row) -> None:
        """Take a row of gold.ownership."""
        if row["topic"] is not None:
            self._of((row["topic"], row["topic_partition"])).owners.add(row)

    def rows(self, settled: int) -> Iterator[tuple[Row, bool]]:
        """New and changed rows, and for each whether it is there; False: an earlier part's row is not. Call it once.

        `settled`: an ownership is certain if it began before this log offset.
        """
        for partition in [*self._kept, *self._samples]:
            self._of(partition)
        until_ms = self._until_ms
        for each in self._partitions.values():
            settled = max([settled, *(log_offset for _, log_offset in each.deletions)])
        for each in self._partitions.values():
            each.settle(self._settled, settled)
            earliest_ms = min(each.changes(), default=self._until_ms)
            if self._is_resumed and (earliest_ms < self._until_ms or each.has_first_samples()):
                self.is_lost = True
                return
            until_ms = max(until_ms, each.end_ms())
        for partition, each in self._partitions.items():
            key = {
                "topic": partition[0],
                "topic_partition": partition[1],
                "log_partition": self._log_partition,
            }
            made = _Rows(key, each, until_ms - BOUNDED_BY_NEXT_MS)
            yield from made.changed()
            self._kept[partition] = made.kept()
        self._until_ms, self._settled = until_ms, max(settled, self._settled)
        self._partitions.clear()

    def state(self) -> dict[str, Any]:
        """For a later part, after `rows`; to be kept as JSON."""
        return {
            "until_ms": self._until_ms,
            "settled": self._settled,
            "partitions": [
                [*partition, *kept] for partition, kept in self._kept.items() if kept.commits
            ],
        }

    def _of_key(self, key: bytes) -> _Partition | None:
        if key not in self._names:
            record = decode_record(key, None)
            partition: TopicPartition | None = None
            if not isinstance(record, Undecodable) and isinstance(
                record.key, LegacyOffsetCommitKey | OffsetCommitKey
            ):
                partition = record.key.topic, record.key.partition
            self._names[key] = partition
        found = self._names[key]
        return None if found is None else self._of(found)

    def _of(self, partition: TopicPartition) -> _Partition:
        found = self._partitions.get(partition)
        if found is None:
            topic, number = partition
            samples = self._samples.get((str(topic), number))
            found = _Partition(samples, self._kept.get(partition, _Kept()))
            self._partitions[partition] = found
        return found


class _Rows:
    """Makes the rows of one partition from the minute of the earliest change on."""

    def __init__(self, key: Row, each: _Partition, oldest_ms: int) -> None:
        """`key`: columns that are the same in all rows. No later sample bounds lag before `oldest_ms` (epoch ms)."""
        self._key, self._oldest_ms = key, oldest_ms
        self._kept = kept = each.kept
        self._owners = each.owners
        self._samples = each.commits.samples
        self._sample_times = each.commits.sample_times
        self._all = each.commits
        self._commits = each.commits.commits()
        self._places: list[Place] = [(commit.at_ms, commit.log_offset) for commit in self._commits]
        self._deletions = [*((at_ms, offset) for at_ms, offset in kept.deleted), *each.deletions]
        self._from = min(each.changes(), default=None)
        self._begun: dict[int, list[Place]] = {}
        for place in each.begun:
            if each.commits.first is not None and place > each.commits.first:
                self._begun.setdefault(place[0] // MINUTE_MS, []).append(place)
        self._unbounded: list[tuple[Row, int]] = []

    def changed(self) -> Iterator[tuple[Row, bool]]:
        """New and changed rows, and whether each is there."""
        from_minute = None if self._from is None else self._from // MINUTE_MS
        for row, committed in self._kept.unbounded:
            if from_minute is None or row["minute"] // MINUTE_MS < from_minute:
                yield from self._with_later_samples(row, committed)
        if from_minute is None or not self._commits:
            return
        sampled: dict[int, int] = {}
        first_ms = from_minute * MINUTE_MS
        for at_ms in self._sample_times[self._sample_times >= first_ms].tolist():
            sampled[at_ms // MINUTE_MS] = at_ms
        counts: dict[int, int] = {}
        for commit in self._commits:
            minute = commit.at_ms // MINUTE_MS
            counts[minute] = counts.get(minute, 0) + commit.commits
        minutes = {minute for minute, count in counts.items() if count} | {*sampled, *self._begun}
        if self._kept.begun_at is not None:
            minutes.add(self._kept.begun_at[0] // MINUTE_MS)
        for minute in sorted(minutes):
            if minute >= from_minute:
                yield from self._row(minute, counts.get(minute, 0), sampled.get(minute))

    def kept(self) -> _Kept:
        """What a later part needs, after `changed`."""
        begun_at, begun = self._kept.begun_at, self._kept.begun
        if self._begun:
            minute = max(self._begun)
            count = len(self._begun[minute])
            begun = count + self._begun_before(minute)
            begun_at = self._begun[minute][-1]
        last_ms = self._places[-1][0] // MINUTE_MS * MINUTE_MS if self._places else 0
        recent = [place for place in self._deletions if place[0] >= last_ms]
        times = self._sample_times
        return _Kept(
            [list(commit) for commit in self._all.kept(self._commits)],
            recent or self._deletions[-1:],
            int(times[-1]) if len(times) else self._kept.sampled_ms,
            begun_at,
            begun,
            self._unbounded,
        )

    def _begun_before(self, minute: int) -> int:
        """How many ownerships began in this minute, in an earlier part."""
        at = self._kept.begun_at
        return self._kept.begun if at is not None and at[0] // MINUTE_MS == minute else 0

    def _last(self, place: Place) -> MinuteCommit | None:
        index = bisect_right(self._places, place) - 1
        return self._commits[index] if index >= 0 else None

    def _is_deleted(self, place: Place, commit: MinuteCommit) -> bool:
        """Whether the committed offset was deleted after the commit and by then."""
        index = bisect_right(self._deletions, place) - 1
        return index >= 0 and self._deletions[index] > (commit.at_ms, commit.log_offset)

    def _row(self, minute: int, commits: int, sampled_ms: int | None) -> Iterator[tuple[Row, bool]]:
        begun, begun_before = self._begun.get(minute, []), self._begun_before(minute)
        from_ms = minute * MINUTE_MS
        place = (from_ms + MINUTE_MS - 1, AFTER_RECORDS)
        last = self._last(place)
        if last is None:
            return
        is_old = last.at_ms < from_ms
        events = [*begun, (last.at_ms, last.log_offset)]
        if begun_before and self._kept.begun_at is not None:
            events.append((self._kept.begun_at[0], self._kept.begun_at[1]))
        if sampled_ms is not None:
            sample_place = (sampled_ms, AFTER_RECORDS)
            at_sample = self._last(sample_place)
            if at_sample is None or self._is_deleted(sample_place, at_sample):
                sampled_ms = None
            else:
                events.append(sample_place)
        event = max(events)
        key = {**self._key, "minute": from_ms}
        is_gone = sampled_ms is None and self._is_deleted(event, last)
        if is_old and (is_gone or event[0] < from_ms):
            if self._kept.sampled_ms is not None:
                yield key, False
            return
        owner = self._owners.at(event)
        moved, per_second = self._moved(last, from_ms) if not is_old else (None, None)
        row = {
            **key,
            "committed_offset": last.committed,
            "last_commit_at": last.at_ms,
            "is_transactional": bool(last.is_transactional),
            "commits": commits,
            "records_committed": moved,
            "committed_per_second": per_second,
            "handovers": len(begun) + begun_before,
            "member_id": None if owner is None else owner.member_id,
            "instance_id": None if owner is None else owner.instance_id,
            "client_id": None if owner is None else owner.client_id,
        }
        if self._samples is None:
            yield row | dict.fromkeys(LAG_COLUMNS), True
            return
        at_ms, counted = event[0], last
        if sampled_ms is not None:
            at_ms, counted = sampled_ms, self._last((sampled_ms, AFTER_RECORDS)) or last
        yield self._with_lag(row | {"lag_at": at_ms}, counted.committed), True

    def _with_later_samples(self, row: Row, committed: int) -> Iterator[tuple[Row, bool]]:
        if self._samples is not None and self._samples.next_at(row["lag_at"]) is not None:
            yield self._with_lag(dict(row), committed), True
        elif row["lag_at"] >= self._oldest_ms:
            self._unbounded.append((row, committed))

    def _with_lag(self, row: Row, committed: int) -> Row:
        """The row with its lag at `lag_at`."""
        assert self._samples is not None
        lag = lag_at(self._samples, committed, row["lag_at"])
        row |= {
            "lag_records_min": lag.records.least,
            "lag_records_max": lag.records.most,
            "lag_min_ms": lag.least_ms,
            "lag_max_ms": lag.most_ms,
            "log_start_offset": lag.start_offset,
            "records_lost": lag.lost,
        }
        if row["lag_at"] >= self._oldest_ms and self._samples.next_at(row["lag_at"]) is None:
            self._unbounded.append((row, committed))
        return row

    def _moved(self, last: MinuteCommit, from_ms: int) -> tuple[int | None, float | None]:
        """By how much the minute's commits moved the offset, and how fast; None without an earlier commit."""
        before = self._last((from_ms - 1, AFTER_RECORDS))
        if before is None or self._is_deleted((last.at_ms, last.log_offset), before):
            return None, None
        moved, took_ms = last.committed - before.committed, last.at_ms - before.at_ms
        if moved < 0 or not took_ms:
            return moved, None
        return moved, moved * 1000 / took_ms
