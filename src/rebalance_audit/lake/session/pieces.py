"""Work cut into pieces, one for each task."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

TASKS_PER_CORE: Final = 4
"""At most, where the pieces could be smaller: each task has a start-up of its own."""

SHUFFLE: Final = "spark.sql.shuffle.partitions"

Piece = TypeVar("Piece")


def parallelism(spark: SparkSession) -> int:
    """How many tasks keep the session's cores busy, about: on one machine it has half as many cores, see `_cores`."""
    tasks = int(spark.conf.get(SHUFFLE) or 1)
    return max(1, tasks // 2)


def made_of_pieces(
    spark: SparkSession,
    pieces: Sequence[Piece],
    make: Callable[[Piece], Iterator[pa.RecordBatch]],
    made_ddl: str,
) -> DataFrame:
    """What `make` makes of each piece, in a task of its own; both are sent to the workers."""

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from make(pieces[number])

    # One partition for each piece, with the piece's number.
    numbers = spark.range(0, len(pieces), 1, len(pieces) or 1)
    return numbers.mapInArrow(read, made_ddl)
