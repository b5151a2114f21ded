"""Looking after the tables: what goes, what stays, and that runs notice nothing."""

import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from chispa import assert_df_equality
from pyspark.sql import SparkSession

from rebalance_audit.cli.commands.maintain import shape
from rebalance_audit.errors import BadRequest, LakeBusy, LakeNotReadable
from rebalance_audit.lake.runs.maintain import MaintainReport, MaintainRequest, maintain
from rebalance_audit.lake.runs.request import RunRequest
from rebalance_audit.lake.runs.run import run_audit
from rebalance_audit.lake.sources.source_spec import parse_source
from rebalance_audit.lake.storage.lock import sole_owner, sole_run
from rebalance_audit.lake.storage.sinks import Sink
from rebalance_audit.lake.storage.stage import FOLDER
from rebalance_audit.lake.storage.table_log import new_run_id
from rebalance_audit.lake.storage.table_place import LakeOptions, WriterKind
from rebalance_audit.lake.storage.tables import Lake
from rebalance_audit.tables.schemas import GOLD_TABLES, table_schemas
from rebalance_audit.wire.segments.folder import open_log_folder
from tests.cli.call import segments
from tests.spark.mixed_log import Part, write_log
from tests.workshop.test_json_schemas import checked_summary

CLUSTER = "blue"
PARTS = [
    Part("failover", number, number) for number in open_log_folder(segments("failover")).segments
]
BRONZE = "bronze.records"
LAID_OUT = (BRONZE, "gold.ownership")
LATER = datetime(2027, 11, 21, tzinfo=UTC)
"""A year after the log."""
MINUTE_BEFORE_END = datetime(2026, 11, 21, 9, 9, tzinfo=UTC) + timedelta(days=1)
"""A day after a moment in the middle of the log."""


def as_written(lake: Lake, name: str) -> list[dict[str, Any]]:
    """The rows of a table as a sink takes them."""
    rows = lake.read(name).toArrow().to_pylist(maps_as_pydicts="strict")
    return [dict(row) for row in rows]


def quiet(_: str) -> None:
    """Progress that is not printed."""


@pytest.fixture(scope="module")
def audited(
    spark: SparkSession, writer: WriterKind, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A lake of four runs over a log of 80 seconds that grows, with several files in a table."""
    folder = tmp_path_factory.mktemp("audited")
    log, lake = folder / "log", folder / "lake"
    for share in (0.3, 0.5, 0.7):
        write_log(log, share, PARTS)
        run_audit(spark, run_request(lake, log, options=LakeOptions(writer=writer)))
    run_audit(spark, run_request(lake))
    return lake


@pytest.fixture
def lake(spark: SparkSession, audited: Path, tmp_path: Path) -> Lake:
    """The same, for one test alone."""
    shutil.copytree(audited, tmp_path / "lake")
    return Lake(spark, str(tmp_path / "lake"))


def run_request(lake: Path, log: Path | None = None, **fields: Any) -> RunRequest:
    """A run over the log, or over a part of it."""
    source = parse_source(f"segments:{log or segments('failover')}")
    return RunRequest(source, str(lake), CLUSTER, **fields)


def care(lake: Lake, now: datetime = LATER, **fields: object) -> MaintainReport:
    """One maintenance."""
    return maintain(lake, MaintainRequest(**fields), now, quiet)  # type: ignore[arg-type]


def versions(lake: Lake) -> dict[str, int | None]:
    """Of every table."""
    return {name: lake.version(name) for name in table_schemas()}


def test_maintenance_leaves_the_stage_of_a_run_at_work(lake: Lake) -> None:
    """However old it is: an ingest may follow a cluster for weeks. What a killed run has left goes."""
    killed, at_work = (new_run_id(LATER - timedelta(days=days)) for days in (9, 8))
    folder = Path(lake.path, FOLDER)
    (folder / killed / "of a step").mkdir(parents=True)
    with sole_owner(folder, at_work):
        (folder / killed / "of a step").mkdir(parents=True)
        lake.stages.remove_before(LATER - timedelta(days=7))
        assert [kept.name for kept in folder.glob("[0-9]*")] == [at_work]


def test_layout_changes_no_row_and_a_run_finds_nothing_new(
    spark: SparkSession, audited: Path, lake: Lake
) -> None:
    """Files become fewer and unused ones go; doing it again does nothing; the next run leaves gold as it is."""
    bronze = care(lake, vacuum_hours=0, tables=LAID_OUT).tables[BRONZE]
    as_it_was = Lake(spark, str(audited))
    for name in LAID_OUT:
        assert_df_equality(lake.read(name), as_it_was.read(name), ignore_row_order=True)
    assert bronze.files_removed == bronze.files_before > 2
    assert bronze.files_vacuumed >= bronze.files_removed
    before = versions(lake)
    again = care(lake, vacuum_hours=0, tables=LAID_OUT)
    assert versions(lake) == before
    assert sum(one.files_removed + one.files_vacuumed for one in again.tables.values()) == 0
    assert run_audit(spark, run_request(Path(lake.path))).counts.read == 0
    after = versions(lake)
    assert {name for name in GOLD_TABLES if after[name] != before[name]} == set()


def test_a_dry_run_does_nothing_and_reports_what_a_real_one_does(lake: Lake) -> None:
    """The same tables, rows and files; no version changes, no file is gone."""
    before = versions(lake)
    files = sorted(Path(lake.path).rglob("*.parquet"))
    wanted = MaintainRequest(keep_days=dict.fromkeys(LAID_OUT, 1))
    request = replace(wanted, dry_run=True)
    report = maintain(lake, request, LATER, quiet)
    checked_summary("maintain", shape(lake.path, request, report))
    assert report.tables["gold.ownership"].rows_deleted > 20
    assert report.tables[BRONZE].rows_deleted > 0
    assert versions(lake) == before
    assert sorted(Path(lake.path).rglob("*.parquet")) == files
    done = maintain(lake, wanted, LATER, quiet)

    def rewritten(found: MaintainReport) -> dict[str, tuple[int, bool]]:
        # Where rows go, their files are rewritten already.
        return {
            name: (care.rows_deleted, care.files_removed + care.rows_deleted > 0)
            for name, care in found.tables.items()
        }

    assert sum(care.files_removed > 0 for care in report.tables.values()) > 5
    assert rewritten(report) == rewritten(done)


def test_old_bronze_is_compacted_as_kafka_would(spark: SparkSession, lake: Lake) -> None:
    """Of old records the newest of each key stays unless it is a tombstone; the table is append-only as before."""
    cutoff = MINUTE_BEFORE_END - timedelta(days=1)
    before = [row.asDict() for row in lake.read(BRONZE).collect()]
    newest: dict[object, dict[str, object]] = {}
    for row in sorted(before, key=lambda row: row["offset"]):
        if row["timestamp"].replace(tzinfo=UTC) < cutoff:
            newest[row["partition"], bytes(row["key"] or b"")] = row
    expected = {
        (row["partition"], row["offset"])
        for row in before
        if row["timestamp"].replace(tzinfo=UTC) >= cutoff
        or (row in newest.values() and row["key"] and row["value"] and not row["is_control"])
    }
    report = care(lake, MINUTE_BEFORE_END, keep_days={BRONZE: 1}, tables=[BRONZE])
    left = {(row["partition"], row["offset"]) for row in lake.read(BRONZE).collect()}
    assert left == expected
    assert report.tables[BRONZE].rows_deleted == len(before) - len(expected) > 50
    assert sum(row["records"] for row in lake.read("meta.ingested").collect()) == len(left)
    assert lake.log(BRONZE).properties()["delta.appendOnly"] == "true"
    gold = versions(lake)
    assert run_audit(spark, RunRequest(None, lake.path, CLUSTER)).counts.read == 0
    assert {name for name in GOLD_TABLES if versions(lake)[name] != gold[name]} == set()


def test_what_no_run_has_audited_stays(lake: Lake) -> None:
    """Deleting it would lose history for good; a lake that is only ingested keeps everything."""
    progress = [row | {"replayed_to": 0} for row in as_written(lake, "meta.progress")]
    with lake.staging("run"):
        Sink(lake, CLUSTER, "run").rewrite("meta.progress", progress)
    assert care(lake, keep_days={BRONZE: 1}, tables=[BRONZE]).tables[BRONZE].rows_deleted == 0


def test_rows_that_have_ended_go_and_those_that_go_on_stay(lake: Lake) -> None:
    """States, ownership and members that are still there are of any age."""
    names = ("gold.group_states", "gold.ownership", "gold.members", "gold.epochs")
    care(lake, keep_days=dict.fromkeys(names, 1), tables=names)
    assert lake.read("gold.group_states").where("to_at is not null").count() == 0
    assert lake.read("gold.group_states").count() == 3
    assert lake.read("gold.ownership").where("to_at is null").count() > 0
    assert lake.read("gold.members").where("left_at is not null").count() == 0
    assert lake.read("gold.epochs").count() == 0
    assert lake.read("gold.rebalances").count() == 11


def test_a_run_at_work_is_left_alone(lake: Lake) -> None:
    """Maintenance ends at once and says who writes; nothing is changed."""
    before = versions(lake)
    with sole_run(lake.path, CLUSTER, "run-7"), pytest.raises(LakeBusy, match="run-7"):
        care(lake)
    assert versions(lake) == before


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        (
            {"tables": ["gold.epoch"]},
            "There is no table gold.epoch; there are bronze.end_offsets, bronze.records, ",
        ),
        ({"keep_days": {"gold.topics": 9}}, "Rows of gold.topics have no age, so none can expire"),
        ({"vacuum_hours_of": {"epochs": 9}}, "There is no table epochs"),
    ],
)
def test_a_table_that_is_none_is_refused_before_anything_is_done(
    fields: dict[str, Any], sentence: str, lake: Lake
) -> None:
    """One sentence with the names that there are."""
    with pytest.raises(BadRequest, match=sentence):
        care(lake, **fields)


def test_a_lake_without_tables_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    """Rather than a success over nothing, as with a path that is mistyped."""
    with pytest.raises(LakeNotReadable, match="has no table to maintain"):
        care(Lake(spark, str(tmp_path)))
