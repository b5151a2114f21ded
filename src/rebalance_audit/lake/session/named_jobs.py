"""What Spark's page and its event log say of our jobs: the step that they belong to, not a line of Java."""

from contextlib import AbstractContextManager
from typing import Final

from pyspark.sql import SparkSession

from rebalance_audit.lake.session.temporary_settings import temporary_settings

DESCRIPTION: Final = "spark.job.description"


def named_jobs(spark: SparkSession, what: str) -> AbstractContextManager[None]:
    """Jobs that the session starts in the block are called so; one block may be inside of another."""
    return temporary_settings(spark, {DESCRIPTION: what})
