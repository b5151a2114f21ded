"""Where the tables of a lake are, what writes them (`[lake]` of the configuration), and what makes one.

They are under one folder, or in a catalog in a schema for each layer. In a catalog every read and write uses the
table's name, since a governed catalog (Unity) grants access to files only by name.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias, get_args

import pyarrow as pa
from pyspark.sql import DataFrameWriter, SparkSession
from pyspark.sql.utils import is_remote

from rebalance_audit.errors import BadRequest
from rebalance_audit.location import CATALOG, is_catalog, local_path, parse_catalog
from rebalance_audit.tables.arrow_types import arrow_type
from rebalance_audit.tables.rules import sql_literal
from rebalance_audit.tables.schemas import TableSchema
from rebalance_audit.tables.views import VIEWS_SCHEMA

AUTO: Final = "auto"
_ENCODED: Final = re.compile(r"%[0-9A-Fa-f]{2}")
WriterChoice: TypeAlias = Literal["auto", "delta-rs", "spark"]
WriterKind: TypeAlias = Literal["delta-rs", "spark"]
KINDS: Final[tuple[WriterKind, ...]] = get_args(WriterKind)


@dataclass(frozen=True, slots=True)
class LakeOptions:
    """See `conf/base.toml`."""

    writer: WriterChoice = AUTO
    stage_folder: str = ""
    """Empty: beside the tables."""
    storage_options: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Options of fsspec for the stage's storage."""
    delta_rs_options: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Options of delta-rs for the lake's storage."""


def writer_of(
    spark: SparkSession, lake: str, chosen: WriterChoice, recorded: WriterKind | None
) -> WriterKind:
    """The writer that a lake was made with, as recorded in it, or the one for a new lake.

    Raises BadRequest for another choice: the two do not respect each other's transactions in all cases.
    """
    if chosen == "delta-rs" and is_catalog(lake):
        raise BadRequest(
            f"{lake} is a catalog, and only Spark writes to catalogs: set lake.writer to auto or spark."
        )
    if chosen == "delta-rs" and not is_name_of_delta_rs(lake):
        raise BadRequest(
            f"delta-rs would decode the percent signs in {lake}: set lake.writer to auto or spark."
        )
    if recorded is not None:
        if chosen not in {AUTO, recorded}:
            raise BadRequest(
                f"The lake {lake} was made with the writer {recorded}, but lake.writer is {chosen}. A lake keeps its"
                " writer: set lake.writer to auto."
            )
        return recorded
    if chosen != AUTO:
        return chosen
    is_local = not is_catalog(lake) and local_path(lake) is not None and is_name_of_delta_rs(lake)
    return "delta-rs" if is_local and is_one_machine(spark) else "spark"


def is_name_of_delta_rs(lake: str) -> bool:
    """Whether delta-rs finds the folder: it takes `%20` for a blank, also in a path."""
    return not _ENCODED.search(lake)


def is_one_machine(spark: SparkSession) -> bool:
    """Whether the session's tasks run on this machine; those of a Spark Connect server may run on any."""
    return not is_remote() and (spark.conf.get("spark.master", "") or "").startswith("local")


class Folder:
    """Tables at `<folder>/<layer>/<name>`."""

    def __init__(self, folder: str) -> None:
        self._folder = folder.rstrip("/")

    def native_path(self, schema: TableSchema) -> str:
        """The same as delta-rs takes it: on this machine without `file:`, after which it would decode the rest."""
        path = self.address(schema)
        return str(local_path(path) or path)

    def address(self, schema: TableSchema) -> str:
        """Path or name of the table, for people and for `delta:` sources."""
        return f"{self._folder}/{schema.layer}/{schema.name}"

    def sql_name(self, schema: TableSchema) -> str:
        """The table in an SQL statement."""
        return f"delta.`{self.address(schema)}`"

    def save(self, schema: TableSchema, writer: DataFrameWriter) -> None:
        """Let a writer of Spark's write into the table, which exists."""
        writer.save(self.address(schema))

    def prepare(self, layers: Iterable[str]) -> None:
        """Make the schemas that tables of these layers need."""


class Catalog:
    """Tables as `<catalog>.<prefix>_<layer>.<name>`."""

    def __init__(self, spark: SparkSession, catalog: str, prefix: str) -> None:
        self._spark = spark
        self._catalog = catalog
        self._prefix = f"{prefix}_" if prefix else ""

    def address(self, schema: TableSchema) -> str:
        """Name of the table, marked as one."""
        return f"{CATALOG}{self._catalog}.{self._prefix}{schema.layer}.{schema.name}"

    def sql_name(self, schema: TableSchema) -> str:
        """The three parts, each quoted."""
        return f"{self._schema(schema.layer)}.`{schema.name}`"

    def view_name(self, name: str) -> str:
        """A view of `schemas/views` in an SQL statement: in a schema beside those of the layers."""
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


TablePlace: TypeAlias = Folder | Catalog


def place_of(spark: SparkSession, lake: str) -> TablePlace:
    """The place of a lake, by its name or path. Raises BadRequest."""
    if not is_catalog(lake):
        return Folder(lake)
    catalog, prefix = parse_catalog(lake)
    return Catalog(spark, catalog, prefix)


CHANGE_FEED: Final = "delta.enableChangeDataFeed"
APPEND_ONLY: Final = "delta.appendOnly"
WRITER: Final = "rebalanceAudit.writer"
"""The kind of writer that made the table, and that alone changes it."""
LAYOUT: Final = "rebalanceAudit.layout"
"""The number of the layout that the tables of the lake have; 1 where only WRITER is set."""
LAYOUT_NUMBER: Final = 1
"""Rises where an earlier release would misread what this one writes, as with a table on which runs build."""
OLDEST_LAYOUT: Final = 1
"""Lakes before it were clustered, had no writer of their own, and no state of the tables in meta.progress."""
FILTERED_BY: Final = (
    "cluster",
    "partition",
    "offset",
    "timestamp",
    "group_id",
    "topic",
    "transaction_state",
)
"""Columns of bronze and silver by which queries filter."""


def properties(schema: TableSchema, writer: str) -> dict[str, str]:
    """The properties that a table is made with."""
    found = {
        WRITER: writer,
        LAYOUT: str(LAYOUT_NUMBER),
        # Readers without Spark, and many engines, cannot read deletion vectors.
        "delta.enableDeletionVectors": "false",
        # A run commits to some twenty tables, and a checkpoint of a log takes a second: by default Spark makes one at
        # every tenth commit. Other readers read up to fifty small files.
        "delta.checkpointInterval": "50",
    }
    if schema.layer in {"bronze", "gold"}:
        # A dashboard that was refreshed an hour ago asks what has changed since, and so does an increment over bronze;
        # for appends the feed costs nothing, since the rows can be read from the data files.
        found[CHANGE_FEED] = "true"
    if names := columns_with_bounds(schema):
        found["delta.dataSkippingStatsColumns"] = ",".join(names)
    if schema.append_only:
        found[APPEND_ONLY] = "true"
    return found


def columns_with_bounds(schema: TableSchema) -> list[str]:
    """The columns whose least and greatest value Delta's log has for each file; empty for Delta's own choice.

    Of bronze and silver only those that queries filter by: for all columns they would take a third of the write's time.
    """
    if schema.layer not in {"bronze", "silver"}:
        return []
    return [name for name in FILTERED_BY if name in schema.column_names]


def definition(name: str, schema: TableSchema, writer: str) -> str:
    """The statement that makes a table."""
    columns = ", ".join(
        f"`{column.name}` {column.type}{'' if column.nullable else ' NOT NULL'}"
        f" COMMENT {sql_literal(column.meaning)}"
        for column in schema.columns
    )
    set_to = ", ".join(f"'{key}' = '{value}'" for key, value in properties(schema, writer).items())
    return (
        f"CREATE TABLE IF NOT EXISTS {name} ({columns}) USING delta"
        f" COMMENT {sql_literal(schema.description)} TBLPROPERTIES ({set_to})"
    )


def arrow_fields(schema: TableSchema) -> pa.Schema:
    """The columns as delta-rs takes them: with comments, and what must not be null."""
    return pa.schema(
        [
            pa.field(
                column.name,
                arrow_type(column.type),
                column.nullable,
                {"comment": column.meaning},
            )
            for column in schema.columns
        ]
    )


def plain_fields(schema: TableSchema) -> pa.Schema:
    """The columns without comments: other metadata would make it another schema."""
    fields: list[Any] = [field.remove_metadata() for field in arrow_fields(schema)]
    return pa.schema(fields)


PLAIN: Final = re.compile(r"[\w.:/@ -]*", re.ASCII)


def text_literal(text: str) -> str:
    """An expression of Spark's for a text. Nothing of it can be taken for a quote, an escape or a variable."""
    if PLAIN.fullmatch(text):
        return f"'{text}'"
    return f"CAST(X'{text.encode().hex()}' AS STRING)"


def same_key(schema: TableSchema, left: str, right: str, null_safe: str = "<=>") -> str:
    """Equality of the table's key in SQL, by the operator `null_safe` where a key column may be null."""
    nullable = {column.name for column in schema.columns if column.nullable}
    # In brackets: the parser of delta-rs takes what follows `IS DISTINCT FROM` for more of the same.
    return " AND ".join(
        f"({left}.`{name}` {null_safe if name in nullable else '='} {right}.`{name}`)"
        for name in schema.key
    )
