"""What Kafka itself takes for the same log: its broker's load, and its dump tool."""

import re
import subprocess
import time
from pathlib import Path
from typing import Final

from tests.perf.bench_log import BenchLog
from tests.support.broker import Broker
from tests.support.broker_folder import java, make_folder

HEAP: Final = ("-Xms1g", "-Xmx2g")
"""As Kafka's own start script, with room for the log."""
LOAD_SECONDS_MAX: Final = 300
COORDINATOR_SPEAKS: Final = """
logger.runtime.name = org.apache.kafka.coordinator.common.runtime.CoordinatorRuntime
logger.runtime.level = INFO
"""
LOADED: Final = re.compile(r"Finished loading of metadata from __consumer_offsets-0 .*?in (\d+)ms")


def broker_load_seconds(log: BenchLog, folder: Path) -> float:
    """What the broker's own log says of loading the partition, its JVM just started as after any fail-over."""
    broker = Broker(folder, make_folder(folder, log.folder, {}), HEAP)
    with (folder / "log4j2.properties").open("a") as logging:
        logging.write(COORDINATOR_SPEAKS)
    try:
        broker.start()
        deadline = time.monotonic() + LOAD_SECONDS_MAX
        while not (told := LOADED.search((folder / "broker.log").read_text(errors="replace"))):
            assert time.monotonic() < deadline, broker.log_tail()
            time.sleep(0.2)
        return int(told[1]) / 1000
    finally:
        broker.kill()


def dump_seconds(segments: tuple[Path, ...], folder: Path) -> float:
    """`kafka-dump-log --offsets-decoder` over all segments, the output thrown away; start-up included."""
    folder.mkdir(parents=True, exist_ok=True)
    files = ",".join(str(segment) for segment in segments)
    command = java(
        folder,
        "org.apache.kafka.tools.DumpLogSegments",
        "--offsets-decoder",
        "--files",
        files,
        jvm_options=HEAP,
    )
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - began
