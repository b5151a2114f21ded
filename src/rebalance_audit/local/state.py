"""The groups of a log at a moment, replayed from its segments.

Nearly all records of a real log are offset commits, and of those only the last one of each key counts, as after
compaction. A first pass finds it by the keys' bytes alone; the second decodes what is left.
"""

from collections.abc import Collection, Iterator
from itertools import islice, takewhile
from typing import TypeAlias

from rebalance_audit.local.byte_ranges import ranges_of
from rebalance_audit.replay.changes import Position
from rebalance_audit.replay.state import RawRecord, State, state_at
from rebalance_audit.wire import key_bytes
from rebalance_audit.wire.metadata_log import read_topic_names
from rebalance_audit.wire.segments.bad_bytes import BadBytes
from rebalance_audit.wire.segments.columns import ColumnChunk, Run
from rebalance_audit.wire.segments.folder import LogFolder
from rebalance_audit.wire.topic_names import TopicNames

_Row: TypeAlias = tuple[int, int, bytes | None, bytes | None]
"""Log offset, record timestamp, key, value."""


def segment_state(
    folder: LogFolder, group_ids: Collection[str] = (), at_ms: int | None = None
) -> State:
    """All groups, or only `group_ids`, as of `at_ms` (epoch milliseconds) or the log's end.

    Raises SourceNotReadable, OSError that names the file, and UnknownGroup for a group that no record names.
    """
    return state_at(_SegmentLog(folder), group_ids, at_ms)


def group_ids_of(folder: LogFolder) -> set[str]:
    """Ids of all groups that any key of the log names, deleted ones included. Raises OSError that names the file."""
    found: set[bytes | None] = set()
    for part in ranges_of(folder, folder.segments):
        for chunk in part.read():
            if isinstance(chunk, ColumnChunk):
                found.update(map(key_bytes.group_bytes, chunk.keys))
    return {group_id.decode(errors="replace") for group_id in found if group_id}


class _SegmentLog:
    """A folder of segments as `state_at` reads it."""

    def __init__(self, folder: LogFolder) -> None:
        self._folder = folder

    def topic_names(self) -> TopicNames:
        return read_topic_names(self._folder)

    def log_partitions(self) -> Collection[int]:
        return self._folder.segments.keys()

    def records(
        self, log_partition: int, group_ids: Collection[str], at_ms: int | None
    ) -> "_PartitionRecords":
        return _PartitionRecords(self._folder, log_partition, at_ms, key_bytes.of_groups(group_ids))

    def group_ids(self) -> set[str]:
        return group_ids_of(self._folder)


class _PartitionRecords:
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

    def _last_commits(self) -> dict[bytes | None, int]:
        """Key of every offset commit -> offset of the last record of it that no transaction decides on."""
        last: dict[bytes | None, int] = {}
        for run, rows in self._runs():
            if not run.is_control and not run.is_transactional:
                last.update(
                    (key, log_offset)
                    for log_offset, _, key, _ in rows
                    if key is not None and key.startswith(key_bytes.OFFSET_COMMIT_PREFIXES)
                )
        return last

    def _runs(self) -> Iterator[tuple[Run, Iterator[_Row]]]:
        """Each run with its records, the unwanted left out; take them before the next run."""
        self.damaged = 0
        for part in ranges_of(self._folder, (self._log_partition,)):
            for found in part.read():
                if isinstance(found, BadBytes):
                    self.damaged += 1
                elif isinstance(found, ColumnChunk):
                    times = self._in_time(found.record_timestamps_ms)
                    yield from self._runs_of(found, times)
                    if len(times) < len(found.record_timestamps_ms):
                        return

    def _in_time(self, times: list[int]) -> list[int]:
        at_ms = self._at_ms
        if at_ms is None:
            return times
        return list(takewhile(lambda moment: moment <= at_ms, times))

    def _runs_of(
        self, chunk: ColumnChunk, times: list[int]
    ) -> Iterator[tuple[Run, Iterator[_Row]]]:
        if times:
            self.last_ms = max(times if self.last_ms is None else (self.last_ms, max(times)))
        rows = zip(chunk.log_offsets, times, chunk.keys, chunk.values, strict=False)
        for run in chunk.runs:
            of_run: Iterator[_Row] = islice(rows, run.record_count)
            if self._groups and not run.is_control:
                of_run = (row for row in of_run if self._is_wanted(row[2]))
            yield run, of_run

    def _is_wanted(self, key: bytes | None) -> bool:
        return key is not None and key.startswith(self._groups, key_bytes.TYPE_BYTES)
