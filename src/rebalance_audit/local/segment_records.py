"""The records of a log partition up to a moment, read from its segments.

Nearly all records of a real log are offset commits, and of those only the last one of each key counts, as after
compaction. A first pass finds it by the keys' bytes alone; the second decodes what is left.
"""

from collections.abc import Iterator
from itertools import islice

import numpy as np

from rebalance_audit.local.byte_ranges import ranges_of
from rebalance_audit.replay.changes import Position
from rebalance_audit.replay.state import RawRecord
from rebalance_audit.segments.columns import Columns, Flags, Int64s
from rebalance_audit.wire import key_bytes
from rebalance_audit.wire.segments.bad_bytes import BadBytes, TailNote
from rebalance_audit.wire.segments.folder import LogFolder


class SegmentRecords:
    """The partition's records up to the moment, in two passes."""

    def __init__(
        self,
        folder: LogFolder,
        log_partition: int,
        at_ms: int | None,
        groups: tuple[bytes, ...],
        cut_offset: int | None = None,
    ) -> None:
        """With `cut_offset` the last commit of each key before the cut is there, and the last one behind it.

        The cut is, in log order, before the first record at that offset or above, before the first offset that is not
        above the last one, or at the first stretch that cannot be read, whichever comes first.
        """
        self._folder = folder
        self._log_partition = log_partition
        self._at_ms = at_ms
        self._groups = groups
        self.last_ms: int | None = None
        self.damaged = 0
        self.has_later = False
        self._asked_cut = cut_offset
        self._is_cut = False
        self.cut_offset = cut_offset
        """Where one was given, that of the cut; right once all is read."""
        self.is_past_cut = False
        """Whether the record that was given last is behind the cut, whatever its offset."""

    def __iter__(self) -> Iterator[RawRecord]:
        last_offsets = self._last_commits()
        for found, count, before_cut in self._in_time():
            if not count:
                continue
            latest = int(found.record_timestamps_ms[:count].max())
            self.last_ms = latest if self.last_ms is None else max(self.last_ms, latest)
            wanted = ~_overridable(found) | np.isin(found.log_offsets, last_offsets)
            chosen = np.flatnonzero(wanted[:count])
            chunk = found.chosen(chosen)
            rows = zip(
                chunk.log_offsets,
                chunk.record_timestamps_ms,
                chunk.keys,
                chunk.values,
                (chosen >= before_cut).tolist(),
                strict=True,
            )
            for run in chunk.runs:
                position = Position(
                    self._log_partition,
                    -1,
                    -1,
                    run.leader_epoch,
                    run.producer_id,
                    run.is_transactional,
                )
                for log_offset, at_ms, key, value, self.is_past_cut in islice(
                    rows, run.record_count
                ):
                    if run.is_control or self._is_wanted(key):
                        at = position._replace(log_offset=log_offset, record_timestamp_ms=at_ms)
                        yield at, run.is_control, key, value

    def _last_commits(self) -> Int64s:
        """Offset of the last commit of each key that no transaction decides on, on each side of the cut."""
        last: dict[bytes | None, int] = {}
        last_before: dict[bytes | None, int] = {}
        for found, count, before_cut in self._in_time():
            commits = np.flatnonzero(_overridable(found)[:count])
            log_offsets = found.log_offsets[commits]
            pairs = [*zip(found.keys.at(commits), log_offsets.tolist(), strict=True)]
            if self._asked_cut is not None:
                last_before.update(pairs[: np.searchsorted(commits, before_cut)])
            if self._groups:
                pairs = [pair for pair in pairs if self._is_wanted(pair[0])]
            last.update(pairs)
        return np.array(sorted({*last.values(), *last_before.values()}), np.int64)

    def _in_time(self) -> Iterator[tuple[Columns, int, int]]:
        """Each stretch with the number of its records before the first that is too late, and before the cut."""
        self.damaged = 0
        self._is_cut, self.cut_offset = False, self._asked_cut
        next_offset = 0
        has_unread_tail = False
        for part in ranges_of(self._folder, (self._log_partition,)):
            for found in part.read():
                if isinstance(found, BadBytes):
                    self.damaged += 1
                    # A damaged header may have any offset; the stretch follows what was read.
                    self._cut_at(next_offset)
                elif isinstance(found, TailNote):
                    has_unread_tail = True
                else:
                    before_cut = 0
                    if len(found.log_offsets):
                        if has_unread_tail:
                            self._cut_at(next_offset)
                        before_cut = self._before_cut(found.log_offsets, next_offset)
                        next_offset = int(found.log_offsets[-1]) + 1
                    moments = found.record_timestamps_ms
                    late = moments > self._at_ms if self._at_ms is not None else moments[:0]
                    count = int(late.argmax()) if late.any() else len(moments)
                    yield found, count, before_cut
                    if count < len(moments):
                        self.has_later = True
                        return

    def _cut_at(self, cut_offset: int) -> None:
        if self._asked_cut is not None and not self._is_cut:
            self._is_cut, self.cut_offset = True, min(self._asked_cut, cut_offset)

    def _before_cut(self, log_offsets: Int64s, following: int) -> int:
        """How many of the next records are before the cut."""
        if self._asked_cut is None or self._is_cut:
            return 0
        goes_back = np.diff(log_offsets, prepend=following - 1) <= 0
        at_cut = goes_back | (log_offsets >= self._asked_cut)
        if not at_cut.any():
            return len(log_offsets)
        row = int(at_cut.argmax())
        self._cut_at(int(log_offsets[row]))
        return row

    def _is_wanted(self, key: bytes | None) -> bool:
        return not self._groups or (
            key is not None and key.startswith(self._groups, key_bytes.TYPE_BYTES)
        )


def _overridable(found: Columns) -> Flags:
    """Of each record whether it is an offset commit that no transaction decides on."""
    decided = found.run_flags(run.is_control or run.is_transactional for run in found.runs)
    return found.have_commit_keys() & ~decided
