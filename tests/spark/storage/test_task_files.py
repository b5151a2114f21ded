"""Files that tasks write and read themselves, beside those of Spark's own writer and reader."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from chispa import assert_df_equality
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from rebalance_audit.lake.bronze.ingest import ingest
from rebalance_audit.lake.gold.output_files import AS_THEY_ARE
from rebalance_audit.lake.gold.outputs import OUTPUTS
from rebalance_audit.lake.records.commit_packs import commit_packs, packs_of_files
from rebalance_audit.lake.records.record_counts import count_records
from rebalance_audit.lake.runs import rebuild
from rebalance_audit.lake.runs.run import run_audit
from rebalance_audit.lake.silver.offset_commits import replace_commits
from rebalance_audit.lake.sources.source_spec import parse_source
from rebalance_audit.lake.storage import data_files, table_files
from rebalance_audit.lake.storage.sinks import Sink
from rebalance_audit.lake.storage.tables import Lake
from rebalance_audit.tables.schemas import table_schemas
from tests.spark.lakes import CLUSTER, TABLES, Whole, difference, request_of, table
from tests.wire.golden import capture

RECORDS, COMMITS = "bronze.records", "silver.offset_commits"
LOG = "classic-cooperative"
"""Without transactions."""
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


def commits_from_segments(spark: SparkSession, folder: Path) -> DataFrame:
    """A lake with all records of a log and its commits decoded; packs of the commits."""
    lake, source = Lake(spark, str(folder)), parse_source(f"segments:{capture(LOG).segments}")
    ingest(source, lake, CLUSTER, "run", datetime(2026, 1, 1, tzinfo=UTC))
    lake.create([COMMITS])
    version = lake.version(RECORDS)
    assert version is not None
    records, files = lake.read(RECORDS), lake.table_files(RECORDS, version, CLUSTER)
    counts, markers = count_records(records), records.where("is_control")
    replace_commits(Sink(lake, CLUSTER, "run"), records, markers, None, counts, files)
    return commit_packs(records, None) if files is None else packs_of_files(spark, files, None)


def test_tasks_write_and_read_what_spark_does(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows, packs of commits, and the statistics by which Delta passes over files are those of Spark's own way."""
    tasks, other = tmp_path / "tasks", tmp_path / "spark"
    packs = commits_from_segments(spark, tasks)
    for module in (data_files, table_files):
        monkeypatch.setattr(module, "is_one_process", lambda _spark: False)
    expected = commits_from_segments(spark, other)
    assert_df_equality(packs, expected, ignore_nullable=True, ignore_row_order=True)
    for name in (RECORDS, COMMITS):
        assert writers(tasks, name) == {"parquet-cpp-arrow"}
        assert writers(other, name) == {"parquet-mr"}
        assert statistics(tasks, name) == statistics(other, name)
        assert table(tasks, name) == table(other, name) != []


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


def test_only_files_with_rows_of_the_cluster_are_read(
    spark: SparkSession, whole: Whole, tmp_path: Path
) -> None:
    """By Delta's statistics, and at the newest version alone: the list of files is that of the table as it is."""
    folder = tmp_path / "lake #1 %20 ü"
    lake = Lake(spark, str(folder))
    lake.create([RECORDS])
    for cluster in (CLUSTER, "green"):
        rows = Lake(spark, str(whole.lake)).read(RECORDS).withColumn("cluster", F.lit(cluster))
        lake.save(RECORDS, rows.coalesce(1).write.format("delta").mode("append"))
    found = [lake.table_files(RECORDS, 2, cluster) for cluster in (CLUSTER, "green", "red")]
    blue, green, red = ([*map(Path, each.paths)] for each in found if each is not None)
    assert (len(blue), len(green), red) == (1, 1, [])
    assert sorted(blue + green) == files(folder, RECORDS)
    assert lake.table_files(RECORDS, 1, CLUSTER) is None


def test_gold_of_a_first_run_is_written_by_the_tasks_that_audit(
    spark: SparkSession, whole: Whole, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Spark writes it: of a short log, whose rows the run holds as well, and of one that counts as long."""
    source = f"segments:{whole.log}"
    with monkeypatch.context() as patched:
        patched.setattr(rebuild, "FEW_RECORDS", 0)
        run_audit(spark, request_of(source, tmp_path / "long"))
    with monkeypatch.context() as patched:
        patched.setattr(data_files, "is_one_process", lambda _spark: False)
        run_audit(spark, request_of(source, tmp_path / "spark"))
    for lake in (whole.lake, tmp_path / "long"):
        for name in TABLES:
            assert not difference(name, lake, tmp_path / "spark"), name
        for name in [OUTPUTS[output] for output in AS_THEY_ARE]:
            assert writers(lake, name) == {"parquet-cpp-arrow"}, name
            told, expected = statistics(lake, name), statistics(tmp_path / "spark", name)
            # Tasks tell nothing of long texts, and snapshots say when they were made.
            wanted = {"cluster", "group_id"} | {
                column.name
                for column in table_schemas()[name].columns
                if column.type not in {"string", "boolean"} and "array" not in column.type
            } - {"updated_at"}
            for each in (told, expected):
                for end in ENDS:
                    each[end] = {column: each[end].get(column) for column in wanted}
            assert told == expected, name
