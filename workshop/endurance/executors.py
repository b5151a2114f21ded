"""Executors of a cluster that are killed in turn through whole runs; then the lake equals that of one quiet run.

    python -m workshop.endurance.executors [--rounds 3] [--kills 4] [--apart 12] [--seed 1]

A standalone cluster of two workers on this machine. Each round is a run that makes a lake and a run over what is new in
the log. Whenever a run has got on by some commits an executor is killed, the first, the second, then both at once, with
the rows that they hold for it. Exit code 4 when a run does not come to its end, or the tables differ.
"""

import argparse
import sys
import threading
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final, Self

from rich.console import Console

from rebalance_audit.cli.exit_codes import CHECK_FAILED, DONE
from tests.cluster.standalone import Cluster, start
from tests.spark.lakes import CLUSTER, TABLES, difference
from tests.spark.mixed_log import write_log

SHARE: Final = 0.5
"""How much of the log the first run of a round finds."""
LOOKED_EVERY_SECONDS: Final = 0.05
TURNS: Final[Sequence[Sequence[int]]] = ((0,), (1,), (0, 1))
"""Workers whose executors go at once."""


class Killer:
    """Kills executors while a run is at work."""

    def __init__(
        self, cluster: Cluster, lake: Path, kills: int, apart: int, random: Random
    ) -> None:
        self._cluster = cluster
        self._lake = lake
        self._left = kills
        self._apart = apart
        self._random = random
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._go_on)
        self.killed: list[int] = []
        """The lake's commits at each kill."""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _go_on(self) -> None:
        seen = self._commits()
        for workers in cycle(TURNS):
            wanted = seen + self._random.randint(1, self._apart)
            while self._commits() < wanted:
                if self._over.wait(LOOKED_EVERY_SECONDS):
                    return
            if not self._left:
                return
            if self._cluster.kill_executors(workers):
                self._left -= 1
                self.killed.append(self._commits())
            seen = self._commits()

    def _commits(self) -> int:
        return sum(1 for _ in self._lake.glob("*/*/_delta_log/*.json"))


def main(arguments: list[str] | None = None) -> int:
    """Run, kill, compare, print."""
    parser = argparse.ArgumentParser(
        prog="workshop.endurance.executors", description=__doc__.split("\n", 1)[0]
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kills", type=int, default=4)
    parser.add_argument("--apart", type=int, default=12, help="commits between two kills, at most")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    console = Console(width=120, highlight=False, markup=False)
    wrong = kills = 0
    with TemporaryDirectory() as scratch:
        folder = Path(scratch)
        part, log = write_log(folder / "part", SHARE), write_log(folder / "log")
        cluster = start(folder, workers=len(TURNS[-1]))
        try:
            clean = folder / "clean"
            quiet = _run(cluster, log, clean)
            console.print(f"quiet run: code {quiet[0]}")
            for number in range(asked.rounds):
                lake, random = folder / f"lake-{number}", Random(f"{asked.seed} {number}")
                found: list[str] = []
                for source in (part, log):
                    with Killer(cluster, lake, asked.kills, asked.apart, random) as killer:
                        code, said = _run(cluster, source, lake)
                    kills += len(killer.killed)
                    console.print(
                        f"round {number}: code {code}, executors killed at commits {killer.killed}"
                    )
                    if code != DONE:
                        found.append(said[-2000:])
                for name in TABLES:
                    found += [f"{name}: {each}" for each in difference(name, lake, clean)]
                for each in found:
                    console.print(f"    WRONG {each}")
                wrong += bool(found)
        finally:
            cluster.stop()
    console.print(f"{asked.rounds} rounds, {kills} kills, {wrong} rounds wrong")
    return CHECK_FAILED if wrong or not kills else DONE


def _run(cluster: Cluster, source: Path, lake: Path) -> tuple[int, str]:
    done = cluster.submit(
        "audit", "--source", f"segments:{source}", "--lake", str(lake), "--cluster", CLUSTER
    )
    return done.code, done.said


if __name__ == "__main__":
    sys.exit(main())
