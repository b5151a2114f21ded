"""Where the tables of a lake are: under one folder, or in a catalog with a schema for each layer.

In a catalog every read and write uses the table's name, since a governed catalog (Unity) grants access to files only by
name.
"""

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from typing import Final, Protocol, TypeAlias

from delta.tables import DeltaTable
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, DataFrameReader, DataFrameWriter, SparkSession

from rebalance_audit.lake.session.kept_rows import kept
from rebalance_audit.lake.storage import delta_log
from rebalance_audit.lake.storage.data_files import DataFiles, TaskFile, data_files
from rebalance_audit.lake.storage.delta_log import AppendCommit, TableCommit
from rebalance_audit.lake.storage.small_tables import (
    change_small_table,
    patchable_table,
    small_table_rows,
)
from rebalance_audit.lake.storage.table_files import TableFiles, table_files
from rebalance_audit.lake.storage.table_patch import PatchableTable
from rebalance_audit.location import CATALOG, is_catalog, parse_catalog
from rebalance_audit.tables.schemas import TableSchema
from rebalance_audit.tables.views import VIEWS_SCHEMA

RECENT_COMMITS: Final = 100
"""How many versions back a commit that was just made is searched for."""

OF_COMMIT: Final = ("version", "operation", "userMetadata", "unix_millis(timestamp)")
"""What TableCommit takes of a table's history, in its order."""

Layers: TypeAlias = Iterable[str]


class Location(Protocol):
    """What differs between tables in a folder and tables in a catalog."""

    def address(self, schema: TableSchema) -> str:
        """Path or name of the table, for people and for `delta:` sources."""

    def sql_name(self, schema: TableSchema) -> str:
        """The table in an SQL statement."""

    def view_name(self, name: str) -> str | None:
        """A view of `schemas/views` in an SQL statement; None where views have no place."""

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

    def table_files(self, schema: TableSchema, version: int, cluster: str) -> TableFiles | None:
        """The files that tasks read themselves; None where Spark has to."""

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


def location_of(spark: SparkSession, lake: str) -> Location:
    """The location that a lake's name or path stands for. Raises BadRequest."""
    if not is_catalog(lake):
        return Folder(spark, lake)
    catalog, prefix = parse_catalog(lake)
    return Catalog(spark, catalog, prefix)


class Folder:
    """Tables at `<folder>/<layer>/<name>`, on any storage that Spark reaches."""

    def __init__(self, spark: SparkSession, folder: str) -> None:
        """Nothing is read or made yet."""
        self._spark = spark
        self._folder = folder.rstrip("/")

    def address(self, schema: TableSchema) -> str:
        """Path of the table."""
        return f"{self._folder}/{schema.layer}/{schema.name}"

    def sql_name(self, schema: TableSchema) -> str:
        """The path as Delta takes it in SQL."""
        return f"delta.`{self.address(schema)}`"

    def view_name(self, name: str) -> str | None:  # noqa: ARG002 - as in every location
        """None: a folder holds tables only."""
        return None

    def version(self, schema: TableSchema) -> int | None:
        """By the file names in the table's log."""
        return delta_log.version_or_none(self._spark, self.address(schema))

    def newest_commit(self, schema: TableSchema) -> TableCommit | None:
        """By the table's log."""
        return delta_log.newest_commit(self._spark, self.address(schema))

    def is_unwritten(self, schema: TableSchema) -> bool:
        """By the table's log."""
        return delta_log.is_unwritten(self._spark, self.address(schema))

    def append_commit(self, schema: TableSchema, run_id: str) -> AppendCommit:
        """By the table's log."""
        return delta_log.append_commit(self._spark, self.address(schema), run_id)

    def commits(self, schema: TableSchema, first: int, last: int) -> list[TableCommit]:
        """By the table's log."""
        path, found = self.address(schema), list[TableCommit]()
        for version in range(first, last + 1):
            with suppress(OSError):  # forgotten
                found.append(delta_log.commit(self._spark, path, version))
        return found

    def table_id(self, schema: TableSchema) -> str:
        """By the table's log."""
        return delta_log.table_id(self._spark, self.address(schema))

    def properties(self, schema: TableSchema) -> Mapping[str, str]:
        """By the table's log."""
        return delta_log.properties(self._spark, self.address(schema))

    def load(self, schema: TableSchema, version: int | None = None) -> DataFrame:
        """By path; of a small table as it is now, the files that it has now."""
        small = small_table_rows(self._spark, self.address(schema), version)
        if small is not None:
            return small
        reader = self._spark.read.format("delta")
        if version is not None:
            reader = reader.option("versionAsOf", version)
        return reader.load(self.address(schema))

    def load_changes(self, schema: TableSchema, first: int, last: int) -> DataFrame:
        """By path."""
        return _changes(self._spark, first, last).load(self.address(schema))

    def save(self, schema: TableSchema, writer: DataFrameWriter) -> None:
        """By path."""
        writer.save(self.address(schema))

    def replace_newest_rows(
        self, schema: TableSchema, column: str, value: str, rows: DataFrame | TaskFile
    ) -> bool:
        """By the table's log."""
        path = self.address(schema)
        return delta_log.replace_newest_rows(self._spark, path, column, value, rows)

    def append(
        self, schema: TableSchema, rows: DataFrame, version: int, run_id: str, application: str
    ) -> bool:
        """By the table's log."""
        try:
            return delta_log.append_rows(self._spark, self.address(schema), rows, version, run_id)
        except Py4JJavaError:
            raise
        except Py4JError:
            # Another release of Delta, whose transactions are begun in another way.
            return _append_once(self, schema, rows, version, run_id, application)

    def data_files(self, schema: TableSchema) -> DataFiles | None:
        """On a disk of this machine, in a session on it."""
        return data_files(self._spark, schema, self.address(schema))

    def table_files(self, schema: TableSchema, version: int, cluster: str) -> TableFiles | None:
        """The same."""
        return table_files(self._spark, schema, self.address(schema), version, cluster)

    def patchable(
        self, schema: TableSchema, version: int, *, appends: bool
    ) -> PatchableTable | None:
        """As `data_files`."""
        return patchable_table(self._spark, schema, self.address(schema), version, appends=appends)

    def load_small(self, schema: TableSchema) -> DataFrame | None:
        """By the table's log."""
        return small_table_rows(self._spark, self.address(schema), with_files=True)

    def change_small(
        self,
        schema: TableSchema,
        changes: DataFrame,
        match: Column,
        version: int,
        files: Collection[str],
    ) -> bool:
        """By the table's log."""
        return change_small_table(self._spark, self.address(schema), changes, match, version, files)

    def delta_table(self, schema: TableSchema) -> DeltaTable:
        """By path."""
        return DeltaTable.forPath(self._spark, self.address(schema))

    def prepare(self, layers: Layers) -> None:
        """Nothing: Delta makes folders."""


class Catalog:
    """Tables as `<catalog>.<prefix>_<layer>.<name>`."""

    def __init__(self, spark: SparkSession, catalog: str, prefix: str) -> None:
        """Nothing is read or made yet."""
        self._spark = spark
        self._catalog = catalog
        self._prefix = f"{prefix}_" if prefix else ""

    def address(self, schema: TableSchema) -> str:
        """Name of the table, marked as one."""
        return f"{CATALOG}{self._catalog}.{self._prefix}{schema.layer}.{schema.name}"

    def sql_name(self, schema: TableSchema) -> str:
        """The three parts, each quoted."""
        return f"{self._schema(schema.layer)}.`{schema.name}`"

    def view_name(self, name: str) -> str | None:
        """In a schema beside those of the layers."""
        return f"{self._schema(VIEWS_SCHEMA)}.`{name}`"

    def version(self, schema: TableSchema) -> int | None:
        """By the newest row of the table's history."""
        newest = self.newest_commit(schema)
        return None if newest is None else newest.version

    def newest_commit(self, schema: TableSchema) -> TableCommit | None:
        """By the newest row of the table's history."""
        try:
            if not self._spark.catalog.tableExists(self.sql_name(schema)):
                return None
            newest = self.delta_table(schema).history(1).selectExpr(*OF_COMMIT).first()
        except PySparkException as error:
            raise OSError(str(error).partition("\n")[0]) from None
        assert newest is not None
        return TableCommit(*newest)

    def is_unwritten(self, schema: TableSchema) -> bool:
        """By the newest row of the table's history."""
        newest = self.newest_commit(schema)
        assert newest is not None
        return newest.version == 0 and delta_log.is_creation(newest.operation)

    def append_commit(self, schema: TableSchema, run_id: str) -> AppendCommit:
        """By the table's history."""
        history = self.delta_table(schema).history(RECENT_COMMITS)
        commits = history.where(history["userMetadata"] == run_id).orderBy(
            history["version"].desc()
        )
        newest = commits.select("version", "operationMetrics").first()
        if newest is None:
            raise OSError(f"no commit of {self.address(schema)} is one of run {run_id}")
        return AppendCommit.of(*newest)

    def commits(self, schema: TableSchema, first: int, last: int) -> list[TableCommit]:
        """By the table's history."""
        history = self.delta_table(schema).history()
        found = history.where(history["version"].between(first, last)).orderBy("version")
        return [TableCommit(*row) for row in found.selectExpr(*OF_COMMIT).collect()]

    def table_id(self, schema: TableSchema) -> str:
        """By the table's details."""
        found = self.delta_table(schema).detail().select("id").first()
        assert found is not None
        return str(found[0])

    def properties(self, schema: TableSchema) -> Mapping[str, str]:
        """By the table's details."""
        found = self.delta_table(schema).detail().select("properties").first()
        assert found is not None
        return dict(found[0])

    def load(self, schema: TableSchema, version: int | None = None) -> DataFrame:
        """By name."""
        if version is None:
            return self._spark.read.table(self.sql_name(schema))
        name = self.sql_name(schema)
        return self._spark.sql(f"SELECT * FROM {name} VERSION AS OF {version}")  # noqa: S608 - a quoted name

    def load_changes(self, schema: TableSchema, first: int, last: int) -> DataFrame:
        """By name."""
        return _changes(self._spark, first, last).table(self.sql_name(schema))

    def save(self, schema: TableSchema, writer: DataFrameWriter) -> None:
        """By name."""
        writer.saveAsTable(self.sql_name(schema))

    def replace_newest_rows(
        self,
        schema: TableSchema,  # noqa: ARG002 - as in every location
        column: str,  # noqa: ARG002
        value: str,  # noqa: ARG002
        rows: DataFrame | TaskFile,  # noqa: ARG002
    ) -> bool:
        """Never: a governed catalog lets nobody read the table's log."""
        return False

    def append(
        self, schema: TableSchema, rows: DataFrame, version: int, run_id: str, application: str
    ) -> bool:
        """By name."""
        return _append_once(self, schema, rows, version, run_id, application)

    def data_files(self, schema: TableSchema) -> DataFiles | None:  # noqa: ARG002
        """Never, as `replace_newest_rows`."""
        return None

    def table_files(
        self,
        schema: TableSchema,  # noqa: ARG002 - as in every location
        version: int,  # noqa: ARG002
        cluster: str,  # noqa: ARG002
    ) -> TableFiles | None:
        """Never, as `replace_newest_rows`."""
        return None

    def patchable(
        self,
        schema: TableSchema,  # noqa: ARG002 - as in every location
        version: int,  # noqa: ARG002
        *,
        appends: bool,  # noqa: ARG002
    ) -> PatchableTable | None:
        """Never, as `replace_newest_rows`."""
        return None

    def load_small(self, schema: TableSchema) -> DataFrame | None:  # noqa: ARG002
        """Never, as `replace_newest_rows`."""
        return None

    def change_small(
        self,
        schema: TableSchema,  # noqa: ARG002 - as in every location
        changes: DataFrame,  # noqa: ARG002
        match: Column,  # noqa: ARG002
        version: int,  # noqa: ARG002
        files: Collection[str],  # noqa: ARG002
    ) -> bool:
        """Never, as `replace_newest_rows`."""
        return False

    def delta_table(self, schema: TableSchema) -> DeltaTable:
        """By name."""
        return DeltaTable.forName(self._spark, self.sql_name(schema))

    def prepare(self, layers: Layers) -> None:
        """A schema for each layer; one that is there keeps its location."""
        for layer in sorted(set(layers)):
            self._spark.sql(f"CREATE SCHEMA IF NOT EXISTS {self._schema(layer)}")

    def _schema(self, layer: str) -> str:
        return f"`{self._catalog}`.`{self._prefix}{layer}`"


def _append_once(
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


def _changes(spark: SparkSession, first: int, last: int) -> DataFrameReader:
    reader = spark.read.format("delta").option("readChangeFeed", "true")
    return reader.option("startingVersion", first).option("endingVersion", last)
