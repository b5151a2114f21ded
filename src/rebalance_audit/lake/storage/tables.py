"""The Delta tables of a lake: created from `schemas/tables`, checked, read and located.

The reader version stays 1 (no deletion vectors, no column mapping), so delta-rs, DuckDB and BI engines can read them.
"""

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import pyarrow as pa
from delta.tables import DeltaTable
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import Column, DataFrame, DataFrameWriter, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.errors import LakeNotReadable
from rebalance_audit.lake.session.small_queries import small_queries
from rebalance_audit.lake.session.temporary_settings import temporary_settings
from rebalance_audit.lake.storage import delta_log
from rebalance_audit.lake.storage.commit_retry import CONFLICTS, with_retries
from rebalance_audit.lake.storage.data_files import DataFiles, TaskFile
from rebalance_audit.lake.storage.delta_log import TableCommit
from rebalance_audit.lake.storage.file_statistics import may_have
from rebalance_audit.lake.storage.folder import Folder
from rebalance_audit.lake.storage.foreign_changes import TableMark, change_by_others
from rebalance_audit.lake.storage.local_rows import arrow_rows, table_rows
from rebalance_audit.lake.storage.locations import location_of
from rebalance_audit.lake.storage.small_tables import CHANGE_FEED
from rebalance_audit.lake.storage.sql_text import quoted_comment, text_literal
from rebalance_audit.lake.storage.table_files import DataFileNotReadable, TableFiles
from rebalance_audit.lake.storage.table_maker import make_tables
from rebalance_audit.lake.storage.table_patch import PatchableTable, PatchedTable
from rebalance_audit.location import local_path
from rebalance_audit.tables.plain_values import plain
from rebalance_audit.tables.schemas import table_schemas
from rebalance_audit.tables.views import VIEWS_SCHEMA, View

SKIP_FILES: Final = ("spark.sql.files.ignoreCorruptFiles", "spark.sql.files.ignoreMissingFiles")


class AppendedFiles(NamedTuple):
    """What became of files that tasks wrote."""

    rows: int
    names: tuple[str, ...]
    """Of the files, in the folder of the table."""
    noted: tuple[Any, ...]
    """What each task noted beside the rows."""
    is_in: bool
    """Whether the rows are in the table now: somebody else may have been first."""


class Lake:
    """The tables under one folder, on any storage that Spark reaches, or in a catalog (`locations`)."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        """Nothing is read or made yet. Raises BadRequest."""
        self.spark = spark
        self.path = path.rstrip("/")
        self._location = location_of(spark, self.path)
        self.is_folder: Final = isinstance(self._location, Folder)
        """Whether tables are reached by their paths, not by names in a catalog."""
        self.folder: Final[str | None] = self.path if self.is_folder else None

    def table_path(self, name: str) -> str:
        """Where a table is, by its full name (`gold.epochs`): to show, and to compare with other locations.

        To read or write, use the lake: a table in a catalog is reached by its name.
        """
        return self._location.address(table_schemas()[name])

    def sql_name(self, name: str) -> str:
        """The table's name in SQL, quoted."""
        return self._location.sql_name(table_schemas()[name])

    def make_view(self, view: View) -> str | None:
        """Make a view anew, where views have a place; returns its name in SQL.

        Raises PySparkException and Py4JJavaError, also where the catalog knows tables only.
        """
        name = self._location.view_name(view.name)
        if name is not None:
            self._location.prepare([VIEWS_SCHEMA])
            self.spark.sql(
                f"CREATE OR REPLACE VIEW {name} COMMENT {quoted_comment(view.question)}"
                f" AS {view.sql_over(self.sql_name)}"
            )
        return name

    def create(self, names: Iterable[str]) -> None:
        """Make the tables that do not exist, and add the columns that tables of an earlier release lack.

        Raises LakeNotWritable, also for a table that does not conform to `schemas/tables`.
        """
        make_tables(self.spark, self.path, self._location, names)

    def version(self, name: str) -> int | None:
        """Newest version of a table; None if there is no table. Raises LakeNotReadable."""
        try:
            return self._location.version(table_schemas()[name])
        except OSError as error:
            raise LakeNotReadable(f"{self.table_path(name)} cannot be read: {error}.") from error

    def is_unwritten(self, name: str) -> bool:
        """Whether a table was created and never written. Raises LakeNotReadable."""
        try:
            return self._location.is_unwritten(table_schemas()[name])
        except OSError as error:
            raise LakeNotReadable(f"{self.table_path(name)} cannot be read: {error}.") from error

    def mark(self, name: str) -> TableMark | None:
        """What tells later whether a table is still as it is now; None for no table. Raises LakeNotReadable."""
        schema = table_schemas()[name]
        try:
            newest = self._location.newest_commit(schema)
            if newest is None:
                return None
            table_id = self._location.table_id(schema)
            return TableMark(table_id, newest.version, newest.user_metadata)
        except (OSError, PySparkException, Py4JJavaError) as error:
            raise LakeNotReadable(
                f"{self.table_path(name)} cannot be read: {_first_line(error)}."
            ) from error

    def change_since(self, name: str, known: TableMark) -> str | None:
        """What happened to a table since it had a mark, if it was not this program that did it; None for nothing.

        A predicate: the table is the subject. Raises LakeNotReadable.
        """
        schema, now = table_schemas()[name], self.mark(name)
        if now is None:
            return "is gone"
        if now.table_id != known.table_id:
            return "is not the table that the last run left: somebody removed that one"
        if now.version < known.version:
            return f"has lost commits: it was at version {known.version} and is at {now.version}"
        made_by, later = now.made_by, list[TableCommit]()
        if now.version > known.version:
            later = self._location.commits(schema, known.version, now.version)
            # The log may have forgotten the known commit itself by its age.
            is_there = bool(later) and later[0].version == known.version
            made_by = later.pop(0).user_metadata if is_there else known.made_by
        if len(later) < now.version - known.version:
            return f"no longer says what has changed in it since version {known.version}"
        if known.made_by not in {None, made_by}:
            return f"has lost commits, and got others: its version {known.version} is no longer that of {known.made_by}"
        return change_by_others(later, append_only=schema.append_only)

    def read(self, name: str, *, pinned: bool = False, version: int | None = None) -> DataFrame:
        """A table: as of a version, or `pinned` as it is now, so that later commits are not seen, or neither.

        Pinning makes Delta read the log twice: use it for a table that is read several times while others may write. A
        table in a folder that was never written is read at once: it has no rows. Raises LakeNotReadable.
        """
        schema = table_schemas()[name]
        try:
            if self.is_folder and version is None and self._location.is_unwritten(schema):
                # Delta would ask its log in three queries, and each query on these rows would have jobs.
                return table_rows(self.spark, name, [])
            if pinned:
                version = self._location.version(schema)
            return self._location.load(schema, version)
        except (OSError, AnalysisException) as error:
            path = self.table_path(name)
            raise LakeNotReadable(f"{path} cannot be read: {_first_line(error)}.") from error

    def few_rows(self, name: str, cluster: str, columns: Sequence[str]) -> list[dict[str, Any]]:
        """The cluster's rows of a table that has few; moments in epoch milliseconds. Raises LakeNotReadable.

        From a disk of this machine they are read here: Spark takes longer to plan a query and to start its tasks.
        """
        rows = self.rows_here(name, cluster, columns)
        if rows is not None:
            return rows
        found = self.read(name).where(F.col("cluster") == cluster)
        there = [column for column in columns if column in found.columns]
        with small_queries(self.spark):
            arrow = found.select(*there).toArrow()
        return [{**dict.fromkeys(columns), **row} for row in _plain_rows(arrow)]

    def rows_here(
        self, name: str, cluster: str, columns: Sequence[str]
    ) -> list[dict[str, Any]] | None:
        """As `few_rows` of a small table on a disk of this machine; None for others."""
        if self.is_folder and self.is_unwritten(name):
            return []
        table = self.patchable(name, self.version(name) or 0)
        if table is None:
            return None
        try:
            batches = [*table.of_cluster(cluster).rows(columns)]
        except DataFileNotReadable:
            return None  # Spark tells
        return [row for batch in batches for row in _plain_rows(batch)]

    def may_have(self, name: str, column: str, value: str) -> bool:
        """Whether a table may have a row with a text in a column; True where only a query can tell."""
        folder = local_path(self.table_path(name)) if self.is_folder else None
        return folder is None or may_have(str(folder), column, value)

    def added(self, name: str, after: int, upto: int) -> DataFrame:
        """Rows that came into an append-only table after one version, up to another. Raises LakeNotReadable.

        Commits that only rewrite files, like OPTIMIZE, add none. The rows of commits whose files are gone (VACUUM), or
        that are older than the table's change feed, are not available; that may show only when the rows are read.
        """
        schema = table_schemas()[name]
        try:
            changes = self._location.load_changes(schema, after + 1, upto)
        except (AnalysisException, PySparkException, Py4JJavaError) as error:
            path = self.table_path(name)
            raise LakeNotReadable(f"{path} has no changes: {_first_line(error)}.") from error
        # maintain may have deleted rows.
        return changes.where("_change_type = 'insert'").select(*schema.column_names)

    def drop_unreadable_files(self, name: str, run_id: str) -> None:
        """Make a table of the rows of those of its files that can be read; nothing else may read the lake meanwhile.

        The commit is not marked as one of the run: runs of other clusters must see that they have lost rows.
        """
        with temporary_settings(self.spark, dict.fromkeys(SKIP_FILES, "true")):
            rows = self.read(name, pinned=True).write.format("delta").mode("overwrite")
            self.save(name, rows.option("userMetadata", f"{run_id} without unreadable files"))

    def keep_changes(self, name: str) -> None:
        """Give a table of an earlier release a change feed from now on."""
        if self._location.properties(table_schemas()[name]).get(CHANGE_FEED) != "true":
            self.spark.sql(
                f"ALTER TABLE {self._location.sql_name(table_schemas()[name])}"
                f" SET TBLPROPERTIES ('{CHANGE_FEED}' = 'true')"
            )

    def save(self, name: str, writer: DataFrameWriter) -> None:
        """Let a writer of format delta, with its mode and options, write into a table that exists."""
        self._location.save(table_schemas()[name], writer)

    def append(
        self, name: str, rows: DataFrame, version: int, run_id: str, application: str
    ) -> bool:
        """Append rows that a run made for a version of a table; False, and nothing is done, if it has a newer one."""
        schema = table_schemas()[name]
        try:
            return self._location.append(schema, rows, version, run_id, application)
        except CONFLICTS:
            return False

    def data_files(self, name: str) -> DataFiles | None:
        """How tasks write files of a table themselves; None where Spark has to write them."""
        return self._location.data_files(table_schemas()[name])

    def table_files(
        self, name: str, version: int, cluster: str, among: Column | None = None
    ) -> TableFiles | None:
        """A table's files with rows of a cluster, which tasks read themselves; None where Spark has to read them.

        With `among`, a condition on columns, only those that may have rows that meet it.
        """
        return self._location.table_files(table_schemas()[name], version, cluster, among)

    def added_files(self, name: str, after: int, upto: int, cluster: str) -> TableFiles | None:
        """As `added` the files, for tasks that read them; None where Spark has to."""
        return self._location.added_files(table_schemas()[name], after, upto, cluster)

    def append_files(
        self,
        name: str,
        told: DataFrame,
        user_metadata: str,
        *,
        version: int | None = None,
        numbered: tuple[str, int] | None = None,
    ) -> AppendedFiles:
        """Let tasks write files, and append these to their table in one commit; none if there are no rows.

        `told` has what the tasks tell, see `data_files.FILE_DDL`: to collect it makes them write. The rest, and what it
        raises, is as in `delta_log.append_files`.
        """
        found = told.collect()
        files = [
            TaskFile(row["line"], row["rows"], row["size_bytes"]) for row in found if row["rows"]
        ]
        is_in = not files or self.append_written(
            name, files, user_metadata, version=version, numbered=numbered
        )
        noted = tuple(json.loads(row["noted"]) for row in found)
        names = tuple(file.name for file in files)
        return AppendedFiles(sum(file.rows for file in files), names, noted, is_in)

    def append_written(
        self,
        name: str,
        files: Sequence[TaskFile],
        user_metadata: str,
        *,
        version: int | None = None,
        numbered: tuple[str, int] | None = None,
    ) -> bool:
        """Append files that tasks have written, at least one, in one commit; whether nobody else came first.

        The rest, and what it raises, is as in `delta_log.append_files`.
        """
        try:
            return delta_log.append_files(
                self.spark,
                self.table_path(name),
                files,
                user_metadata,
                version=version,
                numbered=numbered,
            )
        except CONFLICTS:
            return False

    def add_rows(self, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Append rows that the driver knows, at least one, keyed by column. Raises OSError."""
        files = self.data_files(name)
        if files is not None:
            file = files.written(arrow_rows(name, rows))
            delta_log.append_files(self.spark, self.table_path(name), [file], None)
        else:
            frame = table_rows(self.spark, name, rows)
            self.save(name, frame.write.format("delta").mode("append"))

    def overwrite(
        self,
        name: str,
        rows: DataFrame | Sequence[Mapping[str, Any]],
        column: str,
        value: str,
        check: Callable[[], object] = lambda: None,
    ) -> None:
        """Replace all rows that have a value in a column by rows that have it too; the driver may know them.

        To be used for every change of the table, so that the commit that last wrote the value has all its rows. One
        commit, and for few rows much less work than a MERGE; tried again if another program committed first. `check`
        is called before each attempt.
        """
        schema = table_schemas()[name]
        files, file = None, None
        if not isinstance(rows, DataFrame) and rows and (files := self.data_files(name)):
            file = files.written(arrow_rows(name, rows))

        def replace() -> None:
            check()
            is_new = self.is_folder and self.is_unwritten(name)
            if is_new and file is not None:
                delta_log.append_files(self.spark, self.table_path(name), [file], None)
                return
            frame = rows if isinstance(rows, DataFrame) else table_rows(self.spark, name, rows)
            writer = frame.write.format("delta")
            if is_new:
                # Nothing to look for; of two runs that see the table unwritten, one is kept out by the lake's lock.
                self.save(name, writer.mode("append"))
            elif not self._location.replace_newest_rows(schema, column, value, file or frame):
                condition = f"{column} = {text_literal(value)}"
                self.save(name, writer.mode("overwrite").option("replaceWhere", condition))
                if files is not None and file is not None:
                    files.remove([file.name])

        with_retries(replace)

    def rows_appended(self, name: str, run_id: str) -> int:
        """How many rows the newest commit of a run added to a table. Raises OSError."""
        commit = self._location.append_commit(table_schemas()[name], run_id)
        if commit.rows is not None:
            return commit.rows
        now, before = (
            self.read(name, version=version).count()
            for version in (commit.version, commit.version - 1)
        )
        return now - before

    def runs_since(self, name: str, version: int) -> set[str]:
        """Ids of the runs and ingests that have changed a table since it had a version. Raises LakeNotReadable."""
        found = self._location.commits(table_schemas()[name], version + 1, self.version(name) or 0)
        return {(commit.user_metadata or "").partition("/")[0] for commit in found}

    def commits_of_run(self, name: str, run_id: str) -> list[TableCommit]:
        """The newest commits of a table as far as a run made them, newest first. Raises LakeNotReadable."""
        found: list[TableCommit] = []
        for version in range(self.version(name) or 0, -1, -1):
            there = self._location.commits(table_schemas()[name], version, version)
            if not there or not (there[0].user_metadata or "").startswith(run_id):
                break
            found += there
        return found

    def patchable(self, name: str, version: int, *, appends: bool = False) -> PatchableTable | None:
        """A table as one task changes it, or `appends` to it; None where Spark has to.

        It must be small, unless nothing is looked for in it, and of this version.
        """
        return self._location.patchable(table_schemas()[name], version, appends=appends)

    def commit_patch(
        self, name: str, patched: PatchedTable, user_metadata: str, version: int
    ) -> bool:
        """Commit what a task has changed in a version of a table; whether nobody else came first."""
        try:
            return delta_log.commit_patch(
                self.spark, self.table_path(name), patched, user_metadata, version
            )
        except CONFLICTS:
            return False

    def read_small(self, name: str) -> DataFrame | None:
        """A small table as it is now, and the FILE that has each row; None for others."""
        return self._location.load_small(table_schemas()[name])

    def change_small(
        self, name: str, changes: DataFrame, match: Column, version: int, files: Collection[str]
    ) -> bool:
        """Change a small table without a MERGE, see `change_small_table`; False, and nothing is done, for others."""
        return self._location.change_small(table_schemas()[name], changes, match, version, files)

    def delta_table(self, name: str) -> DeltaTable:
        """A table to change."""
        return self._location.delta_table(table_schemas()[name])


def _plain_rows(rows: pa.RecordBatch | pa.Table) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = plain(rows.to_pylist(maps_as_pydicts="strict"))
    return found


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0].rstrip(".")
