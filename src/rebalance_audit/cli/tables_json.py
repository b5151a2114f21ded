"""Rows of gold tables as one JSON object: every column of the contract, times as ISO 8601."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

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


def row_for_programs(table: str, row: Mapping[str, Any], cluster: str) -> dict[str, Any]:
    """Every column of one row of a gold table, times as ISO 8601."""
    return shaper(table_schemas()[f"gold.{table}"], iso)(row, cluster)


def _rows(table: str, rows: Sequence[Mapping[str, Any]], cluster: str) -> list[bytes]:
    shape_of = shaper(table_schemas()[f"gold.{table}"], iso)
    return [b"\n" + orjson.dumps(shape_of(row, cluster)) for row in rows]
