"""What the reducer makes rows of: an output for each table; and what becomes of the rows there."""

from collections.abc import Iterator, Mapping
from itertools import accumulate
from operator import itemgetter
from typing import Any, Final

import orjson
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.audit.hours.group_hours import HOUR_MS, with_commits_elsewhere
from rebalance_audit.audit.members.stint import FROM_FIRST_STINT
from rebalance_audit.audit.members.stint import KEY as MEMBER_KEY
from rebalance_audit.audit.rows import GOLD_OF_GROUP, GROUP_HOURS, MEMBERS, PROGRESS, Row
from rebalance_audit.lake.storage.data_files import FILE
from rebalance_audit.lake.storage.stage import MARK, ROWS, TABLE, StagedTables, list_of_rows
from rebalance_audit.replay.changes import Position
from rebalance_audit.tables.arrow_types import arrow_type, column_of, schema_of_columns
from rebalance_audit.tables.schemas import TableName, table_schemas
from rebalance_audit.wire.json_shape import key_data, value_data
from rebalance_audit.wire.records import Record, Undecodable

GROUP_RECORDS: Final = "group_records"
QUARANTINE: Final = "quarantine"
SNAPSHOTS: Final = "snapshots"
FILES: Final = "files"
"""No table: the data files of PROGRESS that tasks have written, see `data_files.FILE`."""
OUTPUTS: Final[Mapping[str, str]] = {
    **{name: f"gold.{name}" for name in (*GOLD_OF_GROUP, GROUP_HOURS, PROGRESS)},
    GROUP_RECORDS: TableName.GROUP_RECORDS,
    QUARANTINE: TableName.QUARANTINE,
    SNAPSHOTS: TableName.SNAPSHOTS,
}
"""Name in the frame -> full name of the table."""


REBUILT: Final = "rebuilt"
"""Mark of a row of a group that was replayed from its first record: it replaces what the table has of the group."""
NEW: Final = "new"
"""Mark of a row of a group that was resumed: what else the table has of the group stays as it is."""
GONE: Final = "gone"
"""Mark of a key of a resumed group: its row was provisional and no longer exists."""
MARKS: Final = (REBUILT, NEW, GONE)
BATCH_ROWS: Final = 1024
"""Rows of one table that are held before they leave: this bounds memory, whatever the length of the log.

A batch costs as much as about 200 rows do, so tables with few rows wait until they have some."""

COLUMN_ROWS: Final = 16 * BATCH_ROWS
"""Rows of a batch that came as columns."""
FRAME_ROW_BYTES: Final = 1 << 20
"""A row of the frame has no more bytes than this, unless it is one row of a table: Spark copies a row as a whole."""


def output_columns() -> dict[str, dict[str, str]]:
    """Output -> its columns, name -> type as DDL."""
    of_tables = {name: table_schemas()[table].column_types for name, table in OUTPUTS.items()}
    return {**of_tables, FILES: dict(FILE)}


def frame_columns() -> dict[str, str]:
    """Name and type of the frame's columns."""
    lists = {output: list_of_rows(columns) for output, columns in output_columns().items()}
    return {TABLE: "string", MARK: "string", ROWS: "int", **lists}


class OutputRows:
    """Collects rows and gives them back as batches."""

    def __init__(self, constants: Mapping[str, Any]) -> None:
        """`constants` are columns that are the same in all rows of a run, of whichever table has them."""
        self._schema = schema_of_columns(frame_columns())
        self._columns: dict[str, dict[str, str]] = {}
        self._constants: dict[str, dict[str, pa.Scalar]] = {}
        for output, columns in output_columns().items():
            same = {name: columns[name] for name in columns if name in constants}
            self._columns[output] = {
                name: kind for name, kind in columns.items() if name not in same
            }
            self._constants[output] = {
                name: pa.scalar(constants[name], arrow_type(kind)) for name, kind in same.items()
            }
        self._nothing = {
            output: pa.nulls(BATCH_ROWS, self._schema.field(output).type)
            for output in self._columns
        }
        self._pick = {output: itemgetter(*columns) for output, columns in self._columns.items()}
        self._rows: dict[tuple[str, str], list[tuple[Any, ...]]] = {
            (output, mark): [] for output in self._columns for mark in MARKS
        }
        self._is_full = False

    def add(self, output: str, mark: str, row: Row) -> None:
        """Take a row, keyed by column; times are epoch milliseconds. `mark` is one of MARKS.

        Columns that the row lacks are null.
        """
        try:
            cells = self._pick[output](row)
        except KeyError:
            cells = tuple(map(row.get, self._columns[output]))
        rows = self._rows[output, mark]
        rows.append(cells)
        if len(rows) >= BATCH_ROWS:
            self._is_full = True

    def batches(
        self, output: str, marks: pa.Array, columns: Mapping[str, pa.Array]
    ) -> Iterator[pa.RecordBatch]:
        """Batches of rows that are columns already, each with its mark; columns that are not given are null."""
        for mark in marks.unique().to_pylist():
            chosen = pc.indices_nonzero(pc.equal(marks, mark))
            for first in range(0, len(chosen), COLUMN_ROWS):
                places = chosen[first : first + COLUMN_ROWS]
                cells = {name: column.take(places) for name, column in columns.items()}
                yield self._batch(output, mark, cells, len(places))

    def full(self) -> bool:
        """Whether there are full batches to take."""
        return self._is_full

    def take_full(self) -> Iterator[pa.RecordBatch]:
        """A batch for each table and mark that has enough rows."""
        self._is_full = False
        return self._take(BATCH_ROWS)

    def take_rest(self) -> Iterator[pa.RecordBatch]:
        """A batch for each table and mark that has any rows."""
        return self._take(1)

    def _take(self, at_least: int) -> Iterator[pa.RecordBatch]:
        for (output, mark), rows in self._rows.items():
            if len(rows) >= at_least:
                for first in range(0, len(rows), BATCH_ROWS):
                    few, varying = rows[first : first + BATCH_ROWS], self._columns[output]
                    arrays = map(column_of, varying.values(), zip(*few, strict=True))
                    cells = dict(zip(varying, arrays, strict=True))
                    yield self._batch(output, mark, cells, len(few))
                rows.clear()

    def _batch(
        self, output: str, mark: str, cells: dict[str, pa.Array], count: int
    ) -> pa.RecordBatch:
        kind = self._schema.field(output).type
        fields = list(kind.value_type)
        cells |= {name: pa.repeat(value, count) for name, value in self._constants[output].items()}
        arrays = [
            cells[field.name] if field.name in cells else pa.nulls(count, field.type)
            for field in fields
        ]
        structs = pa.StructArray.from_arrays(arrays, fields=fields)
        sizes = [*_bounded(structs)]
        ends = pa.array([*accumulate(sizes, initial=0)], pa.int32())
        columns = {
            TABLE: pa.repeat(pa.scalar(output), len(sizes)),
            MARK: pa.repeat(pa.scalar(mark), len(sizes)),
            ROWS: pa.array(sizes, pa.int32()),
            **{other: nothing[: len(sizes)] for other, nothing in self._nothing.items()},
            output: pa.ListArray.from_arrays(ends, structs, kind),
        }
        return pa.RecordBatch.from_arrays(
            [columns[name] for name in self._schema.names], schema=self._schema
        )


def _bounded(rows: pa.StructArray) -> Iterator[int]:
    """Lengths of stretches of the rows with at most BATCH_ROWS and FRAME_ROW_BYTES each, or of one row."""
    if len(rows) == 1 or (len(rows) <= BATCH_ROWS and rows.nbytes <= FRAME_ROW_BYTES):
        yield len(rows)
        return
    half = len(rows) // 2
    yield from _bounded(rows[:half])
    yield from _bounded(rows[half:])


def record_row(group_id: str, record: Record, position: Position, write_offset: int | None) -> Row:
    """The row of a decoded record, without its producer; `write_offset` is that of the first record of its write."""
    tombstone = record.value is None
    return {
        "partition": position.log_partition,
        "offset": position.log_offset,
        "timestamp": position.record_timestamp_ms,
        "leader_epoch": position.leader_epoch,
        "record_type": int(record.record_type),
        "record_name": record.record_type.name,
        "group_id": group_id,
        "member_id": getattr(record.key, "member_id", None),
        "value_version": record.value_version,
        "layout": record.layout,
        "tombstone": tombstone,
        "key_json": orjson.dumps(key_data(record)).decode(),
        "value_json": None if tombstone else orjson.dumps(value_data(record)).decode(),
        "write_id": f"{position.log_partition}:{write_offset}",
    }


def quarantine_row(
    found: Undecodable, position: Position, key: bytes | None, value: bytes | None
) -> Row:
    """The row of a record that could not be decoded."""
    return {
        "partition": position.log_partition,
        "offset": position.log_offset,
        "timestamp": position.record_timestamp_ms,
        "key": key,
        "value": value,
        "reason": found.reason.value,
        "detail": found.detail,
        "record_type": found.record_type,
        "value_version": found.value_version,
    }


class HourRows:
    """Rows of gold.group_hours, one for each group and hour: those of a group id are held until the next one comes.

    Kafka keeps a group in one partition of the log, but after partitions were added to it, offset commits of the group
    may be in several; its records are in one, or the run is refused.
    """

    def __init__(self, rows: OutputRows) -> None:
        self._rows = rows
        self._group_id = ""
        self._held: dict[int, tuple[str, Row, bool]] = {}

    def add(self, group_id: str, mark: str, row: Row, *, of_records: bool) -> None:
        """Take the row of an hour; `of_records`: of the partition that has the group's records, not only commits."""
        if group_id != self._group_id:
            self.release()
            self._group_id = group_id
        held = self._held.get(row["hour"])
        if held is not None:
            _, before, was_of_records = held
            row = with_commits_elsewhere(*((before, row) if was_of_records else (row, before)))
            of_records |= was_of_records
        self._held[row["hour"]] = mark, row, of_records

    def release(self) -> None:
        """Emit the rows of the group id: there are no others."""
        for mark, row, _ in self._held.values():
            self._rows.add(GROUP_HOURS, mark, row | {"group_id": self._group_id})
        self._held.clear()


STINTS: Final = "stints"


def rebuilt_rows_of(staged: StagedTables, output: str) -> DataFrame:
    """The rows of one table of groups that were replayed from their first record."""
    rows = staged.of(output, REBUILT).frame
    return merge_stint_frames(rows) if output == MEMBERS else rows


def rows_of(staged: StagedTables, output: str) -> DataFrame:
    """The rows of one output, without the keys that are gone."""
    return staged.of(output, REBUILT, NEW).frame


def merge_stint_frames(stints: DataFrame) -> DataFrame:
    """One row per member id from its stints, as `audit.members.merge_stints` does."""
    order = F.struct("log_partition", "first_offset")
    from_latest = _of_latest()
    return (
        stints.groupBy(*MEMBER_KEY)
        .agg(
            F.min_by(F.struct(*FROM_FIRST_STINT), order).alias("first"),
            F.max_by(F.struct(*from_latest), order).alias("latest"),
            F.sum(STINTS).cast("int").alias(STINTS),
        )
        .select(*MEMBER_KEY, "first.*", "latest.*", STINTS)
    )


def continue_stints(stints: DataFrame, known: DataFrame) -> DataFrame:
    """Rows of gold.members from the stints of resumed groups and from the rows that the table has.

    As `audit.members.merge_stints`: a stint that a row already includes counts once, and its latest stint may continue.
    """
    names = table_schemas()[TableName.MEMBERS].column_names
    order = F.struct("log_partition", "first_offset")
    latest = _of_latest()
    of_known = F.struct(*names).alias("known")
    present = known.select(*MEMBER_KEY, of_known)
    joined = stints.join(present, [*MEMBER_KEY], "left")
    is_new = F.col("first_offset") > F.coalesce("known.latest_offset", F.lit(-1))
    merged = joined.groupBy(*MEMBER_KEY).agg(
        F.first("known").alias("known"),
        F.min_by(F.struct(*FROM_FIRST_STINT), order).alias("first"),
        F.max_by(F.struct(*latest), order).alias("latest"),
        F.count_if(is_new).alias("more"),
    )
    continues = F.coalesce(
        F.col("latest.latest_offset") >= F.col("known.latest_offset"), F.lit(True)
    )
    # The first stint itself may have gone on, if the last run ended within the write that began it.
    is_first = F.col("known").isNull() | F.col("first.first_offset").eqNullSafe(
        F.col("known.first_offset")
    )
    return merged.select(
        *MEMBER_KEY,
        *[
            F.when(is_first, F.col(f"first.{name}")).otherwise(F.col(f"known.{name}")).alias(name)
            for name in FROM_FIRST_STINT
        ],
        *[
            F.when(continues, F.col(f"latest.{name}")).otherwise(F.col(f"known.{name}")).alias(name)
            for name in latest
        ],
        (F.coalesce(f"known.{STINTS}", F.lit(0)) + F.col("more")).cast("int").alias(STINTS),
    )


def _of_latest() -> list[str]:
    names = table_schemas()[TableName.MEMBERS].column_names
    return [
        name for name in names if name not in {"cluster", *MEMBER_KEY, *FROM_FIRST_STINT, STINTS}
    ]


def in_window(output: str, from_ms: int | None, to_ms: int | None) -> Column:
    """Whether a row of a gold table begins in [from_ms, to_ms), epoch milliseconds; one of unknown time never does.

    Of rows of hours: whether any part of the hour is in the window.
    """
    column = table_schemas()[f"gold.{output}"].begins_at
    assert column is not None, output
    if output == GROUP_HOURS and from_ms is not None:
        from_ms = from_ms // HOUR_MS * HOUR_MS
    return begins_within(column, from_ms, to_ms)


def begins_within(column: str, from_ms: int | None, to_ms: int | None) -> Column:
    """Whether a column's moment is in [from_ms, to_ms), epoch milliseconds."""
    condition = F.lit(True)
    if from_ms is not None:
        condition &= F.col(column) >= F.timestamp_millis(F.lit(from_ms))
    if to_ms is not None:
        condition &= F.col(column) < F.timestamp_millis(F.lit(to_ms))
    return condition
