"""The gold tables and the views over them in SQL: a DuckDB connection, without Spark and without the network."""

from collections.abc import Collection, Mapping
from typing import Final, TypeAlias

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds

from rebalance_audit.readers.lake_reader import LakeReader
from rebalance_audit.readers.tables import open_table
from rebalance_audit.tables.arrow_types import arrow_schema
from rebalance_audit.tables.gold_rows import GoldRows
from rebalance_audit.tables.schemas import GOLD_TABLES, table_schemas
from rebalance_audit.tables.views import VIEWS_SCHEMA, View, views

OFFLINE: Final = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
"""DuckDB would fetch from the network what it lacks."""
Relations: TypeAlias = Mapping[str, pa.Table | ds.Dataset]
"""Gold tables by their full names, as Arrow has them."""


def gold_sql(rows: GoldRows) -> duckdb.DuckDBPyConnection:
    """A connection to a database in memory with `gold.epochs` and the others, and `views.groups_now` and the others.

    Tables of a lake are read by the queries, as they were when this was called; those of an audit are in memory.
    Times are shown in UTC. Raises LakeNotReadable.
    """
    if isinstance(rows, LakeReader):
        return sql_over(relations_of_lake(rows.path, rows.cluster))
    return sql_over({name: rows.table(name).to_arrow() for name in GOLD_TABLES})


def relations_of_lake(lake: str, cluster: str | None) -> Relations:
    """The gold tables of a lake as they are now, with the rows of one cluster or of all. Raises LakeNotReadable."""
    tables = {name: open_table(lake, name) for name in GOLD_TABLES}
    if cluster is None:
        return tables
    # Filtered here, not by a view: what a query can name has no other rows.
    return {name: table.filter(ds.field("cluster") == cluster) for name, table in tables.items()}


def sql_over(relations: Relations) -> duckdb.DuckDBPyConnection:
    """The same connection over gold tables by their full names."""
    sql = duckdb.connect(":memory:", config=dict(OFFLINE))
    sql.execute("set timezone = 'UTC'; create schema gold")
    for name, relation in relations.items():
        _make_table(sql, name, relation)
    make_views(sql, relations)
    return sql


def views_over(tables: Collection[str]) -> list[View]:
    """The views that need no other tables."""
    return [view for view in views() if view.tables.issubset(tables)]


def make_views(sql: duckdb.DuckDBPyConnection, tables: Collection[str]) -> None:
    """The views over these tables, in a database that has them."""
    sql.execute(f"create schema {VIEWS_SCHEMA}")
    for view in views_over(tables):
        sql.execute(f"create view {VIEWS_SCHEMA}.{view.name} as {view.duckdb_sql}")
        sql.execute(f"comment on view {VIEWS_SCHEMA}.{view.name} is {quoted(view.question)}")


def quoted(text: str) -> str:
    """A text in SQL."""
    return "'" + text.replace("'", "''") + "'"


def _make_table(sql: duckdb.DuckDBPyConnection, name: str, relation: pa.Table | ds.Dataset) -> None:
    """A table as a view with the columns of the contract, those that an earlier release did not know as nulls."""
    contract, found = (f"_{name.replace('.', '_')}_{what}" for what in ("contract", "rows"))
    schema = table_schemas()[name]
    sql.register(contract, arrow_schema(schema).empty_table())
    sql.register(found, relation)
    columns = ", ".join(f'"{column}"' for column in schema.column_names)
    sql.execute(
        f"create view {name} as select {columns}"  # noqa: S608 - our own names
        f" from (from {contract} union all by name from {found})"
    )
