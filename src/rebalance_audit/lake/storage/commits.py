"""Who wrote what: the id of a run in each commit that it makes."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pyspark.sql import SparkSession

USER_METADATA: Final = "spark.databricks.delta.commitInfo.userMetadata"


@contextmanager
def commit_metadata(spark: SparkSession, run_id: str) -> Iterator[None]:
    """The id in `userMetadata` of every commit inside, those that make tables or add columns included."""
    spark.conf.set(USER_METADATA, run_id)
    try:
        yield
    finally:
        spark.conf.unset(USER_METADATA)
