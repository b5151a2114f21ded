"""docs/upgrades.md: the versions of each table and what a new one changes, from `schemas/table_versions.json`.

`--release` records the columns of versions that are being released; from then on, other columns need another version.
"""

import json
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from rebalance_audit.resources import checkout_root
from rebalance_audit.tables.checks import TableSchemaError
from rebalance_audit.tables.schemas import TableSchema, table_schemas
from workshop import generated_files

PAGE: Final = "docs/upgrades.md"
VERSIONS: Final = "schemas/table_versions.json"
INTRODUCTION: Final = """\
# Upgrades

Generated from `schemas/table_versions.json` by `make codegen`. A lake needs no migration: the next `run` of a new
release adds columns, and rewrites rows whose meaning has changed. This page says what changes for those who read the
tables.

| change | new version of the table |
|---|---|
| a new column, which is null in rows of earlier releases | no; it is in the changelog |
| a column is removed, renamed, has another type, or has become nullable | yes |
| a column or a row means something else | yes |
| a different key | yes |

The tables of `meta` are internal: their columns may change without notice.

| table | version | since | note |
|---|---|---|---|
"""


def columns_digest(table: TableSchema) -> str:
    """A fingerprint of what a reader depends on: key, names, types, and what may be null."""
    columns = [[column.name, column.type, column.nullable] for column in table.columns]
    return sha256(json.dumps([table.key, columns]).encode()).hexdigest()[:16]


def versions(root: Path) -> dict[str, list[dict[str, Any]]]:
    """Full name of a table -> its versions, the newest last."""
    read: dict[str, list[dict[str, Any]]] = json.loads((root / VERSIONS).read_text())
    return read


def complaints(found: dict[str, list[dict[str, Any]]], tables: dict[str, TableSchema]) -> list[str]:
    """What is wrong with the versions of tables, a sentence each."""
    promised = [table for table in tables.values() if table.layer != "meta"]
    names = {table.full_name for table in promised}
    wrong = [f"{name} has no version in {VERSIONS}." for name in sorted(names - found.keys())]
    wrong += [f"{name} of {VERSIONS} is no table." for name in sorted(found.keys() - names)]
    for table in promised:
        entries = found.get(table.full_name, [])
        if [entry["version"] for entry in entries] != list(range(1, len(entries) + 1)):
            wrong.append(f"The versions of {table.full_name} are not 1, 2, and so on.")
        if any("columns" not in entry for entry in entries[:-1]):
            wrong.append(
                f"An earlier version of {table.full_name} does not say which columns it had."
            )
        now = columns_digest(table)
        if entries and entries[-1].get("columns", now) != now:
            wrong.append(
                f"{table.full_name} has other columns than its version {entries[-1]['version']}, which is released:"
                " add a version with a note for those who read the table; for a new column alone, change its"
                f" `columns` to {now}."
            )
    return wrong


def page(found: dict[str, list[dict[str, Any]]]) -> str:
    """The page as Markdown, the newest version of each table first."""
    lines = [
        f"| {name} | {entry['version']} | {entry['since']} | {entry['note']} |"
        for name, entries in found.items()
        for entry in reversed(entries)
    ]
    return INTRODUCTION + "\n".join(lines) + "\n"


def due() -> dict[Path, str]:
    """The page at its path. Raises TableSchemaError for a table that changed without a new version."""
    root = checkout_root()
    found = versions(root)
    if wrong := complaints(found, dict(table_schemas())):
        raise TableSchemaError(" ".join(wrong))
    return {root / PAGE: page(found)}


def released() -> dict[Path, str]:
    """The versions with the columns of those that are being released."""
    root = checkout_root()
    found = versions(root)
    for name, entries in found.items():
        entries[-1].setdefault("columns", columns_digest(table_schemas()[name]))
    return {root / VERSIONS: _text(found)}


def _text(found: dict[str, list[dict[str, Any]]]) -> str:
    rows = [
        f"  {json.dumps(name)}: [\n"
        + ",\n".join(f"    {json.dumps(entry)}" for entry in entries)
        + "\n  ]"
        for name, entries in found.items()
    ]
    return "{\n" + ",\n".join(rows) + "\n}\n"


if __name__ == "__main__":
    if sys.argv[1:] == ["--release"]:
        sys.exit(generated_files.main(released, ["--write"]))
    sys.exit(generated_files.main(due))
