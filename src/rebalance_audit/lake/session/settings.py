"""Settings of a Spark session that hold for a block of code, and those for queries over few rows.

What makes large queries fast costs small ones more than it saves: an increment makes some hundred queries of a task or
two. They are over before the code that Spark generates for each has paid for itself.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from pyspark.sql import SparkSession


@contextmanager
def temporary_settings(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Set them for all queries of the session inside the block; afterwards the session has what it had before."""
    before = {name: spark.conf.get(name, None) for name in settings}
    try:
        for name, value in settings.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, earlier in before.items():
            if earlier is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, earlier)


FEW_RECORDS: Final = 100_000
"""With up to this many new records a whole run is over before compiled code has paid for itself."""
FEW_BYTES: Final = 8 << 20
"""Size of segment files with about as many records."""

SETTINGS: Final[Mapping[str, str]] = {
    # By default a class for each stage, and for each projection and sort order, is compiled and then runs cold: half of
    # the time of tasks over some thousand rows.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # By default as many tasks as there are cores read files of a few rows, and rows that the driver has. Every query on
    # a table begins with its log, which is two files or more.
    "spark.sql.leafNodeDefaultParallelism": "1",
    # By default a shuffle of a few rows becomes as many tasks as there are cores.
    "spark.sql.adaptive.coalescePartitions.parallelismFirst": "false",
    # By default MERGE stores its source once more, but ours is checkpointed already.
    "spark.databricks.delta.merge.materializeSource": "none",
}


@contextmanager
def small_queries(spark: SparkSession, *, when: bool = True) -> Iterator[None]:
    """These settings for all queries of the session inside the block, if `when` holds."""
    with temporary_settings(spark, SETTINGS if when else {}):
        yield
