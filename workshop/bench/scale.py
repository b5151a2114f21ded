"""What runs cost by records, groups, members and skew, and what an increment costs: `make scale`.

`python -m workshop.bench.scale increment --records 1000000` and `… shapes groups skew` do a part of it. Each line is
one command in processes of its own, a JVM that has just started included: that is what a scheduled run is.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import accumulate
from pathlib import Path
from statistics import mean
from typing import Final, NamedTuple

import orjson
from rich.console import Console
from rich.table import Table

from rebalance_audit.resources import checkout_root
from rebalance_audit.wire.segments.folder import OFFSETS_TOPIC, open_log_folder
from tests.support.batches import Batch, read_batches
from workshop.bench.cost import JVM, MIB, WORKERS, Cost, Tasks, cost_of
from workshop.bench.scale_log import FOLDER, Shape, scale_log

HISTORY: Final = checkout_root() / "docs" / "scale-history.jsonl"
MASTER: Final = "local[2]"
TAIL: Final = 0.01
"""The part of a log that an increment reads."""
IDLE_TASKS: Final = 15
"""A run that finds nothing new has fewer."""
MILLION: Final = 1_000_000
GROUP_RECORDS: Final = "silver.group_records"

REAL: Final = {"commits_per_batch": 5, "commit_version": 4}
"""As in real logs: a batch is one request of a few commits, and these have the topic's id."""

SHAPES: Final = {
    "records": {
        f"{records // MILLION} M records": Shape(records, rounds=records // MILLION)
        for records in (MILLION, 4 * MILLION, 16 * MILLION)
    },
    # The same number of group records in each, about 300 000.
    "groups": {
        "10 groups": Shape(MILLION, 10, 3, 2_700),
        "1,000 groups": Shape(MILLION, 1_000, 3, 26),
        "50,000 groups": Shape(MILLION, 50_000, 3, 0),
    },
    # Of every member as many records in each, in groups of different sizes.
    "members": {
        "3 members": Shape(MILLION, 4_000, 3, 3),
        "300 members": Shape(MILLION, 40, 300, 3),
        "3,000 members": Shape(MILLION, 4, 3_000, 3),
    },
    "skew": {
        "no skew": Shape(MILLION, 1_000, 3, 20),
        "one group with half of it": Shape(MILLION, 1_000, 3, 4, 14_000, 50),
    },
    # Must pass in 4 GiB.
    "both": {
        "50,000 groups, one with half of it": Shape(MILLION, 50_000, 3, 0, 7_000, 65),
    },
}


class Log(NamedTuple):
    """A log and its size."""

    folder: Path
    records: int
    size_bytes: int


class Line(NamedTuple):
    """One line of a table."""

    name: str
    log: Log
    cost: Cost


def main() -> None:
    """Measure what is asked for, and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memory", default="2g", help="of the JVM, driver and executor in one")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting of Spark, or lake.writer",
    )
    parser.add_argument("--queries", type=int, default=0, help="show so many dearest queries")
    commands = parser.add_subparsers(dest="what", required=True)
    increments = commands.add_parser("increment", help="the last 1 %% of a log beside all of it")
    increments.add_argument("--records", type=int, nargs="+", default=[MILLION, 4 * MILLION])
    increments.add_argument("--log", type=Path, nargs="*", help="logs of your own in their place")
    increments.add_argument(
        "--stays",
        type=int,
        nargs="?",
        const=2,
        metavar="N",
        help="the last N %% by one `run --every`, 1 %% after the other; 2 if not given",
    )
    increments.add_argument(
        "--more", action="store_true", help="nothing new, and all of the log given again"
    )
    shapes = commands.add_parser("shapes", help="logs of several shapes")
    shapes.add_argument("which", nargs="*", choices=SHAPES, default=list(SHAPES))
    flags = parser.parse_args()
    settings = {
        "spark.driver.memory": flags.memory,
        "spark.master": MASTER,
        **dict(each.split("=", 1) for each in flags.set),
    }
    if flags.what == "increment":
        folders = flags.log or [
            scale_log(Shape(records, rounds=records // MILLION, **REAL))
            for records in flags.records
        ]
        for folder in folders:
            lines = (
                stays(folder, settings, flags.stays)
                if flags.stays
                else increment(folder, settings, more=flags.more)
            )
            print_lines(lines, folder.name, flags)
    else:
        for which in flags.which:
            print_lines(of_shapes(SHAPES[which], settings), which, flags)


def of_shapes(shapes: dict[str, Shape], settings: dict[str, str]) -> Iterator[Line]:
    """A run over a log of each shape, into a new lake."""
    for name, shape in shapes.items():
        log = log_at(scale_log(shape))
        with tempfile.TemporaryDirectory(prefix="scale-", dir=FOLDER) as scratch:
            yield Line(name, log, run(log, Path(scratch) / "lake", settings))


def increment(folder: Path, settings: dict[str, str], *, more: bool) -> Iterator[Line]:
    """A run over all of a log but its end, then one over the end."""
    with tempfile.TemporaryDirectory(prefix="scale-", dir=FOLDER) as scratch:
        head, tail = Path(scratch) / "head", Path(scratch) / "tail"
        cut(folder, head, tail)
        lake, before = Path(scratch) / "lake", Path(scratch) / "before"
        begin, end = log_at(head), log_at(tail)
        yield Line("the first 99 %", begin, run(begin, lake, settings))
        if more:
            shutil.copytree(lake, before)
        yield Line("then the last 1 %", end, run(end, lake, settings))
        if more:
            yield Line("nothing new", Log(tail, 0, 0), run(end, lake, settings))
            whole = log_at(folder)
            yield Line("or a copy of the whole log", whole, run(whole, before, settings))


def stays(folder: Path, settings: dict[str, str], count: int) -> Iterator[Line]:
    """A run over all of a log, one over all but its end, then `count` in one session over what comes meanwhile."""
    with tempfile.TemporaryDirectory(prefix="scale-", dir=FOLDER) as scratch:
        whole = log_at(folder)
        yield Line("all of it at once", whole, run(whole, Path(scratch) / "other", settings))
        shutil.rmtree(Path(scratch) / "other")
        head, lake, growing = (Path(scratch) / name for name in ("head", "lake", "growing"))
        rest = Path(scratch) / "rest"
        cut(folder, head, rest, count * TAIL)
        parts = []
        for number in range(1, count):
            parts.append(Path(scratch) / f"part-{number}")
            behind = Path(scratch) / f"behind-{number}"
            cut(rest, parts[-1], behind, 1 - 1 / (count - number + 1))
            rest = behind
        parts.append(rest)
        begin = log_at(head)
        yield Line(f"the first {100 - count} %", begin, run(begin, lake, settings))

        def come(part: Path) -> None:
            for file in part.glob("*/*"):
                place = growing / file.relative_to(part)
                place.parent.mkdir(parents=True, exist_ok=True)
                if not place.exists():
                    os.link(file, place)

        def when_round_begins(number: int, process: subprocess.Popen[str]) -> None:
            if 1 < number <= count:
                come(parts[number - 1])
            elif number > count + 1:
                process.terminate()

        come(parts[0])
        source = f"segments:{growing}"
        arguments = ("run", "--source", source, "--lake", str(lake), "--every", "0.1")
        cost = cost_of(arguments, settings, when_round_begins)
        ends = [one.workers_before_s for one in cost.rounds[1:]] + [cost.cpu_s[WORKERS]]
        used = [after - one.workers_before_s for one, after in zip(cost.rounds, ends, strict=True)]
        with_work = [
            number for number, one in enumerate(cost.rounds) if one.total.tasks >= IDLE_TASKS
        ]
        names = ["then 1 % in a new JVM", *["and 1 % more"] * (count - 1)]
        for name, part, number in zip(names, parts, with_work, strict=True):
            cpu_s = {**cost.cpu_s, WORKERS: used[number]}
            total = cost.rounds[number].total
            yield Line(
                name, log_at(part), replace(cost, total=total, cpu_s=cpu_s, steps={}, rows={})
            )


def run(log: Log, lake: Path, settings: dict[str, str]) -> Cost:
    """`rebalance-audit run` over a log."""
    sys.stderr.write(f"{datetime.now(UTC):%H:%M:%S} {log.folder.name} → {lake.name}\n")
    return cost_of(["run", "--source", f"segments:{log.folder}", "--lake", str(lake)], settings)


def cut(folder: Path, head: Path, tail: Path, share: float = TAIL) -> None:
    """Cut a log's partitions so that the tail has the same share of their records, between two batches."""
    for path in folder.glob("__cluster_metadata-0/*"):
        for part in (head, tail):
            (part / path.parent.name).mkdir(parents=True, exist_ok=True)
            os.link(path.resolve(), part / path.relative_to(folder))
    for number, paths in open_log_folder(folder).partitions.items():
        places = [
            (
                path,
                found.header.byte_position,
                found.header.base_offset,
                found.header.record_count or 0,
            )
            for path in paths
            for found in read_batches(path)
            if isinstance(found, Batch)
        ]
        counts = [count for *_, count in places]
        before = sum(counts) * (1 - share)
        at = bisect_right(list(accumulate(counts)), before)
        path, position, base_offset, _ = places[at]
        name = f"{OFFSETS_TOPIC}-{number}"
        for part in (head, tail):
            (part / name).mkdir(parents=True)
        for each in paths:
            if each.name < path.name:
                os.link(each, head / name / each.name)
            elif each.name > path.name:
                os.link(each, tail / name / each.name)
        content = path.read_bytes()
        if position:
            (head / name / path.name).write_bytes(content[:position])
        (tail / name / f"{base_offset:020}.log").write_bytes(content[position:])


def log_at(folder: Path) -> Log:
    """Count a log's records."""
    paths = [path for paths in open_log_folder(folder).partitions.values() for path in paths]
    records = sum(
        found.header.record_count or 0
        for path in paths
        for found in read_batches(path)
        if isinstance(found, Batch)
    )
    return Log(folder, records, sum(path.stat().st_size for path in paths))


def print_lines(lines: Iterator[Line], title: str, flags: argparse.Namespace) -> None:
    """Print a table, and keep the lines."""
    table = Table(title=title)
    console = Console(width=160)
    for heading in HEADINGS:
        table.add_column(heading, justify="left" if heading == HEADINGS[0] else "right")
    first: Cost | None = None
    of_name: defaultdict[str, list[Cost]] = defaultdict(list)
    for line in lines:
        first = first or line.cost
        of_name[line.name].append(line.cost)
        table.add_row(*cells(line, first))
        console.print(line.name, *cells(line, first)[1:], highlight=False)
        remember(line, title)
        for name, tasks in line.cost.steps.items():
            console.print(f"    {name}: {task_summary(tasks)}", highlight=False)
        dearest = sorted(line.cost.queries.items(), key=lambda each: -each[1].cpu_s)
        for name, tasks in dearest[: flags.queries]:
            console.print(f"        {name}: {task_summary(tasks)}", highlight=False)
    console.print(table)
    for name, costs in of_name.items():
        if first is not None and len(costs) > 1:
            console.print(f"{name}, {len(costs)} times: {averages(costs, first)}", highlight=False)


HEADINGS: Final = (
    "",
    "records",
    "of groups",
    "MB",
    "tasks",
    "task s",
    "task CPU s",
    "of the first",
    "JVM CPU s",
    "workers CPU s",
    "shuffle MB",
    "JVM MiB",
    "worker MiB",
    "all MiB",
    "rows",
)


def cells(line: Line, first: Cost) -> list[str]:
    """Of one line, as HEADINGS has them."""
    cost = line.cost
    return [
        line.name,
        f"{line.log.records:,}",
        f"{cost.rows.get(GROUP_RECORDS, 0):,}",
        f"{line.log.size_bytes / 1e6:,.0f}",
        f"{cost.total.tasks:,}",
        f"{cost.total.run_s:,.1f}",
        f"{cost.task_cpu_s:,.1f}",
        f"{cost.task_cpu_s / first.task_cpu_s:.1%}",
        f"{cost.cpu_s[JVM]:,.1f}",
        f"{cost.cpu_s[WORKERS]:,.1f}",
        f"{cost.total.shuffle_bytes / 1e6:,.1f}",
        f"{cost.peak_kib[JVM] / MIB:,.0f}",
        f"{cost.peak_kib[WORKERS] / MIB:,.0f}",
        f"{cost.peak_kib['all'] / MIB:,.0f}",
        f"{sum(cost.rows.values()):,}",
    ]


def averages(costs: Sequence[Cost], first: Cost) -> str:
    """Of several runs, beside the first one."""
    run_s = mean(cost.total.run_s for cost in costs)
    cpu_s = mean(cost.task_cpu_s for cost in costs)
    return (
        f"on average {run_s:.1f} s of task time, {run_s / first.total.run_s:.1%} of the first, and {cpu_s:.1f} s of"
        f" its CPU, {cpu_s / first.task_cpu_s:.1%}"
    )


def task_summary(tasks: Tasks) -> str:
    """In words."""
    return (
        f"{tasks.tasks} tasks, {tasks.run_s:.1f} s, {tasks.cpu_s:.1f} s CPU of the JVM,"
        f" {tasks.shuffle_bytes / 1e6:.1f} MB shuffled, {tasks.spilled_bytes / 1e6:.1f} MB spilled"
    )


def remember(line: Line, title: str) -> None:
    """Add a line to the history."""
    cost = line.cost
    found = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "of": title,
        "what": line.name,
        "records": line.log.records,
        "bytes": line.log.size_bytes,
        "seconds": cost.seconds,
        "cpu_s": cost.cpu_s,
        "peak_mib": {kind: kib // MIB for kind, kib in cost.peak_kib.items()},
        "rows": cost.rows,
        "tasks": vars(cost.total),
        "steps": {name: vars(tasks) for name, tasks in cost.steps.items()},
    }
    with HISTORY.open("ab") as history:
        history.write(orjson.dumps(found, option=orjson.OPT_APPEND_NEWLINE))


if __name__ == "__main__":
    main()
