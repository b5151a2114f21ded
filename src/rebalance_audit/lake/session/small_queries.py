"""Settings for queries over few rows: what makes large ones fast costs more than it saves.

A run over what is new makes some hundred queries of a task or two. They are over before code that is made for each has
paid for itself.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from pyspark.sql import SparkSession

FEW_RECORDS: Final = 100_000
"""With up to so many new records all of a run is over before compiled code has paid for itself."""
FEW_BYTES: Final = 8 << 20
"""About as many records in segment files."""

SETTINGS: Final[Mapping[str, str]] = {
    # A class for each stage, and for each projection and order, is compiled and then run cold: of tasks over some
    # thousand rows that is half of the time.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # By default files of a few rows are read, and rows that the driver has are given out, by as many tasks as there are
    # cores: the log of a table, which every query on it begins with, is two files or more.
    "spark.sql.leafNodeDefaultParallelism": "1",
    # By default a shuffle of a few rows becomes as many tasks as there are cores.
    "spark.sql.adaptive.coalescePartitions.parallelismFirst": "false",
    # What is merged is held already, cut off from what led to it, when MERGE would hold it once more.
    "spark.databricks.delta.merge.materializeSource": "none",
}


@contextmanager
def small_queries(spark: SparkSession, *, when: bool = True) -> Iterator[None]:
    """These settings for all queries of the session inside the block, if `when` holds."""
    if not when:
        yield
        return
    before = {name: spark.conf.get(name, None) for name in SETTINGS}
    try:
        for name, value in SETTINGS.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, earlier in before.items():
            if earlier is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, earlier)
