"""The order of a gold table's rows, by its key, so that the same rows print the same from any source; and time windows.

The current incarnation of a group comes before its earlier ones.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, Final, NamedTuple, TypeVar

from rebalance_audit.tables.schemas import table_schemas

LATEST_FIRST: Final = frozenset({"incarnation"})
"""Key columns in descending order."""


def in_key_order(table: str, rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of one cluster in order of the table's key (`table` without its layer), the latest incarnation first.

    Null comes first.
    """
    ordered = list(rows)
    # By the last column first: sorting is stable, and one column at a time needs no key of several.
    for column in reversed(table_schemas()[f"gold.{table}"].key[1:]):  # without the cluster
        turned = column in LATEST_FIRST
        has_null = None in map(itemgetter(column), ordered)
        by = partial(_nulls_first, column, turned) if has_null else itemgetter(column)
        ordered.sort(key=by, reverse=turned)
    return ordered


def is_by_group(table: str) -> bool:
    """Whether the rows of a group stand together, in order of the groups' ids."""
    return table_schemas()[f"gold.{table}"].key[1] == "group_id"


def _nulls_first(column: str, turned: bool, row: dict[str, Any]) -> tuple[bool, Any]:
    return (row[column] is None) is turned, row[column]


Row = TypeVar("Row", bound=Mapping[str, Any])


class Window(NamedTuple):
    """From a moment until before another; epoch milliseconds, None where there is no limit."""

    from_ms: int | None = None
    to_ms: int | None = None

    @property
    def is_limited(self) -> bool:
        """Whether there is a row that it can leave out."""
        return self.from_ms is not None or self.to_ms is not None

    @property
    def is_empty(self) -> bool:
        """Whether no moment is inside: the end is not after the start."""
        return self.from_ms is not None and self.to_ms is not None and self.from_ms >= self.to_ms

    def has(self, moment_ms: int | None) -> bool:
        """Whether the moment is inside; an unknown one only where nothing is limited."""
        if moment_ms is None:
            return not self.is_limited
        return (self.from_ms is None or moment_ms >= self.from_ms) and (
            self.to_ms is None or moment_ms < self.to_ms
        )

    def rows(self, table: str, rows: Sequence[Row]) -> Sequence[Row]:
        """Of a gold table (`epochs`) the rows that begin inside; all rows of a table without times."""
        begins = table_schemas()[f"gold.{table}"].begins_at
        if begins is None or not self.is_limited:
            return rows
        return [row for row in rows if self.has(row[begins])]
