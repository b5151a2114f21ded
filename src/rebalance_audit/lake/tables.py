"""The Delta tables of a lake: created from `schemas/tables`, checked, read and located.

Reader version stays 1 (no deletion vectors, no column mapping), so that delta-rs, DuckDB and BI engines can read them.
"""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from delta.tables import DeltaTable
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession

from rebalance_audit.lake.delta_log import java_message, latest_version, version_or_none
from rebalance_audit.lake.errors import LakeNotReadable, LakeNotWritable
from rebalance_audit.table_schemas import TableSchema, table_schemas

FILTERED_BY: Final = ("cluster", "partition", "offset", "timestamp", "group_id", "topic")
"""Columns of bronze and silver that queries are narrowed by."""
WRITERS: Final = 4
"""Tables that are created or written at once: a commit is mostly waiting for the driver, not for its cores."""


class Lake:
    """The tables under one folder, on any storage that Spark reaches."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        """Nothing is read or made yet."""
        self.spark = spark
        self.path = path.rstrip("/")

    def table_path(self, name: str) -> str:
        """Where a table lies, by its full name (`gold.epochs`)."""
        schema = table_schemas()[name]
        return f"{self.path}/{schema.layer}/{schema.name}"

    def create(self, names: Iterable[str]) -> None:
        """Make the tables that do not exist; add columns that those of an earlier release lack.

        Raises LakeNotWritable, also for a table that is not as `schemas/tables` has it.
        """
        schemas = [table_schemas()[name] for name in names]
        with ThreadPoolExecutor(WRITERS) as pool:
            list(pool.map(self._create, schemas))

    def version(self, name: str) -> int | None:
        """Newest version of a table; None where there is none."""
        try:
            return version_or_none(self.spark, self.table_path(name))
        except OSError as error:
            raise LakeNotReadable(f"{self.table_path(name)} cannot be read: {error}.") from error

    def read(self, name: str, *, pinned: bool = False) -> DataFrame:
        """A table; `pinned` as it is now, so that commits which come later are not seen. Raises LakeNotReadable.

        Pinning costs Delta a second look at the log: for a table that is read more than once while others may write.
        """
        path = self.table_path(name)
        try:
            reader = self.spark.read.format("delta")
            if pinned:
                reader = reader.option("versionAsOf", latest_version(self.spark, path))
            return reader.load(path)
        except (OSError, AnalysisException) as error:
            raise LakeNotReadable(f"{path} cannot be read: {_first_line(error)}.") from error

    def delta_table(self, name: str) -> DeltaTable:
        """A table to change."""
        return DeltaTable.forPath(self.spark, self.table_path(name))

    def _create(self, schema: TableSchema) -> None:
        path = f"{self.path}/{schema.layer}/{schema.name}"
        try:
            exists = version_or_none(self.spark, path) is not None
            if exists:
                self._adapt(schema, path)
            else:
                _define(self.spark, schema, path)
        except (OSError, PySparkException) as error:
            raise LakeNotWritable(f"{path} cannot be written: {_first_line(error)}.") from error
        except Py4JJavaError as error:
            raise LakeNotWritable(f"{path} cannot be written: {java_message(error)}.") from error

    def _adapt(self, schema: TableSchema, path: str) -> None:
        fields = {field.name: field for field in self.spark.read.format("delta").load(path).schema}
        for column in schema.columns:
            found = fields.get(column.name)
            if found is None:
                self.spark.sql(
                    f"ALTER TABLE delta.`{path}` ADD COLUMNS"
                    f" (`{column.name}` {column.type} COMMENT {_quoted(column.meaning)})"
                )
            elif found.dataType.simpleString() != column.type.replace(" ", ""):
                raise LakeNotWritable(
                    f"{path} is not a table of this program: its column {column.name} is"
                    f" {found.dataType.simpleString()}, not {column.type}."
                )


def _define(spark: SparkSession, schema: TableSchema, path: str) -> None:
    """Create one table."""
    table = (
        DeltaTable.createIfNotExists(spark)
        .location(path)
        .comment(schema.description)
        # Readers without Spark, and many engines, cannot read deletion vectors.
        .property("delta.enableDeletionVectors", "false")
    )
    for column in schema.columns:
        table = table.addColumn(
            column.name, column.type, nullable=column.nullable, comment=column.meaning
        )
    if schema.layer == "gold":
        # A dashboard that was refreshed an hour ago asks what has changed since.
        table = table.property("delta.enableChangeDataFeed", "true")
    if schema.layer in {"bronze", "silver"}:
        # Minimum and maximum per file of what these tables are filtered by: of all columns they would cost a third of
        # the write.
        names = [name for name in FILTERED_BY if name in schema.column_names]
        table = table.property("delta.dataSkippingStatsColumns", ",".join(names))
    if schema.append_only:
        table = table.property("delta.appendOnly", "true")
    if schema.clustered_by:
        table = table.clusterBy(*schema.clustered_by)
    table.execute()


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0].rstrip(".")
