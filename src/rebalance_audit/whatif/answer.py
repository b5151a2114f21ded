"""Plays a script as it was and as it would be, and holds what it was against the log.

Each run plays all of the script, or of a long history another part each.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final, NamedTuple

from rebalance_audit.sentences.words import counted
from rebalance_audit.sim.chance import Chance
from rebalance_audit.steps import OnProgress, no_progress
from rebalance_audit.whatif.script import Script, Settings
from rebalance_audit.whatif.script_run import ScriptRun
from rebalance_audit.whatif.tracker import Outcomes, RunOutcome, outcomes_of
from rebalance_audit.whatif.variant import Variant, changed, difference

TOLERANCE: Final = 0.25
"""How far the control may miss the rebalances and the moves of the log, as a share."""
SLACK_REBALANCES: Final = 2
"""And how many rebalances it may miss in any case."""


SEEDS: Final = 20
SEEDS_MIN: Final = 3
"""Runs of a long history, whose many events even each other out."""
BUDGET: Final = 110_000
"""So much work of all runs together, in starts and ends times instances, takes about 30 s of one core."""
_OVERHEAD: Final = 4
"""Work of an action besides that of each instance, in instances."""


class Part(NamedTuple):
    """A stretch of a script that one run plays."""

    seed: int
    from_ms: int
    to_ms: int
    share: float
    """Of all actions in the script's window."""

    def scaled(self, outcome: RunOutcome) -> RunOutcome:
        """The outcome as if the whole window had been like this stretch."""
        if self.share >= 1:
            return outcome
        return RunOutcome(
            self._whole(outcome.rebalances),
            self._whole(outcome.partitions_moved),
            self._whole(outcome.unowned_ms),
            outcome.longest_stop_ms,
            {reason: self._whole(part) for reason, part in outcome.unowned_by_reason.items()},
            self._whole(outcome.refused_returns),
            self._whole(outcome.records_delayed),
        )

    def _whole(self, number: int) -> int:
        return round(number / self.share)


class Prediction(NamedTuple):
    """What one change would have led to."""

    change: Variant
    label: str
    settings: Settings
    script: Script
    outcomes: Outcomes


@dataclass(slots=True)
class Answer:
    """All that is known about the question."""

    script: Script
    parts: list[Part]
    """What each run played."""
    control: Outcomes
    predictions: list[Prediction]
    """Where no change was asked for: the one that loses least first."""
    refused: str | None = None
    """Why there is no prediction."""
    is_ranked: bool = False


def evaluate(
    script: Script,
    changes: Sequence[Variant],
    *,
    seeds: int | None = None,
    ranked: bool = False,
    on_progress: OnProgress = no_progress,
) -> Answer:
    """Simulate the control and, if it agrees with the log, every change.

    `seeds`: runs of each, all of the whole history; by default as many as its length allows, and of a very long one
    each run plays another part. Raises BadRequest for a change that
    the group cannot have.
    """
    labels = [difference(script.settings, change) for change in changes]
    parts = parts_of(script, len(changes) + 1, seeds)
    control = _play(script, script.settings, parts, "the settings as they were", on_progress)
    found = Answer(script, parts, control, [], control_refusal(script, control), ranked)
    if found.refused is not None:
        return found
    for change, label in zip(changes, labels, strict=True):
        other, settings = changed(script, change), change.settings(script.settings)
        outcomes = _play(other, settings, parts, label, on_progress)
        found.predictions.append(Prediction(change, label, settings, other, outcomes))
    if ranked:
        found.predictions.sort(key=_lost)
    return found


def _lost(prediction: Prediction) -> tuple[int, int, int]:
    outcomes = prediction.outcomes
    return (
        outcomes.unowned_ms.median,
        outcomes.rebalances.median,
        outcomes.partitions_moved.median,
    )


def _play(
    script: Script, settings: Settings, parts: Sequence[Part], label: str, on_progress: OnProgress
) -> Outcomes:
    runs: list[RunOutcome] = []
    for number, part in enumerate(parts, 1):
        on_progress(f"simulating {label}, run {number} of {len(parts)}")
        stretch = replace(script, from_ms=part.from_ms, to_ms=part.to_ms)
        runs.append(part.scaled(ScriptRun(stretch, settings, part.seed).run()))
    return outcomes_of(runs)


def control_refusal(script: Script, control: Outcomes) -> str | None:
    """Why the simulation is no ground for advice about this group; None where it agrees with the log."""
    logged = script.logged
    partitions = sum(script.topics.values())
    misses = [
        f"{counted(simulated, name)} where the log has {was:,}"
        for name, simulated, was, slack in (
            ("rebalance", control.rebalances.median, logged.rebalances, SLACK_REBALANCES),
            (
                "moved partition",
                control.partitions_moved.median,
                logged.partitions_moved,
                partitions,
            ),
        )
        if abs(simulated - was) > max(slack, TOLERANCE * was)
    ]
    if not misses:
        return None
    return (
        f"The simulation of this group under its own settings gives {' and '.join(misses)}: it misses the log by more"
        f" than {TOLERANCE:.0%}, so it is no ground for advice."
    )


def parts_of(script: Script, settings: int, seeds: int | None) -> list[Part]:
    """What each run plays, the same under all settings. With `seeds` given, so many runs of everything."""
    moments = sorted(
        moment
        for instance in script.instances
        for life in instance.lives
        for moment in (life.start.middle, None if life.end is None else life.end.middle)
        if moment is not None and script.from_ms <= moment < script.to_ms
    )
    cost = (len(moments) + len(script.events) + 1) * (len(script.instances) + _OVERHEAD) * settings
    affordable = BUDGET / cost
    if seeds is None:
        seeds = min(SEEDS, max(SEEDS_MIN, int(affordable)))
        share = min(1.0, affordable / seeds)
    else:
        share = 1.0
    if share >= 1:
        return [Part(seed, script.from_ms, script.to_ms, 1.0) for seed in range(seeds)]
    played = max(1, round(share * len(moments)))
    bounds = [round(place * (len(moments) - played) / seeds) for place in range(seeds + 1)]
    parts: list[Part] = []
    for seed, (low, high) in enumerate(pairwise(bounds)):
        first = Chance(seed, "what-if/part").between(low, high)
        last = first + played
        parts.append(
            Part(
                seed,
                moments[first] if first else script.from_ms,
                moments[last] if last < len(moments) else script.to_ms,
                played / len(moments),
            )
        )
    return parts
