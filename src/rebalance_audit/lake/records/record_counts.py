"""How many records, commits and markers a log has, as the tasks that read it report."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from rebalance_audit.lake.records.record_columns import DAMAGE

_MICROS: Final = 1000
_AGGREGATED: Final = {
    **dict.fromkeys(("records", "commits", "controls", "transactional", "damaged"), "sum"),
    **dict.fromkeys(("first_offset", "first_micros"), "min"),
    **dict.fromkeys(("last_offset", "last_micros"), "max"),
}
"""Column of a report -> how the values of several rows become one."""
_HELD: Final = 64
"""Tables of a few rows each, until they become one."""


@dataclass(frozen=True, slots=True)
class PartitionCounts:
    """One partition of the log."""

    records: int
    commits: int
    """Offset commits and their tombstones."""
    controls: int
    transactional: int
    """Records inside transactions, markers included."""
    first_offset: int
    next_offset: int
    """Offset after the last record."""
    first_ms: int | None
    """Smallest record time, epoch milliseconds; None if no record has one."""
    last_ms: int | None
    """Largest record time, epoch milliseconds; None if no record has one."""

    @property
    def has_holes(self) -> bool:
        """Whether offsets between its records have none."""
        return self.records < self.next_offset - self.first_offset


@dataclass(frozen=True, slots=True)
class RecordCounts:
    """A whole log."""

    partitions: Mapping[int, PartitionCounts]
    """Without those that have damaged stretches alone."""
    damaged_stretches: int = 0

    @property
    def records(self) -> int:
        """All records, markers included."""
        return sum(partition.records for partition in self.partitions.values())

    @property
    def commits(self) -> int:
        """Offset commits."""
        return sum(partition.commits for partition in self.partitions.values())

    @property
    def controls(self) -> int:
        """Transaction markers and other control records."""
        return sum(partition.controls for partition in self.partitions.values())

    @property
    def of_groups(self) -> int:
        """All others: group records, and records whose key names no group."""
        return self.records - self.commits - self.controls

    @property
    def first_ms(self) -> int | None:
        """Smallest record time, epoch milliseconds; None if no record has one."""
        moments = (part.first_ms for part in self.partitions.values())
        return min((moment for moment in moments if moment is not None), default=None)

    @property
    def last_ms(self) -> int | None:
        """Largest record time, epoch milliseconds; None if no record has one."""
        moments = (part.last_ms for part in self.partitions.values())
        return max((moment for moment in moments if moment is not None), default=None)

    @property
    def has_transactions(self) -> bool:
        """Whether any record belongs to a transaction."""
        return any(partition.transactional for partition in self.partitions.values())


class RecordTally:
    """Counts the rows that a task reads."""

    def __init__(self) -> None:
        self._tables: list[pa.Table] = []

    def add(self, rows: pa.RecordBatch, is_commit: pa.BooleanArray) -> None:
        """Take rows of a log, records and perhaps damaged stretches; which of them are commits is known."""
        count = rows.num_rows
        is_damage = pa.repeat(False, count)
        if DAMAGE in rows.schema.names:
            is_damage = rows[DAMAGE].is_valid()
        # The header of a damaged batch can name any offset.
        offset = pc.if_else(is_damage, None, rows["offset"])
        micros = rows["timestamp"].cast(pa.int64())
        columns = {
            "partition": rows["partition"],
            "records": pc.invert(is_damage),
            "commits": is_commit,
            "controls": pc.fill_null(rows["is_control"], False),
            "transactional": pc.fill_null(rows["is_transactional"], False),
            "damaged": is_damage,
            "first_offset": offset,
            "last_offset": offset,
            "first_micros": micros,
            "last_micros": micros,
        }
        self._tables.append(_aggregated(pa.table(columns)))
        if len(self._tables) > _HELD:
            self._tables = [_aggregated(pa.concat_tables(self._tables))]

    def report(self) -> list[dict[str, Any]]:
        """A row for each partition, see `counts_in`."""
        if not self._tables:
            return []
        rows: list[dict[str, Any]] = _aggregated(pa.concat_tables(self._tables)).to_pylist()
        return rows


def counts_in(reports: Iterable[Mapping[str, Any]]) -> RecordCounts:
    """What the rows of all tasks' reports amount to."""
    rows = [*reports]
    if not rows:
        return RecordCounts({})
    schema = pa.schema([("partition", pa.int32()), *((name, pa.int64()) for name in _AGGREGATED)])
    found = _aggregated(pa.Table.from_pylist(rows, schema)).to_pylist()
    return RecordCounts(
        {row["partition"]: _partition(row) for row in found if row["last_offset"] is not None},
        sum(row["damaged"] for row in found),
    )


def _partition(row: Mapping[str, Any]) -> PartitionCounts:
    first, last = (row[name] for name in ("first_micros", "last_micros"))
    return PartitionCounts(
        row["records"],
        row["commits"],
        row["controls"],
        row["transactional"],
        row["first_offset"],
        row["last_offset"] + 1,
        None if first is None else first // _MICROS,
        None if last is None else last // _MICROS,
    )


def _aggregated(rows: pa.Table) -> pa.Table:
    found = rows.group_by("partition", use_threads=False).aggregate([*_AGGREGATED.items()])
    columns = {name: found[f"{name}_{how}"] for name, how in _AGGREGATED.items()}
    return pa.table({"partition": found["partition"], **columns})
