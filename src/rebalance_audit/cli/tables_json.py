"""Rows of gold tables as one JSON object: every column of the contract, times as ISO 8601."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import orjson

from rebalance_audit.report.words import iso
from rebalance_audit.table_schemas import table_schemas

Convert: TypeAlias = Callable[[Any], Any]

_TIMES_IN_STRUCT: Final = re.compile(r"(\w+):timestamp")


def tables_json(tables: Mapping[str, Sequence[Mapping[str, Any]]], cluster: str) -> bytes:
    """The object, one row per line; `tables` is keyed by the names of gold tables, its times are epoch milliseconds."""
    parts = [
        orjson.dumps(name) + b":[" + b",".join(_rows(name, rows, cluster)) + b"\n]"
        for name, rows in tables.items()
    ]
    return b"{" + b",\n".join(parts) + b"}\n"


def row_for_programs(table: str, row: Mapping[str, Any], cluster: str) -> dict[str, Any]:
    """Every column of one row of a gold table, times as ISO 8601."""
    return _shaper(table)(row, cluster)


def _rows(table: str, rows: Sequence[Mapping[str, Any]], cluster: str) -> list[bytes]:
    shape_of = _shaper(table)
    return [b"\n" + orjson.dumps(shape_of(row, cluster)) for row in rows]


def _shaper(table: str) -> Callable[[Mapping[str, Any], str], dict[str, Any]]:
    columns = [
        (column.name, _converter(column.type))
        for column in table_schemas()[f"gold.{table}"].columns
    ]

    def shape(row: Mapping[str, Any], cluster: str) -> dict[str, Any]:
        shaped = {name: convert(row.get(name)) for name, convert in columns}
        shaped["cluster"] = cluster
        return shaped

    return shape


def _converter(column_type: str) -> Convert:
    if column_type == "timestamp":
        return iso
    times = _TIMES_IN_STRUCT.findall(column_type)
    return _in_structs(times) if times else _as_it_is


def _in_structs(times: list[str]) -> Convert:
    """For a list of structs: their fields that are times, converted."""

    def convert(structs: list[dict[str, Any]] | None) -> list[dict[str, Any]] | None:
        if structs is None:
            return None
        return [{**struct, **{name: iso(struct[name]) for name in times}} for struct in structs]

    return convert


def _as_it_is(value: Any) -> Any:
    return value
