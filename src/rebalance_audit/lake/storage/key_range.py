"""Between which keys the rows of a write lie: what lets Delta leave out the files that cannot have them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import and_
from typing import Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from rebalance_audit.lake.storage.output_rows import GONE, OUTPUTS, WHOLE, columns_of
from rebalance_audit.table_schemas import TableSchema, table_schemas

RANGED: Final = frozenset({"int", "bigint"})
"""Types of key columns whose range is told: Delta keeps their minimum and maximum per file. Ids are spread evenly."""
LISTED_GROUPS: Final = 200
"""Up to so many groups are named one by one; more are told by their range, which leaves out fewer files."""


@dataclass(frozen=True, slots=True)
class Reach:
    """Of some rows of one table."""

    ends: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Column -> lowest and highest number."""
    groups: Sequence[str] = ()
    """The groups, where there are few."""
    group_ends: tuple[str, str] | None = None
    """First and last name where there are many."""

    def condition(self, prefix: str = "") -> Column:
        """What every row with one of the keys meets, by literals; names of columns get the prefix."""
        parts = [F.lit(True)]
        for name, (low, high) in self.ends.items():
            parts.append(F.col(f"{prefix}{name}").between(F.lit(low), F.lit(high)))
        group_id = F.col(f"{prefix}group_id")
        if self.groups:
            parts.append(group_id.isin(list(self.groups)))
        if self.group_ends is not None:
            first, last = self.group_ends
            parts.append(group_id.between(F.lit(first), F.lit(last)))
        return reduce(and_, parts)


def reach_of(schema: TableSchema, rows: DataFrame) -> Reach:
    """Of the rows of a frame that has the key's columns. It is looked through once."""
    names = ranged_columns(schema)
    numbers = [F.col(name) for name in names]
    group_id = F.col("group_id") if "group_id" in schema.column_names else F.lit(None)
    found = rows.select(group_id.alias("group_id"), *_numbered(numbers)).agg(*_ends(len(names)))
    row = found.first()
    assert row is not None
    return _reach(names, row.asDict())


class HandedOut:
    """What came out of the reducer, by one look at its stream."""

    def __init__(self, stream: DataFrame) -> None:
        """Looks at the stream."""
        ranged = {output: ranged_columns(table_schemas()[name]) for output, name in OUTPUTS.items()}
        most = max(map(len, ranged.values()))
        # A row has but one of the structs: what is not null is of its table.
        numbers = [
            F.coalesce(
                *[
                    F.col(f"{output}.{names[place]}")
                    for output, names in ranged.items()
                    if place < len(names)
                ]
            )
            for place in range(most)
        ]
        of_groups = [output for output in OUTPUTS if "group_id" in columns_of(output)]
        groups = F.coalesce(*[F.col(f"{output}.group_id") for output in of_groups])
        rows = stream.select("table", "mark", groups.alias("group_id"), *_numbered(numbers))
        counted = rows.groupBy("table", (F.col("mark") == WHOLE).alias("whole")).agg(
            F.count(F.lit(1)).alias("rows"),
            F.count_if(F.col("mark") == GONE).alias("gone"),
            *_ends(most),
        )
        self._rows: Counter[str] = Counter()
        self._gone: Counter[str] = Counter()
        self._reaches: dict[str, Reach] = {}
        for row in counted.collect():
            output = row["table"]
            self._rows[output] += row["rows"]
            self._gone[output] += row["gone"]
            if not row["whole"]:
                self._reaches[output] = _reach(ranged[output], row.asDict())

    def rows(self, output: str) -> int:
        """Rows of an output, keys of rows that are gone among them."""
        return self._rows[output]

    def gone(self, output: str) -> int:
        """Keys of rows that are gone."""
        return self._gone[output]

    def reach(self, output: str) -> Reach:
        """Of the rows of groups that were resumed."""
        return self._reaches.get(output, Reach())


def ranged_columns(schema: TableSchema) -> list[str]:
    """Columns of a table's key whose range is told."""
    kinds = {column.name: column.type for column in schema.columns if not column.nullable}
    return [name for name in schema.key if kinds.get(name) in RANGED]


def group_reach_columns() -> list[Column]:
    """Aggregates over a frame with a column `group_id`, from which `group_reach` knows its groups."""
    return _ends(0)


def group_reach(found: Mapping[str, Any]) -> Reach:
    """Of the groups of a frame, from the row of those aggregates."""
    return _reach((), found)


def _numbered(numbers: Sequence[Column]) -> list[Column]:
    return [number.cast("bigint").alias(f"number_{place}") for place, number in enumerate(numbers)]


def _ends(count: int) -> list[Column]:
    ends = [
        end(f"number_{place}").alias(f"{name}_{place}")
        for place in range(count)
        for name, end in (("low", F.min), ("high", F.max))
    ]
    few = F.slice(F.collect_set("group_id"), 1, LISTED_GROUPS + 1).alias("groups")
    return [*ends, few, F.min("group_id").alias("first"), F.max("group_id").alias("last")]


def _reach(names: Sequence[str], found: Mapping[str, Any]) -> Reach:
    ends = {
        name: (found[f"low_{place}"], found[f"high_{place}"])
        for place, name in enumerate(names)
        if found[f"low_{place}"] is not None
    }
    if len(found["groups"]) > LISTED_GROUPS:
        return Reach(ends, group_ends=(found["first"], found["last"]))
    return Reach(ends, found["groups"])
