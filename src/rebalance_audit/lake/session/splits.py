"""Work cut into splits, one for each task, and work on several tables at once."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeAlias, TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

TASKS_PER_CORE: Final = 4
"""At most, where the splits could be smaller: each task has a start-up of its own."""

SHUFFLE: Final = "spark.sql.shuffle.partitions"

Split = TypeVar("Split")
Batches: TypeAlias = Iterator[pa.RecordBatch]


def parallelism(spark: SparkSession) -> int:
    """About how many tasks keep the session's cores busy: on one machine it has half as many, see `spark_session`."""
    tasks = int(spark.conf.get(SHUFFLE) or 1)
    return max(1, tasks // 2)


@dataclass(frozen=True, slots=True)
class Splits(Generic[Split]):
    """Rows that workers make, each split in a task of its own."""

    spark: SparkSession
    splits: Sequence[Split]
    make: Callable[[Split], Batches]
    """Sent to the workers with the splits."""
    made_ddl: str
    """The columns that it makes."""

    @property
    def frame(self) -> DataFrame:
        """The rows for Spark."""
        return self.through(iter, self.made_ddl)

    def through(self, change: Callable[[Batches], Batches], changed_ddl: str) -> DataFrame:
        """What becomes of the rows of each split, in the same task: they do not pass through Spark."""
        splits, make = self.splits, self.make

        def read(batches: Iterable[pa.RecordBatch]) -> Batches:
            numbers = (number for batch in batches for number in batch.column(0).to_pylist())
            for number in numbers:
                yield from change(make(splits[number]))

        # One partition for each split, with the split's number.
        numbers = self.spark.range(0, len(splits), 1, len(splits) or 1)
        return numbers.mapInArrow(read, changed_ddl)


def through(
    rows: "DataFrame | Splits[Any]", change: Callable[[Batches], Batches], changed_ddl: str
) -> DataFrame:
    """What the workers make of rows."""
    if isinstance(rows, Splits):
        return rows.through(change, changed_ddl)
    return rows.mapInArrow(change, changed_ddl)


THREADS: Final = min(4, os.cpu_count() or 1)

Item = TypeVar("Item")
Done = TypeVar("Done")


def parallel_map(work: Callable[[Item], Done], items: Iterable[Item]) -> list[Done]:
    """What the work makes of each item, in their order. Raises the first error, when all have ended.

    It mostly keeps a core of the driver busy, not the executors.
    """
    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(work, items))
