"""Commands killed with `kill -9` at moments drawn from a seed; one quiet command later all tables equal a clean run's.

    python -m workshop.endurance.kills [--writer spark ...] [--command increment ...] [--kills 25] [--seed 1]

The first run of a lake, a run over what is new, one with --full, an ingest, and maintenance, each as a process of its
own that dies with its Java and its Python workers: after some of its commits, or before the first. The first process of
each kind comes to its end, and shows how many commits there are, and when. Exit code 4 when a table differs, or where
most processes had come to their end before they could be killed.
"""

import argparse
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
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
from rebalance_audit.lake.storage.stage import FOLDER
from rebalance_audit.lake.storage.table_place import KINDS, LakeOptions, WriterKind
from rebalance_audit.lake.storage.tables import Lake
from tests.cli.call import PROGRAM
from tests.spark.lakes import CLUSTER, FINDINGS, TABLES, difference, request_of
from tests.spark.mixed_log import PARTS, write_log
from tests.support.processes import below, kill
from tests.support.spark_sessions import configuration, spark_session

SHARE: Final = 0.6
"""How much of the log the lake has before it grows."""
FEW: Final = tuple(part for part in PARTS if part.becomes in {1, 10, 22, 42})
"""Transactions, a conversion, damage and share groups: with more, each run takes twice as long."""
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

    random: Random
    moments: Sequence[float] = ()
    """Of a process that came to its end: its start, each commit that it made, its end; in seconds since the start."""
    killed: int = 0
    done: int = 0
    wrong: list[str] = field(default_factory=list)


class Kills:
    """The lakes of one writer, and the log."""

    def __init__(self, spark: SparkSession, folder: Path, writer: WriterKind) -> None:
        folder.mkdir()
        self._spark = spark
        self._folder = folder
        self._writer = writer
        self._log = write_log(folder / "log", parts=FEW)
        part = write_log(folder / "part log", SHARE, FEW)
        for name, log in (("whole", self._log), ("part", part)):
            run_audit(spark, self._request(folder / name, log))
        growth = f"growth_records = {FINDINGS.growth_records}"
        sections = f'[findings]\n{growth}\n[lake]\nwriter = "{writer}"'
        self._config = configuration(folder, sections)

    def attempt(self, command: Command, figures: Figures) -> str:
        """One process, and the quiet command: says where it was killed, and what differs."""
        lake = self._folder / "tried"
        if command.lake != "none":
            shutil.copytree(self._folder / command.lake, lake)
        try:
            when = self._process(command, lake, figures)
            if command.arguments[0] == "maintain":
                tables = Lake(self._spark, str(lake))
                maintain(tables, MaintainRequest(vacuum_hours=0), datetime.now(UTC), lambda _: None)
            run_audit(self._spark, self._request(lake, self._log))
            wrong = [each for each in TABLES if difference(each, lake, self._folder / "whole")]
            wrong += [str(each) for each in (lake / FOLDER).glob("[0-9]*")]
        finally:
            shutil.rmtree(lake, ignore_errors=True)
        figures.wrong += wrong
        return f"{when}: {', '.join(wrong) or 'equal'}"

    def _process(self, command: Command, lake: Path, figures: Figures) -> str:
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
        before, moments = _commits(lake), [0.0]
        planned, draw = figures.moments, figures.random
        after = draw.randrange(len(planned) - 1) if planned else sys.maxsize
        pause = draw.random() * (planned[after + 1] - planned[after]) if planned else 0.0
        start = time.monotonic()
        output = self._folder / "output"
        with output.open("w") as written:
            process = subprocess.Popen(arguments, stdout=written, stderr=written)
        try:
            while process.poll() is None:
                time.sleep(POLL_SECONDS)
                now = time.monotonic() - start
                moments += [now] * (_commits(lake) - before - len(moments) + 1)
                if len(moments) > after and now >= moments[after] + pause:
                    figures.killed += 1
                    return f"killed {pause:.1f} s after commit {after} of {len(planned) - 2}"
        finally:
            if process.poll() is None:
                for each in (process.pid, *below(process.pid)):
                    kill(each)
                process.wait()
        figures.done += 1
        figures.moments = [*moments, time.monotonic() - start]
        if process.returncode != DONE:
            figures.wrong.append(output.read_text()[-1000:])
        return "done"

    def _request(self, lake: Path, log: Path) -> RunRequest:
        options = LakeOptions(writer=self._writer)
        return request_of(f"segments:{log}", lake, options=options)


def _commits(lake: Path) -> int:
    return sum(1 for _ in lake.glob("*/*/_delta_log/*.json"))


def main(arguments: list[str] | None = None) -> int:
    """Kill, mend, compare, print."""
    parser = argparse.ArgumentParser(
        prog="workshop.endurance.kills", description=__doc__.split("\n", 1)[0]
    )
    parser.add_argument("--writer", nargs="+", default=KINDS, choices=KINDS)
    parser.add_argument("--command", nargs="+", default=list(COMMANDS), choices=list(COMMANDS))
    parser.add_argument("--kills", type=int, default=25)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    console = Console(width=120, highlight=False, markup=False)
    figures = {
        (writer, name): Figures(Random(f"{asked.seed} {writer} {name}"))
        for writer in asked.writer
        for name in asked.command
    }
    with TemporaryDirectory() as scratch, spark_session() as spark:
        lakes = {writer: Kills(spark, Path(scratch, writer), writer) for writer in asked.writer}
        # In turns, so that whoever stops it has as many of each kind.
        while left := [
            key for key, each in figures.items() if each.killed < asked.kills >= each.done
        ]:
            for writer, name in left:
                said = lakes[writer].attempt(COMMANDS[name], figures[writer, name])
                console.print(f"{writer}, {name}, {said}")
    for (writer, name), each in figures.items():
        ends = f"{each.killed} killed, {each.done} ended before that"
        console.print(f"{writer}, {name}: {ends}; wrong: {each.wrong or 'none'}")
    is_bad = any(each.wrong or each.killed < asked.kills for each in figures.values())
    return CHECK_FAILED if is_bad else DONE


if __name__ == "__main__":
    sys.exit(main())
