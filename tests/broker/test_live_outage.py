"""A cluster that goes away while it is read."""

import threading
import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rebalance_audit.lake.bronze.kafka_stream import Duration
from rebalance_audit.live_cluster.kafka_cluster import KafkaSettings
from rebalance_audit.wire.segments.folder import SourceNotReadable
from tests.broker.live_ingest import bronze, has_batches, in_log, kafka, take
from tests.support.broker import running_broker
from tests.support.live_groups import HASTE, make_topic, work

pytestmark = pytest.mark.broker


def test_a_broker_that_dies_in_the_middle(spark: SparkSession, tmp_path: Path) -> None:
    """One sentence, a bronze that is a part of the log; the next ingest has the rest."""
    lake = tmp_path / "lake"
    impatient = KafkaSettings(timeout_ms=10_000, trigger_seconds=0.2, max_offsets_per_trigger=10)
    with running_broker(tmp_path / "broker", settings=HASTE) as broker:
        make_topic(broker)
        work(broker, "first")

        def kill_soon() -> None:
            is_time = has_batches(lake, 2)
            while not is_time():
                time.sleep(0.05)
            broker.kill()

        killer = threading.Thread(target=kill_soon, daemon=True)
        killer.start()
        with pytest.raises(
            SourceNotReadable,
            match=r"Kafka at .* cannot be (queried|read|reached any more): .* Bronze already has [1-9].*; the same",
        ):
            take(spark, kafka(broker), lake, impatient, duration=Duration(follow=True))
        killer.join()
        part = bronze(spark, lake)
        broker.start()
        take(spark, kafka(broker), lake)
        whole = in_log(spark, broker)
        assert 0 < len(part) < len(whole)
        assert set(part) < set(whole)
        assert bronze(spark, lake) == whole
