"""Runs over what is new: however a log comes, and its brokers' logs, the tables are those of one run over all of it."""

import shutil
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from rebalance_audit.audit.thresholds import DepartureRules
from rebalance_audit.errors import LakeNotReadable
from rebalance_audit.lake.runs.context import RunReport
from rebalance_audit.lake.runs.run import run_audit
from rebalance_audit.lake.sources.source import Source
from rebalance_audit.local.audit import audit_segments
from tests.spark.broker_lines import LOGGED, broker_log
from tests.spark.faults import SEEN_IN_FILES
from tests.spark.in_process import Rows, in_order
from tests.spark.lakes import (
    FINDINGS,
    OF_THE_AUDIT,
    SILVER_TABLES,
    TABLES,
    Earlier,
    Whole,
    difference,
    empty_lake,
    request_of,
    table,
)
from tests.spark.mixed_log import write_log
from tests.spark.pieces import Pieces

SEED = 2
TWO_HOURS_MS = 2 * 3_600_000


@pytest.fixture(scope="module")
def logged(spark: SparkSession, whole: Whole, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The lake of one run over all of the mixed log that is given all that the brokers logged."""
    lake = empty_lake(tmp_path_factory.mktemp("logged") / "lake", whole.lake)
    request = request_of(f"segments:{whole.log}", lake, broker_log=broker_log(*LOGGED))
    report = run_audit(spark, request)
    assert report.rebuilt == report.groups == whole.report.groups
    assert difference("gold.rebalance_causes", lake, whole.lake)
    return lake


def assert_same(lake: Path, whole: Path) -> None:
    """Every table that a log decides is as in the lake of one run."""
    for name in TABLES:
        assert not difference(name, lake, whole), name


def lines_of(lake: Path) -> Rows:
    """What is kept of the brokers' lines."""
    columns = ("line_id", "at", "place", "group_id")
    return [{name: row[name] for name in columns} for row in table(lake, "meta.broker_log")]


def assert_nothing_new(report: RunReport) -> None:
    """A run that has found nothing to audit and has changed no row."""
    assert (report.counts.read, report.groups) == (0, 0)
    assert not any(rows for name, rows in report.rows.items() if name != "meta.progress")


@pytest.mark.each_writer
def test_a_log_that_has_grown(
    spark: SparkSession, whole: Whole, earlier: Earlier, tmp_path: Path
) -> None:
    """The third run over a log that grows leaves the tables of one run over all of it."""
    lake = Path(shutil.copytree(earlier.lake, tmp_path / "lake"))
    report = run_audit(spark, request_of(f"segments:{whole.log}", lake))
    assert report.resumed > 0
    assert_same(lake, whole.lake)


def test_however_records_and_lines_come(
    spark: SparkSession, whole: Whole, earlier: Earlier, logged: Path, tmp_path: Path
) -> None:
    """The tables are those of one run over all records and all lines of the brokers.

    Records are cut inside of writes and transactions, with limited runs in between, holes that are filled later, and
    bronze laid out anew. Lines come before their records or after them, or with a run of some groups, yesterday's last.
    The brokers' clocks are two hours ahead, which the first lines are too few to show.
    """
    pieces = Pieces(spark, whole.lake, tmp_path, SEED)
    line, later = sorted(Random(SEED).sample(range(5, 60), 2))
    lake = Path(shutil.copytree(earlier.lake, tmp_path / "lake"))

    def audit(source: Source | str | None, *parts: slice, **fields: Any) -> RunReport:
        log = broker_log(*LOGGED, shift_ms=TWO_HOURS_MS, parts=parts) if parts else None
        return run_audit(spark, request_of(source, lake, broker_log=log, **fields))

    first, second = earlier.first, earlier.second
    assert first.rebuilt == first.groups > 0
    assert second.resumed == second.groups > 0
    assert 0 < second.counts.read < first.counts.read + second.counts.read
    # Gold of some groups runs ahead of their snapshots.
    audit(pieces.holes(0.5), slice(later, later + 3), groups_regex="^mov|^fleet")
    spark.sql(f"OPTIMIZE delta.`{lake}/bronze/records`")
    third = audit(None, slice(line, 2 * later))
    assert third.rebuilt == third.groups > 0
    assert_nothing_new(audit(None))
    filled = audit(f"segments:{whole.log}")
    assert filled.rebuilt > 0
    last = audit(None, slice(0, line), slice(later, None))
    assert 0 < last.rebuilt == last.groups
    assert any("2 h ahead of the records" in note for note in last.notes)
    assert_same(lake, logged)


@pytest.fixture(scope="module")
def settled(
    spark: SparkSession, whole: Whole, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, RunReport]:
    """A lake whose second run was given all lines and nothing else, and what that run did."""
    lake = Path(shutil.copytree(whole.lake, tmp_path_factory.mktemp("settled") / "lake"))
    return lake, run_audit(spark, request_of(None, lake, broker_log=broker_log(*LOGGED)))


def test_logs_that_come_later_settle_what_is_audited(
    spark: SparkSession, settled: tuple[Path, RunReport], logged: Path
) -> None:
    """Groups with lines are replayed, others are not; a run with the same lines changes nothing."""
    lake, report = settled
    log = broker_log(*LOGGED)
    groups = {row["group_id"] for row in table(lake, "meta.snapshots")}
    assert report.rebuilt == report.groups == len(groups & log.by_group.keys()) < len(groups)
    assert report.notes == []
    assert_same(lake, logged)
    assert lines_of(lake) == lines_of(logged)
    assert_nothing_new(run_audit(spark, request_of(None, lake, broker_log=log)))


def test_full_runs_mend_damaged_files(
    spark: SparkSession, settled: tuple[Path, RunReport], logged: Path, tmp_path: Path
) -> None:
    """A run that needs a damaged file names it; a full run makes gold and silver again, whatever they look like.

    It is not given the brokers' lines, and still knows them.
    """
    lake = Path(shutil.copytree(settled[0], tmp_path / "lake"))
    faults = {"gold.rebalances": "file damaged", "silver.offset_commits": "file lost"}
    for name, fault in faults.items():
        SEEN_IN_FILES[fault](spark, lake.joinpath(*name.split(".")))
    with pytest.raises(LakeNotReadable, match="is gone or damaged: run with --full, which makes"):
        run_audit(spark, request_of(None, lake, groups_regex="^mov"))
    report = run_audit(spark, request_of(None, lake, full=True))
    assert_same(lake, logged)
    assert lines_of(lake) == lines_of(logged)
    for name in faults:
        assert [note for note in report.notes if f"of {name} is gone or damaged" in note]
    runs = sorted(table(lake, "meta.runs"), key=lambda row: row["run_number"])
    assert [(row["outcome"], row["retries"]) for row in runs[-2:]] == [("failed", 0), ("done", 2)]


def test_other_thresholds_and_another_cluster(
    spark: SparkSession, whole: Whole, tmp_path: Path
) -> None:
    """Another cluster's runs touch no row of the first; new thresholds make everything of their own cluster anew."""
    lake = tmp_path / "lake"
    shutil.copytree(whole.lake, lake)
    log = write_log(tmp_path / "log", share=0.2)
    run_audit(spark, replace(request_of(f"segments:{log}", lake), cluster="it's green"))
    green = {name: table(lake, name, "it's green") for name in TABLES}
    rules = DepartureRules(consumer_session_timeout_ms=10_000)
    report = run_audit(spark, request_of(None, lake, rules=rules))
    assert report.rebuilt == report.groups == len(table(lake, "meta.snapshots"))
    expected = audit_segments(whole.log, departure_rules=rules, finding_rules=FINDINGS).tables
    for name in OF_THE_AUDIT:
        rows = in_order(name, expected[name.partition(".")[2]])
        assert table(lake, name) == rows, name
    assert difference("gold.rebalance_causes", lake, whole.lake)
    for name in (*SILVER_TABLES, "bronze.records"):
        assert not difference(name, lake, whole.lake), name
    for name in TABLES:
        assert table(lake, name, "it's green") == green[name], name
    assert green["gold.epochs"]
