"""An ingest that is killed, and killed again, while groups are at work."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.broker.live_ingest import CLUSTER, batches, bronze, has_batches, in_log, kafka, take
from tests.support.broker import Broker
from tests.support.live_groups import at_work
from tests.support.spark_sessions import configuration

pytestmark = pytest.mark.broker

KILLS = 2
CONFIG = """\
[source.kafka]
trigger_seconds = 0.2
max_offsets_per_trigger = 25
"""


def test_an_ingest_that_is_killed_again_and_again(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    """With kill -9, at any moment of a batch: the next ingest goes on, no record is lost and none is there twice."""
    lake = tmp_path / "lake"
    chance = random.Random(7)
    command = [sys.executable, "-m", "rebalance_audit.cli.main", "ingest", "--follow"]
    command += ["--source", kafka(broker), "--lake", str(lake), "--cluster", CLUSTER]
    command += ["--config", str(configuration(tmp_path, CONFIG))]
    sizes = [0]
    with at_work(broker):
        for _ in range(KILLS):
            with (tmp_path / "output").open("ab") as output:
                process = subprocess.Popen(command, stderr=output, start_new_session=True)
            try:
                is_time = has_batches(lake, batches(lake) + 2)
                while not is_time():
                    time.sleep(0.01)
                time.sleep(chance.random())
            finally:
                os.killpg(process.pid, signal.SIGKILL)  # Python and the JVM
                process.wait()
            sizes.append(len(bronze(spark, lake)))
    assert sizes == sorted(set(sizes)), "every process has added something"
    take(spark, kafka(broker), lake)
    assert bronze(spark, lake) == in_log(spark, broker)
