"""The audit inside Spark: one pass over each group's records, in offset order, in the memory of one group.

Records arrive sorted by group and offset. Decoded records go through `audit.GroupAudit`, others to quarantine; the rows
of all tables leave in one frame (`outputs`). The records of a group that an earlier run has replayed follow a row
with the group's state, from which the replay resumes.
"""

from bisect import bisect_right
from collections.abc import Generator, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, Final, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.audit.commits.summary import Summaries
from rebalance_audit.audit.group_audit import GroupAudit
from rebalance_audit.audit.hours.commit_hours import CommitHours, single_commits
from rebalance_audit.audit.hours.group_hours import GroupHours
from rebalance_audit.audit.lag.end_offsets import PartitionSamples, no_end_offsets
from rebalance_audit.audit.progress.group_progress import GroupProgress
from rebalance_audit.audit.rows import MEMBERS, OWNERSHIP, Row
from rebalance_audit.audit.snapshots.snapshot import (
    STATE_FORMAT,
    SnapshotNotUsable,
    resumed,
    snapshot_of,
)
from rebalance_audit.garbage import collecting_less
from rebalance_audit.lake.bronze.end_offsets import SAMPLES, samples_of
from rebalance_audit.lake.gold.group_memory import (
    AskedTopics,
    FinishedGroups,
    Memory,
    Provisional,
    ReducerOptions,
)
from rebalance_audit.lake.gold.outputs import (
    GONE,
    GROUP_RECORDS,
    NEW,
    QUARANTINE,
    REBUILT,
    SNAPSHOTS,
    HourRows,
    OutputRows,
    frame_columns,
    quarantine_row,
    record_row,
)
from rebalance_audit.lake.records.commit_packs import (
    DECIDED,
    GROUP_RECORD,
    INPUT,
    TOMBSTONES,
    UNDECODABLE,
    HeldCommits,
    pack_columns,
)
from rebalance_audit.replay.changes import Position, position_of
from rebalance_audit.tables.arrow_types import ddl_of_columns
from rebalance_audit.wire.records import Record, Undecodable, decode_record

RESUMES: Final = -1
"""Offset of the row before a group's new records: its value is the group's state, null for a new group.

A group without such a row is replayed from its first record."""

HELD_BYTES: Final = 8 << 20
"""Rows leave after this many bytes of records, however few rows they are: a generation of a thousand members has a
megabyte of JSON, and so has the state of such a group."""


def with_commits(
    records: DataFrame, packs: DataFrame, samples: DataFrame | None = None
) -> DataFrame:
    """What the reducer gets: group records, packs of offset commits, see `commit_packs`, and samples of end offsets."""
    given = records.select(*GROUP_RECORD).unionByName(packs, allowMissingColumns=True)
    return given if samples is None else given.unionByName(samples, allowMissingColumns=True)


def reduce_groups(
    records: DataFrame, options: ReducerOptions, tasks: int | None = None
) -> DataFrame:
    """Rows of all outputs, see `outputs`, from group records with the columns INPUT.

    `tasks` is the number of tasks; None for as many as a shuffle has. Records without a group id are those whose key
    names none: they end in quarantine.
    """
    given = records.select(*INPUT)
    # A group has its records in one partition of the log, but may have commits in others, which share its hours.
    group = F.coalesce("group_id", F.col("partition").cast("string"))
    by_group = given.repartition(group) if tasks is None else given.repartition(tasks, group)
    ordered = by_group.sortWithinPartitions("group_id", "partition", "offset")

    def reduce(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return reduced(batches, options)

    return ordered.mapInArrow(reduce, ddl_of_columns(frame_columns()))


def reduced(batches: Iterable[pa.RecordBatch], options: ReducerOptions) -> Iterator[pa.RecordBatch]:
    """What one task makes of its records, which come group by group in order of their offsets."""
    with collecting_less():
        yield from _Reducer(options).reduce(batches)


class _Given(NamedTuple):
    """One row of the input."""

    group_id: str | None
    position: Position
    producer_id: int | None
    is_transactional: bool | None
    """None if the source hides it, like the producer id."""
    key: bytes | None
    value: bytes | None
    kind: str | None
    """Of a pack of commits."""


class _Group:
    """The group whose records are being replayed."""

    def __init__(self, task: "_Reducer", log_partition: int, group_id: str) -> None:
        """Nothing is replayed yet; call `resume` first if there is a state."""
        self.log_partition = log_partition
        self.group_id = group_id
        self._rows, self._hour_rows, self._finished = task.rows, task.hour_rows, task.finished
        self._options = options = task.options
        self._asked = AskedTopics(options.names)
        self._audit_options = self._asked.options(
            rules=options.rules,
            findings=options.findings,
            log_end_ms=options.log_end_ms,
            is_whole=options.is_whole,
            holes=options.holes.get,
            broker_facts=options.broker_facts,
            end_offsets=self._end_offsets_of if options.has_end_offsets else no_end_offsets,
        )
        self._samples: dict[tuple[str, int], PartitionSamples] = {}
        self._provisional = Provisional(())
        self._hours = GroupHours(options.log_end_ms, with_commits=options.with_silver)
        self._commit_hours = CommitHours()
        self._progress = self._new_progress(None)
        self.audit: GroupAudit = GroupAudit(
            group_id, log_partition, self._emit, self._audit_options
        )
        self.mark = REBUILT
        self.is_lost = False
        """The state cannot be resumed: skip the group's records; it must be replayed from its first one."""
        self._gaps = options.gaps.get(log_partition, ())
        self._gaps_passed = 0
        self._next_offset = 0
        self._commits = HeldCommits()
        self._next_commit = 0
        self._first_new = 0
        """Commits before this offset are in the hours already."""
        self._first_unseen = 0
        """Commits before this offset are skipped: the audit saw them in an earlier run, or they came late."""
        self._is_known = False
        """The group has a record. Offset commits alone make no group, but they have hours."""
        self._only_commits = False
        """An earlier run has seen offset commits of the group and nothing else."""

    def resume(self, state: bytes | None) -> None:
        """Go on from a state; None for a group that no run has seen."""
        self.mark = NEW
        if state is None:
            return
        memory = Memory.from_json(state)
        if memory.hours is None or memory.progress is None:
            self.is_lost = True
            return
        self._hours = GroupHours(
            self._options.log_end_ms, with_commits=self._options.with_silver, state=memory.hours
        )
        self._commit_hours = CommitHours(memory.commit_hours)
        self._progress = self._new_progress(memory.progress)
        self._first_new = self._next_commit = memory.next_commit
        if memory.audit is None:
            self._only_commits = True
            return
        self._is_known = True
        self._provisional = Provisional(memory.provisional)
        self._asked.asked.update(memory.topics)
        try:
            self.audit = resumed(memory.audit, self._emit, self._audit_options)
        except SnapshotNotUsable:
            self.is_lost = True
            return
        self._next_offset = memory.next_offset
        self._first_new = self._first_unseen = max(memory.next_offset, memory.next_commit)
        self._gaps_passed = bisect_right(self._gaps, self._next_offset - 1)

    def pass_gaps(self, log_offset: int) -> None:
        """Note a gap if something before this offset could not be read: it may have been this group's."""
        if self._gaps_passed < len(self._gaps):
            passed = bisect_right(self._gaps, log_offset)
            if passed > self._gaps_passed:
                self._gaps_passed = passed
                self.audit.gap()

    def apart(self, run: Sequence["_Given"]) -> Sequence["_Given"]:
        """The group's records in a batch. Its state is resumed, and packs of commits are held.

        Samples of end offsets come first. Empty for a group that is lost.
        """
        begin = 0
        while begin < len(run) and run[begin].position.log_offset == SAMPLES:
            partition, samples = samples_of(run[begin].value or b"")
            self._samples[partition] = samples
            begin += 1
        run = run[begin:]
        if run and run[0].position.log_offset == RESUMES:
            self.resume(run[0].value)
            run = run[1:]
        if self.is_lost:
            return ()
        records = []
        for given in run:
            if given.kind is None:
                records.append(given)
            else:
                self._hold(given)
        if records and self._only_commits:
            # The audit needs all of its commits.
            self.is_lost = True
            return ()
        self._commits.expect(self._first_unseen, [given.position.log_offset for given in records])
        return records

    def _hold(self, pack: "_Given") -> None:
        """Hold offset commits until the record that follows them, and count them by hour."""
        assert pack.key is not None
        assert pack.value is not None
        if pack.kind == DECIDED:
            self._progress.decided(pack.key, pack_columns(pack.value, 4))
            return
        _, _, _, leader_epoch, _, flag = pack.position
        offsets, times, _ = columns = pack_columns(pack.value)
        if pack.kind == TOMBSTONES:
            self._progress.deleted(pack.key, columns[:, offsets >= self._first_new])
            return
        self._commits.hold(pack.key, pack.value, leader_epoch, is_transactional=flag)
        if self._options.with_silver and pack.kind != UNDECODABLE:
            is_new = offsets >= self._first_new
            self._commit_hours.add(single_commits(times[is_new]))
            if not flag:  # see DECIDED
                self._progress.committed(pack.key, columns[:, is_new])
            if not self._is_known:
                self._next_commit = max(self._next_commit, int(offsets[-1]) + 1)

    def passed(self, position: Position) -> None:
        """The group's record at this position comes next: pass the commits before it to the audit."""
        self._is_known = True
        self._hours.seen(position.record_timestamp_ms)
        self._note_commits(self._commits.take(position.log_offset))
        self._next_offset = position.log_offset + 1

    def _note_commits(self, summaries: Summaries) -> None:
        if summaries:
            self.audit.committed(summaries)
            last = max(last_offset for _, _, _, last_offset, *_ in summaries.values())
            self._next_commit = max(self._next_commit, last + 1)
            self._first_unseen = max(self._first_unseen, last + 1)

    def finish(self) -> None:
        """The group has no more records: emit what is open, and keep the state."""
        if self.is_lost:
            # Without a snapshot this run replays the group from its first record.
            self._rows.add(SNAPSHOTS, GONE, self._snapshot())
        elif self._is_known:
            self._finish_audit()
        elif self._options.with_silver:
            self._finish_hours()
            if self._next_commit:
                self._finish_progress(self._memory(None))

    def _finish_audit(self) -> None:
        self._note_commits(self._commits.take_rest(self._first_unseen))
        wants_memory = self._options.with_silver
        state = snapshot_of(self.audit) if wants_memory else {}
        self._provisional.finishing = True
        self._hours.ended()
        if self._gaps_passed < len(self._gaps):
            self.audit.gap()
        self.audit.finish()
        self._finish_hours()
        if not wants_memory:
            return
        memory = self._memory(state)
        for table, key in self._provisional.gone():
            if table == MEMBERS:
                memory = None  # the row may hold an earlier stay of the member id: rebuild it
            self._rows.add(table, GONE, key | {"group_id": self.group_id})
        self._finish_progress(memory, self.audit.due_ms)

    def _finish_hours(self) -> None:
        self._hours.committed(self._commit_hours.hours())
        for row, exists in self._hours.rows():
            mark = self.mark if exists else GONE
            self._hour_rows.add(self.group_id, mark, row, of_records=self._is_known)

    def _finish_progress(self, memory: Memory | None, due_ms: int | None = None) -> None:
        self._progress.settle(max(self.audit.write_offset or 0, self._next_commit))
        topics = () if memory is None else memory.topics
        snapshot = self._snapshot() | {"due_at": due_ms, "topics": topics}
        self._finished.add(self._progress, self.mark, snapshot, memory)

    def _memory(self, audit: dict[str, object] | None) -> Memory | None:
        """What a later run resumes from; None if the hours reach back further than the state that was kept."""
        if self._hours.is_lost or self._commit_hours.is_lost:
            return None
        return Memory(
            audit,
            self._next_offset,
            self._provisional.keys,
            sorted(self._asked.asked),
            self._next_commit,
            self._hours.state(),
            self._commit_hours.state(),
        )

    def _snapshot(self) -> Row:
        """The group's row of meta.snapshots without its state."""
        return {
            "group_id": self.group_id,
            "log_partition": self.log_partition,
            "next_offset": self._next_offset,
            "next_commit_offset": self._next_commit or None,
            "state_format": STATE_FORMAT,
            "topics": (),
        }

    def _new_progress(self, state: dict[str, Any] | None) -> GroupProgress:
        return GroupProgress(self.group_id, self.log_partition, state, self._end_offsets_of)

    def _end_offsets_of(self, topic: str, topic_partition: int) -> PartitionSamples | None:
        return self._samples.get((topic, topic_partition))

    def _emit(self, table: str, row: Row) -> None:
        self._hours.add(table, row)
        if table == OWNERSHIP and self._options.with_silver:
            self._progress.owned(row)
        provisional = self._provisional
        if provisional.is_tracking:
            provisional.note(table, row)
        self._rows.add(table, self.mark, row)


class _Reducer:
    """One task."""

    def __init__(self, options: ReducerOptions) -> None:
        self.options = options
        self.rows = OutputRows(options.constants)
        self.hour_rows = HourRows(self.rows)
        self.finished = FinishedGroups(self.rows, options.progress_folder, options.constants)
        self._group: _Group | None = None

    def reduce(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from self._reduced(batches)
        yield from self._leave()
        yield from self.finished.end()
        self.hour_rows.release()
        yield from self.rows.take_rest()

    def _reduced(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        held_bytes = 0
        for batch in batches:
            for (partition, group_id), run in groupby(_given(batch), _group_of):
                if group_id is None:
                    for given in run:
                        self._quarantine(decode_record(given.key, given.value), given, NEW)
                    continue
                group = yield from self._enter(partition, group_id)
                for given in group.apart([*run]):
                    self._feed(group, given)
                    held_bytes += len(given.value or b"")
                    if held_bytes > HELD_BYTES:
                        yield from self.rows.take_rest()
                        held_bytes = 0
                    elif self.rows.full():
                        yield from self.rows.take_full()
            # Rows of a group's end or of quarantine may have filled a batch as well.
            if self.rows.full():
                yield from self.rows.take_full()

    def _enter(self, partition: int, group_id: str) -> Generator[pa.RecordBatch, None, _Group]:
        """The group that a record belongs to; the previous group is finished."""
        group = self._group
        if group is not None and group.group_id == group_id and group.log_partition == partition:
            return group
        yield from self._leave()
        self._group = _Group(self, partition, group_id)
        return self._group

    def _leave(self) -> Iterator[pa.RecordBatch]:
        if self._group is not None:
            self._group.finish()
            self._group = None
            if self.finished.full():
                yield from self.finished.take()

    def _feed(self, group: _Group, given: _Given) -> None:
        position = given.position
        group.pass_gaps(position.log_offset)
        group.passed(position)
        record = decode_record(given.key, given.value)
        if isinstance(record, Undecodable):
            group.audit.lost(position, record.record_type)
            self._quarantine(record, given, group.mark)
            return
        group.audit.feed(record, position)
        if self.options.with_silver:
            row = record_row(group.group_id, record, position, group.audit.write_offset)
            row["producer_id"] = given.producer_id
            row["is_transactional"] = given.is_transactional
            self.rows.add(GROUP_RECORDS, group.mark, row)

    def _quarantine(self, found: Record | Undecodable, given: _Given, mark: str) -> None:
        assert isinstance(found, Undecodable), f"{found} has a group that is not in its key"
        row = quarantine_row(found, given.position, given.key, given.value)
        self.rows.add(QUARANTINE, mark, row)


def _group_of(given: _Given) -> tuple[int, str | None]:
    return given.position.log_partition, given.group_id


def _given(batch: pa.RecordBatch) -> Iterator[_Given]:
    """The rows of a batch with the columns INPUT."""
    columns = [batch.column(name) for name in INPUT]
    columns[INPUT.index("timestamp")] = columns[INPUT.index("timestamp")].cast(pa.int64())
    for partition, group_id, offset, micros, epoch, producer_id, transactional, *rest in zip(
        *(column.to_pylist() for column in columns), strict=True
    ):
        position = position_of(partition, offset, micros, epoch, producer_id, transactional)
        yield _Given(group_id, position, producer_id, transactional, *rest)
