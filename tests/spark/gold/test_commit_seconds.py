"""Commits counted by second: by the tasks that read their files, and by Spark."""

from datetime import UTC, datetime, timedelta
from random import Random

from chispa import assert_df_equality
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.lake.gold.commit_seconds import READ, counted_by_second, seconds_of
from tests.spark.lakes import frame_of

BEGIN = datetime(1969, 12, 31, 23, 59, 58, tzinfo=UTC)
"""Seconds before 1970 are cut off downwards, too."""
ROWS = 400


def test_tasks_count_as_spark_does(spark: SparkSession) -> None:
    """Whatever batches the rows come in; neither tombstones nor commits without a time count."""
    random = Random(7)
    moments = [BEGIN + timedelta(milliseconds=random.randrange(8_000)) for _ in range(ROWS)]
    rows = [
        {
            "group_id": random.choice(["ü", "g", "h"]),
            "timestamp": None if random.random() < 0.1 else moment,
            "tombstone": random.random() < 0.1,
        }
        for moment in moments
    ]
    commits = frame_of(spark, "silver.offset_commits", rows)
    batches = commits.select(*READ).toArrow().combine_chunks().to_batches(max_chunksize=70)
    counted = [*counted_by_second(batches)]
    by_spark = seconds_of(commits)
    by_tasks = spark.createDataFrame(
        [row for batch in counted for row in batch.to_pylist()], by_spark.schema
    )
    assert len(counted) == -(-ROWS // 70)
    each_once = by_tasks.groupBy("group_id", "hour", "second").agg(
        F.sum("commits").alias("commits"),
        F.min("first_at").alias("first_at"),
        F.max("last_at").alias("last_at"),
    )
    assert_df_equality(each_once, by_spark, ignore_row_order=True, ignore_nullable=True)
