"""What Spark's page and its event log say of our jobs: the step that they belong to, not a line of Java."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, cast

from pyspark.sql import SparkSession

DESCRIPTION: Final = "spark.job.description"
CALL_SITE: Final = ("callSite.short", "callSite.long")
"""Where a job comes from. Unless it is told, Spark looks through the stack for each RDD that it makes."""


@contextmanager
def named_jobs(spark: SparkSession, what: str) -> Iterator[None]:
    """Jobs that this thread starts in the block are called so; one block may be inside of another."""
    context = spark.sparkContext
    properties = (DESCRIPTION, *CALL_SITE)
    before = [context.getLocalProperty(name) for name in properties]
    for name in properties:
        context.setLocalProperty(name, what)
    try:
        yield
    finally:
        for name, value in zip(properties, before, strict=True):
            # None removes it, which the type of `value` does not say.
            context.setLocalProperty(name, cast("str", value))
