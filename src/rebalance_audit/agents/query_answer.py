"""The answer to one query, from a database in memory without a way out.

No files, no network, no extensions, no Python objects by name.
"""

import json
from collections.abc import Mapping
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa

from rebalance_audit.errors import BadRequest, LakeNotReadable
from rebalance_audit.readers.gold_sql import Relations, relations_of_lake, sql_over
from rebalance_audit.tables.json_values import json_value

THREADS: Final = 2
"""Of DuckDB's."""
ROWS_AT_ONCE: Final = 16
"""Rows become Python's values so many at a time: their size is known only then."""
MESSAGE_CHARACTERS: Final = 2000
"""Of an error of DuckDB's, which may repeat the query."""

_LOCKED: Final = """
set memory_limit = '{memory}MB';
set threads = {threads};
set temp_directory = '';
set python_enable_replacements = false;
set enable_external_access = false;
set lock_configuration = true
"""


def answer_query(asked: Mapping[str, Any]) -> dict[str, Any]:
    """`rows` and `is_whole`, or `error` (memory, lake or query) with a `message`.

    `asked` has the tables, as `lake` and `cluster` or as a `folder` of Arrow files, `sql` and its `values`, and the
    bounds `rows_max`, `bytes_max` and `memory_bytes`.
    """
    try:
        return _rows(asked)
    except (MemoryError, pa.ArrowMemoryError, duckdb.OutOfMemoryException):
        return {"error": "memory"}
    except LakeNotReadable as error:
        return {"error": "lake", "message": str(error)}
    except (BadRequest, duckdb.Error, RecursionError) as error:
        return {"error": "query", "message": str(error)[:MESSAGE_CHARACTERS]}


def _rows(asked: Mapping[str, Any]) -> dict[str, Any]:
    sql = sql_over(_relations(asked))
    sql.execute(_LOCKED.format(memory=(asked["memory_bytes"] >> 20) * 3 // 4, threads=THREADS))
    found = sql.execute(_single_select(sql, asked["sql"]), asked["values"] or None)
    columns = [name for name, *_ in found.description]
    rows: list[dict[str, Any]] = []
    size, is_whole = 0, True
    for values in chain.from_iterable(iter(partial(found.fetchmany, ROWS_AT_ONCE), [])):
        row = dict(zip(columns, map(json_value, values), strict=True))
        size += len(json.dumps(row))
        if len(rows) == asked["rows_max"] or size > asked["bytes_max"]:
            is_whole = False
            break
        rows.append(row)
    if not (rows or is_whole):
        raise BadRequest(
            f"The first row of the answer alone has {size:,} bytes; an answer has at most {asked['bytes_max']:,}."
            " Select fewer columns."
        )
    return {"rows": rows, "is_whole": is_whole}


def _single_select(sql: duckdb.DuckDBPyConnection, query: str) -> duckdb.Statement:
    statements = sql.extract_statements(query)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise BadRequest("Only a single SELECT is answered.")
    return statements[0]


def _relations(asked: Mapping[str, Any]) -> Relations:
    """Only what the query may see: of a lake the rows of the cluster that was named."""
    if "lake" in asked:
        return relations_of_lake(asked["lake"], asked["cluster"])
    return {
        file.stem: pa.ipc.open_file(pa.memory_map(str(file))).read_all()
        for file in Path(asked["folder"]).glob("*.arrow")
    }
