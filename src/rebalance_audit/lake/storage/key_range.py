"""The range of keys that the rows of a write lie in: it lets Delta leave out the files that cannot have them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.lake.storage.sql_text import text_literal
from rebalance_audit.tables.schemas import TableSchema

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

    def condition(self, prefix: str = "") -> Column:
        """What every row with one of the keys meets, in literals; the prefix goes before each column's name."""
        parts = [
            f"{prefix}{name} BETWEEN {low} AND {high}" for name, (low, high) in self.numbers.items()
        ]
        if self.groups:
            parts.append(f"{prefix}group_id IN ({', '.join(map(text_literal, self.groups))})")
        if self.group_ends is not None:
            first, last = map(text_literal, self.group_ends)
            parts.append(f"{prefix}group_id BETWEEN {first} AND {last}")
        return F.expr(" AND ".join(parts) or "true")


def range_of_keys(schema: TableSchema, rows: DataFrame) -> KeyRange:
    """The range of the rows of a frame that has the key's columns. Reads the frame once."""
    names = ranged_columns(schema)
    numbers = [F.col(name) for name in names]
    # Rows that are to go have nothing but their key.
    group_id = F.col("group_id") if "group_id" in schema.key else F.lit(None)
    keys = rows.select(group_id.alias("group_id"), *number_columns(numbers))
    row = keys.agg(*range_columns(len(names))).first()
    assert row is not None
    return range_from(row.asDict(), names)


def ranged_columns(schema: TableSchema) -> list[str]:
    """Columns of a table's key whose range is known."""
    types = {column.name: column.type for column in schema.columns if not column.nullable}
    return [name for name in schema.key if types.get(name) in RANGED]


def number_columns(numbers: Sequence[Column]) -> list[Column]:
    """Numbers of keys as the columns that `range_columns` aggregates."""
    return [number.cast("bigint").alias(f"number_{place}") for place, number in enumerate(numbers)]


def range_columns(numbers: int = 0) -> list[Column]:
    """Aggregates over a frame with `group_id` and this many `number_columns`; `range_from` takes their row."""
    ends = [
        end(f"number_{place}").alias(f"{name}_{place}")
        for place in range(numbers)
        for name, end in (("low", F.min), ("high", F.max))
    ]
    few = F.slice(F.collect_set("group_id"), 1, LISTED_GROUPS + 1).alias("groups")
    return [*ends, few, F.min("group_id").alias("first"), F.max("group_id").alias("last")]


def range_from(found: Mapping[str, Any], names: Sequence[str] = ()) -> KeyRange:
    """The range in a row of `range_columns`; `names` are the key columns that the numbers stand for."""
    numbers = {
        name: (found[f"low_{place}"], found[f"high_{place}"])
        for place, name in enumerate(names)
        if found[f"low_{place}"] is not None
    }
    if len(found["groups"]) > LISTED_GROUPS:
        return KeyRange(numbers, group_ends=(found["first"], found["last"]))
    return KeyRange(numbers, found["groups"])
