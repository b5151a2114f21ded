"""Where the tables of a lake are: under one folder, or in a catalog in a schema for each layer.

In a catalog every read and write uses the table's name, since a governed catalog (Unity) grants access to files only by
name.
"""

from collections.abc import Iterable
from typing import Protocol

from pyspark.sql import DataFrameReader, DataFrameWriter, SparkSession

from rebalance_audit.location import CATALOG, is_catalog, local_path, parse_catalog
from rebalance_audit.tables.schemas import TableSchema
from rebalance_audit.tables.views import VIEWS_SCHEMA


class TablePlace(Protocol):
    """What differs between tables in a folder and tables in a catalog."""

    def address(self, schema: TableSchema) -> str:
        """Path or name of the table, for people and for `delta:` sources."""

    def sql_name(self, schema: TableSchema) -> str:
        """The table in an SQL statement."""

    def view_name(self, name: str) -> str | None:
        """A view of `schemas/views` in an SQL statement; None where views have no place."""

    def save(self, schema: TableSchema, writer: DataFrameWriter) -> None:
        """Let a writer of Spark's write into the table, which exists."""

    def prepare(self, layers: Iterable[str]) -> None:
        """Make the schemas that tables of these layers need."""


class Folder:
    """Tables at `<folder>/<layer>/<name>`."""

    def __init__(self, folder: str) -> None:
        """On any storage."""
        self._folder = folder.rstrip("/")

    def path(self, schema: TableSchema) -> str:
        """The table's folder."""
        return f"{self._folder}/{schema.layer}/{schema.name}"

    def native_path(self, schema: TableSchema) -> str:
        """The same as delta-rs takes it: on this machine without `file:`, after which it would decode the rest."""
        path = self.path(schema)
        return str(local_path(path) or path)

    def address(self, schema: TableSchema) -> str:
        """The table's folder."""
        return self.path(schema)

    def sql_name(self, schema: TableSchema) -> str:
        """The path as Delta takes it in SQL."""
        return f"delta.`{self.path(schema)}`"

    def view_name(self, name: str) -> str | None:  # noqa: ARG002 - as in every place
        """None: a folder holds tables only."""
        return None

    def save(self, schema: TableSchema, writer: DataFrameWriter) -> None:
        """By path."""
        writer.save(self.path(schema))

    def prepare(self, layers: Iterable[str]) -> None:
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

    def save(self, schema: TableSchema, writer: DataFrameWriter) -> None:
        """By name."""
        writer.saveAsTable(self.sql_name(schema))

    def prepare(self, layers: Iterable[str]) -> None:
        """A schema for each layer; an existing one keeps its location."""
        for layer in sorted(set(layers)):
            self._spark.sql(f"CREATE SCHEMA IF NOT EXISTS {self._schema(layer)}")

    def _schema(self, layer: str) -> str:
        return f"`{self._catalog}`.`{self._prefix}{layer}`"


def place_of(spark: SparkSession, lake: str) -> Folder | Catalog:
    """The place of a lake, by its name or path. Raises BadRequest."""
    if not is_catalog(lake):
        return Folder(lake)
    catalog, prefix = parse_catalog(lake)
    return Catalog(spark, catalog, prefix)


def changes_reader(spark: SparkSession, first: int, last: int) -> DataFrameReader:
    """A reader of the rows that the commits of some versions changed."""
    reader = spark.read.format("delta").option("readChangeFeed", "true")
    return reader.option("startingVersion", first).option("endingVersion", last)
