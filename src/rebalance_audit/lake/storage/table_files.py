"""Data files of a table, read by the tasks that need Arrow's columns of them: the counterpart of `data_files`.

Spark would read rows, and put them into columns again for each Python worker.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the usual name
from pyspark.sql.types import StructType

from rebalance_audit.lake.session.kept_rows import is_one_process
from rebalance_audit.lake.session.pieces import TASKS_PER_CORE, made_of_pieces
from rebalance_audit.lake.storage.data_files import described
from rebalance_audit.location import local_path
from rebalance_audit.tables.arrow_types import arrow_type, ddl_of_columns
from rebalance_audit.tables.schemas import TableSchema

BATCH_ROWS: Final = 1 << 16
CLUSTER: Final = "cluster"


class DataFileNotReadable(Exception):  # noqa: N818 - it says what is the matter
    """A file of a table is gone, or is not what it should be."""

    def __init__(self, path: str, error: Exception) -> None:
        super().__init__(f"Encountered error while reading file {path}: {error}")


@dataclass(frozen=True, slots=True)
class TableFiles:
    """The files of a table with a column `cluster` that may have rows of one cluster; sent to tasks."""

    cluster: str
    paths: tuple[str, ...]
    types: dict[str, str]
    """Of the table's columns, as DDL."""

    def made_of(
        self,
        spark: SparkSession,
        columns: Sequence[str],
        make: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]],
        made_ddl: str,
    ) -> DataFrame:
        """What `make`, called in each task, makes of the cluster's rows: batches with these columns of the table."""
        pieces = self._pieces(TASKS_PER_CORE * spark.sparkContext.defaultParallelism)
        return made_of_pieces(
            spark, pieces, lambda paths: make(self._rows(paths, columns)), made_ddl
        )

    def frame(self, spark: SparkSession, columns: Mapping[str, str]) -> DataFrame:
        """The cluster's rows as Spark has them, with these columns: name -> type as DDL."""
        return self.made_of(spark, [*columns], _as_they_are, ddl_of_columns(columns))

    def rows(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The cluster's rows of all files, read here. Raises DataFileNotReadable."""
        return self._rows(self.paths, columns)

    def _pieces(self, at_most: int) -> list[list[str]]:
        """The files for each task; of many, the larger ones are spread first."""

        def size(path: str) -> int:
            with suppress(OSError):  # the task that reads it tells
                return Path(path).stat().st_size
            return 0

        paths = sorted(self.paths, key=size, reverse=True)
        return [paths[first::at_most] for first in range(min(at_most, len(paths)))]

    def _rows(self, paths: Iterable[str], columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Raises DataFileNotReadable."""
        types = {name: self.types[name] for name in dict.fromkeys([CLUSTER, *columns])}
        for path in paths:
            for batch in rows_of_file(path, types):
                ours = pc.equal(batch[CLUSTER], self.cluster)
                rows = batch if pc.all(ours).as_py() else batch.filter(ours)
                yield rows.select(columns)


def _as_they_are(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return batches


def rows_of_file(
    path: str, types: Mapping[str, str], batch_rows: int = BATCH_ROWS
) -> Iterator[pa.RecordBatch]:
    """The rows of one file, with these columns: name -> type as DDL. Raises DataFileNotReadable."""
    try:
        with pq.ParquetFile(path, coerce_int96_timestamp_unit="us") as file:
            there = set(file.schema_arrow.names)
            wanted = [name for name in types if name in there]
            for batch in file.iter_batches(batch_rows, columns=wanted):
                yield _shaped(batch, types, there)
    except (OSError, pa.ArrowException) as error:
        raise DataFileNotReadable(path, error) from error


def _shaped(batch: pa.RecordBatch, types: Mapping[str, str], there: set[str]) -> pa.RecordBatch:
    """A file of an earlier release may lack columns."""
    kinds = {name: arrow_type(kind) for name, kind in types.items()}
    return pa.RecordBatch.from_arrays(
        [
            batch[name].cast(kind) if name in there else pa.nulls(batch.num_rows, kind)
            for name, kind in kinds.items()
        ],
        schema=pa.schema([*kinds.items()]),
    )


def table_files(
    spark: SparkSession,
    schema: TableSchema,
    path: str,
    version: int,
    cluster: str,
    among: Column | None = None,
) -> TableFiles | None:
    """The files with rows of a cluster that the table at a path, one of ours, has at its newest version.

    With `among`, a condition on columns, only those that may have rows that meet it. None where tasks cannot read them:
    on storage that not every task reaches as a file, in a table with features that only Delta's own reader knows, and
    if `version` is no longer the newest one.
    """
    types = readable_types(spark, schema, path, version)
    if types is None:
        return None
    table = spark.read.format("delta").option("versionAsOf", version).load(path)
    # By their statistics: most files have rows of one cluster.
    ours = table.where(F.col(CLUSTER) == cluster)
    if among is not None:
        ours = ours.where(among)
    places = [local_path(file) for file in ours.inputFiles()]
    if None in places:
        return None
    return TableFiles(cluster, tuple(map(str, places)), types)


def readable_types(
    spark: SparkSession, schema: TableSchema, path: str, version: int
) -> dict[str, str] | None:
    """The types of the columns, as DDL, of the table at a path; None where tasks cannot read its files."""
    found = described(spark, path) if is_one_process(spark) else None
    if found is None or not found.is_plain or found.version != version:
        return None
    types = {column.name: column.type for column in schema.columns}
    fields = StructType.fromJson(json.loads(found.metadata["schemaString"])).fields
    if not types.items() <= {(field.name, field.dataType.simpleString()) for field in fields}:
        return None
    return types
