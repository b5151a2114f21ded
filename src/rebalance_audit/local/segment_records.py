"""The records of a log partition up to a moment, read from its segments.

Nearly all records of a real log are offset commits, and of those only the last one of each key counts, as after
compaction. A first pass finds it by the keys' bytes alone; the second decodes what is left.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice, takewhile
from typing import TypeAlias

from rebalance_audit.local.byte_ranges import ranges_of
from rebalance_audit.replay.changes import Position
from rebalance_audit.replay.state import RawRecord
from rebalance_audit.wire import key_bytes
from rebalance_audit.wire.segments.bad_bytes import BadBytes
from rebalance_audit.wire.segments.columns import ColumnChunk, Run
from rebalance_audit.wire.segments.folder import LogFolder

RecordRow: TypeAlias = tuple[int, int, bytes | None, bytes | None]
"""Log offset, record timestamp, key, value."""
LastCommits: TypeAlias = dict[bytes | None, int]
"""Key of an offset commit -> offset of the last record of it that no transaction decides on."""


def note_commits(last: LastCommits, run: Run, rows: Iterable[RecordRow]) -> None:
    """The offset commits among these records are the last ones so far."""
    if not run.is_control and not run.is_transactional:
        last.update(
            (key, log_offset)
            for log_offset, _, key, _ in rows
            if key is not None and key.startswith(key_bytes.OFFSET_COMMIT_PREFIXES)
        )


class SegmentRecords:
    """The partition's records up to the moment, in two passes."""

    def __init__(
        self, folder: LogFolder, log_partition: int, at_ms: int | None, groups: tuple[bytes, ...]
    ) -> None:
        self._folder = folder
        self._log_partition = log_partition
        self._at_ms = at_ms
        self._groups = groups
        self.last_ms: int | None = None
        self.damaged = 0
        self.has_later = False

    def __iter__(self) -> Iterator[RawRecord]:
        last_commits = self._last_commits()
        for run, rows in self._runs():
            position = Position(
                self._log_partition, -1, -1, run.leader_epoch, run.producer_id, run.is_transactional
            )
            overridden = not (run.is_control or run.is_transactional)
            for log_offset, record_timestamp_ms, key, value in rows:
                if overridden and last_commits.get(key, log_offset) != log_offset:
                    continue
                at = position._replace(
                    log_offset=log_offset, record_timestamp_ms=record_timestamp_ms
                )
                yield at, run.is_control, key, value

    def _last_commits(self) -> LastCommits:
        """Key of every offset commit -> offset of the last record of it that no transaction decides on."""
        last: LastCommits = {}
        for run, rows in self._runs():
            note_commits(last, run, rows)
        return last

    def _runs(self) -> Iterator[tuple[Run, Iterator[RecordRow]]]:
        """Each run with its records, the unwanted left out; they are there until the next run."""
        self.damaged = 0
        for part in ranges_of(self._folder, (self._log_partition,)):
            for found in part.read():
                if isinstance(found, BadBytes):
                    self.damaged += 1
                elif isinstance(found, ColumnChunk):
                    times = self._in_time(found.record_timestamps_ms)
                    yield from self.runs_of(found, times)
                    if len(times) < len(found.record_timestamps_ms):
                        self.has_later = True
                        return

    def _in_time(self, times: list[int]) -> list[int]:
        at_ms = self._at_ms
        if at_ms is None:
            return times
        return list(takewhile(lambda moment: moment <= at_ms, times))

    def runs_of(
        self, chunk: ColumnChunk, times: list[int]
    ) -> Iterator[tuple[Run, Iterator[RecordRow]]]:
        """The runs of a chunk as far as it is in time: `times` are those of its first records."""
        if times:
            self.last_ms = max(times if self.last_ms is None else (self.last_ms, max(times)))
        rows = zip(chunk.log_offsets, times, chunk.keys, chunk.values, strict=False)
        for run in chunk.runs:
            of_run: Iterator[RecordRow] = islice(rows, run.record_count)
            if self._groups and not run.is_control:
                of_run = (row for row in of_run if self._is_wanted(row[2]))
            yield run, of_run
            deque(of_run, maxlen=0)  # the next run begins after those that were not taken

    def _is_wanted(self, key: bytes | None) -> bool:
        return key is not None and key.startswith(self._groups, key_bytes.TYPE_BYTES)
