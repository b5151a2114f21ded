"""How fast we are beside Spark's bare scan and Kafka's own tools, all on one log in one run: `make bench`.

Every stage is told in records a second without start-up: what the broker says itself of its load, a command's time
less that of `--version`, Spark stages in a session that has done the like before. The ratios are what to look at; the
figures are this machine's.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import orjson
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from rich.console import Console
from rich.table import Table

from rebalance_audit.config import load_config
from rebalance_audit.lake.request import ALL_LAYERS, GOLD_ONLY, RunRequest
from rebalance_audit.lake.run import run_audit
from rebalance_audit.lake.session import build_session
from rebalance_audit.lake.sources import parse_source
from rebalance_audit.resources import checkout_root
from tests.perf.bench_log import BenchLog, bench_log
from tests.perf.kafka_tools import broker_load_seconds, dump_seconds
from tests.perf.reducer_speed import PROTOCOLS, entries, measure
from tests.wire.golden import capture

HISTORY: Final = checkout_root() / "docs" / "bench-history.jsonl"
COMMAND: Final = Path(sys.executable).with_name("rebalance-audit")
WARM_UP_RECORDS: Final = 20_000
REDUCER_EPOCHS: Final = 500
REDUCER_TARGET: Final = 30_000

LOAD = "broker: load"
DUMP = "kafka-dump-log --offsets-decoder"
SCAN = "Spark: bare scan of bronze"
GOLD = "gold from bronze"
GOLD_OF_SEGMENTS = "gold from segments"
SILVER = "silver and gold from bronze"
INGEST = "segments to bronze, silver and gold"
INSPECT = "inspect"
DECODE = "decode"

TARGETS: Final = (
    (GOLD, LOAD, 2.5),
    (GOLD, SCAN, 1 / 1.5),
    (GOLD_OF_SEGMENTS, LOAD, 2.0),
    (SILVER, LOAD, 1.2),
    (INSPECT, LOAD, 1.0),
    (DECODE, DUMP, 2.0),
)
"""A stage, what it is measured by, and the least ratio of their speeds."""


@dataclass
class Bench:
    """What has been measured so far."""

    log: BenchLog
    scratch: Path
    seconds: dict[str, float] = field(default_factory=dict)
    steps: dict[str, dict[str, float]] = field(default_factory=dict)
    """Of each stage in Spark: its steps and their seconds."""

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time a stage."""
        sys.stderr.write(f"{name} …\n")
        began = time.perf_counter()
        yield
        self.seconds[name] = time.perf_counter() - began

    def speed(self, name: str) -> float:
        """Records a second."""
        return self.log.records / self.seconds[name]


def main() -> None:
    """Measure, print, and add a line to the history."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=4_000_000)
    parser.add_argument("--spark-only", action="store_true", help="leave Kafka and commands out")
    parser.add_argument("--no-history", action="store_true", help="print only")
    flags = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        bench = Bench(bench_log(flags.records), Path(scratch))
        if not flags.spark_only:
            kafka_stages(bench)
            command_stages(bench)
        spark_stages(bench)
    reducer = {
        protocol: measure(list(entries(writes(REDUCER_EPOCHS))))[0]
        for protocol, writes in PROTOCOLS.items()
    }
    show(bench, reducer)
    if not flags.no_history:
        remember(bench, reducer)


def kafka_stages(bench: Bench) -> None:
    """Kafka's own tools. The dump is slow: the first segment stands for all."""
    sys.stderr.write(f"{LOAD} …\n")
    bench.seconds[LOAD] = broker_load_seconds(bench.log, bench.scratch / "broker")
    sys.stderr.write(f"{DUMP} …\n")
    (tiny,) = (capture("offsets").segments / "__consumer_offsets-1").glob("*.log")
    start_up = dump_seconds((tiny,), bench.scratch / "dump")
    seconds = dump_seconds(bench.log.segments[:1], bench.scratch / "dump") - start_up
    share = bench.log.segments[0].stat().st_size / bench.log.size_bytes
    bench.seconds[DUMP] = seconds / share


def command_stages(bench: Bench) -> None:
    """What runs in one process, without Spark."""
    start_up = command_seconds("--version")
    for name, arguments in ((INSPECT, ("inspect", "--json")), (DECODE, ("decode",))):
        sys.stderr.write(f"{name} …\n")
        bench.seconds[name] = command_seconds(*arguments, str(bench.log.folder)) - start_up


def command_seconds(*arguments: str) -> float:
    """A command of ours, its output thrown away."""
    began = time.perf_counter()
    subprocess.run([str(COMMAND), *arguments], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def spark_stages(bench: Bench) -> None:
    """What runs in Spark, in one session that the small log has warmed up."""
    spark = build_session(
        "bench", master="local[2]", settings={}, jars_folder=checkout_root() / "jars" / "spark"
    )
    try:
        small = bench_log(WARM_UP_RECORDS)
        warm = Bench(small, bench.scratch / "warm")
        for each in (warm, bench):
            lake = each.scratch / "lake"
            bronze = lake / "bronze" / "records"
            segments = f"segments:{each.log.folder}"
            run(each, INGEST, spark, segments, lake, ALL_LAYERS)
            with each.stage(SCAN):
                bare_scan(spark, bronze)
            run(each, GOLD, spark, f"delta:{bronze}", each.scratch / "gold", GOLD_ONLY)
            run(each, GOLD_OF_SEGMENTS, spark, segments, each.scratch / "gold2", GOLD_ONLY)
            run(each, SILVER, spark, f"delta:{bronze}", each.scratch / "silver", ALL_LAYERS)
    finally:
        spark.stop()


def run(
    bench: Bench, name: str, spark: SparkSession, spec: str, lake: Path, layers: frozenset[str]
) -> None:
    """One audit into a new lake."""
    source = parse_source(spec, load_config().source.split_target_bytes)
    with bench.stage(name):
        report = run_audit(spark, RunRequest(source, str(lake), "bench", layers=layers))
    bench.steps[name] = report.seconds


def bare_scan(spark: SparkSession, bronze: Path) -> None:
    """Everything read, nothing done: the floor."""
    rows = spark.read.format("delta").load(str(bronze))
    rows.agg(F.sum(F.octet_length("key")), F.sum(F.octet_length("value"))).collect()


def show(bench: Bench, reducer: dict[str, float]) -> None:
    """The table for people."""
    table = Table(title=f"{bench.log.records:,} records, {bench.log.size_bytes / 1e6:,.0f} MB")
    for heading in ("stage", "seconds", "records/s"):
        table.add_column(heading, justify="left" if heading == "stage" else "right")
    for name, seconds in bench.seconds.items():
        table.add_row(name, f"{seconds:.1f}", f"{bench.speed(name):,.0f}")
    ratios = Table(title="Ratios")
    for heading in ("stage", "measured by", "ratio", "target", ""):
        ratios.add_column(heading)
    for name, by, ratio, target in found_ratios(bench):
        met = "met" if ratio >= target else "missed"
        ratios.add_row(name, by, f"{ratio:.2f}", f"{target:.2f}", met)
    for protocol, speed in reducer.items():
        met = "met" if speed >= REDUCER_TARGET else "missed"
        ratios.add_row(f"reducer, {protocol}", "records/s a core", f"{speed:,.0f}", "30,000", met)
    console = Console(width=110)
    console.print(table)
    console.print(ratios)
    for name, steps in bench.steps.items():
        told = ", ".join(f"{step} {seconds:.1f}" for step, seconds in steps.items())
        console.print(f"{name}: {told}", highlight=False)


def found_ratios(bench: Bench) -> Iterator[tuple[str, str, float, float]]:
    """Stage, what it is measured by, the ratio, the target; of what was measured."""
    for name, by, target in TARGETS:
        if name in bench.seconds and by in bench.seconds:
            yield name, by, bench.speed(name) / bench.speed(by), target


def remember(bench: Bench, reducer: dict[str, float]) -> None:
    """Add a line to the history."""
    revision = ["git", "-C", str(checkout_root()), "rev-parse", "--short", "HEAD"]
    line = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": subprocess.run(
            revision, check=True, capture_output=True, text=True
        ).stdout.strip(),
        "cores": os.cpu_count(),
        "load_average": round(os.getloadavg()[0], 1),
        "records": bench.log.records,
        "seconds": {name: round(seconds, 2) for name, seconds in bench.seconds.items()},
        "ratios": {f"{name} / {by}": round(ratio, 2) for name, by, ratio, _ in found_ratios(bench)},
        "reducer": {protocol: round(speed) for protocol, speed in reducer.items()},
    }
    with HISTORY.open("ab") as history:
        history.write(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))


if __name__ == "__main__":
    main()
