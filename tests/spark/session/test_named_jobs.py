"""Spark's page says what our jobs are for."""

from pathlib import Path

from pyspark.sql import SparkSession

from rebalance_audit.lake.runs.context import DESCRIPTION, RunContext
from rebalance_audit.steps import no_progress
from tests.spark.lakes import request_of


def test_jobs_have_the_name_of_the_innermost_step(spark: SparkSession, tmp_path: Path) -> None:
    """And after it that of the step around it, or Spark's own."""
    context = RunContext(spark, request_of(None, tmp_path), no_progress)

    def description() -> str | None:
        return spark.conf.get(DESCRIPTION, None)

    with context.step("writing tables"):
        with context.step("writing gold.epochs"):
            assert description() == "writing gold.epochs"
        assert description() == "writing tables"
    assert description() is None
