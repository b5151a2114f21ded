"""A group with offset commits in two partitions of the log, as after partitions were added to it."""

from pathlib import Path

from pyspark.sql import SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from rebalance_audit.lake.records.routing import is_commit
from rebalance_audit.lake.runs.run import run_audit
from tests.spark.lakes import TABLES, Whole, difference, empty_lake, request_of, table
from tests.spark.mixed_log import PARTS
from tests.spark.pieces import Pieces

HOME = next(part.becomes for part in PARTS if part.name == "broker-3.7")
ADDED = 99


def moved_log(spark: SparkSession, lake: Path, folder: Path) -> str:
    """A source with the records of one partition, and its offset commits once more in a partition of their own."""
    bronze = spark.read.format("delta").load(f"{lake}/bronze/records").drop("cluster", "source")
    home = bronze.where(F.col("partition") == HOME)
    place = F.row_number().over(Window.orderBy("offset"))
    again = home.where(is_commit()).withColumns(
        {"offset": (place - 1).cast("bigint"), "partition": F.lit(ADDED)}
    )
    home.unionByName(again).write.format("delta").save(str(folder))
    return f"delta:{folder}"


def test_increments_add_up_the_commits_of_both(
    spark: SparkSession, whole: Whole, tmp_path: Path
) -> None:
    """However the two partitions come, the tables are those of one run over all of both."""
    source = moved_log(spark, whole.lake, tmp_path / "source")
    once = empty_lake(tmp_path / "once", whole.lake)
    run_audit(spark, request_of(source, once))
    hours = {(row["group_id"], row["hour"]): row for row in table(once, "gold.group_hours")}
    committed = {key: row["commits"] for key, row in hours.items() if row["commits"]}
    assert committed
    for row in table(whole.lake, "gold.group_hours"):
        key = row["group_id"], row["hour"]
        if key in committed:
            assert committed[key] == 2 * row["commits"]

    pieces = Pieces(spark, once, tmp_path, seed=4)
    lake = empty_lake(tmp_path / "lake", whole.lake)
    run_audit(spark, request_of(pieces.of(F.col("partition") == HOME), lake))
    for share in (0.3, 0.6):
        run_audit(spark, request_of(pieces.until(share), lake))
    last = run_audit(spark, request_of(source, lake))
    assert last.counts.read > 0
    for name in TABLES:
        assert not difference(name, lake, once), name
