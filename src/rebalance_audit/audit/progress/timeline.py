"""What happened to topic partitions, as columns in order: commits, tombstones, handovers and samples of end offsets."""

from collections.abc import Sequence
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

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
