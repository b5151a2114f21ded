"""What a stretch of the log adds to the account of offset commits: counts by second and by hour, and transactions."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from rebalance_audit.audit.findings.of_commits import OFFSET_COMMITS
from rebalance_audit.audit.hours.commit_hours import Seconds, by_second, single_commits
from rebalance_audit.audit.hours.record_hours import GroupAndType, HourCounts, by_hour
from rebalance_audit.segments.columns import Columns
from rebalance_audit.segments.commits import KeyedCommits, committed_positions
from rebalance_audit.wire.generated.messages import RecordType
from rebalance_audit.wire.key_bytes import TYPE_BYTES, group_bytes, group_id_text
from rebalance_audit.wire.segments.columns import ColumnChunk

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
