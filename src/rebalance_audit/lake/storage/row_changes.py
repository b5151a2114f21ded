"""Changes of a table's rows: columns beside the table's own, frames that have them, and the range of their keys."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.lake.storage.stage import GONE
from rebalance_audit.lake.storage.table_definition import text_literal
from rebalance_audit.tables.schemas import TableSchema

CHANGE: Final = "_change"
INSERT: Final = "insert"
UPDATE: Final = "update"
DELETE: Final = "delete"
WAS_OPEN: Final = "_was_open"
"""Whether the row in the table may still change, see `is_open`."""


def is_open(schema: TableSchema, prefix: str = "") -> str:
    """Whether a row may still change, in SQL; never in a table whose schema does not say what ends a row."""
    if schema.open_while_null is None:
        return "false"
    return f"{prefix}{schema.open_while_null} IS NULL"


def changes_between(schema: TableSchema, changes: DataFrame, old: DataFrame) -> DataFrame:
    """The table's columns with CHANGE and WAS_OPEN, for those of the changes that make a difference.

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
            F.expr(f"coalesce({is_open(schema, 'old.row.')}, true)").alias(WAS_OPEN),
        )
    )
    return found.where(F.col(CHANGE).isNotNull()).select(CHANGE, WAS_OPEN, "row.*")


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


RANGED: Final = frozenset({"int", "bigint"})
"""Types of key columns whose range is known: Delta keeps their minimum and maximum per file. Ids are spread evenly."""
LISTED_GROUPS: Final = 200
"""Up to this many groups are listed one by one; more are given by their range, which leaves out fewer files."""


@dataclass(frozen=True, slots=True)
class KeyRange:
    """The keys of some rows of one table."""

    numbers: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Key column -> lowest and highest number."""
    groups: Sequence[str] = ()
    """The groups, if there are few."""
    group_ends: tuple[str, str] | None = None
    """First and last group id, if there are many."""

    def condition(self, prefix: str = "") -> str:
        """What every row with one of the keys meets, as SQL with literals; the prefix is put before column names."""
        parts = [
            f"{prefix}{name} BETWEEN {low} AND {high}" for name, (low, high) in self.numbers.items()
        ]
        if self.groups:
            parts.append(f"{prefix}group_id IN ({', '.join(map(text_literal, self.groups))})")
        if self.group_ends is not None:
            first, last = map(text_literal, self.group_ends)
            parts.append(f"{prefix}group_id BETWEEN {first} AND {last}")
        return " AND ".join(parts) or "true"


def range_of_keys(schema: TableSchema, rows: DataFrame) -> KeyRange:
    """The range of the rows of a frame that has the key's columns. Reads the frame once."""
    types = {column.name: column.type for column in schema.columns if not column.nullable}
    names = [name for name in schema.key if types.get(name) in RANGED]
    ends = [
        end(name).alias(f"{word}_{name}")
        for name in names
        for word, end in (("low", F.min), ("high", F.max))
    ]
    group_id = F.col("group_id") if "group_id" in schema.key else F.lit(None)
    few = F.slice(F.collect_set(group_id), 1, LISTED_GROUPS + 1).alias("groups")
    found = rows.agg(*ends, few, F.min(group_id).alias("first"), F.max(group_id).alias("last"))
    row = found.first()
    assert row is not None
    numbers = {
        name: (row[f"low_{name}"], row[f"high_{name}"])
        for name in names
        if row[f"low_{name}"] is not None
    }
    if len(row["groups"]) > LISTED_GROUPS:
        return KeyRange(numbers, group_ends=(row["first"], row["last"]))
    return KeyRange(numbers, row["groups"])
