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
        """With `cut_offset` the last commit of each key before it is there, and the last one from it on."""
        self._folder = folder
        self._log_partition = log_partition
        self._at_ms = at_ms
        self._groups = groups
        self.last_ms: int | None = None
        self.damaged = 0
        self.has_later = False
        self.cut_offset = cut_offset
        """Where one was given, not above the first damaged stretch; right once reading has begun."""

    def __iter__(self) -> Iterator[RawRecord]:
        last_offsets = self._last_commits()
        for found, count in self._in_time():
            if not count:
                continue
            latest = int(found.record_timestamps_ms[:count].max())
            self.last_ms = latest if self.last_ms is None else max(self.last_ms, latest)
            wanted = ~_overridable(found) | np.isin(found.log_offsets, last_offsets)
            chunk = found.chosen(np.flatnonzero(wanted[:count]))
            rows = zip(
                chunk.log_offsets, chunk.record_timestamps_ms, chunk.keys, chunk.values, strict=True
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
                for log_offset, at_ms, key, value in islice(rows, run.record_count):
                    if run.is_control or self._is_wanted(key):
                        at = position._replace(log_offset=log_offset, record_timestamp_ms=at_ms)
                        yield at, run.is_control, key, value

    def _last_commits(self) -> Int64s:
        """Offset of the last commit of each key that no transaction decides on, on each side of the cut."""
        last: dict[bytes | None, int] = {}
        last_before: dict[bytes | None, int] = {}
        for found, count in self._in_time():
            commits = np.flatnonzero(_overridable(found)[:count])
            log_offsets = found.log_offsets[commits]
            pairs = [*zip(found.keys.at(commits), log_offsets.tolist(), strict=True)]
            if self._groups:
                pairs = [pair for pair in pairs if self._is_wanted(pair[0])]
            last.update(pairs)
            cut_offset = self.cut_offset
            if cut_offset is not None:
                last_before.update(pair for pair in pairs if pair[1] < cut_offset)
        return np.array(sorted({*last.values(), *last_before.values()}), np.int64)

    def _in_time(self) -> Iterator[tuple[Columns, int]]:
        """Each stretch with the number of its records before the first that is too late."""
        self.damaged = 0
        next_offset = 0
        for part in ranges_of(self._folder, (self._log_partition,)):
            for found in part.read():
                if isinstance(found, BadBytes):
                    self.damaged += 1
                    if self.cut_offset is not None:
                        # A damaged header may have any offset; the stretch follows what was read.
                        self.cut_offset = min(self.cut_offset, next_offset)
                elif not isinstance(found, TailNote):
                    if len(found.log_offsets):
                        next_offset = int(found.log_offsets[-1]) + 1
                    moments = found.record_timestamps_ms
                    late = moments > self._at_ms if self._at_ms is not None else moments[:0]
                    count = int(late.argmax()) if late.any() else len(moments)
                    yield found, count
                    if count < len(moments):
                        self.has_later = True
                        return

    def _is_wanted(self, key: bytes | None) -> bool:
        return not self._groups or (
            key is not None and key.startswith(self._groups, key_bytes.TYPE_BYTES)
        )


def _overridable(found: Columns) -> Flags:
    """Of each record whether it is an offset commit that no transaction decides on."""
    decided = found.run_flags(run.is_control or run.is_transactional for run in found.runs)
    return found.have_commit_keys() & ~decided
