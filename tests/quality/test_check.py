"""Every expectation of every table catches what it is there for, and nothing else."""

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rebalance_audit.cli.commands import check as command
from rebalance_audit.lake.storage.tables import Lake
from rebalance_audit.quality.check import CheckReport
from tests.quality.judged import Judged
from tests.quality.planted import violations
from tests.wire.golden import CAPTURE_NAMES
from tests.workshop.test_json_schemas import checked_summary


@pytest.fixture
def lake(judged: Judged) -> Path:
    """Every table: healthy rows, and rows that break each expectation."""
    return judged.lake


@pytest.fixture
def report(judged: Judged) -> CheckReport:
    """One check of everything."""
    return judged.report


def test_every_expectation_catches_its_planted_violation(report: CheckReport) -> None:
    """Table by table, check by check: the planted row is among the keys that are reported."""
    reported = {
        result.expectation: [json.loads(key) for key in result.sample_keys]
        for result in report.broken
    }
    missed = [
        f"{planted.expectation} ({planted.mark})"
        for planted in violations()
        if not any(planted.is_in(key) for key in reported.get(planted.expectation, []))
    ]
    assert missed == []
    assert len(reported) == len(report.results) > 300
    assert report.outcomes["passed_over"] == 0


def test_rows_of_real_logs_break_nothing(report: CheckReport) -> None:
    """Sixteen captured logs of five releases, gaps and damage among them: not one false alarm of severity fail."""
    alarms = [
        (result.expectation, key)
        for result in report.broken
        if result.severity == "fail"
        for key in map(json.loads, result.sample_keys)
        if key.get("cluster") in CAPTURE_NAMES
    ]
    assert alarms == []


def test_counts_and_keys_are_right(report: CheckReport) -> None:
    """As many keys as rows that break it, for each expectation; healthy rows were looked at too."""
    for result in report.broken:
        assert result.unexpected_count == len(result.sample_keys), result.expectation
        assert result.rows_checked is not None
        assert result.rows_checked > result.unexpected_count or result.table.startswith(
            ("bronze.", "silver.", "meta.", "gold.group_hours", "gold.results")
        )


def test_meta_checks_says_which_rows_broke_what(
    spark: SparkSession, lake: Path, report: CheckReport
) -> None:
    """One row for each expectation, in a commit that carries the check's id; the table's version beside it."""
    table = Lake(spark, str(lake))
    rows = table.read("meta.checks").where(f"check_id = '{report.check_id}'").collect()
    assert len(rows) == len(report.results)
    found = {row["expectation"]: row for row in rows}
    for result in report.results:
        row = found[result.expectation]
        assert row["cluster"] == "*"
        assert row["success"] == (result.outcome == "held")
        assert tuple(row["sample_keys"]) == result.sample_keys
        assert row["table_version"] == 1
    version = table.version("meta.checks")
    assert version is not None
    (newest,) = table.log("meta.checks").commits(version, version)
    assert newest.user_metadata == report.check_id


def test_people_read_what_broke_and_where_to_look(report: CheckReport) -> None:
    """Severity, expectation, how many rows, the first of them and some keys; fails come first."""
    text = command.summary("lake", report)
    lines = text.splitlines()
    assert lines[0] == f"Check {report.check_id} of lake"
    at = lines.index("FAIL gold.ownership no_overlap(from_offset, to_offset)")
    assert "in gold.ownership, version 1; the first: an earlier stretch" in lines[at + 1]
    assert lines[at + 2].startswith('  look at {"cluster":"planted-')
    assert lines.index("WARN gold.epochs not_null(primary_cause)") > at
    assert f"check_id = '{report.check_id}'" in lines[-1]
    summary = command.shape("lake", report)
    checked_summary("check", summary)
    assert summary["success"] is False
    assert summary["expectations"]["broken"] == len(summary["broken"]) == len(report.results)
