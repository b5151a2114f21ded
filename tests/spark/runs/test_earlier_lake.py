"""A lake of an earlier release, taken on by this one."""

from datetime import UTC, datetime
from pathlib import Path
from zipfile import ZipFile

import pytest
from pyspark.sql import SparkSession

from rebalance_audit.audit.rows import GOLD_OF_GROUP
from rebalance_audit.errors import BadRequest, LakeNotWritable
from rebalance_audit.lake.runs.maintain import MaintainRequest, maintain
from rebalance_audit.lake.runs.request import RunRequest
from rebalance_audit.lake.runs.run import run_audit
from rebalance_audit.lake.sources.source_spec import parse_source
from rebalance_audit.lake.storage.tables import Lake
from rebalance_audit.tables.schemas import table_schemas
from tests.spark.in_process import gold_of, in_order, rows_of
from tests.spark.lakes import table, without_commits
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


def test_tables_of_an_earlier_lake_are_recreated(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Same rows in new tables of delta-rs, also after a kill in the middle; the next run finds nothing to do."""
    with ZipFile(LAKES / "0.1.0.zip") as packed:
        packed.extractall(tmp_path)
    path = tmp_path / "lake"
    request = RunRequest(
        parse_source(f"segments:{capture('consumer-static').segments}"), str(path), "golden"
    )

    def recreate(*, dry_run: bool = False) -> list[str]:
        wanted = MaintainRequest(recreate=True, dry_run=dry_run)
        return maintain(Lake(spark, str(path)), wanted, datetime.now(UTC), lambda _: None).recreated

    with pytest.raises(BadRequest, match="no run of this release has audited"):
        recreate()
    run_audit(spark, request)
    lake = Lake(spark, str(path))
    names = [name for name in table_schemas() if lake.version(name) is not None]
    rows = {name: table(path, name, None) for name in names}
    assert lake.writer.kind == "spark"
    assert recreate(dry_run=True) == names
    rename = Path.rename
    renamed: list[Path] = []

    def killed(self: Path, target: Path) -> Path:
        renamed.append(self)
        if len(renamed) == 8:
            raise InterruptedError
        return rename(self, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", killed)
        with pytest.raises(LakeNotWritable):
            recreate()
    with pytest.raises(LakeNotWritable, match="did not finish: run it again"):
        run_audit(spark, request)
    assert recreate() == names
    lake = Lake(spark, str(path))
    assert lake.writer.kind == "delta-rs"
    own = {"meta.ingested", "meta.progress"}
    for name in names:
        assert name in own or table(path, name, None) == rows[name], name
        detail = spark.sql(f"DESCRIBE DETAIL {lake.sql_name(name)}").first()
        assert detail is not None
        assert not detail["clusteringColumns"], name
    versions = {name: lake.version(name) for name in names if not name.startswith("meta.")}
    report = run_audit(spark, request)
    assert (report.counts.read, report.groups, report.notes) == (0, 0, [])
    assert {name: lake.version(name) for name in versions} == versions
    assert not [*(path / "meta").glob(".re*")]
