"""Commands killed with `kill -9` at moments drawn from a seed; one quiet command later all tables equal a clean run's.

    python -m tests.endurance.kills [--writer spark ...] [--command increment ...] [--kills 25] [--seed 1]

The first run of a lake, a run over what is new, one with --full, an ingest, and maintenance, each as a process of its
own that dies with its Java and its Python workers: at some moment after its first commit, or while it starts. Exit code
4 when a table differs, or where most processes had come to their end before they could be killed.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from pyspark.sql import SparkSession
from rich.console import Console

from rebalance_audit.cli.exit_codes import CHECK_FAILED, DONE
from rebalance_audit.lake.runs.maintain import MaintainRequest, maintain
from rebalance_audit.lake.runs.request import RunRequest
from rebalance_audit.lake.runs.run import run_audit
from rebalance_audit.lake.storage.lake_options import LakeOptions
from rebalance_audit.lake.storage.table_writer import KINDS, WriterKind
from rebalance_audit.lake.storage.tables import Lake
from tests.cli.call import PROGRAM
from tests.spark.lakes import CLUSTER, FINDINGS, TABLES, difference, request_of
from tests.spark.mixed_log import write_log
from tests.support.spark_sessions import configuration, spark_session

SHARE: Final = 0.6
"""How much of the log a lake has that is to grow."""
AT_START: Final = 0.1
"""Share of the processes that are killed before they commit anything."""
POLL_SECONDS: Final = 0.02


class Command(NamedTuple):
    """A command, and the lake that it finds."""

    arguments: Sequence[str]
    """Besides lake and cluster."""
    lake: str
    """`none`, `part` or `whole` of the log."""


COMMANDS: Final[Mapping[str, Command]] = {
    "first run": Command(("run",), "none"),
    "increment": Command(("run",), "part"),
    "full": Command(("run", "--full"), "whole"),
    "ingest": Command(("ingest",), "part"),
    "maintain": Command(("maintain", "--vacuum-hours", "0"), "whole"),
}


@dataclass
class Figures:
    """What became of the processes of one command."""

    killed: int = 0
    done: int = 0
    wrong: list[str] = field(default_factory=list)


class Kills:
    """The lakes of one writer, and the log."""

    def __init__(self, spark: SparkSession, folder: Path, writer: WriterKind) -> None:
        self._spark = spark
        self._folder = folder
        self._writer = writer
        self._log = write_log(folder / "log")
        part = write_log(folder / "part log", SHARE)
        for name, log in (("whole", self._log), ("part", part)):
            run_audit(spark, self._request(folder / name, log))
        growth = f"growth_records = {FINDINGS.growth_records}"
        sections = f'[findings]\n{growth}\n[lake]\nwriter = "{writer}"'
        self._config = configuration(folder, sections)
        self._seconds: dict[str, float] = {}

    def tried(self, name: str, random: Random) -> tuple[bool, list[str]]:
        """One process: whether it was killed, and what differs after the quiet command."""
        lake = self._folder / "tried"
        command = COMMANDS[name]
        if command.lake != "none":
            shutil.copytree(self._folder / command.lake, lake)
        try:
            killed = self._killed(name, command, lake, random)
            if command.arguments[0] == "maintain":
                tables = Lake(self._spark, str(lake))
                maintain(tables, MaintainRequest(vacuum_hours=0), datetime.now(UTC), lambda _: None)
            run_audit(self._spark, self._request(lake, self._log))
            wrong = [each for each in TABLES if difference(each, lake, self._folder / "whole")]
            left = [str(each) for each in (lake / "meta" / ".stage").glob("[0-9]*")]
            return killed, [*wrong, *left]
        finally:
            shutil.rmtree(lake, ignore_errors=True)

    def _killed(self, name: str, command: Command, lake: Path, random: Random) -> bool:
        arguments = [
            *PROGRAM,
            *command.arguments,
            "--lake",
            str(lake),
            "--config",
            str(self._config),
        ]
        if command.arguments[0] != "maintain":
            arguments += ["--source", f"segments:{self._log}", "--cluster", CLUSTER]
        before = _commits(lake)
        at_start = random.random() < AT_START
        share = random.random()
        process = subprocess.Popen(
            arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        try:
            began = first = time.monotonic()
            while process.poll() is None:
                time.sleep(POLL_SECONDS)
                now = time.monotonic()
                if first == began and (at_start or _commits(lake) > before):
                    first = now
                if first != began and now - first >= share * self._seconds.get(name, 15.0):
                    return True
            self._seconds[name] = time.monotonic() - first
            return False
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _request(self, lake: Path, log: Path) -> RunRequest:
        options = LakeOptions(writer=self._writer)
        return request_of(f"segments:{log}", lake, options=options)


def _commits(lake: Path) -> int:
    return sum(1 for _ in lake.glob("*/*/_delta_log/*.json"))


def main(arguments: list[str] | None = None) -> int:
    """Kill, mend, compare, print."""
    parser = argparse.ArgumentParser(
        prog="tests.endurance.kills", description=__doc__.split("\n", 1)[0]
    )
    parser.add_argument("--writer", nargs="+", default=KINDS, choices=KINDS)
    parser.add_argument("--command", nargs="+", default=list(COMMANDS), choices=list(COMMANDS))
    parser.add_argument("--kills", type=int, default=25)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    console = Console(width=120, highlight=False, markup=False)
    figures = [*_all(asked, console)]
    return CHECK_FAILED if any(each.wrong or each.killed <= each.done for each in figures) else DONE


def _all(asked: argparse.Namespace, console: Console) -> Iterator[Figures]:
    for writer in asked.writer:
        with TemporaryDirectory() as scratch, spark_session() as spark:
            lakes = Kills(spark, Path(scratch), writer)
            for name in asked.command:
                found, random = Figures(), Random(f"{asked.seed} {writer} {name}")
                while found.killed < asked.kills and found.done <= asked.kills:
                    was_killed, wrong = lakes.tried(name, random)
                    found.killed += was_killed
                    found.done += not was_killed
                    found.wrong += wrong
                console.print(
                    f"{writer}, {name}: {found.killed} killed, {found.done} ended before that;"
                    f" wrong: {found.wrong or 'none'}"
                )
                yield found


if __name__ == "__main__":
    sys.exit(main())
