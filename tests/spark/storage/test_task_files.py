"""Files that tasks write and read themselves, beside those of Spark's own writer and reader."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from chispa import assert_df_equality
from delta.exceptions import ConcurrentTransactionException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from rebalance_audit.audit.findings.rules import FindingRules
from rebalance_audit.lake.bronze.ingest import ingest
from rebalance_audit.lake.gold.hours_file import FEW_SECONDS
from rebalance_audit.lake.gold.output_files import AS_THEY_ARE
from rebalance_audit.lake.gold.outputs import OUTPUTS
from rebalance_audit.lake.records.commit_packs import (
    commit_packs,
    others_of_files,
    packs_of_files,
)
from rebalance_audit.lake.records.record_columns import RECORD
from rebalance_audit.lake.records.record_counts import count_files, count_records
from rebalance_audit.lake.records.routing import is_other
from rebalance_audit.lake.runs import rebuild, writer
from rebalance_audit.lake.runs.run import run_audit
from rebalance_audit.lake.session.java_classes import java_class
from rebalance_audit.lake.session.private_spark import (
    DELTA_LOG,
    begin_transaction,
    commit_files,
    number_of_transaction,
)
from rebalance_audit.lake.session.small_queries import FEW_RECORDS
from rebalance_audit.lake.silver.offset_commits import replace_commits
from rebalance_audit.lake.sources.source_spec import parse_source
from rebalance_audit.lake.storage import data_files, table_files
from rebalance_audit.lake.storage.local_rows import arrow_rows
from rebalance_audit.lake.storage.sinks import Sink
from rebalance_audit.lake.storage.tables import Lake
from rebalance_audit.tables.schemas import TableName, table_schemas
from tests.spark.lakes import CLUSTER, TABLES, Whole, difference, request_of, table
from tests.wire.golden import capture

RECORDS, COMMITS = "bronze.records", "silver.offset_commits"
LOG = "classic-cooperative"
"""Without transactions."""
ARROW = "parquet-cpp-arrow"
"""What tasks write files with."""
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


def assert_same(found: DataFrame, expected: DataFrame) -> None:
    """The same rows, in whatever order."""
    assert_df_equality(
        found, expected, ignore_nullable=True, ignore_row_order=True, ignore_metadata=True
    )


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
        assert writers(tasks, name) == {ARROW}
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


def test_what_is_new_in_bronze_is_counted_and_picked_by_tasks(
    spark: SparkSession, whole: Whole
) -> None:
    """As Spark does it: of records in transactions, without a time, without a group, and of markers."""
    lake = Lake(spark, str(whole.lake))
    version = lake.version(RECORDS)
    assert version is not None
    new = lake.added_files(RECORDS, 0, version, CLUSTER)
    assert new is not None
    rows = lake.added(RECORDS, 0, version).where(F.col("cluster") == CLUSTER)
    assert count_files(spark, new) == count_records(rows)
    picked, expected = others_of_files(spark, new), rows.where(is_other())
    assert_same(picked, expected.select(*picked.columns))
    assert_same(new.frame(spark, RECORD), rows.select(*RECORD))


def test_what_is_new_is_read_by_spark_where_rows_have_gone(
    spark: SparkSession, whole: Whole, tmp_path: Path
) -> None:
    """Files that were only laid together anew are no news; deleted rows, older versions and lost files need a query."""
    lake = Lake(spark, str(tmp_path))
    lake.create([RECORDS])
    rows = Lake(spark, str(whole.lake)).read(RECORDS)
    for part in (F.col("offset") % 2 == 0, F.col("offset") % 2 == 1):
        lake.save(RECORDS, rows.where(part).coalesce(1).write.format("delta").mode("append"))
    lake.delta_table(RECORDS).optimize().executeCompaction()
    found = lake.added_files(RECORDS, 1, 3, CLUSTER)
    assert found is not None
    assert len(found.paths) == 1
    assert lake.added_files(RECORDS, 1, 2, CLUSTER) is None
    Path(found.paths[0]).rename(tmp_path / "lost")
    assert lake.added_files(RECORDS, 1, 3, CLUSTER) is None
    name = lake.sql_name(RECORDS)
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('delta.appendOnly' = 'false')")
    assert lake.added_files(RECORDS, 3, 4, CLUSTER) is not None
    lake.save(RECORDS, rows.limit(1).write.format("delta").mode("overwrite"))
    assert lake.added_files(RECORDS, 3, 5, CLUSTER) is None


def test_few_rows_are_the_same_without_spark(
    spark: SparkSession, whole: Whole, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Moments, arrays of structs and maps, of the cluster's rows alone."""
    lake = Lake(spark, str(whole.lake))
    names = ["meta.progress", "meta.runs", "meta.ingested", "gold.topics"]

    def rows() -> list[list[dict[str, Any]]]:
        columns = {name: table_schemas()[name].column_names for name in names}
        found = [lake.few_rows(name, CLUSTER, columns[name]) for name in names]
        return [sorted(each, key=repr) for each in found]

    here = rows()
    monkeypatch.setattr(lake, "rows_here", lambda *_: None)
    assert here == rows()
    assert all(here)
    assert lake.few_rows("meta.progress", "green", ["partition"]) == []


def test_files_are_appended_once_for_a_number(spark: SparkSession, tmp_path: Path) -> None:
    """Of two commits with the number of one transaction the second is refused, be it later or at the same time."""
    lake = Lake(spark, str(tmp_path))
    lake.create(["meta.runs"])
    files = lake.data_files("meta.runs")
    assert files is not None
    names = ("run_id", "command", "source", "outcome", "package_version", "spark_version")
    row = {"cluster": CLUSTER, "started_at": datetime(2026, 3, 1, tzinfo=UTC), "full": False}
    rows = arrow_rows("meta.runs", [{**row, **dict.fromkeys(names, "x"), "retries": 0}])

    def append(number: int) -> bool:
        return lake.append_written("meta.runs", [files.written(rows)], "r", numbered=("a", number))

    assert [append(number) for number in (1, 1, 2)] == [True, False, True]
    path = lake.table_path("meta.runs")
    transactions = [begin_transaction(spark, java_class(spark, DELTA_LOG), path) for _ in range(2)]
    assert [number_of_transaction(each, "a") for each in transactions] == [2, 2]
    assert [number_of_transaction(each, "b") for each in transactions] == [-1, -1]
    told = json.dumps({"txn": {"appId": "b", "version": 1, "lastUpdated": 0}})
    classes = partial(java_class, spark)
    commit_files(transactions[0], [told], "r", {}, spark, classes)
    with pytest.raises(ConcurrentTransactionException):
        commit_files(transactions[1], [told], "r", {}, spark, classes)


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
            assert writers(lake, name) == {ARROW}, name
            told, expected = statistics(lake, name), statistics(tmp_path / "spark", name)
            # Delta ends the maximum of a long text in another way, and snapshots say when they were made.
            wanted = {"cluster", "group_id"} | {
                column.name
                for column in table_schemas()[name].columns
                if column.type not in {"string", "boolean"} and "array" not in column.type
            } - {"updated_at"}
            for each in (told, expected):
                for end in ENDS:
                    each[end] = {column: each[end].get(column) for column in wanted}
            assert told == expected, name


def test_hours_of_a_first_run_are_brought_together_in_three_ways(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By one task from rows, or from facts where rows are in files; by shuffles where groups commit in many seconds."""
    by = {}
    for lake, few_records, few_seconds in (
        ("short", FEW_RECORDS, FEW_SECONDS),
        ("long", 0, FEW_SECONDS),
        ("longer", 0, 1),
    ):
        monkeypatch.setattr(rebuild, "FEW_RECORDS", few_records)
        monkeypatch.setattr(writer, "FEW_SECONDS", few_seconds)
        # By default no findings of growth read the hours, which would keep them in memory.
        request = request_of(
            f"segments:{capture(LOG).segments}", tmp_path / lake, findings=FindingRules()
        )
        run_audit(spark, request)
        by[lake] = ARROW in writers(tmp_path / lake, TableName.GROUP_HOURS)
        assert not difference(TableName.GROUP_HOURS, tmp_path / lake, tmp_path / "short")
    assert by == {"short": True, "long": True, "longer": False}
