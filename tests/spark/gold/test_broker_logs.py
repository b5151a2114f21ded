"""Brokers' logs in Spark: the reducer equals the audit in one process."""

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.audit.broker_log.broker_log import BrokerLog
from rebalance_audit.audit.log_audit import LogAudit
from rebalance_audit.audit.options import AuditOptions
from rebalance_audit.lake.gold.broker_logs import unmatched_notes
from rebalance_audit.lake.gold.group_memory import ReducerOptions
from rebalance_audit.lake.gold.outputs import GONE, output_columns
from rebalance_audit.lake.gold.outputs import rows_of as rows_of_output
from rebalance_audit.lake.gold.reducer import reduce_groups
from rebalance_audit.lake.records import routing
from rebalance_audit.lake.sources.source_spec import parse_source
from rebalance_audit.lake.storage.stage import Stage
from tests.spark.broker_lines import broker_log
from tests.spark.in_process import names_of
from tests.support.log_entries import records_of
from tests.wire.golden import capture

NAME = "consumer-static"


@pytest.fixture(scope="module")
def records(spark: SparkSession) -> DataFrame:
    """The group records of a capture."""
    source = parse_source(f"segments:{capture(NAME).segments}")
    groups = routing.group_records(routing.other_records(source.records(spark, "c")), None)
    return groups.withColumn("kind", F.lit(None).cast("string"))


def test_the_log_reaches_every_group(records: DataFrame, stage: Stage) -> None:
    """Causes as in one process, departures proven."""
    log = broker_log(NAME)
    options = ReducerOptions(names_of(capture(NAME).segments), broker_log=log)
    staged = stage.put_tables(reduce_groups(records, options), output_columns(), GONE)
    rows = rows_of_output(staged, "rebalance_causes").collect()
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
