"""Rows of several tables in one stream: each Arrow batch has the rows of one table, in the column of that name.

One pass over a group's records makes rows of eleven tables, and a Spark stage has one schema: a column `table`, a
column `mark` that says what to do with the row, and a struct per table that is null in rows of all other tables.
"""

from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, Final

import pyarrow as pa

from rebalance_audit.audit.rows import GOLD_OF_GROUP, Row
from rebalance_audit.tables.arrow_types import arrow_type, column_of
from rebalance_audit.tables.schemas import TableName, table_schemas

GROUP_RECORDS: Final = "group_records"
QUARANTINE: Final = "quarantine"
SNAPSHOTS: Final = "snapshots"
OUTPUTS: Final[Mapping[str, str]] = {
    **{name: f"gold.{name}" for name in GOLD_OF_GROUP},
    GROUP_RECORDS: TableName.GROUP_RECORDS,
    QUARANTINE: TableName.QUARANTINE,
    SNAPSHOTS: TableName.SNAPSHOTS,
}
"""Name in the stream -> full name of the table."""
FILLED_LATER: Final = frozenset({"cluster", "rules", "run_id", "updated_at"})
"""Columns that are the same in all rows of a run, and so are added by it."""
REBUILT: Final = "rebuilt"
"""Mark of a row of a group that was replayed from its first record: it replaces what the table has of the group."""
NEW: Final = "new"
"""Mark of a row of a group that was resumed: what else the table has of the group stays as it is."""
GONE: Final = "gone"
"""Mark of a key of a resumed group: the row with it was provisional, and no longer exists."""
MARKS: Final = (REBUILT, NEW, GONE)
BATCH_ROWS: Final = 1024
"""Rows of one table that are held before they leave: this bounds memory, whatever the length of the log.

A batch costs as much as about 200 rows do, so tables with few rows wait until they have some."""


def columns_of(output: str) -> dict[str, str]:
    """Name and type of an output's columns: those of its table that differ between the rows of one run."""
    schema = table_schemas()[OUTPUTS[output]]
    common = FILLED_LATER if output == SNAPSHOTS else {"cluster"}
    return {column.name: column.type for column in schema.columns if column.name not in common}


def stream_columns() -> dict[str, str]:
    """Name and type of the stream's columns."""
    structs = {
        output: f"struct<{', '.join(f'{name}: {kind}' for name, kind in columns_of(output).items())}>"
        for output in OUTPUTS
    }
    return {"table": "string", "mark": "string", **structs}


def stream_ddl() -> str:
    """Schema of the stream."""
    return ", ".join(f"{name} {kind}" for name, kind in stream_columns().items())


class OutputRows:
    """Collects rows and gives them back as batches."""

    def __init__(self) -> None:
        self._columns = {output: columns_of(output) for output in OUTPUTS}
        self._types = {
            output: pa.struct([(name, arrow_type(kind)) for name, kind in columns.items()])
            for output, columns in self._columns.items()
        }
        self._pick = {output: itemgetter(*columns) for output, columns in self._columns.items()}
        self._nulls = {output: pa.nulls(BATCH_ROWS, kind) for output, kind in self._types.items()}
        self._rows: dict[tuple[str, str], list[tuple[Any, ...]]] = {
            (output, mark): [] for output in OUTPUTS for mark in MARKS
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

    def full(self) -> bool:
        """Whether there are full batches to take."""
        return self._is_full

    def take_full(self) -> Iterator[pa.RecordBatch]:
        """One batch for each table and mark that has enough rows."""
        self._is_full = False
        return self._take(BATCH_ROWS)

    def take_rest(self) -> Iterator[pa.RecordBatch]:
        """One batch for each table and mark that has any rows."""
        return self._take(1)

    def _take(self, at_least: int) -> Iterator[pa.RecordBatch]:
        for (output, mark), rows in self._rows.items():
            if len(rows) >= at_least:
                yield self._batch(output, mark, rows)
                rows.clear()

    def _batch(self, output: str, mark: str, rows: Sequence[tuple[Any, ...]]) -> pa.RecordBatch:
        columns = self._columns[output]
        filled = pa.StructArray.from_arrays(
            [*map(column_of, columns.values(), zip(*rows, strict=True))],
            fields=list(self._types[output]),
        )
        count = len(rows)
        return pa.RecordBatch.from_arrays(
            [
                pa.repeat(output, count),
                pa.repeat(mark, count),
                *(filled if name == output else self._null(name, count) for name in self._types),
            ],
            names=["table", "mark", *self._types],
        )

    def _null(self, output: str, count: int) -> pa.Array:
        """The column of a table without rows in the batch; a batch is longer than most if one record made many rows."""
        if count > BATCH_ROWS:
            return pa.nulls(count, self._types[output])
        return self._nulls[output][:count]
