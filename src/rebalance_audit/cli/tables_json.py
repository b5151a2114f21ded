"""Rows of gold tables as one JSON object: every column of the contract, times as ISO 8601."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from rebalance_audit.audit.rows import Row
from rebalance_audit.errors import BadRequest
from rebalance_audit.report.brief import brief
from rebalance_audit.report.words import iso
from rebalance_audit.tables.row_shapes import shaper
from rebalance_audit.tables.schemas import table_schemas


def tables_json(tables: Mapping[str, Sequence[Mapping[str, Any]]], cluster: str) -> bytes:
    """The object, one row per line; `tables` is keyed by the names of gold tables, its times are epoch milliseconds."""
    parts = [
        orjson.dumps(name) + b":[" + b",".join(_rows(name, rows, cluster)) + b"\n]"
        for name, rows in tables.items()
    ]
    return b"{" + b",\n".join(parts) + b"}\n"


class Narrowed(NamedTuple):
    """Which rows of an object of tables a program wants."""

    tables: tuple[str, ...] = ()
    """Names, with or without `gold.`; empty for all."""
    from_ms: int | None = None
    to_ms: int | None = None
    """Rows that begin at the one moment or later, and before the other; tables without times keep all."""
    limit: int | None = None
    """The first rows of each table, in order of its key."""

    def json(self, tables: Mapping[str, Sequence[Row]], cluster: str) -> bytes:
        """The object. Raises BadRequest for a table that is not among these."""
        return tables_json(self.of(tables), cluster)

    def of(self, tables: Mapping[str, Sequence[Row]]) -> dict[str, Sequence[Row]]:
        """Those rows. Raises BadRequest for a table that is not among them."""
        wanted = [name.removeprefix("gold.") for name in self.tables] or list(tables)
        for name in wanted:
            if name not in tables:
                raise BadRequest(f"There is no table {name!r}; there are {', '.join(tables)}.")
        return {name: self._of_table(name, tables[name])[: self.limit] for name in wanted}

    def _of_table(self, name: str, rows: Sequence[Row]) -> Sequence[Row]:
        begins = table_schemas()[f"gold.{name}"].begins_at
        if begins is None or (self.from_ms, self.to_ms) == (None, None):
            return rows
        return [row for row in rows if self._begins_inside(row[begins])]

    def _begins_inside(self, moment_ms: int | None) -> bool:
        if moment_ms is None:
            return False
        return (self.from_ms is None or moment_ms >= self.from_ms) and (
            self.to_ms is None or moment_ms < self.to_ms
        )


class Brief:
    """What fits into a program's first look."""

    def json(self, tables: Mapping[str, Sequence[Row]], cluster: str) -> bytes:
        """The object of `report.brief`."""
        form = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
        return orjson.dumps(brief(tables, cluster), option=form)


def row_for_programs(table: str, row: Mapping[str, Any], cluster: str) -> dict[str, Any]:
    """Every column of one row of a gold table, times as ISO 8601."""
    return shaper(table_schemas()[f"gold.{table}"], iso)(row, cluster)


def _rows(table: str, rows: Sequence[Mapping[str, Any]], cluster: str) -> list[bytes]:
    shape_of = shaper(table_schemas()[f"gold.{table}"], iso)
    return [b"\n" + orjson.dumps(shape_of(row, cluster)) for row in rows]
