"""The records of a log partition up to a moment by the compiled walk, which separates commits by columns."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from rebalance_audit.local.segment_records import (
    LastCommits,
    RecordRow,
    SegmentRecords,
    note_commits,
)
from rebalance_audit.scan.column_buffers import ColumnBuffers, Flags, Int64s, WalkedColumns
from rebalance_audit.scan.segment_scan import scan
from rebalance_audit.wire import key_bytes
from rebalance_audit.wire.segments.bad_bytes import BadBytes
from rebalance_audit.wire.segments.columns import ColumnChunk, Run

_COMMIT_TYPES: Final = np.array(sorted(key_bytes.OFFSET_COMMIT_TYPES))


class WalkedRecords(SegmentRecords):
    """The same records as those of SegmentRecords, in two walks."""

    def _last_commits(self) -> LastCommits:
        last: LastCommits = {}
        for found, count in self._in_time_chunks():
            if isinstance(found, ColumnChunk):
                for run, rows in self.runs_of(found, found.record_timestamps_ms[:count]):
                    note_commits(last, run, rows)
                continue
            commits = np.flatnonzero(_overridable(found)[:count])
            keys = found.keys.at(commits)
            pairs = zip(keys, found.log_offsets[commits].tolist(), strict=True)
            last.update(
                (pair for pair in pairs if self._is_wanted(pair[0])) if self._groups else pairs
            )
        self._last_offsets = np.array(sorted(last.values()), np.int64)
        return last

    def _runs(self) -> Iterator[tuple[Run, Iterator[RecordRow]]]:
        for found, count in self._in_time_chunks():
            if isinstance(found, ColumnChunk):
                yield from self.runs_of(found, found.record_timestamps_ms[:count])
                continue
            self._note_time(found.record_timestamps_ms[:count])
            kept = ~_overridable(found) | np.isin(found.log_offsets, self._last_offsets)
            chunk = found.chosen(np.flatnonzero(kept[:count]))
            yield from self.runs_of(chunk, chunk.record_timestamps_ms)

    def _in_time_chunks(self) -> Iterator[tuple[ColumnChunk | WalkedColumns, int]]:
        """Each stretch with the number of its records before the first that is too late."""
        self.damaged = 0
        room = ColumnBuffers()
        for segment in self._folder.segments[self._log_partition]:
            for found in scan(room, segment.path, end_offset=segment.end_offset):
                if isinstance(found, BadBytes):
                    self.damaged += 1
                elif isinstance(found, ColumnChunk | WalkedColumns):
                    moments = np.asarray(found.record_timestamps_ms, np.int64)
                    late = moments > self._at_ms if self._at_ms is not None else moments[:0]
                    count = int(late.argmax()) if late.any() else len(moments)
                    yield found, count
                    if count < len(moments):
                        self.has_later = True
                        return

    def _note_time(self, moments: Int64s) -> None:
        if len(moments):
            latest = int(moments.max())
            self.last_ms = latest if self.last_ms is None else max(self.last_ms, latest)


def _overridable(found: WalkedColumns) -> Flags:
    """Of each record whether it is an offset commit that no transaction decides on."""
    decided = found.run_flags(run.is_control or run.is_transactional for run in found.runs)
    return np.isin(found.key_types(), _COMMIT_TYPES) & ~decided
