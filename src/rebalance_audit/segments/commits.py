"""Takes the offset commits out of a stretch of the log and leaves, for each group, what they were in a few numbers.

99 of 100 records are offset commits, so they are not decoded: their keys are compared as bytes. A group's summaries end
where one of its other records follows, for only those can change who owns a partition.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rebalance_audit.audit.commits.summary import (
    NO_POSITION,
    POSITION_AT,
    POSITION_END,
    VALUE_BYTES_MIN,
    VALUE_VERSION_MAX,
    Summaries,
)
from rebalance_audit.audit.hours.commit_hours import run_begins
from rebalance_audit.segments.columns import Blobs, Columns, Flags, Int64s
from rebalance_audit.wire.key_bytes import group_bytes

if TYPE_CHECKING:
    from rebalance_audit.audit.commits.summary import Numbers
    from rebalance_audit.wire.segments.columns import ColumnChunk


class CommitsApart(NamedTuple):
    """A stretch of the log without its offset commits, and what these were."""

    chunk: "ColumnChunk"
    """The records of groups; the counts of excluded records are those of the original."""
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
