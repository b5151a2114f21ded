"""Brokers' logs in Spark: the reducer equals the audit in one process, whichever run was given the lines."""

import shutil
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from rebalance_audit.audit.broker_log.broker_log import BrokerLog
from rebalance_audit.audit.broker_log.fact import BrokerFact
from rebalance_audit.audit.broker_log.read import read_facts
from rebalance_audit.audit.log_audit import LogAudit
from rebalance_audit.audit.options import AuditOptions
from rebalance_audit.lake.gold.broker_logs import unmatched_notes
from rebalance_audit.lake.gold.output_tables import rows_of as rows_of_output
from rebalance_audit.lake.gold.reducer import ReducerOptions, reduce_groups
from rebalance_audit.lake.records import routing
from rebalance_audit.lake.runs.run import run_audit
from rebalance_audit.lake.runs.run_report import RunReport
from rebalance_audit.lake.sources.source import Source
from rebalance_audit.lake.sources.source_spec import parse_source
from rebalance_audit.time_zones import zone_of
from tests.spark.in_process import names_of
from tests.spark.lakes import TABLES, Whole, difference, empty_lake, request_of, table
from tests.spark.pieces import Pieces
from tests.support.log_entries import records_of
from tests.wire.golden import capture

NAME = "consumer-static"
TWO_HOURS_MS = 2 * 3_600_000
SEED = 1
LOGGED = ("migration", "consumer-static", "broker-3.7", "share-streams")
"""Captures in the mixed log that have their broker's log."""


@pytest.fixture(scope="module")
def records(spark: SparkSession) -> DataFrame:
    """The group records of a capture."""
    source = parse_source(f"segments:{capture(NAME).segments}")
    return routing.group_records(routing.small_side(source.records(spark, "c")), None)


def facts_of(name: str = NAME) -> list[BrokerFact]:
    """What the broker of a capture logged."""
    return list(read_facts([capture(name).segments.parent / "server.log.gz"], zone_of("UTC")))


def broker_log(
    *names: str, shift_ms: int = 0, parts: Iterable[slice] = (slice(None),)
) -> BrokerLog:
    """What the brokers of captures logged, or parts of each, by a clock that is ahead."""
    facts = [fact for name in names for part in parts for fact in facts_of(name)[part]]
    return BrokerLog.of(fact._replace(at_ms=fact.at_ms + shift_ms) for fact in facts)


def test_the_log_reaches_every_group(spark: SparkSession, records: DataFrame) -> None:
    """Causes as in one process, departures proven."""
    log = broker_log(NAME)
    options = ReducerOptions(
        names_of(capture(NAME).segments), broker_log=spark.sparkContext.broadcast(log)
    )
    rows = rows_of_output(reduce_groups(records, options), "rebalance_causes").collect()
    audit = LogAudit(AuditOptions(broker_facts=log.facts_of))
    for record, position in records_of(capture(NAME).segments):
        audit.feed(record, position)
    expected = {
        (row["group_id"], row["incarnation"], row["epoch"], row["cause_seq"]): (
            row["cause"],
            row["certainty"],
        )
        for row in audit.tables()["rebalance_causes"]
    }
    found = {
        (row["group_id"], row["incarnation"], row["epoch"], row["cause_seq"]): (
            row["cause"],
            row["certainty"],
        )
        for row in rows
    }
    assert found == expected
    assert ("member_session_expired", "proven") in found.values()


def test_lines_of_groups_without_rows_are_counted(spark: SparkSession) -> None:
    """By the groups that gold has, also those of earlier runs."""
    states = spark.createDataFrame([("fleet",), ("fleet",)], "group_id string")
    assert unmatched_notes(broker_log(NAME), states) == []
    (note,) = unmatched_notes(broker_log("migration"), states)
    assert "about groups that the records do not have: anchored, idle, mover and 1 more." in note
    assert unmatched_notes(BrokerLog(), states) == []


@pytest.fixture(scope="module")
def logged(spark: SparkSession, whole: Whole, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The lake of one replay of all of the mixed log that is given all that the brokers logged."""
    lake = Path(shutil.copytree(whole.lake, tmp_path_factory.mktemp("logged") / "lake"))
    report = run_audit(spark, request_of(None, lake, full=True, broker_log=broker_log(*LOGGED)))
    assert report.rebuilt == report.groups == whole.report.groups
    assert difference("gold.rebalance_causes", lake, whole.lake)
    return lake


def assert_same(lake: Path, logged: Path) -> None:
    """Every table is as in the lake of one run, the lines of the brokers too, which are there once."""
    for name in TABLES:
        assert not difference(name, lake, logged), name
    lines = [
        [
            {name: row[name] for name in ("line_id", "at", "place", "group_id")}
            for row in table(each, "meta.broker_log")
        ]
        for each in (lake, logged)
    ]
    assert lines[0] == lines[1]


def test_logs_that_come_later_settle_what_is_audited(
    spark: SparkSession, whole: Whole, logged: Path, tmp_path: Path
) -> None:
    """Groups with lines are replayed, others are not; later runs and rebuilds without the logs still know them."""
    lake = Path(shutil.copytree(whole.lake, tmp_path / "lake"))
    log = broker_log(*LOGGED)
    report = run_audit(spark, request_of(None, lake, broker_log=log))
    groups = {row["group_id"] for row in table(lake, "meta.snapshots")}
    assert report.rebuilt == report.groups == len(groups & log.by_group.keys()) < len(groups)
    assert report.notes == []
    assert_same(lake, logged)
    again = run_audit(spark, request_of(None, lake, broker_log=log))
    assert again.groups == 0
    assert not any(rows for name, rows in again.rows.items() if name != "meta.progress")
    run_audit(spark, request_of(None, lake, full=True))
    assert_same(lake, logged)


def test_however_records_and_lines_come(
    spark: SparkSession, whole: Whole, logged: Path, tmp_path: Path
) -> None:
    """Pieces of both, one ahead of the other, yesterday's lines last, a run of some groups, a run without lines.

    The brokers' clocks are two hours ahead, which the first lines are too few to show.
    """
    pieces = Pieces(spark, whole.lake, tmp_path, SEED)
    first, second = sorted(Random(SEED).sample(range(5, 60), 2))
    lake = empty_lake(tmp_path / "lake", whole.lake)

    def log(*parts: slice) -> BrokerLog:
        return broker_log(*LOGGED, shift_ms=TWO_HOURS_MS, parts=parts)

    def audit(source: Source | str | None, *parts: slice, **fields: Any) -> RunReport:
        return run_audit(
            spark, request_of(source, lake, broker_log=log(*parts) if parts else None, **fields)
        )

    audit(pieces.until(0.3), slice(second, second + 3))
    audit(pieces.until(0.6), slice(first, 2 * second), groups_regex="^mov")
    audit(f"segments:{whole.log}")
    last = audit(None, slice(0, first), slice(second, None))
    assert 0 < last.rebuilt == last.groups
    assert any("2 h ahead of the records" in note for note in last.notes)
    for name in TABLES:
        assert not difference(name, lake, logged), name
