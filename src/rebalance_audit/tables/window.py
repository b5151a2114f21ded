"""Rows that begin in a stretch of time, by the column that each table's schema names."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from rebalance_audit.tables.schemas import table_schemas

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
