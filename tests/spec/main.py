"""`make spec`: judges logs, drives the handlers with traces of the specifications, explores them, and says so.

python -m tests.spec.main --traces 10000 --seeds 40 --states 20000
"""

import argparse
import os
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from tests.spec import tlc
from tests.spec.classic_player import play_classic
from tests.spec.consumer_player import DifferenceError, play
from tests.spec.engine import CLASSIC, CONSUMER, ask, traces
from tests.spec.logs import RUNS, captures, judge_capture, judge_seed, judges
from tests.spec.observed import Verdict
from workshop.tlaplus.modules import MODULES

FIRST_SEED: Final = 100_000
STEPS: Final = 50
HIDDEN: Final = "before,event,answer,answers"
ACTIONS: Final = "beats,adopts,joins,crashes,leaves,sessionExpires,revocationExpires"
CLASSIC_ACTIONS: Final = (
    "comes,rejoins,syncs,beats,leaves,crashes,"
    "sessionExpires,joinTimeExpires,syncTimeExpires,failsOver"
)
SMALL: Final = (
    ("consumerSmall", CONSUMER, ACTIONS),
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


def explore_in_tlaplus() -> bool:
    """Every state of the modules that are translated to TLA+, by TLC."""
    good = True
    for module in MODULES:
        with TemporaryDirectory() as folder:
            found = tlc.explore(module.name, Path(folder))
        good &= not found.broken
        say(module.name, found)
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


def judge_logs(seeds: int) -> bool:
    """Captures and simulations, held against the specifications."""
    with judges() as by:
        real = {each.name: judge_capture(by, each) for each in captures()}
        simulated = {f"seed {seed}": judge_seed(by, seed, 2) for seed in range(seeds)}
    good = [judge_all("captures", real), judge_all("simulations", simulated)]
    return all(good)


def judge_all(kind: str, verdicts: Mapping[str, Verdict]) -> bool:
    """What became of all writes."""
    accepted = sum((verdict.accepted for verdict in verdicts.values()), Counter[str]())
    outside = sum((verdict.outside for verdict in verdicts.values()), Counter[str]())
    refused = [f"{name}: {each}" for name, verdict in verdicts.items() for each in verdict.refused]
    say(
        f"{len(verdicts)} {kind}: {accepted.total()} writes accepted {dict(accepted)}, "
        f"not judged {dict(outside)}, refused {len(refused)}"
    )
    for each in refused:
        say(each)
    return not refused


def main() -> None:
    """Everything; exit code 1 if something was found."""
    parser = argparse.ArgumentParser()
    for name in ("traces", "seeds", "states"):
        parser.add_argument(f"--{name}", type=int, required=True)
    given = parser.parse_args()
    parts: Sequence[Callable[[], bool]] = (
        partial(judge_logs, given.seeds),
        partial(drive, "classicRuns", CLASSIC, play_classic, given.traces),
        partial(drive, RUNS, CONSUMER, play, given.traces),
        partial(explore, given.states),
        explore_in_tlaplus,
    )
    good = [timed(part) for part in parts]
    sys.exit(0 if all(good) else 1)


def timed(part: Callable[[], bool]) -> bool:
    """Says what a part of the work took."""
    before = os.times()
    good = part()
    wall, cpu = (of(os.times()) - of(before) for of in (_elapsed, _cpu))
    say(f"  in {wall:.0f} s, {cpu:.0f} s of them on a processor")
    return good


def _elapsed(times: os.times_result) -> float:
    return times.elapsed


def _cpu(times: os.times_result) -> float:
    """Of this process and of those that it has waited for."""
    return sum(times[:4])


if __name__ == "__main__":
    main()
