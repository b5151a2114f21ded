"""Members that stop working: seen by runs over nothing but new offset commits."""

from functools import partial
from pathlib import Path

from pyspark.sql import SparkSession

from rebalance_audit.lake.runs.run import run_audit
from rebalance_audit.local.audit import audit_segments
from rebalance_audit.sim.options import Protocol
from tests.spark.in_process import in_order
from tests.spark.lakes import (
    FINDINGS,
    OF_THE_AUDIT,
    Whole,
    empty_lake,
    request_of,
    table,
    without_commits,
)
from workshop.accuracy.stage import MINUTE_MS, Setting, Stage

LOOKS = {62: [], 80: ["silent_member"], 118: []}
"""Minute at which the log is read -> what is found then."""


def test_runs_over_new_commits_alone_find_what_one_run_finds(
    spark: SparkSession, whole: Whole, tmp_path: Path
) -> None:
    """A process stops working for 40 minutes and goes on. Nothing else happens, so no run has a new group record."""
    setting = Setting(
        members=2, hours=2, commit_interval_ms=30_000, max_poll_interval_ms=36_000_000
    )
    stage = Stage(setting, Protocol.CLASSIC, 1)
    stage.at(60, partial(stage.stall, (0,), 40 * MINUTE_MS))
    for minute in LOOKS:
        stage.at(minute, partial(stage.simulation.write, tmp_path / str(minute)))
    stage.run()
    lake = empty_lake(tmp_path / "lake", whole.lake)
    for minute, kinds in LOOKS.items():
        log = tmp_path / str(minute)
        report = run_audit(spark, request_of(f"segments:{log}", lake))
        assert report.rebuilt == 0 or minute == min(LOOKS)
        expected = audit_segments(log, finding_rules=FINDINGS).tables
        assert [row["kind"] for row in without_commits(expected["findings"])] == kinds
        for name in OF_THE_AUDIT:
            rows = in_order(name, expected[name.partition(".")[2]])
            assert table(lake, name) == rows, (minute, name)
