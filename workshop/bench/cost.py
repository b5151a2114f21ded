"""What a command costs: processor time and memory of its processes, and what Spark says of its tasks.

Wall clock says little on a machine that does other things too. Task time is what Spark's tasks took from start to end,
task CPU what their threads in the JVM computed; what the Python workers computed comes on top of that.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from threading import Thread
from typing import Any, Final

import orjson

COMMAND: Final = Path(sys.executable).with_name("rebalance-audit")
SAMPLE_EVERY_S: Final = 0.4
TICKS: Final = os.sysconf("SC_CLK_TCK")
MIB: Final = 1024
"""KiB in a MiB: /proc counts in KiB."""
JVM, WORKERS, DRIVER = "jvm", "workers", "driver"
START = "start"
"""Until a command reports its first step."""
ROUND_BEGINS: Final = "creating tables"
"""The first step of a run: a command may make several."""
WRITER: Final = "lake.writer"
"""The setting that is none of Spark's."""
SETTINGS: Final = {
    "spark.eventLog.enabled": "true",
    "spark.eventLog.compress": "false",
    "spark.eventLog.rolling.enabled": "false",
}
"""The event log has what each task took; Spark writes it on a thread of its own."""


@dataclass
class Tasks:
    """What a number of tasks took."""

    tasks: int = 0
    run_s: float = 0.0
    cpu_s: float = 0.0
    shuffle_bytes: int = 0
    spilled_bytes: int = 0

    def add(self, metrics: Mapping[str, Any]) -> None:
        """One task more, by the metrics of its end."""
        self.tasks += 1
        self.run_s += metrics["Executor Run Time"] / 1e3
        self.cpu_s += metrics["Executor CPU Time"] / 1e9
        self.shuffle_bytes += metrics["Shuffle Write Metrics"]["Shuffle Bytes Written"]
        self.spilled_bytes += metrics["Disk Bytes Spilled"]


@dataclass
class Round:
    """One run of a command that makes several."""

    began: float
    """Epoch seconds."""
    workers_before_s: float
    """What the Python workers had used by then."""
    total: Tasks = field(default_factory=Tasks)


@dataclass
class Cost:
    """What one command cost."""

    seconds: float
    cpu_s: Mapping[str, float]
    """JVM, WORKERS, DRIVER (the Python process that was started) -> seconds."""
    peak_kib: Mapping[str, int]
    """The largest process of each kind; `all` for the most that all had together."""
    total: Tasks = field(default_factory=Tasks)
    steps: dict[str, Tasks] = field(default_factory=dict)
    queries: dict[str, Tasks] = field(default_factory=dict)
    """What Spark calls a query, with the tables in its plan."""
    rows: Mapping[str, int] = field(default_factory=dict)
    """Table -> rows written."""
    rounds: list[Round] = field(default_factory=list)

    @property
    def task_cpu_s(self) -> float:
        """What tasks computed, in the JVM and in Python."""
        return self.total.cpu_s + self.cpu_s[WORKERS]


def cost_of(
    arguments: Sequence[str],
    settings: Mapping[str, str],
    when_round_begins: Callable[[int, subprocess.Popen[str]], None] = lambda *_: None,
) -> Cost:
    """Run a command of ours and see what it costs; the callback gets the number of each round, from 1 on.

    Raises CalledProcessError where it fails.
    """
    with tempfile.TemporaryDirectory(prefix="cost-") as scratch:
        events, config, summary = (
            Path(scratch) / name for name in ("events", "own.toml", "summary")
        )
        events.mkdir()
        wanted = {**SETTINGS, "spark.eventLog.dir": events.as_uri(), **settings}
        lake = f'[lake]\nwriter = "{wanted.pop(WRITER, "auto")}"'
        lines = [f'"{name}" = "{value}"' for name, value in wanted.items()]
        config.write_text("\n".join([lake, "[spark.settings]", *lines]))
        command = [str(COMMAND), *arguments, "--config", str(config), "--summary", str(summary)]
        began = time.time()
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        samples = _Samples(process.pid)
        steps: list[tuple[float, str]] = [(began, START)]
        rounds: list[Round] = []
        said = []
        assert process.stderr is not None
        for line in process.stderr:
            said.append(line)
            step = line.split(" s  ", 1)
            if len(step) > 1:
                steps.append((time.time(), step[1].strip()))
                if steps[-1][1] == ROUND_BEGINS:
                    rounds.append(Round(steps[-1][0], samples.cpu_s()[WORKERS]))
                    when_round_begins(len(rounds), process)
        status = process.wait()
        samples.stop()
        if status:
            raise subprocess.CalledProcessError(status, command, stderr="".join(said))
        cost = Cost(time.time() - began, samples.cpu_s(), samples.peak_kib())
        cost.rounds = rounds
        cost.rows = orjson.loads(summary.read_bytes())["rows_changed"]
        for log in events.iterdir():
            _count_tasks(log, steps, cost)
    return cost


class _Samples:
    """What the processes under one have used, looked at again and again until they are gone."""

    def __init__(self, root: int) -> None:
        self._root = root
        self._cpu: dict[int, tuple[str, float]] = {}
        self._peak: dict[str, int] = defaultdict(int)
        self._running = True
        self._thread = Thread(target=self._look_on, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """No more of it."""
        self._running = False
        self._thread.join()

    def cpu_s(self) -> dict[str, float]:
        """Seconds by kind."""
        found = {JVM: 0.0, WORKERS: 0.0, DRIVER: 0.0}
        for kind, seconds in [*self._cpu.values()]:
            found[kind] += seconds
        return found

    def peak_kib(self) -> dict[str, int]:
        """The largest of each kind, and of all together."""
        return {JVM: 0, WORKERS: 0, DRIVER: 0, "all": 0} | self._peak

    def _look_on(self) -> None:
        while self._running:
            together = 0
            for pid, kind, cpu_s, resident, highest in _processes_under(self._root):
                self._cpu[pid] = kind, cpu_s
                self._peak[kind] = max(self._peak[kind], highest)
                together += resident
            self._peak["all"] = max(self._peak["all"], together)
            time.sleep(SAMPLE_EVERY_S)


def _processes_under(root: int) -> Iterator[tuple[int, str, float, int, int]]:
    """Pid, kind, CPU seconds, resident and highest resident KiB of a process and its descendants."""
    children = defaultdict(list)
    stats = {}
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit():
            continue
        try:
            head, _, tail = Path(entry.path, "stat").read_text().rpartition(")")
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended since
        fields = tail.split()
        pid = int(entry.name)
        stats[pid] = head.partition("(")[2], (int(fields[11]) + int(fields[12])) / TICKS
        children[int(fields[1])].append(pid)
    todo = [(root, DRIVER)]
    while todo:
        pid, kind = todo.pop()
        if pid not in stats:
            continue
        name, cpu_s = stats[pid]
        kind = JVM if name == "java" else kind
        below = WORKERS if kind == JVM else kind
        todo += [(child, below) for child in children[pid]]
        try:
            status = Path(f"/proc/{pid}/status").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        sizes = dict(line.split(":", 1) for line in status.splitlines())
        resident, highest = (int(sizes.get(name, "0 kB").split()[0]) for name in ("VmRSS", "VmHWM"))
        yield pid, kind, cpu_s, resident, highest


def _count_tasks(log: Path, steps: Sequence[tuple[float, str]], cost: Cost) -> None:
    """Count the tasks of an event log: in all, by step, by query."""
    stages: dict[int, tuple[str, str]] = {}
    round_of: dict[int, Round] = {}
    queries: dict[str, str] = {}
    with log.open("rb") as lines:
        for line in lines:
            event = orjson.loads(line)
            match event["Event"]:
                case "org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart":
                    number = str(event["executionId"])
                    queries[number] = f"{number} {_tables_in(event['physicalPlanDescription'])}"
                case "SparkListenerJobStart":
                    at = event["Submission Time"] / 1e3
                    step = [name for moment, name in steps if moment <= at][-1]
                    properties = event.get("Properties") or {}
                    query = properties.get("spark.sql.execution.id", "none")
                    begun = [one for one in cost.rounds if one.began <= at]
                    for stage in event["Stage IDs"]:
                        stages.setdefault(stage, (step, query))
                        if begun:
                            round_of.setdefault(stage, begun[-1])
                case "SparkListenerTaskEnd":
                    step, query = stages.get(event["Stage ID"], (START, "none"))
                    metrics = event.get("Task Metrics")
                    if metrics is None:
                        continue
                    cost.total.add(metrics)
                    if event["Stage ID"] in round_of:
                        round_of[event["Stage ID"]].total.add(metrics)
                    cost.steps.setdefault(step, Tasks()).add(metrics)
                    name = f"{step}: {queries.get(query, query)}"
                    cost.queries.setdefault(name, Tasks()).add(metrics)


def _tables_in(plan: str) -> str:
    """The tables of a lake whose paths a plan has."""
    layers = ("bronze", "silver", "gold", "meta")
    parts = plan.replace("]", "/").replace(",", "/").split("/")
    found = {
        f"{layer}.{name}"
        for layer, name in pairwise(parts)
        if layer in layers and name.isidentifier()
    }
    return " ".join(sorted(found))
