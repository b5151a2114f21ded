"""A lake of an earlier release, taken on by this one."""

from pathlib import Path
from zipfile import ZipFile

from pyspark.sql import SparkSession

from rebalance_audit.audit.rows import GOLD_OF_GROUP
from rebalance_audit.lake.runs.request import RunRequest
from rebalance_audit.lake.runs.run import run_audit
from rebalance_audit.lake.sources.source_spec import parse_source
from rebalance_audit.lake.storage.tables import Lake
from rebalance_audit.tables.schemas import table_schemas
from tests.spark.in_process import gold_of, in_order, rows_of
from tests.spark.lakes import without_commits
from tests.wire.golden import capture

LAKES = Path(__file__).parents[2] / "golden" / "lakes"


def test_a_lake_of_the_first_release_becomes_what_this_one_would_write(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Columns and tables that came later are there and filled, though the log has nothing new."""
    with ZipFile(LAKES / "0.1.0.zip") as packed:
        packed.extractall(tmp_path)
    path = str(tmp_path / "lake")
    segments = capture("consumer-static").segments
    run_audit(spark, RunRequest(parse_source(f"segments:{segments}"), path, "golden"))
    lake = Lake(spark, path)
    expected = gold_of(segments)
    for name in GOLD_OF_GROUP:
        found = lake.read(f"gold.{name}")
        assert set(found.columns) == set(table_schemas()[f"gold.{name}"].column_names)
        rows = in_order(f"gold.{name}", without_commits(rows_of(found)))
        assert rows == expected[name], name
    assert lake.read("bronze.records").count() == 462
