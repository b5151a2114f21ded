"""Takes what gold.progress is made of, as columns in order: one group's commits, tombstones, ownerships and samples.

They may come in parts, each later than the one before. A part that has something of a time before the end of an earlier
one makes the state unusable: the group must be replayed from its first record.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from rebalance_audit.audit.lag.end_offsets import (
    EndOffsetsOf,
    PartitionSamples,
    no_end_offsets,
)
from rebalance_audit.audit.rows import Row
from rebalance_audit.replay.partitions import TopicPartition
from rebalance_audit.wire.generated.messages import LegacyOffsetCommitKey, OffsetCommitKey
from rebalance_audit.wire.records import Undecodable, decode_record

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

MINUTE_MS: Final = 60_000
AFTER_RECORDS: Final = (1 << 63) - 1
"""The log offset of what happens after all records of its time."""

PARTITION, AT_MS, LOG_OFFSET, KIND, NUMBER, WEIGHT, FLAG = range(7)
"""Rows of the matrices of events, which have a column each.

NUMBER: of a commit the committed offset, of a beginning the place of the ownership among all, -1 for none. WEIGHT: how
many commits or counted handovers it sums up. FLAG: of a commit whether it is transactional.
"""
_GIVEN: Final = [PARTITION, AT_MS, LOG_OFFSET, NUMBER, WEIGHT, FLAG]
COMMIT, DELETION, BEGINNING, SAMPLE = range(4)
"""Kinds of events."""


def events(count: int, kind: int) -> Ints:
    """A matrix of so many events of one kind, to be filled; their weight is 1."""
    found = np.zeros((FLAG + 1, count), np.int64)
    found[KIND], found[WEIGHT] = kind, 1
    return found


def matrix_of(kind: int, found: Sequence[Sequence[int]]) -> Ints:
    """A matrix of few events: of each the partition, time and log offset, and perhaps number, weight and flag."""
    matrix = events(len(found), kind)
    if found:
        columns = np.array(found, np.int64).T
        matrix[_GIVEN[: len(columns)]] = columns
    return matrix


class EventsInOrder:
    """Events by partition, time and log offset; without the commits that count no more when their time comes."""

    def __init__(self, unordered: Ints) -> None:
        """`unordered`: a matrix of events. Of one place the later one in the matrix comes later."""
        order = np.lexsort(unordered[[LOG_OFFSET, AT_MS, PARTITION]])
        self.events = ordered = _without_overtaken(unordered[:, order])
        self.partition, self.at_ms, self.kind = ordered[PARTITION], ordered[AT_MS], ordered[KIND]
        self.places = places = np.arange(ordered.shape[1])
        self.minute = self.at_ms // MINUTE_MS
        is_first = begins_of(self.partition)
        self.firsts = places[is_first]
        """Where the events of each partition begin."""
        self._since = np.maximum.accumulate(np.where(is_first, places, 0))
        self.begins = places[is_first | begins_of(self.minute)]
        """Where the minutes of each partition begin that have an event."""
        self.lasts = np.append(self.begins[1:], len(places)) - 1
        self.commit = self.latest(self.kind == COMMIT)
        """The last commit up to each event; -1 for none."""
        self.commits_before = np.cumsum(np.where(self.kind == COMMIT, ordered[WEIGHT], 0))
        """Up to each event, over all partitions."""
        self.sample = np.maximum.reduceat(np.where(self.kind == SAMPLE, places, -1), self.begins)
        """The last sample of each minute; -1 for none."""

    def latest(self, chosen: Bools) -> Ints:
        """The place of the last chosen event of the partition up to each event; -1 for none."""
        found = np.maximum.accumulate(np.where(chosen, self.places, -1))
        return np.where(found < self._since, -1, found)

    def before(self, latest: Ints, places: Ints) -> Ints:
        """What `latest` says of the event before each place, in the same partition; -1 for none."""
        return np.where(places > self._since[places], latest[places - 1], -1)

    @cached_property
    def kept_commits(self) -> Ints:
        """Places of the last commit of each minute and of the last one before its last sample."""
        places = np.concatenate(
            [self.commit[self.lasts], self.commit[self.sample[self.sample >= 0]]]
        )
        return np.unique(places[places >= 0])

    def summed_up(self, places: Ints) -> Ints:
        """The commits at some places, in order, as a matrix: each sums up those since the one before."""
        found = self.events[:, places]
        found[WEIGHT] = np.diff(self.commits_before[places], prepend=0)
        return found


def begins_of(numbers: Ints) -> Bools:
    """Which numbers differ from the one before; the first does."""
    return np.append(True, numbers[1:] != numbers[:-1])[: len(numbers)]


def reduced_commits(unordered: Ints) -> Ints:
    """The commits among events without those that no row of a minute needs; samples are given along with them."""
    timeline = EventsInOrder(unordered)
    is_first = begins_of(timeline.partition[timeline.kind == COMMIT])
    firsts = timeline.places[timeline.kind == COMMIT][is_first]
    return timeline.summed_up(np.union1d(timeline.kept_commits, firsts))


def _without_overtaken(ordered: Ints) -> Ints:
    """Leave out commits before which a later one of the partition counted already."""
    commits = np.flatnonzero(ordered[KIND] == COMMIT)
    partition, offsets = ordered[PARTITION, commits], ordered[LOG_OFFSET, commits]
    if not np.any((offsets[1:] < offsets[:-1]) & (partition[1:] == partition[:-1])):
        return ordered
    ranks = np.unique(offsets, return_inverse=True)[1] + partition * len(commits)
    return np.delete(ordered, commits[ranks < np.maximum.accumulate(ranks)], axis=1)


HELD: Final = 1 << 18
"""Commits that are held before they are reduced to those that rows need; each takes some 200 bytes meanwhile."""
NEVER: Final = (1 << 63) - 1


class KeptProgress(NamedTuple):
    """What one part of the log leaves of a partition for a later one, as JSON has it."""

    commits: Sequence[Sequence[int]] = ()
    """Those of the last minute, after the last one before, which counts no more: time, log offset, committed offset,
    whether it is transactional, and how many it sums up."""
    deleted: Sequence[Sequence[int]] = ()
    """Places (time and log offset) of the last tombstones."""
    sampled_ms: int | None = None
    """Time of the last sample."""
    begun_at: Sequence[int] | None = None
    begun: int = 0
    """Where the last ownership began, and how many began in that minute."""
    unbounded: Sequence[tuple[Row, int, int]] = ()
    """Rows whose lag has no upper bound yet, the committed offset that their lag is of, and the time of its commit."""


class GroupProgress:
    """One part of the log of one group."""

    def __init__(
        self,
        group_id: str,
        log_partition: int,
        state: Mapping[str, Any] | None = None,
        end_offsets: EndOffsetsOf = no_end_offsets,
    ) -> None:
        """`state` is what an earlier part has left."""
        self.group_id, self.log_partition = group_id, log_partition
        self.is_resumed = state is not None
        self.until_ms: int = -1 if state is None else state["until_ms"]
        """Latest time of what an earlier part had."""
        self.settled: int = 0 if state is None else state["settled"]
        """Ownerships that began with records before this log offset are in rows already."""
        kept = [] if state is None else state["partitions"]
        self.kept = {(topic, number): KeptProgress(*of_it) for topic, number, *of_it in kept}
        self._end_offsets = end_offsets
        self.owners: list[Row] = []
        """Rows of gold.ownership, as they were taken."""
        self.held = 0
        """How many commits are held."""
        self.is_lost = False
        """Something is earlier than the end of an earlier part: the rows must be made from everything."""
        self.events = events(0, COMMIT)
        """Set by `settle`. Partitions are given by their numbers, beginnings by their places among `owners`."""
        self.changed_from = np.zeros(0, np.int64)
        """By partition the time of the earliest event that changes a row; NEVER if none does."""
        self._numbers: dict[TopicPartition, int] = {}
        self._of_key: dict[bytes, int | None] = {}
        self._new: list[tuple[int, Ints, bool]] = []
        self._reduced = events(0, COMMIT)
        self._new_times: dict[int, tuple[int, int]] = {}
        """By partition: the earliest and the latest new commit."""
        self._deletions: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for partition in self.kept:
            self._number_of(partition)

    def committed(self, key: bytes, columns: Ints, *, is_transactional: bool = False) -> None:
        """Take commits with one key: log offsets, times (epoch ms) from which they count, and committed offsets."""
        number = self._number_of_key(key)
        if number is not None and columns.shape[1]:
            self._new.append((number, columns, is_transactional))
            self.held += columns.shape[1]
            if self.held > HELD:
                self.reduce()

    @property
    def is_worth_reducing(self) -> bool:
        """Whether more commits came since the last `reduce` than it left."""
        return self.held > int(self._reduced.shape[1])

    def reduce(self) -> None:
        """Hold no more commits than rows need."""
        self._reduced = reduced_commits(np.concatenate([self._commits(), self._samples()], axis=1))
        self.held = 0

    def decided(self, key: bytes, columns: Ints) -> None:
        """Take commits of committed transactions, after all tombstones: as above, and the markers' offsets.

        A tombstone deletes pending commits, too.
        """
        number = self._number_of_key(key)
        if number is not None:
            offsets, markers = columns[0], columns[3]
            kept = self.kept_of(self.partitions[number]).deleted
            tombstones = [offset for _, offset in (*kept, *self._deletions[number])]
            deleted = np.array([-1, *sorted(tombstones)], np.int64)
            last = deleted[np.searchsorted(deleted, markers) - 1]
            self.committed(key, columns[:3, last < offsets], is_transactional=True)

    def deleted(self, key: bytes, columns: Ints) -> None:
        """Take tombstones with one key: log offsets and times (epoch ms)."""
        number = self._number_of_key(key)
        if number is not None:
            self._deletions[number] += zip(columns[1].tolist(), columns[0].tolist(), strict=True)

    def owned(self, row: Row) -> None:
        """Take a row of gold.ownership; the stretches of one partition do not overlap."""
        if row["topic"] is not None:
            self.owners.append(row)

    @property
    def partitions(self) -> Sequence[TopicPartition]:
        """By their numbers in the group."""
        return [*self._numbers]

    def kept_of(self, partition: TopicPartition) -> KeptProgress:
        """What an earlier part has left of it."""
        return self.kept.get(partition, KeptProgress())

    def samples_of(self, partition: TopicPartition) -> PartitionSamples | None:
        """The samples of its end offsets; None without any."""
        found = self._end_offsets(str(partition[0]), partition[1])
        return found if found is not None and found.samples else None

    def settle(self, settled: int) -> None:
        """Everything was taken. An ownership is certain, and counts, if it began before this log offset."""
        tombstones = [place for places in self._deletions.values() for place in places]
        from_offset = self.settled
        self.settled = max([settled, from_offset, *(log_offset for _, log_offset in tombstones)])
        changes = [(number, at_ms) for number, of in self._deletions.items() for at_ms, _ in of]
        begun = []
        for place, row in enumerate(self.owners):
            number = self._number_of((row["topic"], row["topic_partition"]))
            is_new = from_offset <= row["from_offset"] < self.settled
            begun.append((number, row["from_at"], row["from_offset"], place, is_new))
            changes += [(number, row["from_at"])] if is_new else []
            changes += [] if row["to_at"] is None else [(number, row["to_at"])]
        commits, samples = self._commits(), self._samples()
        deletions = [
            (number, *place) for number, places in self._deletions.items() for place in places
        ]
        kept_commits, kept_begun = [], []
        for partition, kept in self.kept.items():
            number = self._numbers[partition]
            for at_ms, log_offset, committed, flag, count in kept.commits:
                kept_commits.append((number, at_ms, log_offset, committed, count, flag))
            deletions += [(number, at_ms, log_offset) for at_ms, log_offset in kept.deleted]
            if kept.begun_at is not None:
                kept_begun.append((number, *kept.begun_at, -1, kept.begun))
        self.events = np.concatenate(
            [
                matrix_of(COMMIT, kept_commits),
                commits,
                matrix_of(DELETION, deletions),
                matrix_of(BEGINNING, begun),
                # After the ownership that began there, if it is given again.
                matrix_of(BEGINNING, kept_begun),
                samples,
            ],
            axis=1,
        )
        self._reduced = self.events[:, :0]
        self._find_changes(changes)

    def _find_changes(self, changes: Sequence[tuple[int, int]]) -> None:
        """`changes`: numbers of partitions, and times of their tombstones and ownerships."""
        found = [NEVER] * len(self._numbers)
        until_ms = max([self.until_ms, *(at_ms for _, at_ms in changes)])
        for number, (first_ms, last_ms) in self._new_times.items():
            found[number], until_ms = first_ms, max(until_ms, last_ms)
        # Of other partitions the first commit decides.
        known = {self._numbers[each]: kept for each, kept in self.kept.items() if kept.commits}
        for number, at_ms in changes:
            if number in known:
                found[number] = min(found[number], at_ms)
        partitions = self.partitions
        for number, kept in known.items():
            samples = self.samples_of(partitions[number])
            if samples is not None:
                # What has had no samples so far is counted anew.
                self.is_lost |= kept.sampled_ms is None
                next_ms = samples.next_at((kept.sampled_ms or 0) + 1)
                found[number] = min(found[number], NEVER if next_ms is None else next_ms)
        self.is_lost |= self.is_resumed and min(found, default=NEVER) < self.until_ms
        self.until_ms = until_ms
        self.changed_from = np.array(found, np.int64)

    def keep(self, kept: Mapping[TopicPartition, KeptProgress]) -> None:
        """The rows were made: hold only what a later part needs."""
        self.kept = {**kept}
        self.owners, self.events = [], self.events[:, :0]

    def state(self) -> dict[str, Any]:
        """For a later part, after `keep`; to be kept as JSON."""
        return {
            "until_ms": self.until_ms,
            "settled": self.settled,
            "partitions": [
                [*partition, *kept]
                for partition, kept in self.kept.items()
                if kept.commits or kept.deleted
            ],
        }

    def _commits(self) -> Ints:
        if not self._new:
            return self._reduced
        numbers, parts, flags = zip(*self._new, strict=True)
        sizes = [part.shape[1] for part in parts]
        columns = np.concatenate(parts, axis=1)
        begins = np.cumsum([0, *sizes[:-1]])
        times = columns[1]
        firsts, lasts = (each.reduceat(times, begins).tolist() for each in (np.minimum, np.maximum))
        for number, first_ms, last_ms in zip(numbers, firsts, lasts, strict=True):
            before = self._new_times.get(number, (first_ms, last_ms))
            self._new_times[number] = min(first_ms, before[0]), max(last_ms, before[1])
        found = events(columns.shape[1], COMMIT)
        found[: LOG_OFFSET + 1] = np.repeat(numbers, sizes), times, columns[0]
        found[NUMBER], found[FLAG] = columns[2], np.repeat(flags, sizes)
        self._new = []
        return np.concatenate([self._reduced, found], axis=1) if self._reduced.size else found

    def _samples(self) -> Ints:
        found = [
            (number, each.sampled_at_ms, AFTER_RECORDS)
            for partition, number in self._numbers.items()
            if (samples := self.samples_of(partition)) is not None
            for each in samples.samples
        ]
        return matrix_of(SAMPLE, found)

    def _number_of_key(self, key: bytes) -> int | None:
        if key not in self._of_key:
            record = decode_record(key, None)
            self._of_key[key] = (
                self._number_of((record.key.topic, record.key.partition))
                if not isinstance(record, Undecodable)
                and isinstance(record.key, LegacyOffsetCommitKey | OffsetCommitKey)
                else None
            )
        return self._of_key[key]

    def _number_of(self, partition: TopicPartition) -> int:
        return self._numbers.setdefault(partition, len(self._numbers))
