"""How fast stages are beside Kafka's own tools, a Rust reader and a bare scan by Spark, on the same logs: `make bench`.

Every stage goes over two logs of one shape, one with a quarter of the other's records. What the larger one takes more
is what its further records cost: rates are those of the further records, and the seconds that any log costs, start-up
and all, stand beside. Each stage is measured twice and its shorter time taken, so that the first time warms up what
stays: Spark's session, compiled code. The ratios are what to look at; the figures are this machine's.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import orjson
from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

from rebalance_audit.config import load_config
from rebalance_audit.lake.runs.request import ALL_LAYERS, GOLD_ONLY, RunRequest
from rebalance_audit.lake.runs.run import IngestRequest, run_audit, run_ingest
from rebalance_audit.lake.session.spark_session import build_session
from rebalance_audit.lake.sources.source import Source
from rebalance_audit.lake.sources.source_spec import parse_source
from rebalance_audit.resources import checkout_root
from rebalance_audit.segments.reader import read_segment
from rebalance_audit.wire.segments.bad_bytes import BadBytes, TailNote
from workshop.bench.bench_log import GROUPS, SMALLER, BenchLog, bench_log
from workshop.bench.cpu import cpu_s_since, tree_ticks
from workshop.bench.kafka_tools import broker_load, dump
from workshop.bench.reducer_speed import PROTOCOLS, entries, measure, measure_reducer
from workshop.bench.rust_walk import build_rust_walk, rust_walk
from workshop.bench.wishes import (
    BY_SECONDS,
    DECODE,
    DESCRIBE,
    DUMP,
    GOLD,
    GOLD_OF_SEGMENTS,
    INGEST,
    INSPECT,
    LOAD,
    RUST,
    SCAN,
    SILVER,
    STATE,
    WALK,
    compared,
    comparison,
)

HISTORY: Final = checkout_root() / "docs" / "bench-history.jsonl"
COMMAND: Final = Path(sys.executable).with_name("rebalance-audit")
CLUSTER: Final = "bench"
ROUNDS: Final = 2
REDUCER_EPOCHS: Final = 500
REDUCER_STAGES: Final = {"to rows": measure, "with Arrow and silver": measure_reducer}

COMMANDS: Final = {
    INSPECT: ("inspect", "--json"),
    DECODE: ("decode",),
    STATE: ("state", "--json"),
}

SCANNED: Final = ("partition", "offset", "timestamp", "key", "value")
"""The columns of bronze that gold is made of."""


@dataclass
class Taken:
    """What a stage took of one log: the least of all rounds."""

    first_s: float | None = None
    """Of the first round, with whatever it had to compile."""
    seconds: float = float("inf")
    cpu_s: float = float("inf")
    """Processor seconds of all processes of the stage."""

    def add(self, seconds: float, cpu_s: float) -> None:
        """One round more."""
        self.first_s = seconds if self.first_s is None else self.first_s
        self.seconds, self.cpu_s = min(self.seconds, seconds), min(self.cpu_s, cpu_s)


@dataclass
class Bench:
    """What has been measured so far."""

    small: BenchLog
    large: BenchLog
    scratch: Path
    taken: dict[str, dict[BenchLog, Taken]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(Taken))
    )
    steps: dict[str, dict[str, float]] = field(default_factory=dict)
    """Of each run over the larger log: its steps and their seconds, the last round's."""

    @property
    def logs(self) -> tuple[BenchLog, BenchLog]:
        """Both logs, the smaller one first."""
        return self.small, self.large

    @contextmanager
    def stage(self, name: str, log: BenchLog) -> Iterator[None]:
        """Measure a stage."""
        sys.stderr.write(f"{name}, {log.records:,} records …")
        sys.stderr.flush()
        began, ticks = time.perf_counter(), tree_ticks()
        yield
        self.add(name, log, time.perf_counter() - began, cpu_s_since(ticks))

    def add(self, name: str, log: BenchLog, seconds: float, cpu_s: float) -> None:
        """Take what a stage took."""
        sys.stderr.write(f" {seconds:.1f} s, {cpu_s:.1f} s of processor\n")
        self.taken[name][log].add(seconds, cpu_s)

    def speed(self, name: str) -> float:
        """Further records a second.

        Where other work was in the way and the larger log took no longer, as if it had taken 10 ms longer.
        """
        return self._more_records / max(self._more(name).seconds, 0.01)

    def fixed_s(self, name: str) -> float:
        """Seconds that a log without records would take."""
        taken = self.taken[name]
        return taken[self.large].seconds - self.large.records / self.speed(name)

    def cpu_us(self, name: str) -> float:
        """Microseconds of processor time for a further record."""
        return self._more(name).cpu_s / self._more_records * 1e6

    @property
    def _more_records(self) -> int:
        return self.large.records - self.small.records

    def _more(self, name: str) -> Taken:
        small, large = (self.taken[name][log] for log in self.logs)
        return Taken(large.seconds - small.seconds, large.cpu_s - small.cpu_s)


def main() -> None:
    """Measure, print, and add a line to the history."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=4_000_000)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--spark-only", action="store_true", help="leave Kafka and commands out")
    parser.add_argument("--no-history", action="store_true", help="print only")
    flags = parser.parse_args()
    logs = bench_log(flags.records // SMALLER), bench_log(flags.records)
    load_before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        # Empty, so that the first round shows what a new machine does.
        os.environ["NUMBA_CACHE_DIR"] = f"{scratch}/compiled"
        bench = Bench(*logs, Path(scratch))
        if not flags.spark_only:
            kafka_stages(bench, flags.rounds)
            walk_stages(bench, flags.rounds)
            command_stages(bench, flags.rounds)
        spark_stages(bench, flags.rounds)
    reducer = {
        f"reducer: {protocol}, {upto}": of_stage(list(entries(writes(REDUCER_EPOCHS))))[0]
        for protocol, writes in PROTOCOLS.items()
        for upto, of_stage in REDUCER_STAGES.items()
    }
    show(bench, reducer)
    if not flags.no_history:
        remember(bench, reducer, load_before)


def kafka_stages(bench: Bench, rounds: int) -> None:
    """Kafka's own tools; the dump is slow and measured once."""
    for at in range(rounds):
        for log in bench.logs:
            sys.stderr.write(f"{LOAD}, {log.records:,} records …")
            sys.stderr.flush()
            loaded = broker_load(log, bench.scratch / f"broker-{at}-{log.records}", GROUPS)
            bench.add(LOAD, log, loaded.seconds, loaded.cpu_s)
            sys.stderr.write(f"{DESCRIBE} …")
            bench.add(DESCRIBE, log, loaded.describe_s, loaded.describe_cpu_s)
    for log in bench.logs:
        with bench.stage(DUMP, log):
            dump(log.segments, bench.scratch / "dump")


def walk_stages(bench: Bench, rounds: int) -> None:
    """Every record read: the compiled walk, and its peer in Rust, each on one thread and without start-up."""
    program = build_rust_walk()
    for _ in range(rounds):
        for log in bench.logs:
            with bench.stage(WALK, log):
                walk(log)
            if program is not None:
                sys.stderr.write(f"{RUST}, {log.records:,} records …")
                bench.add(RUST, log, *rust_walk(program, log, bench.scratch / "walk"))


def walk(log: BenchLog) -> None:
    """Walk over every segment, as `inspect` does before it replays."""
    records = sum(
        len(found.log_offsets)
        for segment in log.segments
        for found in read_segment(segment, compiled=True)
        if not isinstance(found, BadBytes | TailNote)
    )
    assert records == log.records, records


def command_stages(bench: Bench, rounds: int) -> None:
    """What runs without Spark, its output thrown away."""
    for _ in range(rounds):
        for name, arguments in COMMANDS.items():
            for log in bench.logs:
                command = [str(COMMAND), *arguments, str(log.folder)]
                with bench.stage(name, log):
                    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def spark_stages(bench: Bench, rounds: int) -> None:
    """What runs in Spark, in one session, every round into new lakes."""
    spark = build_session(
        "bench", master="local[2]", settings={}, jars_folder=checkout_root() / "jars" / "spark"
    )
    try:
        for at in range(rounds):
            for log in bench.logs:
                with tempfile.TemporaryDirectory(dir=bench.scratch) as folder:
                    spark_round(bench, log, spark, Path(folder))
                sys.stderr.write(f"round {at + 1} of {rounds} done\n")
    finally:
        spark.stop()


def spark_round(bench: Bench, log: BenchLog, spark: SparkSession, scratch: Path) -> None:
    """Each stage once."""
    lake = scratch / "lake"
    segments = source_of(f"segments:{log.folder}")
    with bench.stage(INGEST, log):
        run_ingest(spark, IngestRequest(segments, str(lake), CLUSTER))
    bronze = lake / "bronze" / "records"
    with bench.stage(SCAN, log):
        bare_scan(spark, bronze)
    of_bronze = source_of(f"delta:{bronze}")
    for name, request in (
        (GOLD, RunRequest(of_bronze, str(scratch / "gold"), CLUSTER, layers=GOLD_ONLY)),
        (GOLD_OF_SEGMENTS, RunRequest(segments, str(scratch / "gold2"), CLUSTER, layers=GOLD_ONLY)),
        (SILVER, RunRequest(None, str(lake), CLUSTER, layers=ALL_LAYERS)),
    ):
        with bench.stage(name, log):
            report = run_audit(spark, request)
        bench.steps[name] = report.seconds


def source_of(spec: str) -> Source:
    """The source, cut up as by default."""
    return parse_source(spec, load_config().source.split_target_bytes)


def bare_scan(spark: SparkSession, bronze: Path) -> None:
    """Every row made of what gold needs of it, and dropped: the floor."""
    rows = spark.read.format("delta").load(str(bronze)).select(*SCANNED)
    rows.write.format("noop").mode("overwrite").save()


def show(bench: Bench, reducer: dict[str, float]) -> None:
    """The tables for people."""
    small, large = bench.logs
    table = Table(
        title=f"{small.records:,} records, {small.size_bytes / 1e6:,.0f} MB,"
        f" and {large.records:,} records, {large.size_bytes / 1e6:,.0f} MB"
    )
    headings = (
        "seconds",
        "seconds",
        "first",
        "fixed s",
        "further records/s",
        "processor us/record",
    )
    table.add_column("stage")
    for heading in headings:
        table.add_column(heading, justify="right")
    for name, taken in bench.taken.items():
        table.add_row(
            name,
            *(f"{taken[log].seconds:.1f}" for log in bench.logs),
            f"{taken[large].first_s:.1f}",
            f"{bench.fixed_s(name):.1f}",
            f"{bench.speed(name):,.0f}",
            f"{bench.cpu_us(name):.2f}",
        )
    console = Console(width=170)
    console.print(table)
    console.print(comparison(all_speeds(bench, reducer)))
    for name, steps in bench.steps.items():
        line = ", ".join(f"{step} {seconds:.1f}" for step, seconds in steps.items())
        console.print(f"{name}: {line}", highlight=False)


def all_speeds(bench: Bench, reducer: dict[str, float]) -> dict[str, float]:
    """Speed by stage and peer: further records a second, or one over the seconds of the larger log."""
    return reducer | {
        name: 1 / taken[bench.large].seconds if name in BY_SECONDS else bench.speed(name)
        for name, taken in bench.taken.items()
    }


def remember(bench: Bench, reducer: dict[str, float], load_before: float) -> None:
    """Add a line to the history."""
    revision = ["git", "-C", str(checkout_root()), "rev-parse", "--short", "HEAD"]
    line = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": subprocess.run(
            revision, check=True, capture_output=True, text=True
        ).stdout.strip(),
        "cores": os.cpu_count(),
        "load_average_before": round(load_before, 1),
        "records": [log.records for log in bench.logs],
        "seconds": {
            name: [round(taken[log].seconds, 2) for log in bench.logs]
            for name, taken in bench.taken.items()
        },
        "cpu_seconds": {
            name: [round(taken[log].cpu_s, 2) for log in bench.logs]
            for name, taken in bench.taken.items()
        },
        "further_records_per_s": {name: round(bench.speed(name)) for name in bench.taken},
        "ratios": {
            f"{each.wish.stage} / {each.wish.peer}": round(each.ratio, 2)
            for each in compared(all_speeds(bench, {}))
        },
        "reducer": {stage: round(speed) for stage, speed in reducer.items()},
    }
    with HISTORY.open("ab") as history:
        history.write(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))


if __name__ == "__main__":
    main()
