"""Rows that may still change lie in files of their own.

MERGE writes every file anew that has a row which it changes. What goes on is little, and what has ended is the history:
where the two lie apart, a run over what is new leaves the files of the history alone.
"""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.table_schemas import TableSchema

FILE_BYTES: Final = 128 << 20
"""What a file of rows that have ended has, about."""


def goes_on(schema: TableSchema, prefix: str = "") -> Column:
    """Whether a row may still change: never one of a table whose schema does not say what ends a row."""
    if schema.open_while_null is None:
        return F.lit(False)
    return F.col(f"{prefix}{schema.open_while_null}").isNull()


def apart(schema: TableSchema, rows: DataFrame) -> DataFrame:
    """The rows so that what is written of them has no file with both kinds; they are computed twice."""
    if schema.open_while_null is None:
        return rows
    is_open = goes_on(schema)
    return rows.where(~is_open).unionByName(rows.where(is_open).coalesce(1))


def laid_out(schema: TableSchema, rows: DataFrame, files: int) -> DataFrame:
    """A whole table, what has ended in about so many files by what it is clustered by."""
    order = dict.fromkeys([*schema.clustered_by, *schema.key])
    ranged = rows.repartitionByRange(files, *schema.clustered_by)
    return apart(schema, ranged.sortWithinPartitions(*order))


def files_of(size_bytes: int) -> int:
    """How many files of rows that have ended a table of so many bytes is to have."""
    return -(-size_bytes // FILE_BYTES) or 1
