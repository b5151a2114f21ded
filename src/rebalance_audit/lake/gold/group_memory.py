"""What the audit of a group is given, and what the reducer keeps of it between two runs: the audit's own state, rows.

A row that exists only because the log ends (an open epoch, a current owner) is provisional: the next run emits it
again, perhaps with other values, or not at all. The keys of such rows are kept, so that rows which are not emitted
again can be deleted.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import orjson
import pyarrow as pa

from rebalance_audit.audit.broker_log.broker_log import BrokerLog
from rebalance_audit.audit.broker_log.fact import BrokerFact
from rebalance_audit.audit.holes import Holes
from rebalance_audit.audit.options import AuditOptions
from rebalance_audit.audit.progress.group_progress import HELD, GroupProgress
from rebalance_audit.audit.progress.minutes import Picked, ProgressMinutes
from rebalance_audit.audit.rows import MEMBERS, PROGRESS, Row
from rebalance_audit.audit.thresholds import DepartureRules, FindingRules
from rebalance_audit.lake.gold.outputs import (
    FILES,
    GONE,
    OUTPUTS,
    REBUILT,
    SNAPSHOTS,
    OutputRows,
    output_columns,
)
from rebalance_audit.lake.storage.data_files import DataFile, DataFolder
from rebalance_audit.tables.arrow_types import column_of
from rebalance_audit.tables.schemas import table_schemas
from rebalance_audit.wire.topic_names import TopicNames, TopicShape, topic_id_text

ProvisionalKey: TypeAlias = tuple[Any, ...]
"""Name of a gold table, and the row's values of its key columns except cluster and group."""


class Memory(NamedTuple):
    """The state of one group, as the column `state` of meta.snapshots has it."""

    audit: dict[str, object] | None
    """See `GroupAudit.snapshot`; None of a group that has offset commits and no record."""
    next_offset: int
    """Offset after the last record of the group, which may be one that could not be decoded."""
    provisional: Sequence[ProvisionalKey]
    topics: Sequence[str]
    """Ids and names of the topics about which the audit has asked so far."""
    next_commit: int = 0
    """Offset after the last offset commit of the group that the audit has seen."""
    hours: dict[str, Any] | None = None
    """See `GroupHours.state`; None in what earlier releases left."""
    commit_hours: Sequence[Any] | None = None
    """See `CommitHours.state`."""
    progress: dict[str, Any] | None = None
    """See `GroupProgress.state`."""

    def fields_as_json(self) -> dict[str, bytes]:
        """The state as JSON, field by field: it may wait for its progress."""
        return {name: orjson.dumps(value) for name, value in self._asdict().items()}

    @classmethod
    def from_json(cls, text: bytes) -> "Memory":
        """The state that `fields_as_json` has written, with its progress."""
        fields = orjson.loads(text)
        fields["provisional"] = [tuple(key) for key in fields["provisional"]]
        return cls(**fields)


@cache
def key_columns(table: str) -> tuple[str, ...]:
    """The columns that identify a row among those of one group in a gold table.

    For members they include the record that began a stay: a member id can come back, see `audit.members`.
    """
    key = table_schemas()[OUTPUTS[table]].key
    columns = tuple(name for name in key if name not in {"cluster", "group_id"})
    return (*columns, "first_offset") if table == MEMBERS else columns


class Provisional:
    """Tracks which provisional rows of the previous run are emitted again."""

    def __init__(self, earlier: Sequence[ProvisionalKey]) -> None:
        """`earlier` are the keys that the previous run left."""
        self._earlier = set(earlier)
        self._now: list[ProvisionalKey] = []
        self.finishing = False
        """Set at the end of the log: what is emitted from then on is provisional."""

    @property
    def is_tracking(self) -> bool:
        """Whether rows that are emitted now have to be noted."""
        return self.finishing or bool(self._earlier)

    def note(self, table: str, row: Row) -> None:
        """Take note of a row that is emitted."""
        key = (table, *(row[column] for column in key_columns(table)))
        self._earlier.discard(key)
        if self.finishing:
            self._now.append(key)

    @property
    def keys(self) -> Sequence[ProvisionalKey]:
        """Keys of the rows that may still change."""
        return self._now

    def gone(self) -> Iterator[tuple[str, Row]]:
        """Table and key columns of each row that was not emitted again."""
        for table, *values in self._earlier:
            yield table, dict(zip(key_columns(table), values, strict=True))


class AskedTopics:
    """Answers the audit's questions about topics, and remembers those whose answers may change one day."""

    def __init__(self, names: TopicNames) -> None:
        self._names = names
        self.asked: set[str] = set()

    def options(self, **rest: Any) -> AuditOptions:
        """Options of an audit that asks here."""
        return AuditOptions(
            topic_name=self._name,
            topic_deleted_at=self._deleted_at,
            topic_lives=self._lives,
            topic_shapes=self._shapes,
            **rest,
        )

    def _name(self, topic_id: bytes) -> str | None:
        found = self._names.name_of(topic_id)
        if found is None:
            self.asked.add(topic_id_text(topic_id))
        return found

    def _deleted_at(self, topic_id: bytes) -> int | None:
        self.asked.add(topic_id_text(topic_id))
        return self._names.deleted_at_ms(topic_id)

    def _lives(self, topic: str) -> Sequence[tuple[int | None, int | None]]:
        self.asked.add(topic)
        return self._names.lives_of(topic)

    def _shapes(self, topic: str) -> Sequence[TopicShape]:
        self.asked.add(topic)
        return self._names.shapes_of(topic)


def answers(names: TopicNames) -> Mapping[str, object]:
    """Topic id or name -> everything that AskedTopics may answer: two runs differ where these differ."""
    known: dict[str, object] = {
        topic_id_text(name.topic_id): (name.name, name.deleted_at_ms) for name in names.values()
    }
    for topic in {name.name for name in names.values()}:
        known[topic] = (names.lives_of(topic), names.shapes_of(topic))
    return known


OWNER_BYTES: Final = 500
HELD_GROUP_BYTES: Final = HELD * np.dtype(np.int64).itemsize * 7
"""Groups are finished when their events and states have so many bytes."""


class _Finished(NamedTuple):
    """A group whose rows of gold.progress are not made yet."""

    progress: GroupProgress
    mark: str
    snapshot: Row
    """Its row of meta.snapshots but for the state."""
    state: dict[str, bytes] | None
    """The fields of `Memory`, to which those of the progress come; None of a group that cannot be resumed."""


class FinishedGroups:
    """Holds groups until there are enough of them."""

    def __init__(
        self, rows: OutputRows, folder: DataFolder | None, constants: Mapping[str, Any]
    ) -> None:
        """Few rows go to `rows`. Those of gold.progress go into a data file in their table's `folder`.

        Without a folder, as where the table may have rows of the same groups, they are in the batches of `take`.
        `constants` has the columns that are the same in all rows.
        """
        self._rows = rows
        self._types = output_columns()[PROGRESS]
        same = {name: constants[name] for name in self._types if name in constants}
        self._file = None if folder is None else DataFile(folder, same)
        self._held: list[_Finished] = []
        self._bytes = 0

    def add(self, progress: GroupProgress, mark: str, snapshot: Row, memory: Memory | None) -> None:
        """Take a group whose progress is settled; `memory` without the progress."""
        state = None if memory is None else memory.fields_as_json()
        self._held.append(_Finished(progress, mark, snapshot, state))
        self._bytes += progress.events.nbytes + OWNER_BYTES * len(progress.owners)
        self._bytes += sum(map(len, (state or {}).values()))

    def full(self) -> bool:
        """Whether `take` should follow."""
        return self._bytes >= HELD_GROUP_BYTES

    def take(self) -> Iterator[pa.RecordBatch]:
        """Finish the groups."""
        held, self._held, self._bytes = self._held, [], 0
        if not held:
            return
        changes = ProgressMinutes([each.progress for each in held]).changes()
        cells = {name: self._column(name, column) for name, column in changes.columns.items()}
        if self._file is None:
            marks = pa.array([each.mark for each in held]).take(pa.array(changes.groups))
            yield from self._rows.batches(PROGRESS, marks, cells)
        else:
            self._file.write(pa.RecordBatch.from_pydict(cells))
        for group, row in changes.bounded:
            self._rows.add(PROGRESS, held[group].mark, row)
        for _, key in changes.gone:
            self._rows.add(PROGRESS, GONE, key)
        for progress, mark, row, state in held:
            if state is None or progress.is_lost:
                self._rows.add(SNAPSHOTS, GONE, row)
            else:
                fields = {name: orjson.Fragment(text) for name, text in state.items()}
                whole = orjson.dumps(fields | {"progress": progress.state()})
                self._rows.add(SNAPSHOTS, mark, row | {"state": whole.decode()})

    def end(self) -> Iterator[pa.RecordBatch]:
        """Finish the last groups of the task, and its file."""
        yield from self.take()
        if self._file is not None:
            for described in self._file.described():
                for row in described.to_pylist():
                    self._rows.add(FILES, REBUILT, row)

    def _column(self, name: str, column: Any) -> pa.Array:
        if isinstance(column, Picked):
            return column_of(self._types[name], column.values).take(pa.array(column.places))
        return column_of(self._types[name], column)


Gaps: TypeAlias = Mapping[int, Sequence[int]]
"""Log partition -> offsets, ascending, before which something of the partition could not be read."""


@dataclass(frozen=True, slots=True)
class ReducerOptions:
    """What every group's audit is given; it is sent to the workers."""

    names: TopicNames = field(default_factory=TopicNames)
    rules: DepartureRules = field(default_factory=DepartureRules)
    findings: FindingRules = field(default_factory=FindingRules)
    log_end_ms: int | None = None
    """Latest record time in all partitions of the log, epoch milliseconds."""
    gaps: Gaps = field(default_factory=dict)
    whole: frozenset[int] | None = None
    """Log partitions that lack no record; None if unknown."""
    holes: Mapping[int, Holes] = field(default_factory=dict)
    """Log partition -> where it lacks records; only partitions where that is known."""
    with_silver: bool = True
    """Whether rows of silver.group_records and of meta.snapshots are wanted."""
    broker_log: BrokerLog | None = None
    """What the brokers logged, by the records' clock."""
    has_end_offsets: bool = False
    """Whether end offsets of any partition were sampled; the samples come with the records."""
    constants: Mapping[str, Any] = field(default_factory=dict)
    """Columns that are the same in all rows of a run, such as the cluster."""
    progress_folder: DataFolder | None = None
    """Where tasks write rows of gold.progress, if the table has none; None where they leave with the others."""

    def is_whole(self, log_partition: int) -> bool | None:
        """Whether a partition lacks no record; None if unknown."""
        return None if self.whole is None else log_partition in self.whole

    def broker_facts(self, group_id: str, log_partition: int) -> Sequence[BrokerFact]:
        """What they logged about one group."""
        if self.broker_log is None:
            return ()
        return self.broker_log.facts_of(group_id, log_partition)
