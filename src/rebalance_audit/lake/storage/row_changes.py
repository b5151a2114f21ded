"""Changes of a table's rows: columns beside the table's own, and frames that have them."""

from collections.abc import Iterable
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.lake.storage.stage import GONE
from rebalance_audit.tables.schemas import TableSchema

CHANGE: Final = "_change"
INSERT: Final = "insert"
UPDATE: Final = "update"
DELETE: Final = "delete"
WENT_ON: Final = "_went_on"
"""Whether the row in the table may still change, see `goes_on`."""


def goes_on(schema: TableSchema, prefix: str = "") -> str:
    """Whether a row may still change, in SQL; never in a table whose schema does not say what ends a row."""
    if schema.open_while_null is None:
        return "false"
    return f"{prefix}{schema.open_while_null} IS NULL"


def changes_between(schema: TableSchema, changes: DataFrame, old: DataFrame) -> DataFrame:
    """The table's columns with CHANGE and WENT_ON, for those of the changes that make a difference.

    `changes` are as `TableWriter.merge` takes them, `old` has the table's rows with their keys.
    """
    new = changes.select(*schema.key, GONE, _struct(schema.column_names).alias("row"))
    olds = old.select(*schema.key, _struct(schema.column_names).alias("row"))
    change = F.expr(
        f"CASE WHEN old.row IS NULL AND new.{GONE} THEN NULL"
        f" WHEN old.row IS NULL THEN '{INSERT}'"
        f" WHEN new.{GONE} THEN '{DELETE}'"
        f" WHEN NOT (new.row <=> old.row) THEN '{UPDATE}' END"
    )
    found = (
        new.alias("new")
        .join(olds.alias("old"), F.expr(same_key(schema, "new", "old")), "left")
        .select(
            change.alias(CHANGE),
            F.expr(f"CASE WHEN new.{GONE} THEN old.row ELSE new.row END AS row"),
            F.expr(f"coalesce({goes_on(schema, 'old.row.')}, true)").alias(WENT_ON),
        )
    )
    return found.where(F.col(CHANGE).isNotNull()).select(CHANGE, WENT_ON, "row.*")


def gone_keys(schema: TableSchema, old: DataFrame, new: DataFrame) -> DataFrame:
    """The keys of old rows without a row among the new ones."""
    missing = old.alias("old").join(
        new.select(*schema.key).alias("new"), F.expr(same_key(schema, "old", "new")), "left_anti"
    )
    return missing.select(*schema.key)


def _struct(names: Iterable[str]) -> Column:
    """One expression: pyspark would call Java several times for each column."""
    return F.expr(f"struct({', '.join(names)})")


def same_key(schema: TableSchema, left: str, right: str) -> str:
    """Equality of the table's key in SQL, null-safe where a key column may be null."""
    nullable = {column.name for column in schema.columns if column.nullable}
    return " AND ".join(
        f"{left}.{name} {'<=>' if name in nullable else '='} {right}.{name}" for name in schema.key
    )
