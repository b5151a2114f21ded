"""Plays a script as it was and as it would be, and holds what it was against the log."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from rebalance_audit.sentences.words import counted
from rebalance_audit.steps import OnProgress, no_progress
from rebalance_audit.whatif.outcome import Outcomes, RunOutcome
from rebalance_audit.whatif.parts import Part, parts_of
from rebalance_audit.whatif.script import Script, Settings
from rebalance_audit.whatif.script_changes import changed
from rebalance_audit.whatif.script_run import ScriptRun
from rebalance_audit.whatif.variant import Variant, difference

TOLERANCE: Final = 0.25
"""How far the control may miss the rebalances and the moves of the log, as a share."""
SLACK_REBALANCES: Final = 2
"""And how many rebalances it may miss in any case."""


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
    return Outcomes(tuple(runs))


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
