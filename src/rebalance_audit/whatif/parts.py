"""How much of a script each run plays: all of it, or of a long history another part each."""

from itertools import pairwise
from typing import Final, NamedTuple

from rebalance_audit.sim.chance import Chance
from rebalance_audit.whatif.outcome import RunOutcome
from rebalance_audit.whatif.script import Script

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
