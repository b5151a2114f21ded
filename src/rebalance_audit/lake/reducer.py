"""The audit inside Spark: one pass over each group's records, in offset order, in the memory of one group.

Records arrive sorted by group and offset. What is decoded goes through `audit.GroupAudit`, what cannot be decoded
goes to quarantine; rows of all tables leave in one stream (`output_rows`).
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

import orjson
import pyarrow as pa
from pyspark.sql import DataFrame

from rebalance_audit.audit.departures import DepartureRules
from rebalance_audit.audit.findings.rules import FindingRules
from rebalance_audit.audit.group_audit import GroupAudit
from rebalance_audit.audit.options import AuditOptions
from rebalance_audit.audit.writes import WriteSplitter
from rebalance_audit.coordinator.changes import Position
from rebalance_audit.lake.arrow_types import NO_TIMESTAMP_MS
from rebalance_audit.lake.output_rows import (
    GROUP_RECORDS,
    QUARANTINE,
    OutputRows,
    Row,
    stream_ddl,
)
from rebalance_audit.wire.json_shape import key_data, value_data
from rebalance_audit.wire.records import Record, Undecodable, decode_record
from rebalance_audit.wire.topic_names import TopicNames

INPUT: Final = (
    "partition",
    "group_id",
    "offset",
    "timestamp",
    "leader_epoch",
    "producer_id",
    "is_transactional",
    "key",
    "value",
)
NO_PRODUCER_ID: Final = -1

Gaps: TypeAlias = Mapping[int, Sequence[int]]
"""Log partition -> offsets, ascending, in front of which something of the partition could not be read."""


@dataclass(frozen=True, slots=True)
class ReducerOptions:
    """What every group's audit is told; it travels to the workers."""

    names: TopicNames = field(default_factory=TopicNames)
    rules: DepartureRules = field(default_factory=DepartureRules)
    findings: FindingRules = field(default_factory=FindingRules)
    log_end_ms: int | None = None
    """Latest record time of the whole log, of all its partitions."""
    gaps: Gaps = field(default_factory=dict)
    with_group_records: bool = True
    """Whether rows of silver.group_records are wanted."""


def reduce_groups(records: DataFrame, options: ReducerOptions) -> DataFrame:
    """Rows of all outputs, see `output_rows`, from group records with the columns INPUT.

    Records without a group id are those whose key does not tell one: they end in quarantine.
    """
    ordered = (
        records.select(*INPUT)
        # A group has its records in one partition of the log: both columns, so that a damaged id changes nothing.
        .repartition("partition", "group_id")
        .sortWithinPartitions("partition", "group_id", "offset")
    )

    def reduce(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return _Reducer(options).reduce(batches)

    return ordered.mapInArrow(reduce, stream_ddl())


class _Given(NamedTuple):
    """One record as it comes in."""

    group_id: str | None
    position: Position
    producer_id: int | None
    is_transactional: bool | None
    """None where the source hides it, as the producer id."""
    key: bytes | None
    value: bytes | None


class _Group(NamedTuple):
    """The group whose records are passing by."""

    log_partition: int
    group_id: str
    audit: GroupAudit
    writes: WriteSplitter
    gaps: Sequence[int]


class _Reducer:
    """One task."""

    def __init__(self, options: ReducerOptions) -> None:
        self._options = options
        names = options.names
        self._audit_options = AuditOptions(
            topic_name=names.name_of,
            rules=options.rules,
            topic_deleted_at=names.deleted_at_ms,
            topic_lives=names.lives_of,
            findings=options.findings,
            log_end_ms=options.log_end_ms,
        )
        self._rows = OutputRows()
        self._group: _Group | None = None
        self._gaps_passed = 0
        self._write_id = ""

    def reduce(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Everything that the task's groups have to say."""
        for batch in batches:
            for given in _given(batch):
                if given.group_id is None:
                    self._quarantine(decode_record(given.key, given.value), given)
                else:
                    self._feed(self._enter(given.position.log_partition, given.group_id), given)
                if self._rows.full():
                    yield from self._rows.take()
        self._leave()
        yield from self._rows.take()

    def _enter(self, partition: int, group_id: str) -> _Group:
        """The group that a record belongs to; the one before is finished."""
        group = self._group
        if group is not None and group[:2] == (partition, group_id):
            return group
        self._leave()
        audit = GroupAudit(group_id, partition, self._rows.add, self._audit_options)
        gaps = self._options.gaps.get(partition, ())
        self._group = _Group(partition, group_id, audit, WriteSplitter(), gaps)
        self._gaps_passed = 0
        return self._group

    def _leave(self) -> None:
        if self._group is not None:
            if self._gaps_passed < len(self._group.gaps):
                self._group.audit.gap()
            self._group.audit.finish()
            self._group = None

    def _feed(self, group: _Group, given: _Given) -> None:
        position = given.position
        if self._gaps_passed < len(group.gaps):
            passed = bisect_right(group.gaps, position.log_offset)
            if passed > self._gaps_passed:
                self._gaps_passed = passed
                group.audit.gap()
        record = decode_record(given.key, given.value)
        if isinstance(record, Undecodable):
            group.audit.gap()
            self._quarantine(record, given)
            return
        group.audit.feed(record, position)
        if self._options.with_group_records:
            if group.writes.begins(record, position):
                self._write_id = f"{position.log_partition}:{position.log_offset}"
            self._rows.add(GROUP_RECORDS, self._record_row(group.group_id, record, given))

    def _record_row(self, group_id: str, record: Record, given: _Given) -> Row:
        tombstone = record.value is None
        return _place(given.position) | {
            "leader_epoch": given.position.leader_epoch,
            "record_type": int(record.record_type),
            "record_name": record.record_type.name,
            "group_id": group_id,
            "member_id": getattr(record.key, "member_id", None),
            "value_version": record.value_version,
            "layout": record.layout,
            "tombstone": tombstone,
            "key_json": orjson.dumps(key_data(record)).decode(),
            "value_json": None if tombstone else orjson.dumps(value_data(record)).decode(),
            "write_id": self._write_id,
            "producer_id": given.producer_id,
            "is_transactional": given.is_transactional,
        }

    def _quarantine(self, found: Record | Undecodable, given: _Given) -> None:
        assert isinstance(found, Undecodable), f"{found} has a group that its key did not tell"
        row = _place(given.position) | {
            "key": given.key,
            "value": given.value,
            "reason": found.reason.value,
            "detail": found.detail,
            "record_type": found.record_type,
            "value_version": found.value_version,
        }
        self._rows.add(QUARANTINE, row)


def _place(position: Position) -> Row:
    return {
        "partition": position.log_partition,
        "offset": position.log_offset,
        "timestamp": position.record_timestamp_ms,
    }


def _given(batch: pa.RecordBatch) -> Iterator[_Given]:
    """The rows of a batch with the columns INPUT."""
    columns = [batch.column(name) for name in INPUT]
    columns[INPUT.index("timestamp")] = columns[INPUT.index("timestamp")].cast(pa.int64())
    for partition, group_id, offset, micros, epoch, producer_id, transactional, key, value in zip(
        *(column.to_pylist() for column in columns), strict=True
    ):
        position = Position(
            partition,
            offset,
            NO_TIMESTAMP_MS if micros is None else micros // 1000,
            epoch,
            NO_PRODUCER_ID if producer_id is None else producer_id,
            bool(transactional),
        )
        yield _Given(group_id, position, producer_id, transactional, key, value)
