"""Several writers of one lake where there are no locks, as on an object store; then it equals the lake of one run.

    python -m workshop.endurance.writers [--writer spark] [--rounds 3] [--seed 1] [--story 0 1 2 3]

Two processes at once, and either may win: runs that make the lake, runs over what is new, an ingest beside a run.
The file system refuses them its locks. A process that ends with another code than 0 must have said why in a sentence.
Exit code 4 when one did not, or when the tables differ after one more run from those of a single one.
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from rich.console import Console

from rebalance_audit.cli.exit_codes import CHECK_FAILED, DONE, NOT_READABLE
from rebalance_audit.lake.storage.table_place import KINDS, WriterKind
from tests.cli.call import PROGRAM
from tests.spark.lakes import CLUSTER, FINDINGS, TABLES, difference
from tests.spark.mixed_log import write_log
from tests.support.spark_sessions import configuration

WITHOUT_LOCKS: Final = """\
import errno
import fcntl


def refuse(_descriptor, _operation):
    raise OSError(errno.ENOTSUP, "Operation not supported")


fcntl.flock = refuse
"""
"""What Python runs before the program: its file systems have no locks, as some network file systems have none."""
APART_SECONDS_MAX: Final = 12.0
FIRST_SHARE: Final = 0.6
"""How much of the log the lake has before the two begin."""
ERROR_PREFIX: Final = "Error: "


class Story(NamedTuple):
    """What two processes do at once."""

    name: str
    is_new: bool
    """Whether there is no lake yet."""
    one: Sequence[str]
    other: Sequence[str]


SOURCE: Final = "--source"
"""Stands for the option with the log's address."""
STORIES: Final = (
    Story("two runs that make the lake", True, ("run", SOURCE), ("run", SOURCE)),
    Story("two runs over what is new", False, ("run", SOURCE), ("run", SOURCE)),
    Story("an ingest beside a run", False, ("ingest", SOURCE), ("run", SOURCE)),
    Story(
        "a run beside one that makes all again", False, ("run", SOURCE), ("run", SOURCE, "--full")
    ),
)


class Writers:
    """The log, and how processes are started."""

    def __init__(self, folder: Path, writer: WriterKind) -> None:
        self._folder = folder
        (folder / "python").mkdir(parents=True)
        (folder / "python" / "sitecustomize.py").write_text(WITHOUT_LOCKS)
        more = (
            f"[findings]\ngrowth_records = {FINDINGS.growth_records}\n[lake]\nwriter = '{writer}'"
        )
        self._config = configuration(folder, more)
        self._log = write_log(folder / "log")
        self._part = write_log(folder / "part", FIRST_SHARE)
        self.clean = folder / "clean"
        self._earlier = folder / "earlier"
        for source, lake in ((self._log, self.clean), (self._part, self._earlier)):
            code, said = self._end(self._start(("run", SOURCE), source, lake))
            assert code == DONE, said

    def play(self, story: Story, random: Random) -> tuple[list[str], list[str]]:
        """One story: how its processes ended, and what is wrong afterwards."""
        lake = self._folder / "lake"
        if not story.is_new:
            shutil.copytree(self._earlier, lake)
        try:
            first = self._start(story.one, self._log, lake)
            time.sleep(random.uniform(0, APART_SECONDS_MAX))
            second = self._start(story.other, self._log, lake)
            ends = [self._end(process) for process in (first, second)]
            wrong = [
                f"ended with code {code} and no sentence: {said[-1500:]}"
                for code, said in ends
                if code != DONE and (code != NOT_READABLE or not _sentence(said))
            ]
            code, said = self._end(self._start(("run", SOURCE), self._log, lake))
            if code != DONE:
                wrong.append(f"the run after them ended with code {code}: {said[-1500:]}")
            else:
                for name in TABLES:
                    wrong += [f"{name}: {each}" for each in difference(name, lake, self.clean)]
            return [f"code {code} {_sentence(said)}".strip() for code, said in ends], wrong
        finally:
            shutil.rmtree(lake, ignore_errors=True)

    def _start(self, command: Sequence[str], source: Path, lake: Path) -> subprocess.Popen[str]:
        arguments = [
            word
            for part in command
            for word in ((SOURCE, f"segments:{source}") if part == SOURCE else (part,))
        ]
        arguments += ["--lake", str(lake), "--cluster", CLUSTER, "--config", str(self._config)]
        path = os.pathsep.join(
            filter(None, [str(self._folder / "python"), os.environ.get("PYTHONPATH")])
        )
        return subprocess.Popen(
            [*PROGRAM, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "PYTHONPATH": path},
        )

    @staticmethod
    def _end(process: subprocess.Popen[str]) -> tuple[int, str]:
        said, _ = process.communicate()
        return process.returncode, said


def _sentence(said: str) -> str:
    lines = [line for line in said.splitlines() if line.startswith(ERROR_PREFIX)]
    return lines[-1] if lines else ""


def main(arguments: list[str] | None = None) -> int:
    """Play all stories, print how each ended."""
    parser = argparse.ArgumentParser(
        prog="workshop.endurance.writers", description=__doc__.split("\n", 1)[0]
    )
    parser.add_argument("--writer", default=KINDS[0], choices=KINDS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--story", nargs="+", type=int, default=list(range(len(STORIES))))
    asked = parser.parse_args(arguments)
    console = Console(width=120, highlight=False, markup=False)
    wrong = 0
    with TemporaryDirectory() as folder:
        writers = Writers(Path(folder), asked.writer)
        for number in range(asked.rounds):
            for at in asked.story:
                story = STORIES[at]
                ends, found = writers.play(story, Random(f"{asked.seed} {number} {at}"))
                console.print(f"round {number}, {story.name}: {'; '.join(ends)}")
                for each in found:
                    console.print(f"    WRONG {each}")
                wrong += bool(found)
    console.print(f"{asked.rounds * len(asked.story)} stories, {wrong} wrong")
    return CHECK_FAILED if wrong else DONE


if __name__ == "__main__":
    sys.exit(main())
