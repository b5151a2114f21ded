"""A lake in a catalog: made, audited into, checked; and every commit says which run made it."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

import duckdb
import pytest
from chispa import assert_df_equality
from pyspark.sql import SparkSession

from rebalance_audit.errors import LakeNotReadable
from rebalance_audit.lake.checks.check_frames import Scope
from rebalance_audit.lake.runs.context import RunReport
from rebalance_audit.lake.runs.maintain import MaintainRequest, maintain
from rebalance_audit.lake.runs.request import GOLD_ONLY, RunRequest
from rebalance_audit.lake.runs.run import run_audit
from rebalance_audit.lake.sources.source_spec import parse_source
from rebalance_audit.lake.storage.tables import Lake
from rebalance_audit.local.audit import audit_segments
from rebalance_audit.quality.check import CheckReport, CheckRequest, run_check
from rebalance_audit.tables.schemas import table_schemas
from rebalance_audit.tables.views import views
from tests.spark.lakes import OF_RUNS, TABLES, request_of
from tests.spark.mixed_log import PARTS, write_log
from tests.wire.golden import capture

LATER: Final = datetime(2027, 11, 21, tzinfo=UTC)
NAME = "catalog:spark_catalog.audit"
SEGMENTS = capture("broker-4.0").segments
SHARES: Final = (0.5, 1.0)
GROWING: Final = (PARTS[3], PARTS[5])
"""Classic groups that become consumer groups, and a partition with damage."""
MAY_BE_EMPTY: Final = ("gold.findings",)


class Audited(NamedTuple):
    """A lake after a run and a check."""

    lake: Lake
    run: RunReport
    check: CheckReport


@pytest.fixture(scope="module")
def audited(spark: SparkSession) -> Audited:
    """One run and one check, in Spark's own catalog over a Hive metastore."""
    source = parse_source(f"segments:{SEGMENTS}")
    run = run_audit(spark, RunRequest(source, NAME, "blue", layers=GOLD_ONLY))
    lake = Lake(spark, NAME)
    return Audited(lake, run, run_check(lake, CheckRequest(Scope("blue"))))


def test_the_catalog_has_the_rows_of_the_audit(spark: SparkSession, audited: Audited) -> None:
    """Tables by three-part names, in a schema for each layer, with as many rows as the audit in one process."""
    expected = audit_segments(SEGMENTS).tables
    for name in ("epochs", "ownership", "members"):
        rows = spark.read.table(f"spark_catalog.audit_gold.{name}").count()
        assert rows == len(expected[name]) > 0
    schemas = [row[0] for row in spark.sql("SHOW SCHEMAS IN spark_catalog").collect()]
    assert {"audit_gold", "audit_meta"} <= set(schemas)


def test_tables_in_a_catalog_keep_their_contract(spark: SparkSession, audited: Audited) -> None:
    """Comments and the reader version are those of a lake in a folder."""
    detail = spark.sql("DESCRIBE DETAIL spark_catalog.audit_gold.epochs").first()
    assert detail is not None
    schema = table_schemas()["gold.epochs"]
    assert detail["description"] == schema.description
    assert detail["minReaderVersion"] == 1


def test_what_a_run_has_written_passes_the_checks(audited: Audited) -> None:
    """A real run of a real log: nothing of severity fail, and what gold alone does not write is passed over."""
    assert [result for result in audited.check.broken if result.severity == "fail"] == []
    assert audited.check.outcomes["held"] > 200
    passed_over = {
        result.table for result in audited.check.results if result.outcome == "passed_over"
    }
    assert "bronze.records" in passed_over


def test_every_commit_says_which_run_made_it(audited: Audited) -> None:
    """Making a table counts as well: lineage tools see who wrote each version of each table."""
    ids: dict[str, dict[int, str]] = {}
    for name in table_schemas():
        if audited.lake.version(name) is not None:
            commits = audited.lake.log(name).commits(0, audited.lake.version(name) or 0)
            ids[name] = {commit.version: commit.user_metadata or "" for commit in commits}
    assert set(ids.pop("meta.checks").values()) == {audited.check.check_id}
    assert len(ids) > 8
    assert {made_by for versions in ids.values() for made_by in versions.values()} == {
        audited.run.run_id
    }


def test_runs_over_what_is_new_leave_what_one_run_does(spark: SparkSession, tmp_path: Path) -> None:
    """All layers, two runs over a growing log in the catalog, and one over all of it in a folder."""
    name, folder = "catalog:spark_catalog.growing", str(tmp_path / "lake")
    for share in SHARES:
        log = write_log(tmp_path / "log", share, GROWING)
        report = run_audit(spark, request_of(f"segments:{log}", name))
        assert bool(report.resumed) == (share != SHARES[0])
    run_audit(spark, request_of(f"segments:{log}", folder))
    grown, whole = Lake(spark, name), Lake(spark, folder)
    for table in TABLES:
        found, expected = (
            lake.read(table).drop("ingested_at", *OF_RUNS.get(table, ())) for lake in (grown, whole)
        )
        assert_df_equality(found, expected, ignore_row_order=True, ignore_nullable=True)
        assert expected.count() or table in MAY_BE_EMPTY, table


@pytest.mark.parametrize(
    ("lake", "sentence"),
    [
        ("s3a://bucket/audit", "S3AFileSystem not found"),
        ("nowhere://bucket/audit", 'No FileSystem for scheme "nowhere"'),
    ],
)
def test_storage_that_spark_does_not_know_is_refused_in_a_sentence(
    spark: SparkSession, lake: str, sentence: str
) -> None:
    """A URL whose file system has no jar on the class path: Hadoop's own words, not a stack trace."""
    with pytest.raises(LakeNotReadable, match=sentence):
        Lake(spark, lake).version("gold.epochs")


def test_a_folder_may_be_given_as_a_url(spark: SparkSession, tmp_path: Path) -> None:
    """file:// names the same tables as the path."""
    Lake(spark, f"file://{tmp_path}/lake").create(["gold.topics"])
    assert (tmp_path / "lake" / "gold" / "topics" / "_delta_log").is_dir()
    assert Lake(spark, str(tmp_path / "lake")).version("gold.topics") == 0


def test_maintenance_makes_views_that_answer_as_in_duckdb(
    spark: SparkSession, audited: Audited
) -> None:
    """Each view of `schemas/views`, in the catalog over its tables: row for row what DuckDB answers over the same."""
    made = maintain(audited.lake, MaintainRequest(), LATER, lambda _: None).views
    assert (made.refused, len(made.names)) == (None, len(views()))
    with duckdb.connect() as elsewhere:
        elsewhere.execute("set timezone = 'UTC'; create schema gold")
        for name in sorted({name for view in views() for name in view.tables}):
            elsewhere.register("rows", audited.lake.read(name).toArrow())
            elsewhere.execute(f"create table {name} as from rows")
        for view in views():
            found = spark.table(f"spark_catalog.audit_views.{view.name}").toArrow().to_pylist()
            expected = elsewhere.sql(view.duckdb_sql).to_arrow_table().to_pylist()
            assert sorted(map(repr, found)) == sorted(map(repr, expected)), view.name
            # The log has no commits.
            assert expected or view.name in {"lag_by_owner", "open_findings"}, view.name
