"""Brokers' logs in Spark: the reducer with a log equals the audit in one process with it, and clocks are set first."""

from datetime import timedelta

import pytest
from pyspark.sql import DataFrame, SparkSession

from rebalance_audit.audit.broker_log.broker_log import BrokerLog
from rebalance_audit.audit.broker_log.read import read_facts
from rebalance_audit.audit.log_audit import LogAudit
from rebalance_audit.audit.options import AuditOptions
from rebalance_audit.lake import split
from rebalance_audit.lake.broker_logs import by_clock_of, unmatched_notes
from rebalance_audit.lake.gold import rows_of as rows_of_output
from rebalance_audit.lake.reducer import ReducerOptions, reduce_groups
from rebalance_audit.lake.sources import parse_source
from rebalance_audit.time_zones import zone_of
from tests.spark.in_process import names_of
from tests.support.log_entries import records_of
from tests.wire.golden import capture

NAME = "consumer-static"
HOURS = timedelta(hours=2).total_seconds() * 1000


@pytest.fixture(scope="module")
def records(spark: SparkSession) -> DataFrame:
    """The group records of a capture."""
    source = parse_source(f"segments:{capture(NAME).segments}")
    return split.group_records(split.small_side(source.records(spark, "c")), None)


def broker_log(shift_ms: int = 0, name: str = NAME) -> BrokerLog:
    """What the brokers of a capture logged, by a clock that is ahead."""
    path = capture(name).segments.parent / "server.log.gz"
    facts = read_facts([path], zone_of("UTC"))
    return BrokerLog.of(fact._replace(at_ms=fact.at_ms + shift_ms) for fact in facts)


def test_the_log_reaches_every_group(spark: SparkSession, records: DataFrame) -> None:
    """Causes as in one process, departures proven."""
    log = broker_log()
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


def test_clocks_are_set_by_a_sample_of_the_records(records: DataFrame) -> None:
    """A log of another time zone comes out by the records' clock, with a note; a straight one as it is."""
    assert by_clock_of(records, broker_log()).notes == []
    found = by_clock_of(records, broker_log(int(HOURS)))
    assert "2 h ahead of the records" in found.notes[0]
    assert found.log == broker_log()


def test_lines_of_groups_without_rows_are_counted(spark: SparkSession) -> None:
    """By the groups that gold has, also those of earlier runs."""
    states = spark.createDataFrame([("fleet",), ("fleet",)], "group_id string")
    assert unmatched_notes(broker_log(), states) == []
    (note,) = unmatched_notes(broker_log(name="migration"), states)
    assert "about groups that the records do not have: anchored, idle, mover and 1 more." in note
    assert unmatched_notes(BrokerLog(), states) == []
