"""`make spec`: explores the specification, drives the handlers with its traces, judges simulations, and says so.

python -m tests.spec.main --traces 10000 --seeds 40 --states 20000
"""

import argparse
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from tests.spec.classic_player import play_classic
from tests.spec.consumer_player import DifferenceError, play
from tests.spec.engine import CLASSIC, CONSUMER, Judge, ask, traces
from tests.spec.logs import RUNS, judge_seed

FIRST_SEED: Final = 100_000
STEPS: Final = 50
HIDDEN: Final = "before,event,answer,answers"
ACTIONS: Final = "beats,adopts,joins,crashes,leaves,sessionExpires,revocationExpires"
CLASSIC_ACTIONS: Final = (
    "comes,rejoins,syncs,beats,leaves,crashes,"
    "sessionExpires,joinTimeExpires,syncTimeExpires,failsOver"
)
SMALL: Final = (
    ("consumerTwo", CONSUMER, ACTIONS),
    ("consumerStatic", CONSUMER, ACTIONS),
    ("classicSmall", CLASSIC, CLASSIC_ACTIONS),
)


def say(*words: object) -> None:
    """One line of the outcome."""
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def explore(states: int) -> bool:
    """Every state of the small modules, breadth first, up to a number of states."""
    good = True
    for module, file, actions in SMALL:
        found = ask(
            "explore",
            module,
            file,
            properties="safe,converges",
            steps=actions,
            hide=HIDDEN,
            states=states,
        )
        good &= found["broken"] is None
        say(module, found)
    return good


def drive(module: str, file: Path, player: Callable[[Any], int], count: int) -> bool:
    """Traces into the handlers."""
    events: Counter[str] = Counter()
    differences = 0
    for trace in traces(module, file, count, FIRST_SEED, STEPS):
        events.update(state["event"]["tag"] for state in trace["states"][1:])
        try:
            player(trace)
        except DifferenceError as error:
            differences += 1
            say(error)
    say(
        f"{module}: {count} traces, {events.total()} steps {dict(events)}: {differences} differences"
    )
    return differences == 0


def judge_seeds(count: int) -> bool:
    """Simulations, held against the specification."""
    accepted: Counter[str] = Counter()
    refused: list[str] = []
    with Judge(RUNS, CONSUMER) as judge:
        for seed in range(count):
            verdict = judge_seed(judge, seed, 2)
            accepted.update(verdict.accepted)
            refused += [f"seed {seed}: {each}" for each in verdict.refused]
    say(f"{count} simulations, writes accepted {dict(accepted)}, refused {len(refused)}")
    say(*refused)
    return not refused


def main() -> None:
    """Everything; exit code 1 if something was found."""
    parser = argparse.ArgumentParser()
    for name in ("traces", "seeds", "states"):
        parser.add_argument(f"--{name}", type=int, required=True)
    given = parser.parse_args()
    good = [
        explore(given.states),
        drive(RUNS, CONSUMER, play, given.traces),
        drive("classicRuns", CLASSIC, play_classic, given.traces),
        judge_seeds(given.seeds),
    ]
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
