"""Readers of the tables learn of every change that could break them."""

from dataclasses import replace
from typing import Any

import pytest

from rebalance_audit.resources import checkout_root
from rebalance_audit.tables.schemas import TableSchema, table_schemas
from workshop.pages.upgrades import columns_digest, complaints, versions

NAME = "gold.epochs"
TABLE = table_schemas()[NAME]
FIRST = {"version": 1, "since": "0.1.0", "note": "The first version."}
RELEASED = {**FIRST, "columns": columns_digest(TABLE)}


def retyped(table: TableSchema, **change: Any) -> TableSchema:
    """The table with another last column."""
    *columns, last = table.columns
    return replace(table, columns=(*columns, replace(last, **change)))


@pytest.mark.parametrize(
    ("entries", "table", "complaint"),
    [
        ([FIRST], retyped(TABLE, type="int"), None),
        ([RELEASED], TABLE, None),
        ([RELEASED], retyped(TABLE, meaning="In other words."), None),
        ([RELEASED], retyped(TABLE, type="int"), "has other columns than its version 1"),
        ([RELEASED], retyped(TABLE, name="other"), "has other columns than its version 1"),
        ([RELEASED], replace(TABLE, columns=TABLE.columns[:-1]), "has other columns"),
        ([RELEASED, {**FIRST, "version": 2}], retyped(TABLE, type="int"), None),
        ([{**FIRST, "version": 2}], TABLE, "are not 1, 2, and so on"),
        ([FIRST, {**FIRST, "version": 2}], TABLE, "does not say which columns it had"),
        ([], TABLE, "has no version"),
    ],
    ids=[
        "before its release a table may change",
        "as released",
        "explained better",
        "another type",
        "another name",
        "a column less",
        "a new version",
        "a version was left out",
        "released without its columns",
        "a new table",
    ],
)
def test_a_released_table_changes_with_a_note(
    entries: list[dict[str, Any]], table: TableSchema, complaint: str | None
) -> None:
    """Other columns need another version, and a version says what it changes."""
    found = complaints({NAME: entries} if entries else {}, {NAME: table})
    if complaint is None:
        assert found == []
    else:
        assert len(found) == 1
        assert complaint in found[0]


def test_the_tables_of_the_project_have_versions() -> None:
    """Of bronze, silver and gold."""
    assert complaints(versions(checkout_root()), dict(table_schemas())) == []
