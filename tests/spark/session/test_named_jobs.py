"""Spark's page says what our jobs are for."""

import time

from pyspark.sql import SparkSession

from rebalance_audit.lake.session.named_jobs import named_jobs
from rebalance_audit.lake.session.private_spark import queries_since


def test_jobs_have_the_name_of_the_innermost_block(spark: SparkSession) -> None:
    """And after it that of the block around it, or Spark's own."""
    began_ms = time.time() * 1000
    with named_jobs(spark, "writing tables"):
        with named_jobs(spark, "writing gold.epochs"):
            spark.range(1).count()
        spark.range(2).count()
    spark.range(3).count()
    inner, outer, none = (query.description for query in queries_since(spark, began_ms))
    assert (inner, outer) == ("writing gold.epochs", "writing tables")
    assert none.startswith("count at ")
