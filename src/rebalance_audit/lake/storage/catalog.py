"""Tables in a catalog, in a schema for each layer.

Every read and write uses the table's name, since a governed catalog (Unity) grants access to files only by name.
"""

from collections.abc import Collection, Mapping
from typing import Final

from delta.tables import DeltaTable
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, DataFrameWriter, SparkSession

from rebalance_audit.lake.storage import delta_log
from rebalance_audit.lake.storage.data_files import DataFiles, TaskFile
from rebalance_audit.lake.storage.delta_log import AppendCommit, TableCommit
from rebalance_audit.lake.storage.table_definition import definition
from rebalance_audit.lake.storage.table_files import TableFiles
from rebalance_audit.lake.storage.table_location import Layers, append_once, changes_reader
from rebalance_audit.lake.storage.table_patch import PatchableTable
from rebalance_audit.location import CATALOG
from rebalance_audit.tables.schemas import TableSchema
from rebalance_audit.tables.views import VIEWS_SCHEMA

RECENT_COMMITS: Final = 100
"""How many versions back a commit that was just made is searched for."""

OF_COMMIT: Final = ("version", "operation", "userMetadata", "unix_millis(timestamp)")
"""What TableCommit takes of a table's history, in its order."""


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

    def has_log(self, schema: TableSchema) -> bool:  # noqa: ARG002 - as in every location
        """Whatever the catalog says when it is asked for the version."""
        return True

    def create(self, schema: TableSchema) -> None:
        """By SQL."""
        self._spark.sql(definition(self.sql_name(schema), schema))

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
        return changes_reader(self._spark, first, last).table(self.sql_name(schema))

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
        return append_once(self, schema, rows, version, run_id, application)

    def data_files(self, schema: TableSchema) -> DataFiles | None:  # noqa: ARG002
        """Never, as `replace_newest_rows`."""
        return None

    def table_files(
        self,
        schema: TableSchema,  # noqa: ARG002 - as in every location
        version: int,  # noqa: ARG002
        cluster: str,  # noqa: ARG002
        among: Column | None = None,  # noqa: ARG002
    ) -> TableFiles | None:
        """Never, as `replace_newest_rows`."""
        return None

    def added_files(
        self,
        schema: TableSchema,  # noqa: ARG002 - as in every location
        after: int,  # noqa: ARG002
        upto: int,  # noqa: ARG002
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
