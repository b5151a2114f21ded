"""The Delta tables of a lake: created from `schemas/tables`, checked, read and located.

The reader version stays 1 (no deletion vectors, no column mapping), so delta-rs, DuckDB and BI engines can read them.
"""

import re
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import cached_property
from typing import Any, Final
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError
from pyarrow.fs import LocalFileSystem, SubTreeFileSystem
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.delta_folder import check_commits, check_files
from rebalance_audit.errors import LakeNotReadable, LakeNotWritable, later_release
from rebalance_audit.lake.session.spark_session import small_queries, temporary_settings
from rebalance_audit.lake.session.splits import parallel_map
from rebalance_audit.lake.storage.delta_rs_writer import DeltaRsWriter
from rebalance_audit.lake.storage.local_rows import arrow_of
from rebalance_audit.lake.storage.lock import sole_table_maker
from rebalance_audit.lake.storage.spark_writer import SparkWriter
from rebalance_audit.lake.storage.stage import Stage, stage_folder
from rebalance_audit.lake.storage.table_log import (
    CREATION,
    LogByName,
    LogFiles,
    TableCommit,
    TableLog,
    TableMark,
    change_by_others,
    first_line,
)
from rebalance_audit.lake.storage.table_place import (
    CHANGE_FEED,
    KINDS,
    LAYOUT,
    LAYOUT_NUMBER,
    OLDEST_LAYOUT,
    WRITER,
    Catalog,
    Folder,
    LakeOptions,
    WriterKind,
    is_name_of_delta_rs,
    place_of,
    writer_of,
)
from rebalance_audit.lake.storage.table_writer import TableChange, TableWriter, translated
from rebalance_audit.location import local_path
from rebalance_audit.tables.row_shapes import plain
from rebalance_audit.tables.rules import sql_literal
from rebalance_audit.tables.schemas import TableName, TableSchema, table_schemas
from rebalance_audit.tables.views import VIEWS_SCHEMA, View

IN_EVERY_LAKE: Final = (TableName.RUNS, TableName.RECORDS, TableName.EPOCHS)
"""Tables whose properties are the lake's: those of the first that exists."""
MADE_MEANWHILE: Final = re.compile(
    r"DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION|DELTA_TABLE_ALREADY_EXISTS|DELTA_CONCURRENT_|_CHANGED"
    r"|already exists"
)
"""Conditions of Delta and Spark when another process has just created the table."""
APPEARS_SECONDS: Final = 10
SKIP_FILES: Final = ("spark.sql.files.ignoreCorruptFiles", "spark.sql.files.ignoreMissingFiles")


class Lake:
    """The tables under one folder, on any storage that Spark reaches, or in a catalog (`table_place`)."""

    def __init__(self, spark: SparkSession, path: str, options: LakeOptions | None = None) -> None:
        """Nothing is read or made yet. Raises BadRequest."""
        self.spark = spark
        self.path = path.rstrip("/")
        self.options = options or LakeOptions()
        self.place: Final = place_of(spark, self.path)
        self.stages: Final = stage_folder(
            spark, self.path, self.options.stage_folder, self.options.storage_options
        )
        self._stage: Stage | None = None

    # -- where and how --------------------------------------------------------------------------

    def table_path(self, name: str) -> str:
        """Where a table is, by its full name (`gold.epochs`): to show, and to compare with other locations.

        To read or write, use the lake: a table in a catalog is reached by its name.
        """
        return self.place.address(table_schemas()[name])

    def sql_name(self, name: str) -> str:
        """The table's name in SQL, quoted."""
        return self.place.sql_name(table_schemas()[name])

    @cached_property
    def writer(self) -> TableWriter:
        """What changes the tables.

        Raises BadRequest for another one than the lake was made with, LakeNotWritable for a lake of another layout.
        """
        kind = writer_of(self.spark, self.path, self.options.writer, self._recorded_writer())
        if kind == "delta-rs":
            assert isinstance(self.place, Folder)  # see `writer_of`
            return DeltaRsWriter(self.spark, self.place, dict(self.options.delta_rs_options))
        return SparkWriter(
            self.spark, self.place, lambda schema: self.log(schema.full_name), lambda: self.stage
        )

    def log(self, name: str) -> TableLog:
        """The log of a table."""
        schema = table_schemas()[name]
        if isinstance(self.place, Folder) and self._has_log_files:
            return LogFiles(self.place.native_path(schema), self.options.delta_rs_options)
        return LogByName(self.spark, self.place.sql_name(schema))

    @property
    def _has_log_files(self) -> bool:
        """Whether `deltalake` reads the tables' logs: on this machine, and where delta-rs writes."""
        is_here = local_path(self.path) is not None and is_name_of_delta_rs(self.path)
        return is_here or self.options.writer == "delta-rs"

    def _recorded_writer(self) -> WriterKind | None:
        """What the lake was made with; None for a lake that is not there.

        Raises LakeNotWritable for a lake of another layout, and LakeNotReadable.
        """
        for name in IN_EVERY_LAKE:
            log = self.log(name)
            with self._reading(name):
                properties = None if log.version() is None else log.properties()
            if properties is None:
                continue
            recorded = next((kind for kind in KINDS if kind == properties.get(WRITER)), None)
            layout = int(properties.get(LAYOUT) or recorded is not None)
            if layout > LAYOUT_NUMBER:
                raise later_release(self.path)
            if recorded is None or layout < OLDEST_LAYOUT:
                raise self._earlier_layout()
            return recorded
        return None

    def _earlier_layout(self) -> LakeNotWritable:
        """What to do with a lake whose tables this release does not write, and what it alone has."""
        bronze = self._first_moments(TableName.RECORDS, "timestamp")
        gold = self._first_moments(TableName.EPOCHS, "started_at")
        said = [
            f"An earlier release made the tables of {self.path}, and this one cannot write them."
        ]
        for cluster in sorted({*bronze, *gold}):
            if cluster not in bronze:
                said.append(f"Bronze has no records of cluster {cluster}: run over its source.")
                continue
            source = f"delta:{self.table_path(TableName.RECORDS)}"
            said.append(
                f"Make cluster {cluster} again from bronze, in a new lake: `rebalance-audit run --source {source}"
                f" --cluster {cluster} --lake NEW`."
            )
            if cluster in gold and gold[cluster] < bronze[cluster]:
                said.append(
                    f"Gold goes back to {gold[cluster]:%Y-%m-%d %H:%M} UTC, bronze to"
                    f" {bronze[cluster]:%Y-%m-%d %H:%M} only."
                )
        said.append(
            f"Keep {self.path}: it changes nothing there, and what bronze has lost is in its gold alone."
        )
        return LakeNotWritable(" ".join(said))

    def _first_moments(self, name: str, column: str) -> dict[str, datetime]:
        """Cluster -> its earliest moment in a table. Raises LakeNotReadable."""
        if self.version(name) is None:
            return {}
        found = self.read(name).groupBy("cluster").agg(F.min(column)).collect()
        return {row[0]: row[1] for row in found if row[1] is not None}

    @contextmanager
    def staging(self, run_id: str) -> Iterator[Stage]:
        """Stage rows for a run in the block; blocks may be nested. Raises BadRequest if that is not possible."""
        if self._stage is not None:
            yield self._stage
            return
        with self.stages.of_run(self.spark, run_id) as stage:
            self._stage = stage
            try:
                yield stage
            finally:
                self._stage = None

    @property
    def stage(self) -> Stage:
        """That of the run whose block this is."""
        assert self._stage is not None, "only within `staging`"
        return self._stage

    # -- tables ---------------------------------------------------------------------------------

    def make_view(self, catalog: Catalog, view: View) -> str:
        """Create or replace a view in the lake's catalog; returns its name in SQL.

        Raises PySparkException, also where the catalog knows tables only.
        """
        name = catalog.view_name(view.name)
        catalog.prepare([VIEWS_SCHEMA])
        self.spark.sql(
            f"CREATE OR REPLACE VIEW {name} COMMENT {sql_literal(view.question)}"
            f" AS {view.sql_over(self.sql_name)}"
        )
        return name

    def create(self, names: Iterable[str]) -> None:
        """Make the tables that do not exist, and add the columns that tables of an earlier release lack.

        Raises LakeNotWritable, also for a table that does not conform to `schemas/tables`.
        """
        _ = self.writer  # refuses a lake of another layout
        schemas = [table_schemas()[name] for name in names]
        with translated(self.path):
            self.place.prepare(schema.layer for schema in schemas)
        exists = parallel_map(self._adapt, schemas)
        missing = [schema for schema, found in zip(schemas, exists, strict=True) if not found]
        if missing:
            with translated(self.path), sole_table_maker(self.path):
                parallel_map(self._make, missing)

    def _make(self, schema: TableSchema) -> None:
        """Create a table, whatever an earlier attempt left of it."""
        with translated(self.place.address(schema)):
            if self.log(schema.full_name).version() is None:
                try:
                    self.writer.create(schema)
                except (PySparkException, DeltaError) as error:
                    if not (MADE_MEANWHILE.search(str(error)) and self._appears(schema)):
                        raise

    def _appears(self, schema: TableSchema) -> bool:
        """Whether another process makes the table: where there are no locks, two may try at once."""
        for _ in range(APPEARS_SECONDS):
            if self.log(schema.full_name).version() is not None:
                return True
            time.sleep(1)
        return False

    def _adapt(self, schema: TableSchema) -> bool:
        """Add the columns that a table lacks; returns whether there is a table."""
        path = self.place.address(schema)
        with translated(path):
            log = self.log(schema.full_name)
            if log.version() is None:
                return False
            present, missing = log.columns(), []
            for column in schema.columns:
                found = present.get(column.name)
                if found is None:
                    missing.append(column.name)
                elif found != column.type.replace(" ", ""):
                    raise LakeNotWritable(
                        f"{path} is not a rebalance-audit table: its column {column.name} is"
                        f" {found}, not {column.type}."
                    )
            if missing:
                self.writer.add_columns(schema, missing)
            return True

    def version(self, name: str) -> int | None:
        """Newest version of a table; None if there is no table. Raises LakeNotReadable."""
        with self._reading(name):
            return self.log(name).version()

    def versions(self, names: Iterable[str]) -> dict[str, int]:
        """Those of the tables that exist -> their newest versions. Raises LakeNotReadable."""
        found = {name: self.version(name) for name in names}
        return {name: version for name, version in found.items() if version is not None}

    def is_unwritten(self, name: str) -> bool:
        """Whether a table was created and never written. Raises LakeNotReadable."""
        with self._reading(name):
            log = self.log(name)
            if log.version() != 0:
                return False
            made = log.commits(0, 0)
            return bool(made) and made[0].operation == CREATION

    def mark(self, name: str) -> TableMark | None:
        """Identifies the table as it is now, for `change_since`; None for no table. Raises LakeNotReadable."""
        with self._reading(name):
            return self.log(name).mark()

    def change_since(self, name: str, known: TableMark) -> str | None:
        """How others have changed a table since it had a mark, as a predicate of the table; None if they have not.

        Raises LakeNotReadable.
        """
        now = self.mark(name)
        if now is None:
            return "is gone"
        if now.table_id != known.table_id:
            return "is not the table that the last run wrote: it was dropped and recreated"
        if now.version < known.version:
            return f"has lost commits: it was at version {known.version} and is at {now.version}"
        made_by, later = now.made_by, list[TableCommit]()
        if now.version > known.version:
            later = self._commits(name, known.version, now.version)
            # The log may have forgotten the known commit itself by its age.
            exists = bool(later) and later[0].version == known.version
            made_by = later.pop(0).user_metadata if exists else known.made_by
        if len(later) < now.version - known.version:
            return f"no longer has its history since version {known.version}"
        if known.made_by not in {None, made_by}:
            return f"has lost commits and has others instead: version {known.version} is not that of {known.made_by}"
        return change_by_others(later, append_only=table_schemas()[name].append_only)

    def read(self, name: str, *, pinned: bool = False, version: int | None = None) -> DataFrame:
        """A table: as of a version, `pinned` to the present one, or with later commits.

        Raises LakeNotReadable.
        """
        with self._reading(name):
            if pinned:
                version = self.log(name).version()
            as_of = "" if version is None else f" VERSION AS OF {version}"
            return self.spark.sql(f"SELECT * FROM {self.sql_name(name)}{as_of}")  # noqa: S608 - a quoted name

    def read_small(self, name: str, cluster: str, columns: Sequence[str]) -> list[dict[str, Any]]:
        """The cluster's rows of a table that has few; moments in epoch milliseconds. Raises LakeNotReadable.

        Where `deltalake` reads the logs, it reads the rows as well: Spark takes longer to plan a query.
        """
        if isinstance(self.place, Folder) and self._has_log_files:
            rows = plain_rows(self._rows_without_spark(name, cluster, columns))
            return [{**dict.fromkeys(columns), **row} for row in rows]
        found = self.read(name).where(F.col("cluster") == cluster)
        present = [column for column in columns if column in found.columns]
        with small_queries(self.spark):
            arrow = arrow_of(found.select(*present))
        return [{**dict.fromkeys(columns), **row} for row in plain_rows(arrow)]

    def _rows_without_spark(self, name: str, cluster: str, columns: Sequence[str]) -> pa.Table:
        path = self.table_path(name)
        folder = local_path(path)
        # Not through files in Python, see `readers.tables`.
        files = None if folder is None else SubTreeFileSystem(str(folder), LocalFileSystem())
        with self._reading(name):
            table = DeltaTable(folder or path, storage_options=dict(self.options.delta_rs_options))
            # A table of an earlier release may lack columns.
            present = {field.name for field in table.schema().fields}
            wanted = [column for column in columns if column in present]
            paths = pa.table(table.get_add_actions())["path"].to_pylist()
            check_files(path, folder, map(unquote, paths))
            # Not by a filter of its own: it skips files without statistics of a long name.
            rows = table.to_pyarrow_table(columns=["cluster", *wanted], filesystem=files)
            return rows.filter(pc.equal(rows["cluster"], cluster)).select(wanted)

    def changed(self, name: str, after: int, upto: int) -> DataFrame:
        """Rows of the change feed after one version, up to another.

        Raises LakeNotReadable, also for a log that names files outside of the table.
        """
        if isinstance(self.place, Folder) and (folder := local_path(self.table_path(name))):
            check_commits(folder, range(after + 1, upto + 1))
        reader = self.spark.read.format("delta").option("readChangeFeed", "true")
        reader = reader.option("startingVersion", after + 1).option("endingVersion", upto)
        try:
            return reader.table(self.sql_name(name))
        except PySparkException as error:
            path = self.table_path(name)
            raise LakeNotReadable(f"{path} has no changes: {first_line(error)}.") from error

    def added(self, name: str, after: int, upto: int) -> DataFrame:
        """Rows that came into an append-only table after one version, up to another. Raises LakeNotReadable.

        Commits that only rewrite files, like OPTIMIZE, add none. The rows of commits whose files are gone (VACUUM), or
        that are older than the table's change feed, are not available; that may show only when the rows are read.
        """
        # maintain may have deleted rows.
        changes = self.changed(name, after, upto).where("_change_type = 'insert'")
        return changes.select(*table_schemas()[name].column_names)

    def drop_unreadable_files(self, name: str, run_id: str, cluster: str) -> None:
        """Keep only the rows of files that can be read; nothing else may read the lake meanwhile.

        The commit is not marked as one of the run: runs of other clusters must see that they have lost rows.
        """
        schema = table_schemas()[name]
        made_by = f"{run_id} without unreadable files"
        commit = TableChange(made_by, cluster, self.version(name) or 0)
        with self.stage.passing():
            with temporary_settings(self.spark, dict.fromkeys(SKIP_FILES, "true")):
                rows = self.stage.put(self.read(name, pinned=True), schema.column_types)
            self.writer.replace(schema, rows, None, commit)

    def keep_changes(self, name: str) -> None:
        """Give a table of an earlier release a change feed from now on."""
        schema = table_schemas()[name]
        with translated(self.table_path(name)):
            if self.log(name).properties().get(CHANGE_FEED) != "true":
                self.writer.set_property(schema, CHANGE_FEED, "true")

    # -- commits --------------------------------------------------------------------------------

    def runs_since(self, name: str, version: int) -> set[str]:
        """Ids of the runs and ingests that have changed a table since it had a version. Raises LakeNotReadable."""
        found = self._commits(name, version + 1, self.version(name) or 0)
        return {(commit.user_metadata or "").partition("/")[0] for commit in found}

    def commits_of_run(self, name: str, run_id: str) -> list[TableCommit]:
        """The newest commits of a table as far as a run made them, newest first. Raises LakeNotReadable."""
        found: list[TableCommit] = []
        for version in range(self.version(name) or 0, -1, -1):
            present = self._commits(name, version, version)
            if not present or not (present[0].user_metadata or "").startswith(run_id):
                break
            found += present
        return found

    def _commits(self, name: str, first: int, last: int) -> list[TableCommit]:
        with self._reading(name):
            return self.log(name).commits(first, last)

    @contextmanager
    def _reading(self, name: str) -> Iterator[None]:
        try:
            yield
        except (OSError, AnalysisException, DeltaError) as error:
            path = self.table_path(name)
            raise LakeNotReadable(f"{path} cannot be read: {first_line(error)}.") from error


def plain_rows(rows: pa.RecordBatch | pa.Table) -> list[dict[str, Any]]:
    """Rows of a table as dicts, moments in epoch milliseconds."""
    found: list[dict[str, Any]] = plain(rows.to_pylist(maps_as_pydicts="strict"))
    return found
