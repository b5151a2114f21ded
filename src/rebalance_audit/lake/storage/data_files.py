"""Rows that workers write as Parquet: into a table's own folder, for a commit that names the files, or into the stage.

Each task writes one file, and a row that describes it is all that leaves the task. In a table's folder no reader sees
the file until a commit names it; what a killed run leaves is removed by VACUUM, which skips hidden folders alone.
"""

import time
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, Final, Protocol

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.fs as pa_fs
import pyarrow.parquet as pq
from deltalake.transaction import AddAction, RemoveAction
from pyspark.sql import DataFrame, SparkSession

from rebalance_audit.lake.storage.local_rows import frame_of
from rebalance_audit.lake.storage.stage import READING, Stage, Staged, rows_gone
from rebalance_audit.lake.storage.table_place import columns_with_bounds, plain_fields
from rebalance_audit.tables.arrow_types import ddl_of_columns, padded, schema_of_columns
from rebalance_audit.tables.schemas import table_schemas

FILE: Final[Mapping[str, str]] = {
    "path": "string",
    "size_bytes": "bigint",
    "rows": "bigint",
    "statistics": "string",
    "summary": "string",
}
"""What describes a file: its path below the table's folder, its statistics as Delta has them, and a Summary as JSON."""
NAMES: Final = ("numRecords", "minValues", "maxValues", "nullCount")
"""How Delta's protocol names the statistics of a file: rows, bounds of columns, and nulls."""
ROW_GROUP_BYTES: Final = 64 << 20
"""Of rows in memory, about; a task holds so many."""
TEXT_MAX: Final = 32
"""Characters of a bound of text; Spark keeps as many."""
_LAST: Final = 0x10FFFF
_BEFORE_SURROGATES, _AFTER_SURROGATES = 0xD7FF, 0xE000
_MILLI: Final = timedelta(milliseconds=1)


class Summary(Protocol):
    """What a task reports of the rows of its file, beside their count."""

    def add(self, rows: pa.RecordBatch) -> None:
        """Take rows that are written."""

    def report(self) -> object:
        """What they amount to, for JSON."""


@dataclass(frozen=True, slots=True)
class DataFolder:
    """Where the workers of a run write data files of a table."""

    table: str
    """Its full name."""
    root: str
    """The table's folder, or that of the run's stage, as Spark takes it."""
    name: str
    """Of the folder in it that has the files."""
    files: pa_fs.FileSystem = field(repr=False)
    """The file system that has the root as its own; with secrets."""


def folder_in(stage: Stage, table: str) -> DataFolder:
    """A folder of the stage: for rows to merge, and of Spark's writer for all."""
    files = pa_fs.PyFileSystem(pa_fs.FSSpecHandler(stage.files))
    root = pa_fs.SubTreeFileSystem(stage.place, files)
    return DataFolder(table, stage.folder, stage.new_folder(), root)


class DataFile:
    """The file of one task, which is made with its first row."""

    def __init__(
        self,
        folder: DataFolder,
        constants: Mapping[str, object] = MappingProxyType({}),
        summary: Summary | None = None,
    ) -> None:
        """`constants` are the values of columns that the given rows lack; `summary` gets all rows."""
        schema = table_schemas()[folder.table]
        self._schema = plain_fields(schema)
        self._folder = folder
        self._constants = constants
        self._path = f"{folder.name}/part-{uuid.uuid4().hex}.parquet"
        self._bounds = _Bounds(columns_with_bounds(schema))
        self._summary = summary
        self._writer: pq.ParquetWriter | None = None
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_bytes = 0

    def write(self, batch: pa.RecordBatch) -> None:
        """Write rows with the table's other columns, in any order; columns that are not given are null.

        Raises ValueError for a null where none may be.
        """
        if not batch.num_rows:
            return
        given = dict(zip(batch.schema.names, batch.columns, strict=True))
        given |= {name: pa.repeat(value, len(batch)) for name, value in self._constants.items()}
        rows = pa.RecordBatch.from_arrays([*given.values()], [*given])
        shaped = padded(rows, self._schema)
        self._bounds.add(shaped)
        if self._summary is not None:
            self._summary.add(shaped)
        self._waiting.append(shaped)
        self._waiting_bytes += shaped.nbytes
        if self._waiting_bytes >= ROW_GROUP_BYTES:
            self._flush()

    def described(self) -> Iterator[pa.RecordBatch]:
        """Close the file; one row with the columns FILE, none for a file without rows."""
        self._flush()
        if self._writer is None:
            return
        self._writer.close()
        (info,) = self._folder.files.get_file_info([self._path])
        row = {
            "path": self._path,
            "size_bytes": info.size,
            "rows": self._bounds.rows,
            "statistics": self._bounds.statistics(),
            "summary": None if self._summary is None else _json(self._summary.report()),
        }
        yield pa.RecordBatch.from_pylist([row], schema_of_columns(FILE))

    def _flush(self) -> None:
        if not self._waiting:
            return
        if self._writer is None:
            self._writer = pq.ParquetWriter(
                self._path,
                self._schema,
                compression="zstd",
                filesystem=self._folder.files,
                # Readers of a few rows skip pages, see `commit_packs.commits_first`.
                write_page_index=True,
            )
        self._writer.write_table(pa.Table.from_batches(self._waiting))
        self._waiting, self._waiting_bytes = [], 0


def write_rows(
    batches: Iterable[pa.RecordBatch],
    folder: DataFolder,
    constants: Mapping[str, object],
) -> Iterator[pa.RecordBatch]:
    """Write the rows of a task; yields what describes the file."""
    file = DataFile(folder, constants)
    for batch in batches:
        file.write(batch)
    yield from file.described()


class _Bounds:
    """Least and greatest values of columns, for Delta's log."""

    def __init__(self, names: Sequence[str]) -> None:
        self.rows = 0
        self._names = names
        self._nulls: Counter[str] = Counter(dict.fromkeys(names, 0))
        self._least: dict[str, Any] = {}
        self._greatest: dict[str, Any] = {}

    def add(self, batch: pa.RecordBatch) -> None:
        self.rows += batch.num_rows
        for name in self._names:
            self._nulls[name] += batch[name].null_count
            found = pc.min_max(batch[name]).as_py()
            if found["min"] is not None:
                self._least[name] = min(found["min"], self._least.get(name, found["min"]))
                self._greatest[name] = max(found["max"], self._greatest.get(name, found["max"]))

    def statistics(self) -> str:
        """The statistics of the file in Delta's protocol.

        All bounds or none: delta-rs' dataset finds no row of a file where a column has no greatest value and others do.
        """
        greatest = {name: upper_bound(value) for name, value in self._greatest.items()}
        least = {name: lower_bound(value) for name, value in self._least.items()}
        found = zip(NAMES, (self.rows, least, greatest, self._nulls), strict=True)
        is_bounded = None not in greatest.values()
        return _json(dict(found if is_bounded else [next(found)]))


def lower_bound(value: Any) -> Any:
    """A value of JSON that is not greater: a text's beginning, a moment's millisecond."""
    if isinstance(value, str):
        return value[:TEXT_MAX]
    return _millisecond(value) if isinstance(value, datetime) else value


def upper_bound(value: Any) -> Any:
    """A value of JSON that is not less; None for a text whose beginning has none after it."""
    if isinstance(value, datetime):
        return _millisecond(value + _MILLI - timedelta.resolution)
    if not isinstance(value, str) or len(value) <= TEXT_MAX:
        return value
    head = value[:TEXT_MAX].rstrip(chr(_LAST))
    if not head:
        return None
    last = ord(head[-1])
    return head[:-1] + chr(_AFTER_SURROGATES if last == _BEFORE_SURROGATES else last + 1)


def _json(value: object) -> str:
    return orjson.dumps(value).decode()


def _millisecond(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass(frozen=True, slots=True)
class DataFiles:
    """Rows of a table in files that workers have written; see `stage.GivenRows`."""

    spark: SparkSession
    folder: DataFolder
    described: Sequence[Mapping[str, Any]]
    """The files, with the fields of FILE."""

    @property
    def frame(self) -> DataFrame:
        """The rows for Spark. Raises LakeNotWritable if any are gone."""
        columns = table_schemas()[self.folder.table].column_types
        if not self.described:
            return frame_of(self.spark, columns, schema_of_columns(columns).empty_table())
        self._require_all()
        reader = self.spark.read.schema(ddl_of_columns(columns)).options(**READING)
        return reader.parquet(*(f"{self.folder.root}/{file['path']}" for file in self.described))

    def batches(self) -> pa.RecordBatchReader:
        """The rows without Spark, a batch at a time."""
        schema = plain_fields(table_schemas()[self.folder.table])
        paths = [file["path"] for file in self.described]
        found = ds.dataset(paths, schema, "parquet", filesystem=self.folder.files)
        return pa.RecordBatchReader.from_batches(schema, found.to_batches())

    def count(self) -> int:
        """As the tasks have counted."""
        return sum(file["rows"] for file in self.described)

    def summaries(self) -> list[Any]:
        """What the tasks report of each file, see Summary."""
        return [orjson.loads(file["summary"]) for file in self.described]

    def additions(self) -> list[AddAction | RemoveAction]:
        """What a commit adds. Raises LakeNotWritable if files are gone, or others than they were."""
        self._require_all()
        now_ms = round(time.time() * 1000)
        return [
            AddAction(file["path"], file["size_bytes"], {}, now_ms, True, file["statistics"])
            for file in self.described
        ]

    def _require_all(self) -> None:
        wanted = {file["path"]: file["size_bytes"] for file in self.described}
        present = self.folder.files.get_file_info([*wanted])
        if [info.size for info in present] != [*wanted.values()]:
            raise rows_gone(f"{self.folder.root}/{self.folder.name}")

    def discard(self) -> None:
        """Remove the files. Never after an attempt to commit them: it may have succeeded."""
        for file in self.described:
            with suppress(OSError):
                self.folder.files.delete_file(file["path"])


def described_in(staged: Staged) -> list[dict[str, Any]]:
    """The files among rows that tasks have staged."""
    return [row for row in staged.stored_rows([*FILE]) if row["path"] is not None]
