"""What is to be done with rows of a table: words of columns beside the table's own, and frames that have them."""

from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.lake.storage.clustering import goes_on
from rebalance_audit.tables.schemas import TableSchema, table_schemas

CHANGE: Final = "_change"
INSERT: Final = "insert"
UPDATE: Final = "update"
DELETE: Final = "delete"
CHANGE_TYPE: Final = "_change_type"
"""Delta's column by which rows of the change feed are told from the table's own, which have null in it."""
FILE: Final = "_file"
"""Name of the file that has the row; null where it is not known."""
HOURS: Final = "_hours"
WENT_ON: Final = "_went_on"
"""Whether the row in the table may still change, see `clustering`."""

Footprint: TypeAlias = Callable[[str], Column]
"""Takes the name of a struct column with a row; gives the hours of gold.group_hours to which the row belongs."""


def patch_rows(name: str, new: DataFrame, gone: DataFrame | None = None) -> DataFrame:
    """What `Sink.patch` takes, made from rows of a table and from the keys of rows that are gone."""
    schema = table_schemas()[name]
    columns = [column for column in schema.column_names if column != "cluster"]
    # A finding has an id of its own, but is of a group too.
    keys = [column for column in columns if column in schema.key or column == "group_id"]
    rows = new.select(*keys, _struct(columns).alias("row"))
    if gone is None:
        return rows
    return rows.unionByName(gone.select(*keys), allowMissingColumns=True)


def changes_between(
    schema: TableSchema,
    new: DataFrame,
    old: DataFrame,
    how: str,
    footprint: Footprint | None = None,
) -> DataFrame:
    """What turns the old rows into the new ones; with `how` left, rows that exist only among the old ones stay.

    `new` has the key and `row`, a struct of all columns, null for a row to delete; `old` has FILE beside the table's
    columns.
    """
    olds = old.select(*schema.key, FILE, _struct(schema.column_names).alias("row"))
    change = F.expr(
        "CASE WHEN new.row IS NULL AND old.row IS NULL THEN NULL"
        f" WHEN old.row IS NULL THEN '{INSERT}'"
        f" WHEN new.row IS NULL THEN '{DELETE}'"
        f" WHEN NOT (new.row <=> old.row) THEN '{UPDATE}' END"
    )
    found = (
        new.alias("new")
        .join(olds.alias("old"), same_key(schema, "new", "old"), how)
        .select(
            change.alias(CHANGE),
            F.expr("coalesce(new.row, old.row) AS row"),
            goes_on(schema, "old.row.").alias(WENT_ON),
            f"old.{FILE}",
            *([] if footprint is None else [_hours_of(footprint).alias(HOURS)]),
        )
    )
    return found.where(F.col(CHANGE).isNotNull()).select(
        CHANGE, WENT_ON, FILE, *([] if footprint is None else [HOURS]), "row.*"
    )


def keyed(schema: TableSchema, rows: DataFrame) -> DataFrame:
    """The rows in the form in which `changes_between` takes new ones."""
    return rows.select(*schema.key, _struct(schema.column_names).alias("row"))


def _struct(names: Iterable[str]) -> Column:
    """In one expression: to build one in Python takes Java some calls for each column."""
    return F.expr(f"struct({', '.join(names)})")


def _hours_of(footprint: Footprint) -> Column:
    none = F.array().cast("array<timestamp>")
    return F.array_union(
        F.coalesce(footprint("old.row"), none), F.coalesce(footprint("new.row"), none)
    )


def same_key(schema: TableSchema, left: str, right: str) -> Column:
    """Equality of the table's key, null-safe where a key column may be null."""
    nullable = {column.name for column in schema.columns if column.nullable}
    return F.expr(
        " AND ".join(
            f"{left}.{name} {'<=>' if name in nullable else '='} {right}.{name}"
            for name in schema.key
        )
    )
