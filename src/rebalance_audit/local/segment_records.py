"""The records of a log partition up to a moment, read from its segments.

Nearly all records of a real log are offset commits, and of those only the last one of each key counts, as after
compaction. A first pass finds it by the keys' bytes alone; the second decodes what is left.
"""

from collections.abc import Iterable, Iterator

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
        """With `cut_offset` the last commit of each key before the cut is there, and the last one after it.

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
        self.cut_offset = cut_offset
        """Where one was given, that of the cut; right once all is read."""
        self.is_past_cut = False
        """Whether the record that was given last is after the cut, whatever its offset."""

    def __iter__(self) -> Iterator[RawRecord]:
        last_offsets = self._last_commits()
        for found, begin, end in self._in_time():
            latest = int(found.record_timestamps_ms[begin:end].max())
            self.last_ms = latest if self.last_ms is None else max(self.last_ms, latest)
            wanted = ~_overridable(found) | np.isin(found.log_offsets, last_offsets)
            chunk = found.chosen(begin + np.flatnonzero(wanted[begin:end]))
            for run, rows in chunk.by_run():
                for log_offset, at_ms, key, value in rows:
                    if run.is_control or self._is_wanted(key):
                        at = Position.in_run(self._log_partition, run, log_offset, at_ms)
                        yield at, run.is_control, key, value

    def _last_commits(self) -> Int64s:
        """Offset of the last commit of each key that no transaction decides on, on each side of the cut."""
        before: dict[bytes | None, int] = {}
        after: dict[bytes | None, int] = {}
        for found, begin, end in self._in_time():
            commits = begin + np.flatnonzero(_overridable(found)[begin:end])
            log_offsets = found.log_offsets[commits].tolist()
            pairs: Iterable[tuple[bytes | None, int]]
            pairs = zip(found.keys.at(commits), log_offsets, strict=True)
            if self._groups:
                pairs = (pair for pair in pairs if self._is_wanted(pair[0]))
            (after if self.is_past_cut else before).update(pairs)
        return np.array(sorted({*before.values(), *after.values()}), np.int64)

    def _in_time(self) -> Iterator[tuple[Columns, int, int]]:
        """The rows before the first that is too late: a stretch, and where in it those on one side of the cut are."""
        self.damaged = 0
        self.is_past_cut, self.cut_offset = False, self._asked_cut
        next_offset = 0
        has_unread_tail = False
        for part in ranges_of(self._folder, (self._log_partition,)):
            for found in part.read():
                if isinstance(found, BadBytes):
                    self.damaged += 1
                    # A damaged header may have any offset; the stretch follows what was read.
                    self._cut(next_offset)
                elif isinstance(found, TailNote):
                    has_unread_tail = True
                else:
                    if has_unread_tail:
                        self._cut(next_offset)
                    moments = found.record_timestamps_ms
                    late = moments > self._at_ms if self._at_ms is not None else moments[:0]
                    count = int(late.argmax()) if late.any() else len(moments)
                    cut_row = self._cut_row(found.log_offsets, next_offset)
                    next_offset = int(found.log_offsets[-1]) + 1
                    if begin := min(cut_row, count):
                        yield found, 0, begin
                    if cut_row < len(moments):
                        self._cut(int(found.log_offsets[cut_row]))
                    if begin < count:
                        yield found, begin, count
                    if count < len(moments):
                        self.has_later = True
                        return

    def _cut(self, cut_offset: int) -> None:
        if self._asked_cut is not None and not self.is_past_cut:
            self.is_past_cut, self.cut_offset = True, min(self._asked_cut, cut_offset)

    def _cut_row(self, log_offsets: Int64s, following: int) -> int:
        """The first of the next rows that is after the cut; all rows are on one side if it is 0 or their number."""
        if self._asked_cut is None:
            return len(log_offsets)
        if self.is_past_cut:
            return 0
        goes_back = np.diff(log_offsets, prepend=following - 1) <= 0
        at_cut = goes_back | (log_offsets >= self._asked_cut)
        return int(at_cut.argmax()) if at_cut.any() else len(log_offsets)

    def _is_wanted(self, key: bytes | None) -> bool:
        return not self._groups or (
            key is not None and key.startswith(self._groups, key_bytes.TYPE_BYTES)
        )


def _overridable(found: Columns) -> Flags:
    """Of each record whether it is an offset commit that no transaction decides on."""
    decided = found.run_flags(run.is_control or run.is_transactional for run in found.runs)
    return found.have_commit_keys() & ~decided
