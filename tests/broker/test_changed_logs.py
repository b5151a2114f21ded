"""What may become of a broker's log between two ingests: each is noticed, and no two histories are mixed."""

import os
import shutil
from pathlib import Path

import pytest
from confluent_kafka.admin import NewPartitions
from pyspark.sql import SparkSession

from rebalance_audit.errors import BadRequest
from rebalance_audit.lake.storage.tables import Lake
from rebalance_audit.wire.segments.folder import SourceNotReadable
from tests.broker.live_ingest import bronze, in_log, kafka, ledger, take
from tests.support.broker import Broker, running_broker
from tests.support.broker_folder import CLUSTER_ID, OFFSETS_TOPIC
from tests.support.live_groups import HASTE, make_topic, work

pytestmark = pytest.mark.broker

ANOTHER_ID = "YW5vdGhlci1jbHVzdGVyLQ"


def test_what_becomes_of_a_log(spark: SparkSession, tmp_path: Path) -> None:
    """Its start moves past what was read; partitions are added; its end is lost, and grows again; all is recreated."""
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

        count = len(ledger(spark, lake))
        wanted = NewPartitions(OFFSETS_TOPIC, count + 1)
        admin = broker.admin()
        admin.create_partitions([wanted])[OFFSETS_TOPIC].result()
        broker.write_group_records([(count, b"\0\3\0\5moved", None)])
        ingested = take(spark, kafka(broker), lake)
        assert (ingested.records, ingested.added_partitions) == (1, [count])
        assert [row for row in bronze(spark, lake) if row[0] == count]

        shutil.rmtree(lake / "bronze" / "records")
        again = take(spark, kafka(broker), lake)
        assert again.lost_stretches == 1, "what bronze has lost and the cluster deleted"
        there = in_log(spark, broker)
        assert bronze(spark, lake) == [
            row for row in there if row[0] != partition or row[1] >= start
        ]
        quarantine = Lake(spark, str(lake)).read("silver.quarantine")
        (gone,) = quarantine.where("detail like '%bronze has lost%'").collect()
        assert (gone["partition"], gone["offset"]) == (partition, 0)
        assert gone["before_offset"] > start

        whole = bronze(spark, lake)
        broker.stop()
        cut_off(broker, partition)
        broker.start()
        sentence = f"Partition {partition} of {OFFSETS_TOPIC} at .* ends at offset .*: the log was truncated"
        with pytest.raises(SourceNotReadable, match=sentence):
            take(spark, kafka(broker), lake)
        others = [(partition, b"\0\3\0\5other", None)] * next_offsets(spark, lake)[partition]
        broker.write_group_records(others)
        with pytest.raises(SourceNotReadable, match="has a different record at offset"):
            take(spark, kafka(broker), lake)

        broker.stop()
        for path in (broker.folder / "data").rglob("*.properties"):
            path.write_text(path.read_text().replace(CLUSTER_ID, ANOTHER_ID))
        broker.start()
        sentence = f"is cluster {ANOTHER_ID}, but blue in this lake is cluster {CLUSTER_ID}"
        with pytest.raises(BadRequest, match=sentence):
            take(spark, kafka(broker), lake)
        assert bronze(spark, lake) == whole


def next_offsets(spark: SparkSession, lake: Path) -> dict[int, int]:
    """Partition -> offset after its last record in bronze."""
    return {number: row["next_offset"] or 0 for number, row in ledger(spark, lake).items()}


def move_start(broker: Broker, partition: int, start: int) -> None:
    """Let the log of a partition begin later, as after retention; the broker must not run."""
    line = f"{OFFSETS_TOPIC} {partition} {start}"
    (broker.folder / "data" / "log-start-offset-checkpoint").write_text(f"0\n1\n{line}\n")


def cut_off(broker: Broker, partition: int) -> None:
    """Take the last quarter of a partition, as the election of a leader that had not copied it; see `move_start`."""
    data = broker.folder / "data"
    for name in (".kafka_cleanshutdown", "recovery-point-offset-checkpoint"):
        # So the broker looks through its files for where they end.
        (data / name).unlink()
    segment = max((data / f"{OFFSETS_TOPIC}-{partition}").glob("*.log"))
    os.truncate(segment, segment.stat().st_size * 3 // 4)
