"""What becomes of a broker's log between two ingests."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rebalance_audit.lake.storage.tables import Lake
from tests.broker.live_ingest import bronze, in_log, kafka, ledger, take
from tests.support.broker import Broker, running_broker
from tests.support.broker_folder import OFFSETS_TOPIC
from tests.support.live_groups import HASTE, make_topic, work

pytestmark = pytest.mark.broker


def test_a_log_whose_start_moves_past_what_was_read(spark: SparkSession, tmp_path: Path) -> None:
    """The lost stretch is in quarantine, and the rest of the log is taken."""
    lake = tmp_path / "lake"
    with running_broker(tmp_path / "broker", settings=HASTE) as broker:
        make_topic(broker)
        work(broker, "first")
        take(spark, kafka(broker), lake)
        read = bronze(spark, lake)
        ends = next_offsets(spark, lake)
        partition = max(ends, key=ends.__getitem__)

        work(broker, "first")
        broker.stop()
        start = ends[partition] + 3
        move_start(broker, partition, start)
        broker.start()
        assert take(spark, kafka(broker), lake).lost_stretches == 1
        (lost,) = Lake(spark, str(lake)).read("silver.quarantine").collect()
        assert (lost["reason"], lost["partition"]) == ("lost_before_read", partition)
        assert lost["before_offset"] == start
        there = in_log(spark, broker)
        later = [row for row in there if row[0] != partition or row[1] >= start]
        assert bronze(spark, lake) == sorted({*read, *later})


def next_offsets(spark: SparkSession, lake: Path) -> dict[int, int]:
    """Partition -> offset after its last record in bronze."""
    return {number: row["next_offset"] or 0 for number, row in ledger(spark, lake).items()}


def move_start(broker: Broker, partition: int, start: int) -> None:
    """Let the log of a partition begin later, as after retention; the broker must not run."""
    line = f"{OFFSETS_TOPIC} {partition} {start}"
    (broker.folder / "data" / "log-start-offset-checkpoint").write_text(f"0\n1\n{line}\n")
