"""The range of keys that the rows of a write lie in: it lets Delta leave out the files that cannot have them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from pyspark.sql import DataFrame
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
