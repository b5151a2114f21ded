"""The gold tables and the views over them in SQL: a DuckDB connection, without Spark and without the network."""

from collections.abc import Collection
from typing import Final

import duckdb

from rebalance_audit.readers.lake_reader import LakeReader
from rebalance_audit.readers.tables import open_table
from rebalance_audit.tables.arrow_types import arrow_schema
from rebalance_audit.tables.gold_rows import GoldRows
from rebalance_audit.tables.schemas import GOLD_TABLES, table_schemas
from rebalance_audit.tables.views import VIEWS_SCHEMA, View, views

OFFLINE: Final = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
"""DuckDB would fetch from the network what it lacks."""


def gold_sql(rows: GoldRows) -> duckdb.DuckDBPyConnection:
    """A connection to a database in memory with `gold.epochs` and the others, and `views.groups_now` and the others.

    Tables of a lake are read by the queries, as they were when this was called; those of an audit are in memory.
    Times are shown in UTC. Raises LakeNotReadable.
    """
    sql = duckdb.connect(":memory:", config=dict(OFFLINE))
    sql.execute("set timezone = 'UTC'; create schema gold")
    for name in GOLD_TABLES:
        _make_table(sql, name, rows)
    make_views(sql, GOLD_TABLES)
    return sql


def views_over(tables: Collection[str]) -> list[View]:
    """The views that need no other tables."""
    return [view for view in views() if view.tables.issubset(tables)]


def make_views(sql: duckdb.DuckDBPyConnection, tables: Collection[str]) -> None:
    """The views over these tables, in a database that has them."""
    sql.execute(f"create schema {VIEWS_SCHEMA}")
    for view in views_over(tables):
        sql.execute(f"create view {VIEWS_SCHEMA}.{view.name} as {view.sql}")
        sql.execute(f"comment on view {VIEWS_SCHEMA}.{view.name} is {quoted(view.question)}")


def quoted(text: str) -> str:
    """A text in SQL."""
    return "'" + text.replace("'", "''") + "'"


def _make_table(sql: duckdb.DuckDBPyConnection, name: str, rows: GoldRows) -> None:
    """A table as a view with the columns of the contract, those that an earlier release did not know as nulls."""
    contract, found = (f"_{name.replace('.', '_')}_{what}" for what in ("contract", "rows"))
    schema = table_schemas()[name]
    sql.register(contract, arrow_schema(schema).empty_table())
    if isinstance(rows, LakeReader):
        sql.register(found, open_table(rows.path, name))
        only = "" if rows.cluster is None else f" where cluster = {quoted(rows.cluster)}"
    else:
        sql.register(found, rows.table(name).to_arrow())
        only = ""
    columns = ", ".join(f'"{column}"' for column in schema.column_names)
    sql.execute(
        f"create view {name} as select {columns}"  # noqa: S608 - our own names; the cluster's is quoted
        f" from (from {contract} union all by name from {found}{only})"
    )
