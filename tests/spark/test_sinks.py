"""Writing a table: what stays, what is added, and when there is no commit."""

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from rebalance_audit.lake.reach import Reach
from rebalance_audit.lake.sinks import Sink
from rebalance_audit.lake.tables import Lake
from tests.spark.lakes import table

TOPICS = "gold.topics"


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Lake:
    """A lake with one empty table."""
    made = Lake(spark, str(tmp_path))
    made.create([TOPICS])
    return made


def topics(spark: SparkSession, **names: str) -> DataFrame:
    """Rows of gold.topics by id."""
    rows = [(topic_id, name, "metadata_log") for topic_id, name in names.items()]
    frame = spark.createDataFrame(rows, "topic_id string, topic string, source string")
    none = F.lit(None).cast("timestamp")
    return frame.withColumns({"made_at": none, "deleted_at": none})


def named(lake: Lake, cluster: str) -> dict[str, str]:
    """Name by id."""
    return {row["topic_id"]: row["topic"] for row in table(Path(lake.path), TOPICS, cluster)}


def test_rows_put_take_the_place_of_those_with_their_key(spark: SparkSession, lake: Lake) -> None:
    """New keys are added, known ones get the new values, other rows and other clusters stay; one commit for each."""
    blue, green = Sink(lake, "blue", "run"), Sink(lake, "green", "other")
    blue.put(TOPICS, topics(spark, a="one", b="two"), 2, Reach())
    green.put(TOPICS, topics(spark, a="mine"), 1, Reach())
    written = blue.put(TOPICS, topics(spark, b="second", c="three"), 2, Reach())
    assert written.rows == 2
    assert named(lake, "blue") == {"a": "one", "b": "second", "c": "three"}
    assert named(lake, "green") == {"a": "mine"}
    assert lake.version(TOPICS) == 3


def test_rows_are_counted_where_commits_do_not_tell(spark: SparkSession, lake: Lake) -> None:
    """Delta without metrics, which a site can switch off: what was appended is counted in the table."""
    sink = Sink(lake, "blue", "run")
    sink.append(TOPICS, topics(spark, a="one"))
    spark.conf.set("spark.databricks.delta.history.metricsEnabled", "false")
    try:
        assert sink.append(TOPICS, topics(spark, b="two", c="three")).rows == 2
    finally:
        spark.conf.unset("spark.databricks.delta.history.metricsEnabled")


def test_no_rows_are_no_commit(spark: SparkSession, lake: Lake) -> None:
    """Groups that are replayed whole may have no row of a table to which nothing was ever written."""
    sink = Sink(lake, "blue", "run")
    none = topics(spark)
    none = none.select("topic_id", F.struct(*none.columns).alias("row"))
    groups = spark.createDataFrame([("g",)], "group_id string")
    assert sink.patch(TOPICS, none, topics(spark), groups).rows == 0
    assert lake.version(TOPICS) == 0
