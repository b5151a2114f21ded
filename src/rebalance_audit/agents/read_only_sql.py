"""Queries of strangers over the gold tables: one SELECT at a time, bounded in time, memory and rows.

The database is in memory and has no way out: no files, no network, no extensions, no Python objects by name.
"""

from threading import Timer
from typing import Any, Final, NamedTuple

import duckdb

from rebalance_audit.errors import BadRequest
from rebalance_audit.readers.gold_sql import gold_sql
from rebalance_audit.tables.gold_rows import GoldRows
from rebalance_audit.tables.json_values import json_value

SECONDS_MAX: Final = 30
_LOCKED: Final = """
set memory_limit = '1GB';
set temp_directory = '';
set enable_external_access = false;
set lock_configuration = true
"""


class QueryResult(NamedTuple):
    """Rows of a query."""

    columns: list[str]
    rows: list[dict[str, Any]]
    """Values as in JSON."""
    is_whole: bool
    """Whether these are all the rows."""


def locked_sql(rows: GoldRows) -> duckdb.DuckDBPyConnection:
    """The tables and views, in a database that reaches nothing else. Raises LakeNotReadable."""
    sql = gold_sql(rows)
    sql.execute(_LOCKED)
    return sql


def bounded_query(
    sql: duckdb.DuckDBPyConnection, query: str, limit: int, **values: object
) -> QueryResult:
    """At most `limit` rows of one SELECT; `values` are its parameters, `$name` in the query.

    Raises BadRequest for anything else than a SELECT, for an error in it, and for one that takes too long or too much
    memory.
    """
    statement = _single_select(sql, query)
    stop = Timer(SECONDS_MAX, sql.interrupt)
    stop.start()
    try:
        found = sql.execute(statement, values or None)
        columns = [name for name, *_ in found.description]
        fetched = found.fetchmany(limit + 1)
    except duckdb.InterruptException:
        raise BadRequest(f"The query took longer than {SECONDS_MAX} seconds.") from None
    except duckdb.Error as error:
        raise BadRequest(str(error)) from error
    finally:
        stop.cancel()
    shaped = [dict(zip(columns, map(json_value, row), strict=True)) for row in fetched[:limit]]
    return QueryResult(columns, shaped, len(fetched) <= limit)


def _single_select(sql: duckdb.DuckDBPyConnection, query: str) -> Any:
    try:
        statements = sql.extract_statements(query)
    except duckdb.Error as error:
        raise BadRequest(str(error)) from error
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise BadRequest("Only a single SELECT is answered.")
    return statements[0]
