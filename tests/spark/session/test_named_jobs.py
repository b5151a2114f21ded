"""Spark's page says what our jobs are for."""

from pyspark.sql import SparkSession

from rebalance_audit.lake.session.named_jobs import DESCRIPTION, named_jobs


def test_jobs_have_the_name_of_the_innermost_block(spark: SparkSession) -> None:
    """And after it that of the block around it, or Spark's own."""

    def description() -> str | None:
        return spark.conf.get(DESCRIPTION, None)

    with named_jobs(spark, "writing tables"):
        with named_jobs(spark, "writing gold.epochs"):
            assert description() == "writing gold.epochs"
        assert description() == "writing tables"
    assert description() is None
