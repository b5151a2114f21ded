"""The groups of a log at a moment, replayed from its segments.

Nearly all records of a real log are offset commits, and of those only the last one of each key counts, as after
compaction. A first pass finds it by the keys' bytes alone; the second decodes what is left.
"""

from collections.abc import Iterator
from itertools import islice, takewhile
from typing import Any, NamedTuple, TypeAlias

from rebalance_audit.cli.unknown_group import require_known
from rebalance_audit.local.byte_ranges import ranges_of
from rebalance_audit.replay.changes import Position
from rebalance_audit.replay.describe import describe_group
from rebalance_audit.replay.shard import Shard
from rebalance_audit.wire import key_bytes
from rebalance_audit.wire.records import Undecodable, decode_record
from rebalance_audit.wire.segments.bad_bytes import BadBytes
from rebalance_audit.wire.segments.batches import TransactionMarker, parse_marker
from rebalance_audit.wire.segments.columns import ColumnChunk, Run
from rebalance_audit.wire.segments.folder import LogFolder
from rebalance_audit.wire.topic_names import TopicNames, read_topic_names

Row: TypeAlias = tuple[int, int, bytes | None, bytes | None]
"""Log offset, record timestamp, key, value."""


class State(NamedTuple):
    """The groups of a log at a moment."""

    groups: list[dict[str, Any]]
    """In order of their ids, each in the shape of `coordinator.describe`."""
    last_ms: int | None
    """Largest record timestamp that was read; None where nothing was."""
    undecodable: int
    """Records and damaged stretches that could not be applied."""


def segment_state(folder: LogFolder, group_ids: tuple[str, ...], at_ms: int | None) -> State:
    """All groups, or only `group_ids`, as of `at_ms` or the log's end.

    Raises SourceNotReadable, OSError that names the file, and click.BadParameter for a group that no record names.
    """
    names = read_topic_names(folder)
    parts = [
        _replay_partition(folder, number, names, at_ms, group_ids) for number in folder.segments
    ]
    if any(all(part.shard.slot(name) is None for part in parts) for name in group_ids):
        require_known(group_ids, group_ids_of(folder))
    groups = (describe_group(slot, names) for part in parts for slot in part.shard.groups())
    return State(
        sorted(filter(None, groups), key=lambda group: str(group["group_id"])),
        max((part.last_ms for part in parts if part.last_ms is not None), default=None),
        sum(part.undecodable for part in parts),
    )


class _Replayed(NamedTuple):
    shard: Shard
    last_ms: int | None
    undecodable: int


def _replay_partition(
    folder: LogFolder,
    log_partition: int,
    names: TopicNames,
    at_ms: int | None,
    group_ids: tuple[str, ...],
) -> _Replayed:
    """Apply all records before the first that is later than `at_ms`; of `group_ids` alone where any are given.

    `names` learns the topic names that the records tell. Raises OSError that names the file.
    """
    log = _Log(folder, log_partition, at_ms, key_bytes.of_groups(group_ids))
    last_commits = log.last_commits()
    shard = Shard(log_partition)
    undecodable = 0
    for run, rows in log.runs():
        position = Position(
            log_partition, -1, -1, run.leader_epoch, run.producer_id, run.is_transactional
        )
        if run.is_control:
            for log_offset, record_timestamp_ms, key, value in rows:
                marker = parse_marker(key, value)
                if isinstance(marker, TransactionMarker):
                    at = position._replace(
                        log_offset=log_offset, record_timestamp_ms=record_timestamp_ms
                    )
                    shard.apply_transaction_marker(run.producer_id, marker.committed, at)
            continue
        for log_offset, record_timestamp_ms, key, value in rows:
            if not run.is_transactional and last_commits.get(key, log_offset) != log_offset:
                continue
            record = decode_record(key, value)
            if isinstance(record, Undecodable):
                undecodable += 1
                continue
            names.add_record(record.key, record.value, record_timestamp_ms)
            at = position._replace(log_offset=log_offset, record_timestamp_ms=record_timestamp_ms)
            shard.apply(record, at)
    return _Replayed(shard, log.last_ms, undecodable + log.damaged)


def group_ids_of(folder: LogFolder) -> set[str]:
    """Ids of all groups that any key of the log names, also of those that are gone."""
    found: set[bytes | None] = set()
    for part in ranges_of(folder, folder.segments):
        for chunk in part.read():
            if isinstance(chunk, ColumnChunk):
                found.update(map(key_bytes.group_bytes, chunk.keys))
    return {group_id.decode(errors="replace") for group_id in found if group_id}


class _Log:
    """The partition's records up to the moment, run by run."""

    def __init__(
        self, folder: LogFolder, log_partition: int, at_ms: int | None, groups: tuple[bytes, ...]
    ) -> None:
        self._folder = folder
        self._log_partition = log_partition
        self._at_ms = at_ms
        self._groups = groups
        self.last_ms: int | None = None
        self.damaged = 0

    def last_commits(self) -> dict[bytes | None, int]:
        """Key of every offset commit -> offset of the last record of it that no transaction decides over."""
        last: dict[bytes | None, int] = {}
        for run, rows in self.runs():
            if not run.is_control and not run.is_transactional:
                last.update(
                    (key, log_offset)
                    for log_offset, _, key, _ in rows
                    if key is not None and key.startswith(key_bytes.OFFSET_COMMIT_PREFIXES)
                )
        return last

    def runs(self) -> Iterator[tuple[Run, Iterator[Row]]]:
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

    def _runs_of(self, chunk: ColumnChunk, times: list[int]) -> Iterator[tuple[Run, Iterator[Row]]]:
        if times:
            self.last_ms = max(times if self.last_ms is None else (self.last_ms, max(times)))
        rows = zip(chunk.log_offsets, times, chunk.keys, chunk.values, strict=False)
        for run in chunk.runs:
            of_run: Iterator[Row] = islice(rows, run.record_count)
            if self._groups and not run.is_control:
                of_run = (row for row in of_run if self._is_wanted(row[2]))
            yield run, of_run

    def _is_wanted(self, key: bytes | None) -> bool:
        return key is not None and key.startswith(self._groups, key_bytes.TYPE_BYTES)
