"""Lakes of other layouts: refused, with the command that makes them again, and left as they are."""

from datetime import UTC, datetime
from pathlib import Path
from shlex import split
from zipfile import ZipFile

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from rebalance_audit.errors import LakeNotWritable
from rebalance_audit.lake.runs.maintain import MaintainRequest, maintain
from rebalance_audit.lake.runs.request import RunRequest
from rebalance_audit.lake.runs.run import run_audit
from rebalance_audit.lake.sources.source_spec import parse_source
from rebalance_audit.lake.storage.tables import Lake
from tests.spark.in_process import gold_of, in_order, rows_of
from tests.wire.golden import capture

LAKES = Path(__file__).parents[2] / "golden" / "lakes"
OF_RECORDS = ("members", "ownership", "group_states")
"""What needs names of topics, which gold.topics has, and nothing else of the log of the cluster's metadata."""
LOG = capture("consumer-static").segments


def request(source: str, lake: Path | str) -> RunRequest:
    """A run about the cluster of the lake."""
    return RunRequest(parse_source(source), str(lake), "golden")


def test_a_lake_of_the_first_layout_is_made_again_from_its_bronze(
    spark: SparkSession, tmp_path: Path
) -> None:
    """By the command of the sentence, without the source; the old lake stays as it was, its gold too."""
    with ZipFile(LAKES / "0.1.0.zip") as packed:
        packed.extractall(tmp_path)
    old = tmp_path / "lake"
    files = sorted(old.glob("[bsg]*/*/*")), sorted(old.glob("*/*/_delta_log/*"))
    with pytest.raises(LakeNotWritable, match="An earlier release made the tables") as refused:
        run_audit(spark, request(f"segments:{LOG}", old))
    with pytest.raises(LakeNotWritable, match="An earlier release made the tables"):
        maintain(Lake(spark, str(old)), MaintainRequest(), datetime.now(UTC), lambda _: None)
    command = split(str(refused.value).split("`")[1])
    given = dict(zip(command[2::2], command[3::2], strict=True))
    assert given["--cluster"] == "golden"
    new = tmp_path / "new"
    run_audit(spark, request(given["--source"], new))
    expected = gold_of(LOG)
    for name in OF_RECORDS:
        rows = rows_of(Lake(spark, str(new)).read(f"gold.{name}"))
        assert in_order(f"gold.{name}", rows) == expected[name], name
    assert files == (sorted(old.glob("[bsg]*/*/*")), sorted(old.glob("*/*/_delta_log/*")))


def test_a_lake_of_a_later_release_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    """By the number in its properties."""
    lake = Lake(spark, str(tmp_path / "lake"))
    lake.create(["meta.runs", "gold.topics"])
    table = DeltaTable(lake.table_path("meta.runs"))
    assert table.metadata().configuration["rebalanceAudit.layout"] == "1"
    table.alter.set_table_properties({"rebalanceAudit.layout": "99"}, raise_if_not_exists=False)
    with pytest.raises(LakeNotWritable, match="A later release than this one wrote the lake"):
        run_audit(spark, request(f"segments:{LOG}", lake.path))
