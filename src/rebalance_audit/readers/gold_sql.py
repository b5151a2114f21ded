"""The gold tables and the views over them in SQL: a DuckDB connection, without Spark and without the network."""

from collections.abc import Collection, Mapping
from typing import Final, TypeAlias

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds

from rebalance_audit.readers.lake_reader import LakeReader
from rebalance_audit.readers.tables import open_table, table_exists
from rebalance_audit.tables.arrow_types import arrow_schema
from rebalance_audit.tables.rows import GoldRows
from rebalance_audit.tables.schemas import GOLD_TABLES, TableName, table_schemas
from rebalance_audit.tables.views import FIGURES_SCHEMA, VIEWS_SCHEMA, View, figures, quoted, views

CAME_LATER: Final = (TableName.COMMIT_PROGRESS,)
"""Tables that a lake may lack until its next run; the views over them are then left out as well."""
OFFLINE: Final = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
"""DuckDB would fetch from the network what it lacks."""
Relations: TypeAlias = Mapping[str, pa.Table | ds.Dataset]
"""Gold tables by their full names, as Arrow has them."""


def open_sql(rows: GoldRows) -> duckdb.DuckDBPyConnection:
    """A DuckDB connection with the tables of an audit or of a lake, `gold.epochs`, and the views, `views.groups_now`.

    Tables of a lake are read by the queries, as they were when this was called.
    Moments are shown in UTC. Raises LakeNotReadable.
    """
    return gold_sql(rows)


def gold_sql(rows: GoldRows, of_audit: Collection[str] = GOLD_TABLES) -> duckdb.DuckDBPyConnection:
    """A connection to a database in memory with `gold.epochs` and the others, and `views.groups_now` and the others.

    `of_audit`: the tables of an audit that are wanted and are copied; a lake gives all.
    Tables of a lake are read by the queries, as they were when this was called; those of an audit are in memory.
    Times are shown in UTC. Raises LakeNotReadable.
    """
    if isinstance(rows, LakeReader):
        return sql_over(relations_of_lake(rows.path, rows.cluster))
    return sql_over({name: rows.table(name).to_arrow() for name in of_audit})


def relations_of_lake(lake: str, cluster: str | None) -> Relations:
    """The gold tables of a lake as they are now, with the rows of one cluster or of all. Raises LakeNotReadable."""
    missing = {name for name in CAME_LATER if not table_exists(lake, name)}
    tables = {name: open_table(lake, name) for name in GOLD_TABLES if name not in missing}
    if cluster is None:
        return tables
    # Filtered here, not by a view: what a query can name has no other rows.
    return {name: table.filter(ds.field("cluster") == cluster) for name, table in tables.items()}


def sql_over(relations: Relations) -> duckdb.DuckDBPyConnection:
    """A DuckDB connection without network over gold tables by their full names."""
    sql = duckdb.connect(":memory:", config=dict(OFFLINE))
    sql.execute("set timezone = 'UTC'; create schema gold")
    for name, relation in relations.items():
        make_table(sql, name, relation)
    make_figures(sql, relations)
    make_views(sql, relations)
    return sql


def views_over(tables: Collection[str]) -> list[View]:
    """The views that need no other tables."""
    return [view for view in views() if view.tables.issubset(tables)]


def names_in(sql: duckdb.DuckDBPyConnection) -> list[str]:
    """Full names of the gold tables and the views of a database, tables first."""
    query = "select table_schema || '.' || table_name from information_schema.tables"
    found = {name for (name,) in sql.execute(query).fetchall()}
    names = [*GOLD_TABLES, *(f"{VIEWS_SCHEMA}.{view.name}" for view in views())]
    return [name for name in names if name in found]


def make_figures(sql: duckdb.DuckDBPyConnection, tables: Collection[str]) -> None:
    """The figures of these tables, in a database that has them."""
    sql.execute(f"create schema {FIGURES_SCHEMA}")
    for figure in figures():
        if figure.tables.issubset(tables):
            sql.execute(f"create view {FIGURES_SCHEMA}.{figure.name} as {figure.duckdb_sql}")


def make_views(sql: duckdb.DuckDBPyConnection, tables: Collection[str]) -> None:
    """The views over these tables, in a database that has them."""
    sql.execute(f"create schema {VIEWS_SCHEMA}")
    for view in views_over(tables):
        sql.execute(f"create view {VIEWS_SCHEMA}.{view.name} as {view.duckdb_sql}")
        sql.execute(f"comment on view {VIEWS_SCHEMA}.{view.name} is {quoted(view.question)}")


def make_table(
    sql: duckdb.DuckDBPyConnection,
    name: str,
    relation: pa.Table | ds.Dataset,
    view: str = "",
    columns: str = "*",
    where: str = "true",
) -> None:
    """A table as a view with the columns of the contract, those that an earlier release did not know as nulls.

    `view`: its name if it is another; `columns`, `where`: what is selected, as SQL.
    """
    contract, found = (
        f"_{(view or name).replace('.', '_')}_{what}" for what in ("contract", "rows")
    )
    schema = table_schemas()[name]
    sql.register(contract, arrow_schema(schema).empty_table())
    sql.register(found, relation)
    of_contract = ", ".join(f'"{column}"' for column in schema.column_names)
    sql.execute(
        f"create view {view or name} as select {columns} from (select {of_contract}"  # noqa: S608 - our own names
        f" from (from {contract} union all by name from {found})) where {where}"
    )
