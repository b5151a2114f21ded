"""SQL over the gold tables for Python programs. Importing this imports nothing heavy."""

from typing import TYPE_CHECKING

from rebalance_audit.tables.gold_rows import GoldRows

if TYPE_CHECKING:
    import duckdb


def open_sql(rows: GoldRows) -> "duckdb.DuckDBPyConnection":
    """A DuckDB connection with the tables of an audit or of a lake, `gold.epochs`, and the views, `views.groups_now`.

    Tables of a lake are read by the queries, as they were when this was called.
    Moments are shown in UTC. Raises LakeNotReadable.
    """
    from rebalance_audit.readers.gold_sql import gold_sql  # noqa: PLC0415 - imports DuckDB and Arrow

    return gold_sql(rows)
