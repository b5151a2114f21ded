"""Rows of gold.progress as columns: the minutes of all partitions of some groups at once."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple, overload

import numpy as np

from rebalance_audit.audit.lag.end_offsets import BOUNDED_BY_NEXT_MS, PartitionSamples, lag_at
from rebalance_audit.audit.progress.group_progress import (
    AT_MS,
    BEGINNING,
    COMMIT,
    DELETION,
    FLAG,
    KIND,
    LOG_OFFSET,
    MINUTE_MS,
    NEVER,
    NUMBER,
    PARTITION,
    WEIGHT,
    Bools,
    EventsInOrder,
    GroupProgress,
    Ints,
    KeptProgress,
)
from rebalance_audit.audit.rows import Row

if TYPE_CHECKING:
    from rebalance_audit.replay.partitions import TopicPartition

MADE_AT_ONCE: Final = 1 << 12
"""Rows."""
BIGINTS: Final = range(-(1 << 63), 1 << 63)
KEY: Final = ("group_id", "log_partition", "topic", "topic_partition")
OWNER: Final = ("member_id", "instance_id", "client_id")
LAG_COLUMNS: Final = (
    *("lag_at", "lag_records_min", "lag_records_max", "lag_min_ms", "lag_max_ms"),
    *("log_start_offset", "records_lost", "beyond_end"),
)


class Picked(NamedTuple):
    """A column with few different values."""

    values: Sequence[Any]
    places: Any
    """Of each row the place of its value; a masked array where rows have none."""


class ProgressChanges(NamedTuple):
    """New and changed rows of some groups."""

    columns: Mapping[str, Any]
    """Name -> an array, a masked array, a list or `Picked`, all of one length; moments are epoch milliseconds."""
    groups: Ints
    """Of each row the place of its group."""
    bounded: Sequence[tuple[int, Row]]
    """Earlier rows whose lag has a new bound, after the place of the group."""
    gone: Sequence[tuple[int, Row]]
    """Keys of rows that no longer exist."""

    def rows(self) -> "ProgressRows":
        """The columns as rows."""
        return ProgressRows([(self.columns, np.arange(len(self.groups)))])

    def in_key_order(self) -> tuple[Mapping[str, Any], Ints]:
        """The columns, and the places of the rows in order of the table's key; see `ProgressRows`."""
        if not len(self.groups):
            return self.columns, self.groups
        partition = self.columns["topic"].places
        names = ("group_id", "topic", "topic_partition")
        keys = [*zip(*(self.columns[name].values for name in names), strict=True)]
        ranks = {key: rank for rank, key in enumerate(sorted(set(keys)))}
        rank = np.array([ranks[key] for key in keys])[partition]
        log_partition = np.array(self.columns["log_partition"].values)[partition]
        return self.columns, np.lexsort((log_partition, self.columns["minute"], rank))


class ProgressRows(Sequence[Row]):
    """Rows of columns, each made when it is asked for: there may be one for each partition and minute of a log."""

    def __init__(self, parts: Sequence[tuple[Mapping[str, Any], Ints]]) -> None:
        """`parts`: columns, and the places of the rows in their order."""
        self.parts = parts

    def joined(self, later: Iterable["ProgressRows"]) -> "ProgressRows":
        """These rows and later ones."""
        return ProgressRows([*self.parts, *(part for each in later for part in each.parts)])

    def __len__(self) -> int:
        return sum(len(places) for _, places in self.parts)

    @overload
    def __getitem__(self, number: int) -> Row: ...
    @overload
    def __getitem__(self, number: slice) -> "ProgressRows": ...
    def __getitem__(self, number: int | slice) -> "Row | ProgressRows":
        if isinstance(number, int):
            return next(iter(self[range(len(self))[number] :]))
        begin, end, _ = number.indices(len(self))
        chosen = []
        for columns, places in self.parts:
            chosen.append((columns, places[max(begin, 0) : max(end, 0)]))
            begin, end = begin - len(places), end - len(places)
        return ProgressRows(chosen)

    def __iter__(self) -> Iterator[Row]:
        for columns, places in self.parts:
            for begin in range(0, len(places), MADE_AT_ONCE):
                few = places[begin : begin + MADE_AT_ONCE]
                found = {name: _values(column, few) for name, column in columns.items()}
                for cells in zip(*found.values(), strict=True):
                    yield dict(zip(found, cells, strict=True))


def _values(column: Any, places: Ints) -> Sequence[Any]:
    if isinstance(column, list):
        return [column[place] for place in places.tolist()]
    if isinstance(column, Picked):
        picked = column.places[places].tolist()
        return [None if place is None else column.values[place] for place in picked]
    values: list[Any] = column[places].tolist()
    return values


class _Minutes(NamedTuple):
    """Minutes with places in the timeline."""

    partition: Ints
    begin_ms: Ints
    commit: Ints
    """The last commit up to the end of the minute."""
    before: Ints
    """The last one before the minute; -1 for none."""
    event: Ints
    """The last event of the minute: the owner is that of its moment."""
    sample: Ints
    """The last sample, if there is a committed offset to compare; -1 otherwise."""
    commits: Ints
    handovers: Ints
    is_deleted: Bools

    def where(self, chosen: Bools) -> "_Minutes":
        """Some of them."""
        columns: list[Any] = [column[chosen] for column in self]
        return _Minutes(*columns)


class ProgressMinutes:
    """The minutes of some groups, which are settled."""

    def __init__(self, groups: Sequence[GroupProgress]) -> None:
        """Nothing is computed yet."""
        self._groups = groups
        self._partitions = [partition for group in groups for partition in group.partitions]
        sizes = [len(group.partitions) for group in groups]
        self._group_of = np.repeat(np.arange(len(groups)), sizes)
        self._owners = [row for group in groups for row in group.owners]
        self._samples = [group.samples_of(each) for group in groups for each in group.partitions]
        self._changed_from = np.concatenate([group.changed_from for group in groups])
        self._unbounded: list[list[tuple[Row, int, int]]] = [[] for _ in self._partitions]

    def changes(self) -> ProgressChanges:
        """New and changed rows. Call it once: the groups keep what a later part needs, unless they are lost."""
        events = np.concatenate([*_joined(self._groups)], axis=1)
        bounded = [*self._bounded()]
        if not events.size:
            for group in self._groups:
                group.keep({})
            return ProgressChanges({}, self._group_of[:0], bounded, ())
        self._line = line = EventsInOrder(events)
        owner = np.where(line.kind == BEGINNING, line.events[NUMBER], -1)
        # Before the first commit a handover does not count; those of an earlier part did.
        counts = (line.kind == BEGINNING) & (line.events[WEIGHT] > 0)
        counts &= (owner < 0) | (line.commit >= 0)
        self._handovers = np.where(counts, line.events[WEIGHT], 0)
        self._begun = line.latest(counts)
        self._deleted = line.latest(line.kind == DELETION)
        ends = [_end_of(row) for row in self._owners]
        self._ends = np.array([*ends, (NEVER, NEVER)], np.int64).T
        self._owner = line.latest((owner >= 0) & ~self._ended(owner, line.places))
        is_event = counts | (line.kind == COMMIT) | (line.kind == DELETION)
        self._event = np.maximum.reduceat(np.where(is_event, line.places, -1), line.begins)
        minutes, gone = self._minutes()
        columns = self._columns(minutes)
        self._keep()
        return ProgressChanges(columns, self._group_of[minutes.partition], bounded, gone)

    def _ended(self, owner: Ints, event: Ints) -> Bools:
        """Whether each ownership had ended when its event came; -1: there is none."""
        end_ms, end_offset = self._ends[:, owner]
        at_ms, log_offset = self._line.events[AT_MS, event], self._line.events[LOG_OFFSET, event]
        found: Bools = (end_ms < at_ms) | ((end_ms == at_ms) & (end_offset <= log_offset))
        return found

    def _minutes(self) -> tuple[_Minutes, Sequence[tuple[int, Row]]]:
        """Those that have a row, and the keys of rows that are gone."""
        line, deleted = self._line, self._deleted
        begins, lasts = line.begins, line.lasts
        partition, commit = line.partition[begins], line.commit[lasts]
        is_old = commit < begins
        sample = line.sample
        is_sampled = (sample >= 0) & (line.commit[sample] >= 0)
        is_sampled &= deleted[sample] <= line.commit[sample]
        sample = np.where(is_sampled, sample, -1)
        is_deleted = deleted[lasts] > commit
        # The minute of a tombstone has a row, and later ones have none.
        is_deleted_now = is_deleted & ~(is_old & (line.before(deleted, begins) > commit))
        is_gone = ~is_sampled & ((self._event < 0) | (deleted[self._event] > commit))
        has_row = is_deleted_now | ~is_old | ~is_gone
        commits = np.add.reduceat(np.where(line.kind == COMMIT, line.events[WEIGHT], 0), begins)
        handovers = np.add.reduceat(self._handovers, begins)
        has_event = (
            (commits > 0) | (line.sample >= 0) | (handovers > 0) | (deleted[lasts] >= begins)
        )
        is_lost = np.array([group.is_lost for group in self._groups], np.bool_)
        changed = line.minute[begins] >= self._changed_from[partition] // MINUTE_MS
        changed &= has_event & (commit >= 0) & ~is_lost[self._group_of[partition]]
        minutes = _Minutes(
            partition,
            line.minute[begins] * MINUTE_MS,
            commit,
            line.before(line.commit, begins),
            np.maximum(sample, self._event),
            sample,
            commits,
            handovers,
            is_deleted,
        )
        gone = minutes.where(changed & ~has_row)
        keys = zip(gone.partition.tolist(), gone.begin_ms.tolist(), strict=True)
        # Without samples no earlier part had a row for such a minute.
        of_samples = [(k, at_ms) for k, at_ms in keys if self._kept(k).sampled_ms is not None]
        return minutes.where(changed & has_row), [
            (int(self._group_of[k]), self._key(k) | {"minute": at_ms}) for k, at_ms in of_samples
        ]

    def _columns(self, minutes: _Minutes) -> Mapping[str, Any]:
        events = self._line.events
        partition, _, commit, before, event, *_ = minutes
        committed, at_ms = events[NUMBER, commit], events[AT_MS, commit]
        is_known = (minutes.commits > 0) & (before >= 0) & (self._deleted[commit] <= before)
        start, start_ms = events[NUMBER, before], events[AT_MS, before]
        moved = committed - start
        # Offsets that are committed are any 64 bits.
        is_known &= ((committed ^ start) & (committed ^ moved)) >= 0
        took_ms = at_ms - start_ms
        has_rate = is_known & (moved >= 0) & (took_ms > 0)
        per_second = moved * 1000.0 / np.where(has_rate, took_ms, 1)
        owner = self._owner[event]
        owner = np.where(owner < 0, -1, events[NUMBER, owner])
        owner = np.ma.array(owner, mask=(owner < 0) | self._ended(owner, event))
        keys = [self._key(each) for each in range(len(self._partitions))]
        columns: dict[str, Any] = {
            **{name: Picked([key[name] for key in keys], partition) for name in KEY},
            "minute": minutes.begin_ms,
            "committed_offset": committed,
            "last_commit_at": at_ms,
            "is_transactional": events[FLAG, commit] > 0,
            "commits": minutes.commits,
            "records_committed": np.ma.array(moved, mask=~is_known),
            "committed_per_second": np.ma.array(per_second, mask=~has_rate),
            "handovers": minutes.handovers,
            **{name: Picked([row[name] for row in self._owners], owner) for name in OWNER},
            "is_deleted": minutes.is_deleted,
        }
        has_samples = np.array([samples is not None for samples in self._samples], np.bool_)
        if has_samples.any():
            self._add_lag(columns, minutes, has_samples[partition] & ~minutes.is_deleted)
        return columns

    def _add_lag(self, columns: dict[str, Any], minutes: _Minutes, has_lag: Bools) -> None:
        """The lag of some of the minutes, at their last sample or last event."""
        events = self._line.events
        is_sampled = minutes.sample >= 0
        moment = np.where(is_sampled, minutes.sample, minutes.event)[has_lag]
        commit = np.where(is_sampled, self._line.commit[minutes.sample], minutes.commit)[has_lag]
        lag: list[list[int | None]] = [[None] * len(has_lag) for _ in LAG_COLUMNS]
        columns |= dict(zip(LAG_COLUMNS, lag, strict=True))
        unbounded = []
        for place, number, *each in zip(
            np.flatnonzero(has_lag).tolist(),
            minutes.partition[has_lag].tolist(),
            *(events[row, commit].tolist() for row in (NUMBER, AT_MS)),
            events[AT_MS, moment].tolist(),
            strict=True,
        ):
            samples = self._samples[number]
            assert samples is not None
            for column, cell in zip(lag, _lag_cells(samples, *each), strict=True):
                column[place] = cell
            if each[2] >= self._oldest_ms(number) and samples.next_at(each[2]) is None:
                unbounded.append((place, number, *each[:2]))
        places = np.array([place for place, *_ in unbounded], np.int64)
        rows = ProgressRows([(columns, places)])
        for (_, number, committed, made_ms), row in zip(unbounded, rows, strict=True):
            self._unbounded[number].append((row, committed, made_ms))

    def _bounded(self) -> Iterator[tuple[int, Row]]:
        """Earlier rows again where a sample now bounds their lag; the others wait for one."""
        for number, samples in enumerate(self._samples):
            from_minute = self._changed_from[number] // MINUTE_MS
            for row, committed, made_ms in self._kept(number).unbounded:
                at_ms = row["lag_at"]
                if row["minute"] // MINUTE_MS >= from_minute:
                    continue
                if samples is not None and samples.next_at(at_ms) is not None:
                    group = int(self._group_of[number])
                    if not self._groups[group].is_lost:
                        cells = _lag_cells(samples, committed, made_ms, at_ms)
                        yield group, row | dict(zip(LAG_COLUMNS, cells, strict=True))
                elif at_ms >= self._oldest_ms(number):
                    self._unbounded[number].append((row, committed, made_ms))

    def _oldest_ms(self, number: int) -> int:
        """No later sample bounds lag before this."""
        return self._group(number).until_ms - BOUNDED_BY_NEXT_MS

    def _kept(self, number: int) -> KeptProgress:
        return self._group(number).kept_of(self._partitions[number])

    def _group(self, number: int) -> GroupProgress:
        return self._groups[int(self._group_of[number])]

    def _key(self, number: int) -> Row:
        group, (topic, partition) = self._group(number), self._partitions[number]
        return dict(zip(KEY, (group.group_id, group.log_partition, topic, partition), strict=True))

    def _keep(self) -> None:
        line = self._line
        commits = line.summed_up(line.kept_commits)
        partition = commits[PARTITION]
        ends = np.append(partition[1:] != partition[:-1], True)[: len(partition)]
        last_ms = np.zeros(len(self._partitions), np.int64)
        last_ms[partition[ends]] = commits[AT_MS, ends] // MINUTE_MS * MINUTE_MS
        is_recent = commits[AT_MS] >= last_ms[partition]
        is_before = ~is_recent & np.append(is_recent[1:], False)[: len(is_recent)]
        commits[WEIGHT, is_before] = 0
        commits = commits[:, is_recent | is_before]
        last = np.append(line.firsts[1:], len(line.places)) - 1
        is_deletion = (line.kind == DELETION) & (line.at_ms >= last_ms[line.partition])
        latest = self._deleted[last]
        deletions = line.events[:, np.union1d(np.flatnonzero(is_deletion), latest[latest >= 0])]
        begun = self._begun[last]
        begun = begun[begun >= 0]
        minute = np.searchsorted(line.begins, begun, "right") - 1
        beginnings = line.events[:, begun]
        beginnings[WEIGHT] = np.add.reduceat(self._handovers, line.begins)[minute]
        kept: list[dict[TopicPartition, KeptProgress]] = [{} for _ in self._groups]
        for number, (partition_, of_commits, of_deletions, of_begun) in enumerate(
            zip(
                self._partitions,
                self._by_partition(commits, [AT_MS, LOG_OFFSET, NUMBER, FLAG, WEIGHT]),
                self._by_partition(deletions, [AT_MS, LOG_OFFSET]),
                self._by_partition(beginnings, [AT_MS, LOG_OFFSET, WEIGHT]),
                strict=True,
            )
        ):
            samples = self._samples[number]
            kept[self._group_of[number]][partition_] = KeptProgress(
                of_commits,
                of_deletions,
                samples.samples[-1].sampled_at_ms if samples else self._kept(number).sampled_ms,
                of_begun[0][:2] if of_begun else None,
                of_begun[0][2] if of_begun else 0,
                self._unbounded[number],
            )
        for group, of_group in zip(self._groups, kept, strict=True):
            group.keep(of_group)

    def _by_partition(self, events: Ints, fields: list[int]) -> Iterator[list[list[int]]]:
        """Fields of events in order, of each partition."""
        bounds = np.searchsorted(events[PARTITION], np.arange(len(self._partitions) + 1)).tolist()
        rows = events[fields].T.tolist()
        for begin, end in pairwise(bounds):
            yield rows[begin:end]


def _joined(groups: Sequence[GroupProgress]) -> Iterator[Ints]:
    """The events of the groups, with partitions and owners by their numbers among all."""
    partitions = owners = 0
    for group in groups:
        joined = group.events
        joined[PARTITION] += partitions
        joined[NUMBER, (joined[KIND] == BEGINNING) & (joined[NUMBER] >= 0)] += owners
        partitions += len(group.partitions)
        owners += len(group.owners)
        yield joined


def _end_of(row: Row) -> tuple[int, int]:
    return (NEVER, NEVER) if row["to_at"] is None else (row["to_at"], row["to_offset"])


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
