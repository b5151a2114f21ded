"""The output tables as data: `schemas/tables/*.json`, one file per table.

Columns, comments, keys and quality checks of the Delta tables are read from here, and so is the catalogue for people:
`python -m rebalance_audit.table_schemas --write` renders it into `docs/tables.md` and `README.md`, `--check` tells
whether both are fresh.
"""

import json
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, get_args

from rebalance_audit.resources import checkout_root, list_files, read_text

Layer: TypeAlias = Literal["bronze", "silver", "gold", "meta"]
Severity: TypeAlias = Literal["fail", "warn"]
CheckKind: TypeAlias = Literal["unique", "not_null", "in_set", "range", "ordered"]

FOLDER = "schemas/tables"
VALUE_LISTS = "schemas/value_lists.json"
ATOMIC_TYPES = frozenset({"string", "int", "bigint", "timestamp", "boolean", "binary"})


class TableSchemaError(ValueError):
    """A file of `schemas/tables` breaks the rules of this module; the message names the file."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column; `type` is a Spark DDL type string, `meaning` a sentence that becomes its comment."""

    name: str
    type: str
    nullable: bool
    meaning: str


@dataclass(frozen=True, slots=True)
class Where:
    """Restricts a check to rows whose `column` has one of `values`, or is (`is_null`) or is not null."""

    column: str
    values: tuple[str | bool, ...] = ()
    is_null: bool | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """What must hold (`fail`) or should hold (`warn`) for the rows of a table.

    `unique`: the columns together, null equal to null. `not_null`, `in_set` and `range` (both ends inclusive): each of
    the columns. `ordered`: each of the columns is at most the next; nulls are passed over. In `in_set` and `range` a
    null is fine.
    """

    kind: CheckKind
    severity: Severity
    columns: tuple[str, ...]
    values: tuple[str, ...] = ()
    minimum: int | None = None
    maximum: int | None = None
    where: Where | None = None


@dataclass(frozen=True, slots=True)
class TableSchema:
    """The contract of one output table.

    `key` columns identify a row; where one of them is nullable, keys compare null-safe. `checks` begin with the two
    that every table has: the key is unique, and what is not nullable is not null.
    """

    layer: Layer
    name: str
    description: str
    grain: str
    key: tuple[str, ...]
    clustered_by: tuple[str, ...]
    append_only: bool
    columns: tuple[Column, ...]
    checks: tuple[Check, ...]

    @property
    def full_name(self) -> str:
        """Layer and name, as `gold.epochs`."""
        return f"{self.layer}.{self.name}"

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of the columns in order."""
        return tuple(column.name for column in self.columns)


@cache
def table_schemas() -> Mapping[str, TableSchema]:
    """Every output table by its full name (`gold.epochs`), layer by layer.

    Raises TableSchemaError when a file is malformed.
    """
    lists = value_lists()
    tables = [parse_table(path, read_text(path), lists) for path in list_files(FOLDER, ".json")]
    order = get_args(Layer)
    tables.sort(key=lambda table: (order.index(table.layer), table.name))
    return MappingProxyType({table.full_name: table for table in tables})


@cache
def value_lists() -> Mapping[str, tuple[str, ...]]:
    """The closed lists of values that `in_set` checks name."""
    lists = json.loads(read_text(VALUE_LISTS))
    return MappingProxyType({name: tuple(values) for name, values in lists.items()})


# --- parsing -----------------------------------------------------------------------------------


def parse_table(path: str, text: str, lists: Mapping[str, tuple[str, ...]]) -> TableSchema:
    """The table that the JSON `text` of the file at `path` describes.

    Raises TableSchemaError for whatever it does not know or cannot resolve.
    """
    data = _object(
        path,
        json.loads(text),
        required=("layer", "name", "description", "grain", "key", "columns", "checks"),
        optional=("clustered_by", "append_only"),
    )
    columns = tuple(_column(path, column) for column in data["columns"])
    names = [column.name for column in columns]
    if len(set(names)) < len(names):
        raise TableSchemaError(f"{path}: a column is named twice")
    declared = [_check(path, check, lists) for check in data["checks"]]
    key = tuple(data["key"])
    required_columns = tuple(column.name for column in columns if not column.nullable)
    table = TableSchema(
        layer=data["layer"],
        name=data["name"],
        description=data["description"],
        grain=data["grain"],
        key=key,
        clustered_by=tuple(data.get("clustered_by", ())),
        append_only=data.get("append_only", False),
        columns=columns,
        checks=(
            Check("unique", "fail", key),
            Check("not_null", "fail", required_columns),
            *declared,
        ),
    )
    if table.layer not in get_args(Layer) or not path.endswith(f"/{table.full_name}.json"):
        raise TableSchemaError(f"{path} must be named by its layer and name, {table.full_name}")
    for used in _used_columns(table):
        if used not in names:
            raise TableSchemaError(f"{path}: {used} is not a column")
    return table


def _object(
    where: str, data: object, required: tuple[str, ...], optional: tuple[str, ...] = ()
) -> dict[str, Any]:
    """The object itself, once it has all required keys and no other than the optional ones."""
    if not isinstance(data, dict):
        raise TableSchemaError(f"{where}: {data!r} is not an object")
    if missing := [key for key in required if key not in data]:
        raise TableSchemaError(f"{where}: {', '.join(missing)} missing in {data!r}")
    if unknown := [key for key in data if key not in required + optional]:
        raise TableSchemaError(f"{where}: unknown key {', '.join(unknown)}")
    return data


def _column(path: str, data: object) -> Column:
    column = Column(**_object(path, data, required=("name", "type", "nullable", "meaning")))
    if (rest := _after_type(column.type)) != "":
        raise TableSchemaError(f"{path}: {column.name}: {column.type} is no type, see {rest!r}")
    return column


def _after_type(ddl: str) -> str | None:
    """What follows the first type of a DDL string; None when it does not begin with a type."""
    match = re.match(r" *(\w+)(<?)", ddl)
    if match is None:
        return None
    name, bracket = match.groups()
    rest: str | None = ddl[match.end() :]
    if not bracket:
        return rest if name in ATOMIC_TYPES else None
    if name not in {"array", "map", "struct"}:
        return None
    part = r" *\w+ *:" if name == "struct" else ""
    arguments = 0
    while rest is not None and (field := re.match(part, rest)):
        rest = _after_type(rest[field.end() :])
        arguments += 1
        if rest and rest[0] == ">":
            wanted = {"array": 1, "map": 2}.get(name, arguments)
            return rest[1:] if arguments == wanted else None
        if not rest or rest[0] != ",":
            return None
        rest = rest[1:]
    return None


def _check(path: str, data: object, lists: Mapping[str, tuple[str, ...]]) -> Check:
    given = _object(
        path,
        data,
        required=("kind", "severity", "columns"),
        optional=("list", "min", "max", "where"),
    )
    if given["kind"] not in get_args(CheckKind) or given["severity"] not in get_args(Severity):
        raise TableSchemaError(f"{path}: no such kind or severity in {given}")
    if ("list" in given) != (given["kind"] == "in_set"):
        raise TableSchemaError(f"{path}: in_set, and no other check, takes a list: {given}")
    if ("min" in given or "max" in given) != (given["kind"] == "range"):
        raise TableSchemaError(f"{path}: range, and no other check, takes min or max: {given}")
    if "list" in given and given["list"] not in lists:
        raise TableSchemaError(f"{path}: {VALUE_LISTS} has no list {given['list']}")
    return Check(
        kind=given["kind"],
        severity=given["severity"],
        columns=tuple(given["columns"]),
        values=lists[given["list"]] if "list" in given else (),
        minimum=given.get("min"),
        maximum=given.get("max"),
        where=_where(path, given["where"]) if "where" in given else None,
    )


def _where(path: str, data: object) -> Where:
    given = _object(path, data, required=("column",), optional=("values", "null"))
    if ("values" in given) == ("null" in given):
        raise TableSchemaError(f"{path}: where takes either values or null: {given}")
    return Where(given["column"], tuple(given.get("values", ())), given.get("null"))


def _used_columns(table: TableSchema) -> Iterator[str]:
    yield from table.key
    yield from table.clustered_by
    for check in table.checks:
        yield from check.columns
        if check.where is not None:
            yield check.where.column


# --- catalogue ---------------------------------------------------------------------------------

CATALOGUE = "docs/tables.md"
README = "README.md"
BEGIN, END = "<!-- tables:begin -->", "<!-- tables:end -->"
_LAYER_WORDS: Mapping[Layer, str] = {
    "bronze": "the log as it was",
    "silver": "decoded records",
    "gold": "what happened",
    "meta": "what ran",
}


def catalogue() -> str:
    """Every table with its columns and checks, as Markdown."""
    lines = [
        "# Output tables",
        "",
        "Generated from `schemas/tables/` by `make codegen`. Times are UTC, durations carry their unit in the name.",
        "A table lies at `<lake>/<layer>/<name>`.",
    ]
    for table in table_schemas().values():
        lines += ["", f"## {table.full_name}", "", table.description, ""]
        lines.append(f"One row is {table.grain}. Key: {', '.join(table.key)}.")
        if table.clustered_by:
            lines[-1] += f" Clustered by {', '.join(table.clustered_by)}."
        lines += ["", "| column | type | null | meaning |", "|---|---|---|---|"]
        lines += [
            f"| {column.name} | `{column.type}` | {'yes' if column.nullable else ''} | {column.meaning} |"
            for column in table.columns
        ]
        lines += ["", "Checks:", ""]
        lines += [f"- {check.severity}: {_words(check)}" for check in table.checks]
    return "\n".join(lines) + "\n"


def _words(check: Check) -> str:
    columns = ", ".join(check.columns)
    bounds = [
        f"{words} {bound}"
        for words, bound in (("at least", check.minimum), ("at most", check.maximum))
        if bound is not None
    ]
    words_of: dict[CheckKind, str] = {
        "unique": f"{columns} unique together",
        "not_null": f"{columns} not null",
        "in_set": f"{columns} one of {', '.join(value or '(empty)' for value in check.values)}",
        "ordered": " ≤ ".join(check.columns),
        "range": f"{columns} {' and '.join(bounds)}",
    }
    text = words_of[check.kind]
    if check.where is None:
        return text
    where = check.where
    if where.is_null is not None:
        return f"{text} where {where.column} is {'' if where.is_null else 'not '}null"
    return f"{text} where {where.column} is {' or '.join(map(_literal, where.values))}"


def _literal(value: str | bool) -> str:
    return value if isinstance(value, str) else str(value).lower()


def short_catalogue() -> str:
    """One line per table, as a Markdown table for the README."""
    lines = [
        f"Columns, types and checks: [{CATALOGUE}]({CATALOGUE}).",
        "",
        "| table | one row is | |",
        "|---|---|---|",
    ]
    lines += [
        f"| {table.full_name} | {table.grain} | {table.description} |"
        for table in table_schemas().values()
    ]
    return "\n".join(lines)


def rendered_files(root: Path) -> dict[Path, str]:
    """Path and due text of the files that hold a catalogue, in a checkout.

    Raises TableSchemaError when README.md lacks the two markers.
    """
    readme = root / README
    text = readme.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise TableSchemaError(f"{README} lacks {BEGIN} … {END}")
    return {
        root / CATALOGUE: catalogue(),
        readme: f"{before}{BEGIN}\n{short_catalogue()}\n{END}{after}",
    }


def main(arguments: list[str]) -> int:
    """Write the catalogues (`--write`), or check that they are fresh (`--check`: 1 when one is not)."""
    if arguments not in (["--write"], ["--check"]):
        sys.stderr.write("usage: python -m rebalance_audit.table_schemas --write|--check\n")
        return 2
    stale = False
    for path, text in rendered_files(checkout_root()).items():
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            continue
        if arguments == ["--check"]:
            sys.stderr.write(f"{path.name} is not what schemas/tables/ says: run `make codegen`\n")
            stale = True
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return int(stale)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
