"""The output tables as data: `schemas/tables/*.json`, one file per table.

Columns, comments, keys and quality checks of the Delta tables are read from here, and so is the catalogue for people:
`make codegen` renders it into `docs/tables.md` and `README.md`, `make check-generated` checks
whether both are up to date.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Final, Literal, TypeAlias, get_args

from rebalance_audit.resources import list_files, read_text
from rebalance_audit.tables.checks import (
    Check,
    Json,
    TableSchemaError,
    json_object,
    parse_check,
    words,
)

Layer: TypeAlias = Literal["bronze", "silver", "gold", "meta"]
Way: TypeAlias = Literal["append", "merge", "replace"]
"""How rows come into a table: as new ones, compared by key with those that it has, or in the place of some of them."""

FOLDER = "schemas/tables"
VALUE_LISTS = "schemas/value_lists.json"
ATOMIC_TYPES = frozenset({"string", "int", "bigint", "double", "timestamp", "boolean", "binary"})


class TableName:
    """Full name of each table in `schemas/tables`: layer and name."""

    RECORDS: Final = "bronze.records"
    END_OFFSETS: Final = "bronze.end_offsets"
    GROUP_RECORDS: Final = "silver.group_records"
    OFFSET_COMMITS: Final = "silver.offset_commits"
    QUARANTINE: Final = "silver.quarantine"
    EPOCHS: Final = "gold.epochs"
    REBALANCE_CAUSES: Final = "gold.rebalance_causes"
    CONVERGENCE: Final = "gold.convergence"
    REBALANCES: Final = "gold.rebalances"
    MEMBERS: Final = "gold.members"
    OWNERSHIP: Final = "gold.ownership"
    GROUP_STATES: Final = "gold.group_states"
    FINDINGS: Final = "gold.findings"
    GROUP_HOURS: Final = "gold.group_hours"
    COMMIT_PROGRESS: Final = "gold.progress"
    TOPICS: Final = "gold.topics"
    WHAT_IF: Final = "gold.what_if"
    DEPLOYS: Final = "gold.deploys"
    BROKER_LOG: Final = "meta.broker_log"
    CHECKS: Final = "meta.checks"
    INGESTED: Final = "meta.ingested"
    PROGRESS: Final = "meta.progress"
    RUNS: Final = "meta.runs"
    SNAPSHOTS: Final = "meta.snapshots"


GOLD_TABLES: Final = (
    TableName.EPOCHS,
    TableName.REBALANCE_CAUSES,
    TableName.CONVERGENCE,
    TableName.REBALANCES,
    TableName.MEMBERS,
    TableName.OWNERSHIP,
    TableName.GROUP_STATES,
    TableName.FINDINGS,
    TableName.GROUP_HOURS,
    TableName.COMMIT_PROGRESS,
    TableName.TOPICS,
)
"""What dashboards read: the tables that the audit fills, those made of these, and the names of topics.

gold.what_if and gold.deploys are not among them: a lake has them only where `predict` has written the one, and a run
with --deploys the other.
"""


@dataclass(frozen=True, slots=True)
class Column:
    """One column; `type` is a Spark DDL type string, `meaning` a sentence that becomes its comment."""

    name: str
    type: str
    nullable: bool
    meaning: str


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
    columns: tuple[Column, ...]
    checks: tuple[Check, ...]
    clustered_by: tuple[str, ...] = ()
    append_only: bool = False
    begins_at: str | None = None
    """The column that says when a row begins: a window of time takes rows by it. None where rows have no time."""
    aged_by: str | None = None
    """The moment from which the age of a row counts, null for a row that has not ended, in SQL that both writers know.

    None where no row expires.
    """
    written: tuple[Way, ...] = ("append", "merge")
    replaced_by: str = "cluster"
    """The column by which `replace` finds the rows that it puts others in the place of."""
    open_while_null: str | None = None
    """The column that is null as long as a row may change. None where rows rarely change, or show it otherwise."""

    @property
    def full_name(self) -> str:
        """Layer and name, as `gold.epochs`."""
        return f"{self.layer}.{self.name}"

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of the columns in order."""
        return tuple(column.name for column in self.columns)

    @property
    def column_types(self) -> dict[str, str]:
        """Name of each column -> its type as DDL, in order."""
        return {column.name: column.type for column in self.columns}


@cache
def table_schemas() -> Mapping[str, TableSchema]:
    """Every output table by its full name (`gold.epochs`), layer by layer.

    Raises TableSchemaError when a file is malformed.
    """
    lists = value_lists()
    tables = [parse_table(path, read_text(path), lists) for path in list_files(FOLDER, ".json")]
    order = get_args(Layer)
    tables.sort(key=lambda table: (order.index(table.layer), table.name))
    by_name = {table.full_name: table for table in tables}
    _check_others(by_name)
    return MappingProxyType(by_name)


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
    data = json_object(
        path,
        json.loads(text),
        required=("layer", "name", "description", "grain", "key", "columns", "checks"),
        optional=(
            *("clustered_by", "append_only", "begins_at", "open_while_null"),
            *("aged_by", "written", "replaced_by"),
        ),
    )
    columns = tuple(_column(path, column) for column in data["columns"])
    names = [column.name for column in columns]
    if len(set(names)) < len(names):
        raise TableSchemaError(f"{path}: a column is named twice")
    declared = [parse_check(path, check, lists) for check in data["checks"]]
    key = tuple(data["key"])
    required_columns = tuple(column.name for column in columns if not column.nullable)
    always = (Check("unique", "fail", key), Check("not_null", "fail", required_columns))
    given: Json = {
        name: tuple(value) if isinstance(value, list) else value for name, value in data.items()
    }
    given |= {"columns": columns, "checks": (*always, *declared)}
    table = TableSchema(**given)
    if unknown := {*table.written} - {*get_args(Way)}:
        raise TableSchemaError(f"{path}: there is no way to write {', '.join(sorted(unknown))}")
    if table.layer not in get_args(Layer) or not path.endswith(f"/{table.full_name}.json"):
        raise TableSchemaError(f"{path} must be named by its layer and name, {table.full_name}")
    for used in _used_columns(table):
        if used not in names:
            raise TableSchemaError(f"{path}: {used} is not a column")
    return table


def _column(path: str, data: object) -> Column:
    column = Column(**json_object(path, data, required=("name", "type", "nullable", "meaning")))
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


def _used_columns(table: TableSchema) -> Iterator[str]:
    yield from table.key
    yield from table.clustered_by
    if "replace" in table.written:
        yield table.replaced_by
    if table.begins_at is not None:
        yield table.begins_at
    for check in table.checks:
        yield from check.used_columns


def _check_others(tables: Mapping[str, TableSchema]) -> None:
    """Raises TableSchemaError where a check names another table, or a column there, that does not exist."""
    for table in tables.values():
        for check in table.checks:
            if check.table is None:
                continue
            other = tables.get(check.table)
            for used in check.used_there():
                if other is None or used not in other.column_names:
                    raise TableSchemaError(
                        f"{table.full_name}: {words(check)}: there is no {check.table}.{used}"
                    )
