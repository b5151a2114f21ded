"""Offset commits counted by second: what the columns of gold.group_hours about commits are made of."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.lake.gold.wanted_hours import hour_of


def seconds_of(commits: DataFrame) -> DataFrame:
    """The seconds of rows of silver.offset_commits, with columns of `commit_stretches.SECONDS`."""
    at = F.col("timestamp")
    # Whatever became of their transaction; tombstones are no commits.
    return (
        commits.where("not tombstone and timestamp is not null")
        .groupBy("group_id", hour_of(at).alias("hour"), F.date_trunc("second", at).alias("second"))
        .agg(
            F.count(F.lit(1)).alias("commits"),
            F.min("timestamp").alias("first_at"),
            F.max("timestamp").alias("last_at"),
        )
    )
