"""Files that tasks write and read themselves, beside those of Spark's own writer and reader."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from rebalance_audit.lake.runs.run import run_audit
from rebalance_audit.lake.storage import data_files, table_files
from rebalance_audit.lake.storage.tables import Lake
from tests.spark.lakes import TABLES, Whole, difference, request_of
from tests.wire.golden import capture

RECORDS, COMMITS = "bronze.records", "silver.offset_commits"
WITHOUT_TRANSACTIONS = "classic-cooperative"
ENDS: dict[str, Callable[[Any, Any], Any]] = {"minValues": min, "maxValues": max}


def files(lake: Path, name: str) -> list[Path]:
    """The data files of a table."""
    layer, folder = name.split(".")
    return sorted((lake / layer / folder).glob("*.parquet"))


def writers(lake: Path, name: str) -> set[str]:
    """The programs that wrote them, by their first word."""
    return {pq.ParquetFile(path).metadata.created_by.split()[0] for path in files(lake, name)}


def statistics(lake: Path, name: str) -> dict[str, Any]:
    """What a table's log says of all files together."""
    layer, folder = name.split(".")
    told: dict[str, Any] = {"numRecords": 0, "nullCount": {}}
    for commit in (lake / layer / folder / "_delta_log").glob("*.json"):
        for line in commit.read_text().splitlines():
            if add := json.loads(line).get("add"):
                stats = json.loads(add["stats"])
                told["numRecords"] += stats["numRecords"]
                for column, nulls in stats["nullCount"].items():
                    told["nullCount"][column] = told["nullCount"].get(column, 0) + nulls
                for end, which in ENDS.items():
                    known = told.setdefault(end, {})
                    for column, value in stats[end].items():
                        known[column] = which(known.get(column, value), value)
    return told


def test_tasks_write_and_read_what_spark_does(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every row of every table, and the statistics by which Delta passes over files, are those of Spark's own way."""
    tasks, other = tmp_path / "tasks", tmp_path / "spark"
    source = f"segments:{capture(WITHOUT_TRANSACTIONS).segments}"
    run_audit(spark, request_of(source, tasks))
    for module in (data_files, table_files):
        monkeypatch.setattr(module, "is_one_process", lambda _spark: False)
    run_audit(spark, request_of(source, other))
    for name in (RECORDS, COMMITS):
        assert writers(tasks, name) == {"parquet-cpp-arrow"}
        assert writers(other, name) == {"parquet-mr"}
        assert statistics(tasks, name) == statistics(other, name)
    assert [found for name in TABLES if (found := difference(name, tasks, other))] == []


def test_the_history_counts_what_tasks_wrote(spark: SparkSession, whole: Whole) -> None:
    """As for every other commit, by the words that Delta uses."""
    (newest,) = Lake(spark, str(whole.lake)).delta_table(RECORDS).history(1).collect()
    sizes = [path.stat().st_size for path in files(whole.lake, RECORDS)]
    assert (newest["operation"], newest["operationParameters"]["mode"]) == ("WRITE", "Append")
    assert newest["operationMetrics"] == {
        "numFiles": str(len(sizes)),
        "numOutputBytes": str(sum(sizes)),
        "numOutputRows": str(
            spark.read.format("delta").load(f"{whole.lake}/bronze/records").count()
        ),
    }


@pytest.mark.parametrize(
    "change",
    [
        "ADD CONSTRAINT known CHECK (partition >= 0)",
        "SET TBLPROPERTIES ('delta.enableRowTracking' = 'true')",
        "SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
    ],
)
def test_a_table_that_asks_for_more_is_left_to_spark(
    spark: SparkSession, tmp_path: Path, change: str
) -> None:
    """A condition on rows is checked by Spark alone, and features of Delta have rules of their own for files."""
    lake = Lake(spark, str(tmp_path))
    lake.create([RECORDS])
    assert lake.data_files(RECORDS) is not None
    spark.sql(f"ALTER TABLE {lake.sql_name(RECORDS)} {change}")
    assert lake.data_files(RECORDS) is None


def test_only_the_newest_version_is_read_by_files(spark: SparkSession, whole: Whole) -> None:
    """The list of files is that of the table as it is."""
    lake = Lake(spark, str(whole.lake))
    version = lake.version(RECORDS)
    assert version is not None
    found = lake.table_files(RECORDS, version)
    assert found is not None
    assert sorted(map(Path, found.paths)) == files(whole.lake, RECORDS)
    assert lake.table_files(RECORDS, version - 1) is None
