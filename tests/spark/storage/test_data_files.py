"""Files that tasks write into tables of delta-rs, and what Spark finds in them."""

from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from rebalance_audit.lake.runs.run import IngestRequest, run_ingest
from rebalance_audit.lake.sources.source_spec import parse_source
from rebalance_audit.lake.storage.table_place import LakeOptions
from tests.support.data_files import committed, empty_table, rows_of, written
from tests.support.long_ids import CLUSTER, IDS
from tests.wire.golden import capture


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A table with a file for each odd id, and one with all."""
    folder = empty_table(tmp_path_factory.mktemp("long-ids"))
    files = [written(folder, rows_of(*ids)) for ids in (IDS.values(), *zip(IDS.values()))]
    committed(folder, *(description for found in files for description in found))
    return folder.root


@pytest.mark.parametrize("group_id", IDS.values(), ids=IDS)
def test_spark_finds_each_group(spark: SparkSession, table: str, group_id: str) -> None:
    """It skips files by their bounds, and none that has the group."""
    commits = spark.read.format("delta").load(table)
    found = commits.where((F.col("cluster") == CLUSTER) & (F.col("group_id") == group_id))
    assert [row["topic"] for row in found.collect()] == [group_id] * 2
    assert len(found.inputFiles()) < len(IDS)


def test_a_commit_of_an_ingest_names_all_files_of_its_tasks(
    spark: SparkSession, tmp_path: Path
) -> None:
    """In the table's own folder, below the run's id, and written once; by their offsets Spark skips them."""
    source = parse_source(f"segments:{capture('offsets').segments}")
    options = LakeOptions(writer="delta-rs")
    report = run_ingest(spark, IngestRequest(source, str(tmp_path), "c", options=options))
    folder = tmp_path / "bronze" / "records"
    table = DeltaTable(folder)
    files = {Path(uri) for uri in table.file_uris()}
    assert files == {*folder.rglob("*.parquet")}
    (run_id,) = {file.parent.name for file in files}
    assert table.history(1)[0]["userMetadata"] == f"{run_id}/1"
    records = spark.read.format("delta").load(str(folder))
    assert records.count() == report.ingested.records
    last = records.agg(F.max("offset")).collect()[0][0]
    assert records.where(F.col("offset") == last).count() > 0
    assert records.where(F.col("offset") > last).inputFiles() == []
