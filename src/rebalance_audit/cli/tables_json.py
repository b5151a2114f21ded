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


def _rows(table: str, rows: Sequence[Mapping[str, Any]], cluster: str) -> list[bytes]:
    columns = [
        (column.name, _converter(column.type))
        for column in table_schemas()[f"gold.{table}"].columns
    ]
    lines = []
    for row in rows:
        shape = {name: convert(row.get(name)) for name, convert in columns}
        shape["cluster"] = cluster
        lines.append(b"\n" + orjson.dumps(shape))
    return lines


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
