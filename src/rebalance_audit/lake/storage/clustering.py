"""Rows that may still change are kept in files of their own.

MERGE rewrites every file with a row that it changes. Few rows may still change; those that have ended are the history.
With the two apart, an increment leaves the files of the history alone.
"""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.tables.schemas import TableSchema

FILE_BYTES: Final = 128 << 20
"""Approximate size of a file of rows that have ended."""


def goes_on(schema: TableSchema, prefix: str = "") -> Column:
    """Whether a row may still change; never in a table whose schema does not say what ends a row."""
    if schema.open_while_null is None:
        return F.lit(False)
    return F.col(f"{prefix}{schema.open_while_null}").isNull()


def apart(schema: TableSchema, rows: DataFrame) -> DataFrame:
    """The rows, partitioned so that no file gets both kinds; they are computed twice."""
    if schema.open_while_null is None:
        return rows
    is_open = goes_on(schema)
    return rows.where(~is_open).unionByName(rows.where(is_open).coalesce(1))


def laid_out(schema: TableSchema, rows: DataFrame, files: int) -> DataFrame:
    """All rows of a table, with those that have ended in about so many files, ordered by the clustering columns."""
    order = dict.fromkeys([*schema.clustered_by, *schema.key])
    ranged = rows.repartitionByRange(files, *schema.clustered_by)
    return apart(schema, ranged.sortWithinPartitions(*order))


def target_file_count(size_bytes: int) -> int:
    """How many files of rows that have ended a table of this size should have."""
    return -(-size_bytes // FILE_BYTES) or 1
