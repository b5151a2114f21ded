"""gold.progress of a log without Spark: its commits are read once more, for whoever asks for the table.

Held are the commits that rows need, about one of each partition and minute, and the rows as columns.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, TypeAlias

import numpy as np

from rebalance_audit.audit.lag.end_offsets import EndOffsetsOf
from rebalance_audit.audit.progress.group_progress import HELD, GroupProgress
from rebalance_audit.audit.progress.minutes import ProgressMinutes, ProgressRows
from rebalance_audit.audit.rows import Row
from rebalance_audit.local.byte_ranges import ranges_of
from rebalance_audit.segments.columns import Columns, Int64s
from rebalance_audit.segments.commits import KeyedCommits, committed_positions, transactional_of
from rebalance_audit.wire.key_bytes import group_bytes, group_id_text
from rebalance_audit.wire.segments.bad_bytes import BadBytes, TailNote
from rebalance_audit.wire.segments.folder import LogFolder

GroupAndPartition: TypeAlias = tuple[str, int]

REDUCED_FROM: Final = 4 * HELD
"""New commits of all groups, after which they are reduced."""


def progress_of_log(
    folder: LogFolder,
    is_wanted: Callable[[str], bool],
    end_offsets: EndOffsetsOf,
    ownership: Iterable[Row],
    written: Callable[[str], int],
) -> ProgressRows:
    """Rows in order of the table's key, of some groups. Raises OSError that names the file.

    `ownership` are their rows of gold.ownership; `written` gives the log offset of a group's last write.
    """
    log = _LogProgress(is_wanted, end_offsets)
    for part in ranges_of(folder, folder.segments):
        for found in part.read():
            if not isinstance(found, BadBytes | TailNote):
                log.take(part.segment.log_partition, found)
    return log.rows(ownership, written)


class _LogProgress:
    """Takes the log in order of partition and offset."""

    def __init__(self, is_wanted: Callable[[str], bool], end_offsets: EndOffsetsOf) -> None:
        self._is_wanted, self._end_offsets = is_wanted, end_offsets
        self._of: dict[GroupAndPartition, GroupProgress] = {}
        self._next_commit: dict[GroupAndPartition, int] = {}
        self._pending: dict[tuple[int, int], list[tuple[bytes, int, int]]] = defaultdict(list)
        """Log partition and producer -> key, log offset and committed offset of each commit in its transaction."""
        self._held = 0

    def take(self, log_partition: int, found: Columns) -> None:
        commits = KeyedCommits.among(found)
        is_plain = ~found.run_flags(run.is_transactional for run in found.runs)
        positions = committed_positions(found)
        columns = np.array([found.log_offsets, found.record_timestamps_ms, positions])
        order = np.argsort(commits.codes, kind="stable")
        rows, codes = commits.rows[order], commits.codes[order]
        bounds = np.searchsorted(codes, np.arange(len(commits.keys) + 1)).tolist()
        for key, begin, end in zip(commits.keys, bounds, bounds[1:], strict=False):
            group = self._group_of(log_partition, key)
            if group is not None:
                of_key = rows[begin:end]
                place = group.group_id, log_partition
                next_offset = int(found.log_offsets[of_key[-1]]) + 1
                self._next_commit[place] = max(next_offset, self._next_commit.get(place, 0))
                group.committed(key, columns[:, of_key[is_plain[of_key]]])
        gone = found.have_commit_keys() & found.have_groups() & ~found.are_control()
        gone &= (found.values.there == 0) & (found.record_timestamps_ms >= 0)
        tombstones = np.flatnonzero(gone)
        for tombstone, row in zip(found.keys.at(tombstones), tombstones.tolist(), strict=True):
            group = self._group_of(log_partition, tombstone or b"")
            if group is not None:
                group.deleted(tombstone or b"", columns[:, [row]])
        self._take_transactions(log_partition, found)
        self._held += len(rows)
        if self._held > REDUCED_FROM:
            self._held = 0
            for each in self._of.values():
                if each.is_worth_reducing:
                    each.reduce()

    def _take_transactions(self, log_partition: int, found: Columns) -> None:
        decided: dict[bytes, list[tuple[int, int, int, int]]] = defaultdict(list)
        for producer_id, key, log_offset, at_ms, value in transactional_of(found):
            pending = self._pending[log_partition, producer_id]
            if key is None:
                for of_key, committed_at, position in pending if value and at_ms >= 0 else ():
                    decided[of_key].append((committed_at, at_ms, position, log_offset))
                del self._pending[log_partition, producer_id]
            elif value is not None and self._group_of(log_partition, key) is not None:
                pending.append((key, log_offset, value))
        for of_key, rows in decided.items():
            group = self._group_of(log_partition, of_key)
            assert group is not None
            group.decided(of_key, np.array(rows, np.int64).T)

    def rows(self, ownership: Iterable[Row], written: Callable[[str], int]) -> ProgressRows:
        owned: dict[GroupAndPartition, list[Row]] = defaultdict(list)
        for row in ownership:
            owned[row["group_id"], row["log_partition"]].append(row)
        return ProgressRows([*self._parts(owned, written)])

    def _parts(
        self, owned: Mapping[GroupAndPartition, list[Row]], written: Callable[[str], int]
    ) -> Iterator[tuple[Mapping[str, Any], Int64s]]:
        waiting: list[GroupProgress] = []
        for group_id, places in groupby(sorted(self._of), key=itemgetter(0)):
            for place in places:
                group = self._of.pop(place)
                for row in owned.get(place, ()):
                    group.owned(row)
                group.settle(max(self._next_commit.get(place, 0), written(group_id)))
                waiting.append(group)
            if sum(each.events.shape[1] for each in waiting) > HELD:
                yield ProgressMinutes(waiting).changes().in_key_order()
                waiting = []
        if waiting:
            yield ProgressMinutes(waiting).changes().in_key_order()

    def _group_of(self, log_partition: int, key: bytes) -> GroupProgress | None:
        """None for a group that is not wanted, or that its key does not name."""
        group_id = group_id_text(group_bytes(key))
        if group_id is None or not self._is_wanted(group_id):
            return None
        place = group_id, log_partition
        if place not in self._of:
            self._of[place] = GroupProgress(*place, end_offsets=self._end_offsets)
        return self._of[place]
