"""What Kafka itself takes for the same log: its broker's load, and its tools that describe groups and dump segments."""

import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import Final, NamedTuple

from tests.support.broker import Broker
from tests.support.broker_folder import java, make_folder
from workshop.bench.bench_log import BenchLog
from workshop.bench.cpu import cpu_s_since, threads_cpu_s, tree_ticks
from workshop.bench.scale_log import TOPIC

HEAP: Final = ("-Xms1g", "-Xmx2g")
"""As Kafka's own start script, with room for the log."""
LOAD_SECONDS_MAX: Final = 300
COORDINATOR_SPEAKS: Final = """
logger.runtime.name = org.apache.kafka.coordinator.common.runtime.CoordinatorRuntime
logger.runtime.level = INFO
"""
LOADED: Final = re.compile(
    r"Finished loading of metadata from __consumer_offsets-(\d+) .*? in (\d+)ms .*?Loaded (\d+) records"
)
LOADER: Final = "kafka-scheduler"
"""How the names of the threads that read and replay the log begin; the others do little meanwhile."""


class Load(NamedTuple):
    """What a broker took to load a log."""

    seconds: float
    """As it says itself, from the moment when it may to the moment when clients may."""
    cpu_s: float
    """Processor seconds of the threads that load, compiling and garbage collection aside."""
    describe_s: float
    """What `kafka-consumer-groups --describe` of all groups takes then."""
    describe_cpu_s: float
    """Processor seconds of that tool and of the broker meanwhile."""


def broker_load(log: BenchLog, folder: Path, groups: int) -> Load:
    """Let a broker load a log, its JVM just started as after any fail-over; the folder is gone afterwards.

    The log is one partition, so one thread loads it. All of its records must have been loaded, all groups described.
    """
    broker = Broker(folder, make_folder(folder, log.folder, {}), HEAP)
    with (folder / "log4j2.properties").open("a") as logging:
        logging.write(COORDINATOR_SPEAKS)
    try:
        broker.start()
        assert broker.process is not None
        deadline = time.monotonic() + LOAD_SECONDS_MAX
        while not (loaded := LOADED.search((folder / "broker.log").read_text(errors="replace"))):
            assert time.monotonic() < deadline, broker.log_tail()
            time.sleep(0.2)
        partition, milliseconds, records = map(int, loaded.groups())
        assert (partition, records) == (0, log.records), loaded[0]
        load_cpu_s = threads_cpu_s(broker.process.pid, LOADER)
        while True:
            began, ticks = time.perf_counter(), tree_ticks()
            described = describe(broker)
            describe_s = time.perf_counter() - began
            if len(described) == groups:
                return Load(milliseconds / 1000, load_cpu_s, describe_s, cpu_s_since(ticks))
            # A coordinator that has just loaded answers with errors until the broker's metadata reaches it.
            assert time.monotonic() < deadline, f"{len(described)} groups described"
    finally:
        broker.kill()
        shutil.rmtree(folder)


def describe(broker: Broker) -> set[str]:
    """`kafka-consumer-groups --describe` of all groups; the ids of those that it prints."""
    command = java(
        broker.folder,
        "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
        "--bootstrap-server",
        broker.bootstrap_servers,
        "--describe",
        "--all-groups",
        "--timeout",
        str(LOAD_SECONDS_MAX * 1000),
        jvm_options=HEAP,
    )
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    rows = (line.split() for line in out.splitlines())
    return {row[0] for row in rows if len(row) > 1 and row[1] == TOPIC}


def dump(segments: tuple[Path, ...], folder: Path) -> None:
    """`kafka-dump-log --offsets-decoder` over all segments, the output thrown away."""
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
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
