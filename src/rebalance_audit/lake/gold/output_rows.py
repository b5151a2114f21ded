"""Rows of several tables in one stream: each row of it is a batch of rows of one table, see `packed_rows`.

One pass over a group's records makes rows of eleven tables, and a Spark stage has one schema: a column `table`, a
column `mark` that says what to do with the rows, what there is to tell of them, and the rows in one cell. Of rows that
are in files alone it has what `task_facts` tells.
"""

from collections.abc import Iterator, Mapping
from itertools import starmap
from operator import itemgetter
from typing import Any, Final

import pyarrow as pa

from rebalance_audit.audit.rows import Row
from rebalance_audit.lake.gold.output_files import NO_FILES, OutputFiles, TaskOutputs
from rebalance_audit.lake.gold.outputs import OUTPUTS, columns_of
from rebalance_audit.lake.gold.packed_rows import PACKED, ROWS, TOLD, as_cell, told_of
from rebalance_audit.lake.storage.data_files import FILE_COLUMNS
from rebalance_audit.tables.arrow_types import column_of, ddl_of_columns, schema_of_columns

REBUILT: Final = "rebuilt"
"""Mark of a row of a group that was replayed from its first record: it replaces what the table has of the group."""
NEW: Final = "new"
"""Mark of a row of a group that was resumed: what else the table has of the group stays as it is."""
GONE: Final = "gone"
"""Mark of a key of a resumed group: the row with it was provisional, and no longer exists."""
MARKS: Final = (REBUILT, NEW, GONE)
FILES: Final = "files"
"""Beside the outputs: the files into which a task has written rows, see `output_files`."""
WRITTEN: Final = {"output": "string", **FILE_COLUMNS}
"""The columns of FILES."""
BATCH_ROWS: Final = 1024
"""Rows of one table that are held before they leave: this bounds memory, whatever the length of the log.

A batch costs as much as about 200 rows do, so tables with few rows wait until they have some."""


def stream_columns() -> dict[str, str]:
    """Name and type of the stream's columns."""
    written = ", ".join(f"{column}: {kind}" for column, kind in WRITTEN.items())
    return {
        "table": "string",
        "mark": "string",
        **TOLD,
        PACKED: "binary",
        FILES: f"struct<{written}>",
    }


def stream_ddl() -> str:
    """Schema of the stream."""
    return ddl_of_columns(stream_columns())


class OutputRows:
    """Collects rows and gives them back as batches."""

    def __init__(self, files: OutputFiles = NO_FILES) -> None:
        """Rows of the tables of `files` are written where they are made."""
        self._files = TaskOutputs(files)
        self._columns = {output: columns_of(output) for output in OUTPUTS}
        self._schemas = {
            output: schema_of_columns(columns) for output, columns in self._columns.items()
        }
        self._schema = schema_of_columns(stream_columns())
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

    def close(self) -> Iterator[pa.RecordBatch]:
        """The rest, and what was written into files. Raises OSError."""
        yield from self._take(1)
        if self._files.facts is not None:
            yield from starmap(self._facts, self._files.facts.take_rest())
        for output, file in self._files.close():
            written = {"output": output, **file._asdict()}
            yield self._told({"table": FILES, "mark": REBUILT, FILES: written})

    def discard(self) -> None:
        """Leave no file behind: the task fails."""
        self._files.discard()

    def _take(self, at_least: int) -> Iterator[pa.RecordBatch]:
        for (output, mark), rows in self._rows.items():
            if len(rows) < at_least:
                continue
            cells = map(column_of, self._columns[output].values(), zip(*rows, strict=True))
            filled = pa.RecordBatch.from_arrays([*cells], schema=self._schemas[output])
            rows.clear()
            is_written, facts = output in self._files, self._files.facts
            if is_written:
                self._files.add(output, filled)
            if is_written and facts is not None:
                facts.add(output, filled)
                yield from starmap(self._facts, facts.take_full())
            else:
                told = told_of(output, filled)
                yield self._told({"table": output, "mark": mark, **told, PACKED: as_cell(filled)})

    def _facts(self, name: str, facts: pa.RecordBatch) -> pa.RecordBatch:
        told = {ROWS: facts.num_rows, PACKED: as_cell(facts)}
        return self._told({"table": name, "mark": REBUILT, **told})

    def _told(self, row: Mapping[str, Any]) -> pa.RecordBatch:
        """One row of the stream; columns that it lacks are null."""
        return pa.RecordBatch.from_pylist([row], self._schema)
