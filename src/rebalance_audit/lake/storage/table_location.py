"""What a lake asks of the place where its tables are."""

from collections.abc import Collection, Iterable, Mapping
from typing import Protocol, TypeAlias

from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame, DataFrameReader, DataFrameWriter, SparkSession

from rebalance_audit.lake.session.kept_rows import kept
from rebalance_audit.lake.storage.data_files import DataFiles, TaskFile
from rebalance_audit.lake.storage.delta_log import AppendCommit, TableCommit
from rebalance_audit.lake.storage.table_files import TableFiles
from rebalance_audit.lake.storage.table_patch import PatchableTable
from rebalance_audit.tables.schemas import TableSchema

Layers: TypeAlias = Iterable[str]


class Location(Protocol):
    """What differs between tables in a folder and tables in a catalog."""

    def address(self, schema: TableSchema) -> str:
        """Path or name of the table, for people and for `delta:` sources."""

    def sql_name(self, schema: TableSchema) -> str:
        """The table in an SQL statement."""

    def view_name(self, name: str) -> str | None:
        """A view of `schemas/views` in an SQL statement; None where views have no place."""

    def has_log(self, schema: TableSchema) -> bool:
        """Whether there may be a table. Raises OSError."""

    def create(self, schema: TableSchema) -> None:
        """Make the table, unless it is there. Raises PySparkException or Py4JJavaError."""

    def version(self, schema: TableSchema) -> int | None:
        """Newest version; None if there is no table. Raises OSError."""

    def newest_commit(self, schema: TableSchema) -> TableCommit | None:
        """The commit of that version; None if there is no table. Raises OSError."""

    def is_unwritten(self, schema: TableSchema) -> bool:
        """Whether the table, which exists, has never had a row. Raises OSError."""

    def append_commit(self, schema: TableSchema, run_id: str) -> AppendCommit:
        """The newest commit of a run. Raises OSError."""

    def commits(self, schema: TableSchema, first: int, last: int) -> list[TableCommit]:
        """The commits from one version to another, oldest first, without those that the table has forgotten."""

    def table_id(self, schema: TableSchema) -> str:
        """What tells the table from one that was made anew in its place. Raises PySparkException or Py4JJavaError."""

    def properties(self, schema: TableSchema) -> Mapping[str, str]:
        """What TBLPROPERTIES have set. Raises PySparkException or Py4JJavaError."""

    def load(self, schema: TableSchema, version: int | None = None) -> DataFrame:
        """The table, as of a version or as it is. Raises AnalysisException."""

    def load_changes(self, schema: TableSchema, first: int, last: int) -> DataFrame:
        """Rows that the commits of the versions `first` to `last` changed. Raises AnalysisException."""

    def save(self, schema: TableSchema, writer: DataFrameWriter) -> None:
        """Let a writer write into the table, which exists."""

    def replace_newest_rows(
        self, schema: TableSchema, column: str, value: str, rows: DataFrame | TaskFile
    ) -> bool:
        """Replace the rows of the newest commit, if it is one of ours and all have the value; whether it was.

        By others, or by those of a file that is there already.
        Raises OSError, and one of CONFLICTS if another commit comes first.
        """

    def append(
        self, schema: TableSchema, rows: DataFrame, version: int, run_id: str, application: str
    ) -> bool:
        """Append rows that are made for a version of the table; False, and nothing is done, if that is not the newest.

        `run_id` goes into the commit. Raises one of CONFLICTS if another commit comes first; in a
        catalog only if that is of the same application.
        """

    def data_files(self, schema: TableSchema) -> DataFiles | None:
        """How tasks write files of the table themselves; None where Spark has to."""

    def table_files(
        self, schema: TableSchema, version: int, cluster: str, among: Column | None = None
    ) -> TableFiles | None:
        """The files that tasks read themselves; None where Spark has to. See `table_files.table_files`."""

    def added_files(
        self, schema: TableSchema, after: int, upto: int, cluster: str
    ) -> TableFiles | None:
        """The files with rows of later versions than one. See `added_files.added_files`."""

    def patchable(
        self, schema: TableSchema, version: int, *, appends: bool
    ) -> PatchableTable | None:
        """The table as one task changes it, or `appends` to it; None where Spark has to."""

    def load_small(self, schema: TableSchema) -> DataFrame | None:
        """The table as it is, with FILE, if it is small, see `small_table_rows`; else None."""

    def change_small(
        self,
        schema: TableSchema,
        changes: DataFrame,
        match: Column,
        version: int,
        files: Collection[str],
    ) -> bool:
        """Do what a MERGE would do if the table is small; whether it was, see `change_small_table`.

        Raises one of CONFLICTS if another commit comes first.
        """

    def delta_table(self, schema: TableSchema) -> DeltaTable:
        """The table to change."""

    def prepare(self, layers: Layers) -> None:
        """Make the schemas that tables of these layers need."""


def append_once(
    location: Location,
    schema: TableSchema,
    rows: DataFrame,
    version: int,
    run_id: str,
    application: str,
) -> bool:
    """`Location.append` by a transaction of the application, numbered by the version: the second of two fails."""
    rows = kept(rows)
    if location.version(schema) != version:
        return False
    if not rows.isEmpty():  # a transaction of no rows would be a commit
        writer = rows.write.format("delta").mode("append").option("userMetadata", run_id)
        writer = writer.option("txnAppId", application).option("txnVersion", version + 1)
        location.save(schema, writer)
    return True


def changes_reader(spark: SparkSession, first: int, last: int) -> DataFrameReader:
    """A reader of the rows that the commits of some versions changed."""
    reader = spark.read.format("delta").option("readChangeFeed", "true")
    return reader.option("startingVersion", first).option("endingVersion", last)
