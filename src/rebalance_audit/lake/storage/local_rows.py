"""Data frames of the few rows that the driver itself knows, and rows of a frame for the driver.

From a pandas frame Spark makes, through Arrow, a relation that is part of the plan and is read by one task. From a list
of Python rows it makes one that is spread over as many tasks as there are cores, most of them empty. Only Spark 4 takes
and returns Arrow tables.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from rebalance_audit.tables.arrow_types import arrow_type, column_of, ddl_of_columns
from rebalance_audit.tables.schemas import table_schemas


def local_rows(
    spark: SparkSession, columns: Mapping[str, str], rows: Iterable[Sequence[Any]]
) -> DataFrame:
    """A frame of rows with a value for each of the columns (name -> DDL type); moments are aware datetimes."""
    return frame_of(spark, columns, _arrow_rows(columns, rows))


def frame_of(spark: SparkSession, columns: Mapping[str, str], rows: pa.Table) -> DataFrame:
    """A frame of an Arrow table with the columns (name -> DDL type)."""
    if not rows.num_rows:
        # pandas frames without rows do not go through Arrow.
        nulls = ", ".join(f"CAST(NULL AS {ddl}) AS `{name}`" for name, ddl in columns.items())
        return spark.sql(f"SELECT {nulls} WHERE false")
    values = {
        name: pd.Series(rows[name].to_pylist(maps_as_pydicts="strict"), dtype=object)
        for name in columns
    }
    return spark.createDataFrame(pd.DataFrame(values), ddl_of_columns(columns))


def rows_made(
    frame: DataFrame,
    columns: Mapping[str, str],
    make: Callable[[Mapping[str, Any]], Iterable[Mapping[str, Any]]],
) -> DataFrame:
    """What workers make of each row of a frame: rows with the columns (name -> DDL type), moments in epoch ms."""

    def made(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = [row for given in batch.to_pylist() for row in make(given)]
            cells = [column_of(ddl, [row[name] for row in rows]) for name, ddl in columns.items()]
            yield pa.RecordBatch.from_arrays(cells, names=[*columns])

    return frame.mapInArrow(made, ddl_of_columns(columns))


def arrow_of(frame: DataFrame) -> pa.Table:
    """The rows of a frame that has few, as Arrow has them in the session's time zone."""

    def packed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            with pa.BufferOutputStream() as stream:
                with pa.ipc.new_stream(stream, batch.schema) as writer:
                    writer.write_batch(batch)
                cell = pa.array([stream.getvalue().to_pybytes()], pa.binary())
            yield pa.RecordBatch.from_arrays([cell], ["rows"])

    cells = frame.mapInArrow(packed, "rows binary").collect()
    tables = [pa.ipc.open_stream(pa.py_buffer(bytes(cell["rows"]))).read_all() for cell in cells]
    return pa.concat_tables(tables) if tables else pa.table({name: [] for name in frame.columns})


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
