"""The stage: Parquet files in a folder of one run, from which a writer then changes the tables.

Spark's own Parquet writer makes them, so a task that is tried again leaves no row twice, and an executor that is lost
takes no finished rows with it. What is staged is known by its files and rows: whoever applies it gets all of them, or
an error. Rows go once they are applied, the folder with its run; that of a killed run goes with the next run.
"""

import threading
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import count
from typing import Any, Final, Protocol
from urllib.parse import quote

import fsspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.errors import BadRequest, LakeNotWritable
from rebalance_audit.lake.session.spark_session import temporary_settings
from rebalance_audit.lake.storage.local_rows import frame_of
from rebalance_audit.lake.storage.lock import is_abandoned, sole_owner
from rebalance_audit.lake.storage.table_log import RUN_ID
from rebalance_audit.location import is_catalog, local_path
from rebalance_audit.tables.arrow_types import ddl_of_columns, schema_of_columns, struct_of_columns

FOLDER: Final = "meta/.stage"
"""In a lake: a folder for each run, by its id."""
WAREHOUSE: Final = "spark.sql.warehouse.dir"
IN_WAREHOUSE: Final = ".rebalance-audit-stage"
PARQUET: Final = ".parquet"
TABLE: Final = "table"
MARK: Final = "mark"
ROWS: Final = "rows"
"""How many rows of its table a row of the frame has: then they are counted without being read."""
GONE: Final = "_gone"
"""Column of staged changes: whether to remove the row with this key."""
ROW_GROUP: Final = {
    # A task may have a file open for each table, and Parquet's writer holds a row group of each in memory.
    "parquet.block.size": 16 << 20,
    # Readers take up to a row group of lists at once, which may be much larger in memory than it is encoded.
    "parquet.block.row.count.limit": 64,
    # Sizes are checked after this many rows first, 100 by default, and these rows may be large.
    "parquet.page.size.row.check.min": 1,
}
READING: Final = {"ignoreMissingFiles": "false", "ignoreCorruptFiles": "false"}
"""Whatever the session says."""
BY_NAME_MAX: Final = 32
"""Spark lists more paths than these by a job of its own (spark.sql.sources.parallelPartitionDiscovery.threshold)."""
WRITING: Final = {
    # By default a task with several output folders sorts its rows by folder first.
    "spark.sql.maxConcurrentOutputFileWriters": "32",
}


class GivenRows(Protocol):
    """Rows that a writer applies to a table."""

    @property
    def frame(self) -> DataFrame:
        """The rows for Spark."""

    def batches(self) -> pa.RecordBatchReader:
        """The rows without Spark, a batch at a time."""

    def count(self) -> int:
        """How many there are."""


@dataclass(frozen=True, slots=True)
class InMemoryRows:
    """Few rows, which the driver has: they need no stage."""

    spark: SparkSession
    columns: Mapping[str, str]
    """Name -> type as DDL."""
    rows: pa.Table

    @property
    def frame(self) -> DataFrame:
        """A relation that is part of the plan."""
        return frame_of(self.spark, self.columns, self.rows)

    def batches(self) -> pa.RecordBatchReader:
        """From memory."""
        return self.rows.to_reader()

    def count(self) -> int:
        """As given."""
        return int(self.rows.num_rows)


@dataclass(frozen=True, slots=True)
class Staged:
    """Staged rows of one table, or of none."""

    spark: SparkSession
    path: str
    files: Any
    """The file system of the path, of fsspec."""
    place: str
    """The path as that file system takes it."""
    columns: Mapping[str, str]
    """Name -> type as DDL."""
    rows: str | None = None
    """The column that has the rows as lists, where one frame had the rows of several tables."""
    parts: Mapping[str, int] = field(default_factory=dict)
    """Names of the files, and their bytes."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """Mark -> how many rows have it; rows of one table have the mark ``."""
    marks: Collection[str] = ()
    """Only rows with one of these marks; empty for all."""
    gone: str | None = None
    """The mark of keys that are gone: then the rows have a column GONE."""

    @property
    def frame(self) -> DataFrame:
        """The rows. Raises LakeNotWritable if any are gone."""
        if not self.parts:
            return frame_of(self.spark, self._given, schema_of_columns(self._given).empty_table())
        self._require_all()
        reader = self.spark.read.schema(ddl_of_columns(self._stored)).options(**READING)
        # By their names: of a folder Spark would read those that it still has.
        by_name = [f"{self.path}/{name}" for name in self.parts]
        rows = reader.parquet(*(by_name if len(by_name) <= BY_NAME_MAX else [self.path]))
        if self.rows is None:
            return rows
        if self.marks:
            rows = rows.where(F.col(MARK).isin(*self.marks))
        is_gone = [] if self.gone is None else [(F.col(MARK) == self.gone).alias(GONE)]
        return rows.select(F.inline(self.rows), *is_gone)

    def batches(self) -> pa.RecordBatchReader:
        """The rows without Spark, a batch at a time. Raises LakeNotWritable if any are gone, the reader OSError."""
        self._require_all()
        schema = schema_of_columns(self._given)
        return pa.RecordBatchReader.from_batches(schema, self._batches(schema))

    def count(self) -> int:
        """How many rows were staged."""
        return sum(rows for mark, rows in self.counts.items() if mark in (self.marks or [mark]))

    def counted(self) -> "Staged":
        """The same with the files that are there now, and their rows by the files' footers, or by ROWS."""
        found = replace(self, parts=self._parts_found())
        counts: Counter[str] = Counter()
        for batch in found.stored_batches([] if self.rows is None else [MARK, ROWS]):
            if self.rows is None:
                counts[""] += batch.num_rows
                continue
            for mark, rows in zip(batch[MARK].to_pylist(), batch[ROWS].to_pylist(), strict=True):
                counts[mark] += rows
        return replace(found, counts=counts)

    def _parts_found(self) -> dict[str, int]:
        self.files.invalidate_cache(self.place)
        if not self.files.exists(self.place):
            return {}
        found = self.files.ls(self.place, detail=True)
        sizes = {each["name"].rpartition("/")[2]: each["size"] for each in found}
        return {name: size for name, size in sizes.items() if name.endswith(PARQUET)}

    def _require_all(self) -> None:
        """Raises LakeNotWritable if files are gone, or others than they were."""
        if self.parts and self._parts_found() != self.parts:
            raise rows_gone(self.path)

    def _batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        given = 0
        for batch in self.stored_batches():
            if not batch.num_rows:
                continue
            rows = batch
            if self.rows is not None:
                rows = pa.RecordBatch.from_struct_array(batch[self.rows].flatten())
            if self.gone is not None:
                of_lists = pc.equal(batch[MARK], self.gone)
                is_gone = of_lists.take(pc.list_parent_indices(batch[self.rows]))
                rows = rows.append_column(GONE, is_gone)
            given += rows.num_rows
            yield pa.RecordBatch.from_arrays(
                [rows[field.name].cast(field.type) for field in schema], schema=schema
            )
        if given != self.count():
            raise OSError(str(rows_gone(self.path)))

    def stored_batches(self, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The files' rows."""
        if not self.parts:
            return
        stored = schema_of_columns(self._stored)
        paths = [f"{self.place}/{name}" for name in self.parts]
        found = ds.dataset(paths, stored, "parquet", filesystem=self.files)
        chosen = ds.field(MARK).isin([*self.marks]) if self.marks else None
        yield from found.to_batches(columns=columns, filter=chosen)

    def stored_rows(self, columns: list[str] | None = None) -> list[dict[str, Any]]:
        """The same as dicts, where they are few."""
        return [row for batch in self.stored_batches(columns) for row in batch.to_pylist()]

    @property
    def _given(self) -> Mapping[str, str]:
        """Name -> type of what the rows have."""
        return {**self.columns, **({GONE: "boolean"} if self.gone else {})}

    @property
    def _stored(self) -> Mapping[str, str]:
        """Name -> type of the files' columns."""
        if self.rows is None:
            return self.columns
        return {MARK: "string", ROWS: "int", self.rows: list_of_rows(self.columns)}


@dataclass(frozen=True, slots=True)
class StagedTables:
    """Staged rows of several tables: one frame partitioned by TABLE, with MARK, ROWS and a list for each table."""

    tables: Mapping[str, Staged]
    gone: str
    """The mark of keys that are gone."""

    def of(self, name: str, *marks: str) -> Staged:
        """The rows of one table, with one of the marks."""
        return replace(self.tables[name], marks=marks)

    def changes_of(self, name: str) -> Staged:
        """All rows of one table with GONE."""
        return replace(self.tables[name], gone=self.gone)

    def count(self, name: str, *marks: str) -> int:
        """How many rows of a table there are with one of the marks; with any mark if none is given."""
        return self.of(name, *marks).count()


class _Passing(threading.local):
    """What the innermost block of `Stage.passing` of this thread has staged; None outside of one."""

    places: list[str] | None = None


@dataclass(slots=True)
class Stage:
    """The folder of one run."""

    spark: SparkSession
    folder: str
    files: Any
    place: str
    """The folder as its file system takes it."""
    _numbers: Iterator[int] = field(default_factory=count)
    _passing: _Passing = field(default_factory=_Passing)

    def put(self, rows: DataFrame, columns: Mapping[str, str] | None = None) -> Staged:
        """Stage the rows of a frame; `columns` of a table, name -> type, if it has these and no others.

        Raises LakeNotWritable if the rows are gone at once.
        """
        columns = columns or {each.name: each.dataType.simpleString() for each in rows.schema}
        name = self._next()
        rows.write.parquet(f"{self.folder}/{name}")
        made = self._staged(name, columns).counted()
        if not made.parts:  # Spark writes a file for no rows too
            raise rows_gone(made.path)
        return made

    def put_tables(
        self, rows: DataFrame, columns: Mapping[str, Mapping[str, str]], gone: str
    ) -> StagedTables:
        """Stage a frame with TABLE, MARK, ROWS and a list of structs for each table; see StagedTables.

        Raises LakeNotWritable if the rows are gone at once.
        """
        tables = self._tables(self._put_by_table(rows, ROW_GROUP), columns)
        return StagedTables({each: tables[each].counted() for each in tables}, gone)

    def put_parts(
        self, rows: DataFrame, columns: Mapping[str, Mapping[str, str]]
    ) -> dict[str, Staged]:
        """Stage a frame with TABLE, which names the part that a row is of; each part has columns of its own.

        Raises LakeNotWritable if the rows are gone at once.
        """
        name = self._put_by_table(rows, {})
        return {
            part: self._staged(f"{name}/{TABLE}={part}", of_part).counted()
            for part, of_part in columns.items()
        }

    def _put_by_table(self, rows: DataFrame, options: Mapping[str, Any]) -> str:
        name = self._next()
        with temporary_settings(self.spark, WRITING):
            writer = rows.write.partitionBy(TABLE).options(**options)
            writer.parquet(f"{self.folder}/{name}")
        if not self.files.exists(f"{self.place}/{name}"):
            raise rows_gone(f"{self.folder}/{name}")
        return name

    def new_folder(self) -> str:
        """The name of an empty folder below this one, for files that others than Spark write."""
        name = self._next()
        self.files.makedirs(f"{self.place}/{name}", exist_ok=True)
        return name

    def empty_tables(self, columns: Mapping[str, Mapping[str, str]], gone: str) -> StagedTables:
        """Tables without rows."""
        return StagedTables(self._tables(self._next(), columns), gone)

    def keep(self, rows: DataFrame) -> DataFrame:
        """The same rows, computed now, and read from the stage by whatever follows."""
        return self.put(rows).frame

    @contextmanager
    def passing(self) -> Iterator[None]:
        """Remove at the end of the block what this thread stages in it: then it is applied, or of no use."""
        outer, mine = self._passing.places, list[str]()
        self._passing.places = mine
        try:
            yield
        finally:
            self._passing.places = outer
            for place in mine:
                with suppress(OSError):
                    self._remove(place)

    def remove(self) -> None:
        """Remove the folder."""
        self._remove(self.place)

    def _remove(self, place: str) -> None:
        if self.files.exists(place):
            self.files.rm(place, recursive=True)

    def _tables(self, name: str, columns: Mapping[str, Mapping[str, str]]) -> dict[str, Staged]:
        return {
            table: self._staged(f"{name}/{TABLE}={table}", of_table, table)
            for table, of_table in columns.items()
        }

    def _staged(self, name: str, columns: Mapping[str, str], rows: str | None = None) -> Staged:
        return Staged(
            self.spark, f"{self.folder}/{name}", self.files, f"{self.place}/{name}", columns, rows
        )

    def _next(self) -> str:
        name = f"{next(self._numbers):04d}"
        if self._passing.places is not None:
            self._passing.places.append(f"{self.place}/{name}")
        return name


@dataclass(frozen=True, slots=True)
class StageFolder:
    """Where the runs of a lake have their stages."""

    folder: str
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options of fsspec for the folder's file system."""

    @contextmanager
    def of_run(self, spark: SparkSession, run_id: str) -> Iterator[Stage]:
        """The stage of a run, gone at the end of the block; on this machine those of killed runs go first.

        Raises BadRequest, as `files`, and LakeNotWritable.
        """
        files, place = self.files()
        name = quote(run_id, safe="")
        stage = Stage(spark, f"{self.folder}/{name}", files, f"{place}/{name}")
        with sole_owner(local_path(self.folder), name):
            try:
                yield stage
            finally:
                # Whatever ended the run may prevent this too; then the next one removes it.
                with suppress(OSError):
                    stage.remove()

    def remove_before(self, moment: datetime) -> None:
        """Remove the folders of runs that began before a moment (UTC), unless such a run holds its lock.

        Where there are no locks, as in object stores, the age alone says that a run was killed.
        """
        files, place = self.files()
        if not files.exists(place):
            return
        here = local_path(self.folder)
        for path in files.ls(place, detail=False):
            name = path.rpartition("/")[2]
            is_old = RUN_ID.fullmatch(name) and name < f"{moment:%Y%m%dT%H%M%SZ}"
            if is_old and (here is None or is_abandoned(here / name) is not False):
                files.rm(path, recursive=True)

    def files(self) -> tuple[Any, str]:
        """The file system, and the folder as it takes it. Raises BadRequest where Python has none for it."""
        try:
            files, place = fsspec.core.url_to_fs(self.folder, **self.options)
        except (ImportError, ValueError) as error:
            raise BadRequest(
                f"Python cannot access {self.folder}, where the run stages rows: {error}. Install that package, or set"
                " lake.stage_folder to a folder that Python and all executors can access."
            ) from None
        return files, place


def rows_gone(path: str) -> LakeNotWritable:
    """What ends a run whose rows, staged or in files that no commit names yet, something else has removed."""
    return LakeNotWritable(
        f"Rows that the run had written to {path} are gone: another program must have removed them, as a VACUUM does"
        " that keeps none. Keep it away from that folder, or set lake.stage_folder, and run again: the next run"
        " finishes the work."
    )


def list_of_rows(columns: Mapping[str, str]) -> str:
    """The type, as DDL, of a column with lists of a table's rows."""
    return f"array<{struct_of_columns(columns)}>"


def stage_folder(
    spark: SparkSession, lake: str, configured: str, options: Mapping[str, Any]
) -> StageFolder:
    """Where runs into a lake stage: where the configuration says, else beside the lake's tables."""
    if configured:
        return StageFolder(_as_path(configured), options)
    if is_catalog(lake):
        return StageFolder(f"{_as_path(spark.conf.get(WAREHOUSE) or '')}/{IN_WAREHOUSE}", options)
    return StageFolder(f"{_as_path(lake)}/{FOLDER}", options)


def _as_path(location: str) -> str:
    """A path of this machine without its scheme; other locations as they are."""
    path = local_path(location)
    return (location if path is None else str(path)).rstrip("/")
