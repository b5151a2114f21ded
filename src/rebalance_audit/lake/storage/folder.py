"""Tables under one folder, on any storage that Spark reaches."""

from collections.abc import Collection, Mapping
from contextlib import suppress

from delta.tables import DeltaTable
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.sql import Column, DataFrame, DataFrameWriter, SparkSession

from rebalance_audit.lake.storage import delta_log
from rebalance_audit.lake.storage.added_files import added_files
from rebalance_audit.lake.storage.data_files import DataFiles, TaskFile, data_files
from rebalance_audit.lake.storage.delta_log import AppendCommit, TableCommit
from rebalance_audit.lake.storage.small_tables import (
    change_small_table,
    patchable_table,
    small_table_rows,
)
from rebalance_audit.lake.storage.table_definition import definition
from rebalance_audit.lake.storage.table_files import TableFiles, table_files
from rebalance_audit.lake.storage.table_location import Layers, append_once, changes_reader
from rebalance_audit.lake.storage.table_patch import PatchableTable
from rebalance_audit.tables.schemas import TableSchema


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

    def has_log(self, schema: TableSchema) -> bool:
        """By its folder."""
        return delta_log.has_log(self._spark, self.address(schema))

    def create(self, schema: TableSchema) -> None:
        """By the table's log, and by SQL where that is not possible."""
        try:
            is_done = delta_log.create(self._spark, self.address(schema), schema)
        except Py4JJavaError:
            raise
        except Py4JError:
            is_done = False  # another release of Delta
        if not is_done:
            self._spark.sql(definition(self.sql_name(schema), schema))

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
        """By path. Raises LakeNotReadable for a log that names files outside of the table."""
        path = self.address(schema)
        delta_log.check_files_of_commits(self._spark, path, range(first, last + 1))
        return changes_reader(self._spark, first, last).load(path)

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
            return append_once(self, schema, rows, version, run_id, application)

    def data_files(self, schema: TableSchema) -> DataFiles | None:
        """On a disk of this machine, in a session on it."""
        return data_files(self._spark, schema, self.address(schema))

    def table_files(
        self, schema: TableSchema, version: int, cluster: str, among: Column | None = None
    ) -> TableFiles | None:
        """The same."""
        return table_files(self._spark, schema, self.address(schema), version, cluster, among)

    def added_files(
        self, schema: TableSchema, after: int, upto: int, cluster: str
    ) -> TableFiles | None:
        """By the table's log."""
        return added_files(self._spark, schema, self.address(schema), after, upto, cluster)

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
