"""The gold tables and the views over them as files for tools that read no Delta. Importing this imports DuckDB."""

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Final, TypeAlias

import duckdb

from rebalance_audit.new_file import replacing
from rebalance_audit.readers.gold_sql import gold_sql, make_views, names_in
from rebalance_audit.tables.rows import GoldRows
from rebalance_audit.tables.schemas import table_schemas
from rebalance_audit.tables.views import quoted

ROWS_AT_ONCE: Final = 10_000
MOMENT_FORMAT: Final = "%Y-%m-%dT%H:%M:%S.%gZ"
"""ISO 8601 in UTC with milliseconds, which SQLite's own functions read, too."""

FORMULA: Final = r"^[=+\-@\t\r\n\x{FF1D}\x{FF0B}\x{FF0D}\x{FF20}]"
"""How a text begins that a spreadsheet takes for a formula; the last four are wide forms of the first."""
GUARDED: Final = r"'\0"

_SQLITE_TYPES: Final = {
    "BIGINT": "INTEGER",
    "INTEGER": "INTEGER",
    "BOOLEAN": "INTEGER",
    "DOUBLE": "REAL",
}
"""Type of DuckDB -> type of SQLite; all others are text."""

Exporter: TypeAlias = Callable[[duckdb.DuckDBPyConnection, list[str], Path], None]
"""Takes the database, the full names of its tables and views, and where to write."""


def export_gold(
    rows: GoldRows, kind: str, target: Path, *, guard_formulas: bool = False
) -> dict[str, int]:
    """Write everything to `target` and return the number of rows by name: `gold.epochs`, `views.groups_now`, ….

    `kind` is a key of EXPORTERS; `guard_formulas` is for CSV. A file that is there is replaced once all is written; in
    a folder each file is. Raises LakeNotReadable, and OSError.
    """
    with closing(gold_sql(rows)) as sql:
        names = names_in(sql)
        if guard_formulas:
            _to_csv(sql, names, target, guard_formulas=True)
        else:
            EXPORTERS[kind](sql, names, target)
        return {name: _count(sql, name) for name in names}


def _count(sql: duckdb.DuckDBPyConnection, name: str) -> int:
    (count,) = sql.execute(f"select count(*) from {name}").fetchall()[0]  # noqa: S608 - our own names
    return int(count)


def _to_duckdb(sql: duckdb.DuckDBPyConnection, names: list[str], target: Path) -> None:
    """A database with the tables, and the views as views."""
    tables = [name for name in names if name in table_schemas()]
    with replacing(target) as new:
        new.unlink()  # DuckDB takes no empty file for a database
        sql.execute(f"attach {quoted(str(new))} as exported; create schema exported.gold")
        for name in tables:
            sql.execute(f"create table exported.{name} as from {name}")
        sql.execute("use exported; begin transaction")
        make_views(sql, tables)
        for name in tables:
            _comment(sql, name)
        sql.execute("commit; use memory; detach exported")


def _comment(sql: duckdb.DuckDBPyConnection, name: str) -> None:
    """What the table and its columns mean."""
    schema = table_schemas()[name]
    comments = [f"table {name} is {quoted(schema.description)}"]
    comments += [
        f'column {name}."{column.name}" is {quoted(column.meaning)}' for column in schema.columns
    ]
    sql.execute(";".join(f"comment on {comment}" for comment in comments))


def _to_parquet(sql: duckdb.DuckDBPyConnection, names: list[str], target: Path) -> None:
    for name, file in _files(names, target, ".parquet"):
        sql.execute(f"copy (from {name}) to {quoted(str(file))} (format parquet, compression zstd)")


def _to_csv(
    sql: duckdb.DuckDBPyConnection, names: list[str], target: Path, *, guard_formulas: bool = False
) -> None:
    for name, file in _files(names, target, ".csv"):
        columns = _columns(sql, name)
        query = _flat(columns, name)
        if guard_formulas:
            guarded = ", ".join(
                f'regexp_replace("{column}", {quoted(FORMULA)}, {quoted(GUARDED)}) as "{column}"'
                for column, kind in columns.items()
                if kind == "VARCHAR"
            )
            query = f"select * replace ({guarded}) from ({query})"  # noqa: S608 - our own names
        sql.execute(f"copy ({query}) to {quoted(str(file))} (format csv, header)")


def _to_sqlite(sql: duckdb.DuckDBPyConnection, names: list[str], target: Path) -> None:
    """A table for each table and view; SQLite has no schemas, so their names go without."""
    with replacing(target) as new, closing(sqlite3.connect(new)) as out, out:
        for name in names:
            columns = _columns(sql, name)
            short = name.partition(".")[2]
            declared = ", ".join(
                f'"{column}" {_SQLITE_TYPES.get(kind, "TEXT")}' for column, kind in columns.items()
            )
            out.execute(f'create table "{short}" ({declared})')
            if "group_id" in columns:
                out.execute(f'create index "{short}_of_group" on "{short}" (cluster, group_id)')
            places = ", ".join("?" * len(columns))
            found = sql.execute(_flat(columns, name))
            while rows := found.fetchmany(ROWS_AT_ONCE):
                out.executemany(f'insert into "{short}" values ({places})', rows)  # noqa: S608 - our own names


EXPORTERS: Final[Mapping[str, Exporter]] = {
    "duckdb": _to_duckdb,
    "parquet": _to_parquet,
    "csv": _to_csv,
    "sqlite": _to_sqlite,
}
"""Kind of export -> what writes it: to a file, or for Parquet and CSV to a folder of files."""


def _columns(sql: duckdb.DuckDBPyConnection, name: str) -> dict[str, str]:
    return {column: kind for column, kind, *_ in sql.execute(f"describe {name}").fetchall()}


def _flat(columns: Mapping[str, str], name: str) -> str:
    """A query for values that any tool reads: moments as text, lists and structures as JSON."""
    return f"select {', '.join(_flat_column(*column) for column in columns.items())} from {name}"  # noqa: S608 - our own names


def _flat_column(column: str, kind: str) -> str:
    if kind.startswith("TIMESTAMP") and kind.endswith("]"):
        moments = f"list_transform(\"{column}\", lambda each: strftime(each, '{MOMENT_FORMAT}'))"
        return f'cast(to_json({moments}) as varchar) as "{column}"'
    if kind.startswith("TIMESTAMP"):
        return f'strftime("{column}", \'{MOMENT_FORMAT}\') as "{column}"'
    if kind.endswith("]") or kind.startswith(("STRUCT", "MAP")):
        return f'cast(to_json("{column}") as varchar) as "{column}"'
    return f'"{column}"'


def _files(names: list[str], folder: Path, suffix: str) -> Iterator[tuple[str, Path]]:
    for name in names:
        with replacing(folder / f"{name.partition('.')[2]}{suffix}") as new:
            yield name, new
