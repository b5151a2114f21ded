"""Runs over what is new: however a log comes, the tables are those of one run over all of it."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from rebalance_audit.audit.causes.departures import DepartureRules
from rebalance_audit.lake.runs.run import run_audit
from rebalance_audit.lake.runs.run_report import RunReport
from rebalance_audit.lake.sources.source import Source
from rebalance_audit.local.audit import audit_segments
from tests.spark.in_process import in_order
from tests.spark.lakes import (
    OF_THE_AUDIT,
    SILVER_TABLES,
    TABLES,
    Whole,
    difference,
    empty_lake,
    request_of,
    table,
    without_commits,
)
from tests.spark.mixed_log import BAD_RECORDS, DAMAGED_PARTITION, PARTS, write_log
from tests.spark.pieces import Pieces


@pytest.mark.parametrize("seed", [1])
def test_pieces_of_a_log_give_the_tables_of_the_whole(
    spark: SparkSession, whole: Whole, tmp_path: Path, seed: int
) -> None:
    """Cut inside of writes and transactions, limited runs in between, holes filled later, bronze laid out anew."""
    pieces = Pieces(spark, whole.lake, tmp_path, seed)
    lake = empty_lake(tmp_path / "lake", whole.lake)

    def audit(source: Source | str | None, **fields: Any) -> RunReport:
        return run_audit(spark, request_of(source, lake, **fields))

    first = audit(pieces.until(0.3))
    assert first.rebuilt == first.groups > 0
    second = audit(pieces.until(0.6))
    assert second.resumed == second.groups > 0
    assert 0 < second.counts.read < first.counts.read + second.counts.read
    # Gold of some groups runs ahead of their snapshots.
    audit(pieces.until(0.75), groups_regex="^mov|^fleet")
    spark.sql(f"OPTIMIZE delta.`{lake}/bronze/records`")
    third = audit(None)
    assert third.rebuilt == third.groups > 0
    again = audit(None)
    assert (again.counts.read, again.groups) == (0, 0)
    assert not any(rows for name, rows in again.rows.items() if name != "meta.progress")
    audit(pieces.holes(0.5))
    last = audit(f"segments:{whole.log}")
    assert last.rebuilt > 0
    for name in TABLES:
        assert not difference(name, lake, whole.lake), name


def test_pieces_without_transactions(spark: SparkSession, whole: Whole, tmp_path: Path) -> None:
    """Commits that no marker decides, at their end some that cannot be decoded, in one run or in two."""
    parts = [part for part in PARTS if part.becomes == DAMAGED_PARTITION]
    lakes = []
    for shares in (1.0,), (0.5, 1.0):
        lake = empty_lake(tmp_path / f"lake-{len(shares)}", whole.lake)
        for share in shares:
            log = write_log(tmp_path / "log", share, parts)
            report = run_audit(spark, request_of(f"segments:{log}", lake))
        lakes.append(lake)
    assert (report.rebuilt, report.counts.quarantined) == (0, len(BAD_RECORDS))
    assert report.resumed
    for name in TABLES:
        assert not difference(name, *lakes), name


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
    expected = audit_segments(whole.log, departure_rules=rules).tables
    for name in OF_THE_AUDIT:
        rows = in_order(name, expected[name.partition(".")[2]])
        assert without_commits(table(lake, name)) == rows, name
    assert difference("gold.rebalance_causes", lake, whole.lake)
    for name in (*SILVER_TABLES, "bronze.records"):
        assert not difference(name, lake, whole.lake), name
    for name in TABLES:
        assert table(lake, name, "it's green") == green[name], name
    assert green["gold.epochs"]
