"""Takes the offset commits out of a stretch of the log and leaves, for each group, what they were in a few numbers.

99 of 100 records are offset commits, so they are not decoded: their keys are compared as bytes. A group's summaries end
where one of its other records follows, for only those can change who owns a partition.

What a stretch adds to the account of offset commits is here as well: counts by second and by hour, and transactions.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from rebalance_audit.audit.commits.summary import (
    NO_POSITION,
    POSITION_AT,
    POSITION_END,
    VALUE_BYTES_MIN,
    VALUE_VERSION_MAX,
    Summaries,
)
from rebalance_audit.audit.findings.of_commits import OFFSET_COMMITS
from rebalance_audit.audit.hours.commit_hours import Seconds, by_second, run_begins, single_commits
from rebalance_audit.audit.hours.record_hours import GroupAndType, HourCounts, by_hour
from rebalance_audit.segments.columns import Blobs, Columns, Flags, Int64s
from rebalance_audit.wire.generated.messages import RecordType
from rebalance_audit.wire.key_bytes import TYPE_BYTES, group_bytes, group_id_text
from rebalance_audit.wire.segments.columns import ColumnChunk

if TYPE_CHECKING:
    from rebalance_audit.audit.commits.summary import Numbers


class CommitsApart(NamedTuple):
    """A stretch of the log without its offset commits, and what these were."""

    chunk: ColumnChunk
    """The records of groups."""
    commits: list[tuple[int, bytes, Summaries]]
    """(index into `chunk`, group id, summaries): the group's commits before that record; in order of the index."""


class KeyedCommits(NamedTuple):
    """The offset commits of a stretch that show an active member: they have a time and a whole value."""

    rows: Int64s
    codes: Int64s
    """Of each the place of its key."""
    keys: list[bytes]
    group_of: Int64s
    """Of each key the place of its group."""
    groups: list[bytes]

    @classmethod
    def among(cls, found: Columns) -> "KeyedCommits":
        """Those of a stretch."""
        wanted = found.have_commit_keys() & found.have_groups() & ~found.are_control()
        wanted &= (found.values.there != 0) & (found.record_timestamps_ms >= 0)
        wanted &= _may_be_decoded(found.values)
        rows = np.flatnonzero(wanted)
        of_key: dict[bytes, int] = {}
        of_group: dict[bytes, int] = {}
        codes = [of_key.setdefault(key or b"", len(of_key)) for key in found.keys.at(rows)]
        groups = [of_group.setdefault(group_bytes(key) or b"", len(of_group)) for key in of_key]
        numbers = (np.array(each, np.int64) for each in (codes, groups))
        return cls(rows, next(numbers), [*of_key], next(numbers), [*of_group])


def set_apart(found: Columns, commits: KeyedCommits | None = None) -> CommitsApart:
    """Split a stretch of the log. Tombstones and commits without a time are left out: they show no active member.

    Control records are left out as well: they are of no group. `commits` are those of the stretch, if they are known.
    """
    others = np.flatnonzero(~found.are_control() & ~found.have_commit_keys())
    left = found.chosen(others)
    rows, codes, keys, group_of, groups = commits or KeyedCommits.among(found)
    if not len(rows):
        return CommitsApart(left, [])
    of_group = {group: number for number, group in enumerate(groups)}
    # Where commits of a group end: at its other records, and at the end. All groups in one ascending array.
    count = len(found.log_offsets)
    width = count + 1
    closing = [(of_group.get(group_bytes(key) or b""), at) for at, key in enumerate(left.keys)]
    ends = [number * width + others[at] for number, at in closing if number is not None]
    ends += [number * width + count for number in range(len(groups))]
    all_ends = np.sort(np.array(ends, np.int64))
    order = np.argsort(codes, kind="stable")
    codes_in_order, rows = codes[order], rows[order]
    stretches = np.searchsorted(all_ends, group_of[codes_in_order] * width + rows)
    begins = run_begins(codes_in_order, stretches)
    run_ends = np.cumsum([run.record_count for run in found.runs])
    lasts = np.append(begins[1:], len(rows)) - 1
    runs = np.searchsorted(run_ends, rows[lasts], side="right").tolist()
    numbers = summed_up(
        found.record_timestamps_ms[rows],
        found.log_offsets[rows],
        committed_positions(found)[rows],
        begins,
        [(found.runs[run].leader_epoch, found.runs[run].is_transactional) for run in runs],
    )
    # In order of the records that they precede, then of their first commits.
    closed_by = all_ends[stretches[begins]]
    before = np.searchsorted(others, closed_by % width)
    by_stretch: dict[tuple[int, int], dict[bytes, Numbers]] = {}
    for at in np.lexsort((rows[begins], before)).tolist():
        stretch = int(before[at]), int(closed_by[at] // width)
        key = keys[codes_in_order[begins[at]]]
        by_stretch.setdefault(stretch, {})[key] = numbers[at]
    return CommitsApart(
        left,
        [(at, groups[group], summaries) for (at, group), summaries in by_stretch.items()],
    )


def _may_be_decoded(values: Blobs) -> Flags:
    """All values but those too short for an offset commit of any version, or of a version that Kafka does not have."""
    versions = values.numbers(values.begins, ">i2")
    return (values.sizes >= VALUE_BYTES_MIN) & (versions >= 0) & (versions <= VALUE_VERSION_MAX)


def committed_positions(found: Columns) -> Int64s:
    """The offset that each record commits if it is an offset commit; NO_POSITION of a value too short for one."""
    values = found.values
    positions = values.numbers(values.begins + POSITION_AT, ">i8")
    return np.where(values.sizes >= POSITION_END, positions, NO_POSITION)


def summed_up(
    times_ms: Int64s,
    log_offsets: Int64s,
    committed: Int64s,
    begins: Int64s,
    of_last: Sequence[tuple[int | None, bool]],
) -> "list[Numbers]":
    """A summary of each stretch of commits, which begins at a row of all columns and ends where the next begins.

    `of_last`: leader epoch of the last commit of each stretch, and whether it is one of a transaction.
    """
    lasts = np.append(begins[1:], len(times_ms)) - 1
    pauses = np.diff(times_ms, prepend=0)
    last_pauses = pauses[lasts].tolist()
    pauses[begins] = 0  # also the least of the longest ones: a clock may have been set back
    repeats = (np.diff(committed, prepend=NO_POSITION) == 0) & (committed != NO_POSITION)
    repeats[begins] = False
    columns: tuple[Sequence[Any], ...] = (
        (lasts - begins + 1).tolist(),
        np.maximum.reduceat(pauses, begins).tolist(),
        last_pauses,
        of_last,
        times_ms[begins].tolist(),
        times_ms[lasts].tolist(),
        log_offsets[begins].tolist(),
        log_offsets[lasts].tolist(),
        committed[begins].tolist(),
        committed[lasts].tolist(),
        np.add.reduceat(repeats, begins, dtype=np.int64).tolist(),
    )
    return [
        (*numbers[:4], count, longest_ms, None if count == 1 else pause_ms, *last, *numbers[4:])
        for count, longest_ms, pause_ms, last, *numbers in zip(*columns, strict=True)
    ]


_ENDS: Final = {b"\0\0": 0, b"\0\1": 1}
"""Types of the markers that abort and commit a transaction, after the version of their keys."""
_MARKER_BYTES: Final = 4
_NAMES: Final = {kind.value: kind.name for kind in RecordType}


class Transactional(NamedTuple):
    """A commit in a transaction, or the marker that ends one."""

    producer_id: int
    key: bytes | None
    """Of the commit; None for a marker."""
    log_offset: int
    at_ms: int
    value: int | None
    """Of a commit the offset that it commits, None for a tombstone; of a marker 1 if it commits, 0 if it aborts."""


class Account(NamedTuple):
    """What was counted of a stretch."""

    log_partition: int
    groups: Sequence[str | None]
    """None for an id that is not UTF-8."""
    seconds: Seconds
    """Offset commits of these groups."""
    of: Sequence[GroupAndType]
    hours: HourCounts
    """Records of these groups and types."""
    transactional: Sequence[Transactional]


def account_of(
    log_partition: int, found: Columns, commits: KeyedCommits, others: ColumnChunk
) -> Account:
    """The account of a stretch. `others`: its records that are no commits."""
    rows, numbers, groups = commits.rows, commits.group_of[commits.codes], commits.groups
    ids = [group_id_text(group) for group in groups]
    of: dict[GroupAndType, int] = {(group, OFFSET_COMMITS): at for at, group in enumerate(ids)}
    more = [
        (of.setdefault(subject, len(of)), at_ms, log_offset)
        for subject, at_ms, log_offset in _subjects(others)
    ]
    columns = np.array(more, np.int64).reshape(-1, 3).T
    times, log_offsets = found.record_timestamps_ms[rows], found.log_offsets[rows]
    hours = by_hour(
        np.concatenate([numbers, columns[0]]),
        np.concatenate([times, columns[1]]),
        np.concatenate([log_offsets, columns[2]]),
    )
    seconds = by_second([single_commits(times, numbers)])
    return Account(log_partition, ids, seconds, [*of], hours, [*transactional_of(found)])


def _subjects(others: ColumnChunk) -> Iterator[tuple[GroupAndType, int, int]]:
    """Group and type, time and offset of the records that have all of them."""
    for key, at_ms, log_offset in zip(
        others.keys, others.record_timestamps_ms, others.log_offsets, strict=True
    ):
        group = group_id_text(group_bytes(key))
        number = int.from_bytes((key or b"")[:TYPE_BYTES])
        if group is not None and at_ms >= 0 and number in _NAMES:
            yield (group, _NAMES[number]), at_ms, log_offset


def transactional_of(found: Columns) -> Iterator[Transactional]:
    """Commits in transactions, and the ends of these, in log order."""
    if not any(run.is_transactional or run.is_control for run in found.runs):
        return
    is_control = found.are_control()
    in_transaction = found.run_flags(run.is_transactional for run in found.runs)
    is_commit = in_transaction & ~is_control & found.have_commit_keys() & found.have_groups()
    is_commit &= found.record_timestamps_ms >= 0
    rows = np.flatnonzero(is_control | is_commit)
    for control, key, has_value, position, *place in zip(
        is_control[rows].tolist(),
        found.keys.at(rows),
        found.values.there[rows].tolist(),
        committed_positions(found)[rows].tolist(),
        found.of_runs(run.producer_id for run in found.runs)[rows].tolist(),
        found.log_offsets[rows].tolist(),
        found.record_timestamps_ms[rows].tolist(),
        strict=True,
    ):
        producer_id, log_offset, at_ms = place
        if not control:
            value = position if has_value else None
            yield Transactional(producer_id, key, log_offset, at_ms, value)
        elif (end := _ENDS.get((key or b"")[TYPE_BYTES:_MARKER_BYTES])) is not None:
            yield Transactional(producer_id, None, log_offset, at_ms, end)
