"""Data frames of the few rows that the driver itself knows.

From an Arrow table Spark makes a relation that is part of the plan, read by one task. From a list of Python rows it
makes one that is spread over as many tasks as there are cores, most of them empty.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from rebalance_audit.tables.arrow_types import arrow_type
from rebalance_audit.tables.schemas import table_schemas


def local_rows(
    spark: SparkSession, columns: Mapping[str, str], rows: Iterable[Sequence[Any]]
) -> DataFrame:
    """A frame of rows with a value for each of the columns (name -> DDL type); moments are aware datetimes."""
    return spark.createDataFrame(_arrow_rows(columns, rows))


def arrow_rows(name: str, rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Rows of one of our tables, keyed by column, without Spark; columns that a row lacks are null."""
    columns = table_schemas()[name].column_types
    return _arrow_rows(columns, ([row.get(column) for column in columns] for row in rows))


def _arrow_rows(columns: Mapping[str, str], rows: Iterable[Sequence[Any]]) -> pa.Table:
    values = [*zip(*rows, strict=True)] or [()] * len(columns)
    kinds = [arrow_type(ddl) for ddl in columns.values()]
    arrays = [
        pa.array(map(_plain, column), kind) for column, kind in zip(values, kinds, strict=True)
    ]
    return pa.table(arrays, names=list(columns))


def _plain(value: Any) -> Any:
    """A map as the list of pairs that Arrow accepts for one; other values as they are."""
    return [*value.items()] if isinstance(value, Mapping) else value
