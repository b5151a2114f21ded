"""Fits the weights of the departure model, and says how right it is on what it was not fitted on.

    python -m workshop.accuracy.fit --seeds 50 --from 500000 [--rounds 2] [--hold-out] [--workers 2]

The loss is the mean negative log of the share that the true end has, the same weight for simulated ends and for those
in logs of real clients; each weight is pulled towards where it was. Coordinate search, no randomness but the seeds.
Prints the weights that moved. With `--hold-out` prints, for each log of real clients and each simulated client, how
the model does on it if the weights that matter most are fitted on all others.
"""

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from math import log
from typing import Final

from rebalance_audit.audit.causes.departure_model import WAYS, posteriors_of
from rebalance_audit.audit.causes.departure_timing import Scores
from rebalance_audit.audit.causes.departure_weights import SURE, WEIGHTS, DepartureWeights
from workshop.accuracy.ends import SIMULATED, End, ends_of_log, ends_of_seed, log_names

_STEPS: Final = (1.5, 1 / 1.5, 1.2, 1 / 1.2)
_LEAST_SHARE: Final = 1e-4
_PULL: Final = 0.003
_GAIN: Final = 2e-4
"""A step that gains less is not taken."""
_SHARES_AT_MOST: Final = 0.97
SET: Final = frozenset(
    {
        *(
            "slow_poll_ms",
            "habit",
            "heartbeat_ms",
            "timed",
            "early",
            "returns_ms",
            "kept",
            "temper",
        ),
        *("assigned_heartbeat_ms", "beats_most", "timer_early_ms", "timer_late_ms"),
        *("one_request", "polled_late", "no_poll_limit", "background", "removed"),
    }
)
"""Weights that are not fitted."""
_MOST_INFORMATIVE: Final = (
    *("expired", "timed_out", "static_expired", "dry", "dry_alone", "on_close"),
    *("overlong", "quick", "company"),
)
_TRUE: Final = {way.text: place for place, way in enumerate(WAYS)}

Joint = list[End]
"""Ends that one generation shows together."""


def main(arguments: list[str] | None = None) -> int:
    """Fit, and print."""
    parser = argparse.ArgumentParser(prog="workshop.accuracy.fit")
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--from", type=int, default=500_000, dest="first")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--hold-out", action="store_true")
    asked = parser.parse_args(arguments)
    seeds = range(asked.first, asked.first + asked.seeds)
    with ProcessPoolExecutor(asked.workers) as pool:
        found = [end for ends in pool.map(ends_of_seed, seeds) for end in ends]
        found += [end for ends in pool.map(ends_of_log, log_names()) for end in ends]
    joint = joint_ends(found)
    if asked.hold_out:
        for what, rest, held in _held_out(joint):
            fitted = fit(rest, WEIGHTS, _MOST_INFORMATIVE, 1)
            sys.stdout.write(f"{what}: {_counted(held, fitted)}\n")
        return 0
    names = [name for name in DepartureWeights._fields if name not in SET]
    fitted = fit(joint, WEIGHTS, names, asked.rounds)
    for name in names:
        before, after = getattr(WEIGHTS, name), getattr(fitted, name)
        if before != after:
            sys.stdout.write(f"{name} {before:g} -> {after:.3g}\n")
    for source in (SIMULATED, "logs"):
        of_source = [
            each for each in joint if (each[0].source == SIMULATED) is (source == SIMULATED)
        ]
        sys.stdout.write(f"{source}: {_counted(of_source, fitted)}\n")
    return 0


def joint_ends(ends: Iterable[End]) -> list[Joint]:
    """The ends, those of one generation together."""
    found: dict[tuple[object, ...], Joint] = defaultdict(list)
    for number, end in enumerate(ends):
        together = end.facts.gone_together
        found[end.group, end.facts.gone_ms, None if together else number].append(end)
    return list(found.values())


def fit(
    joint: Sequence[Joint], weights: DepartureWeights, names: Sequence[str], rounds: int
) -> DepartureWeights:
    """The weights with the least loss that coordinate search finds."""
    simulated = [each for each in joint if each[0].source == SIMULATED]
    real = [each for each in joint if each[0].source != SIMULATED]
    base = weights

    def loss(tried: DepartureWeights) -> float:
        pull = sum(log(one / two) ** 2 for one, two in zip(tried, base, strict=True) if one != two)
        return _PULL * pull + sum(_loss(part, tried) for part in (simulated, real) if part) / 2

    least = loss(weights)
    for _ in range(rounds):
        for name in names:
            for step in _STEPS:
                while True:
                    value = getattr(weights, name) * step
                    if getattr(base, name) < 1 and not name.endswith("expired"):
                        value = min(value, _SHARES_AT_MOST)
                    tried = weights._replace(**{name: value})
                    now = loss(tried)
                    if now > least - _GAIN:
                        break
                    weights, least = tried, now
    return weights


def posteriors(joint: Iterable[Joint], weights: DepartureWeights) -> Iterable[tuple[End, Scores]]:
    """Each end with the shares of the ways to go."""
    for ends in joint:
        found = posteriors_of([end.facts for end in ends], weights)
        for end, posterior in zip(ends, found, strict=True):
            yield end, posterior.shares


def result_of(end: End, shares: Scores) -> str:
    """Whether the end is named, and named right."""
    most = max(shares)
    if most < SURE:
        return "undecided"
    return "right" if is_likeliest(end, shares) else "wrong"


def is_likeliest(end: End, shares: Scores) -> bool:
    """Whether the likeliest end is the true one."""
    return shares.index(max(shares)) == _TRUE[end.true]


def _loss(joint: Sequence[Joint], weights: DepartureWeights) -> float:
    logs = [
        -log(max(shares[_TRUE[end.true]], _LEAST_SHARE))
        for end, shares in posteriors(joint, weights)
    ]
    return sum(logs) / len(logs)


def _counted(joint: Sequence[Joint], weights: DepartureWeights) -> str:
    counts = Counter(result_of(end, shares) for end, shares in posteriors(joint, weights))
    summary = ", ".join(f"{counts[each]} {each}" for each in ("right", "undecided", "wrong"))
    return f"{counts.total()} ends, {summary}"


def _held_out(joint: Sequence[Joint]) -> Iterable[tuple[str, list[Joint], list[Joint]]]:
    """(what, the rest, what is held out) for each log of real clients and each simulated client."""

    def part_of(each: Joint) -> str:
        return each[0].client if each[0].source == SIMULATED else each[0].source

    for what in sorted({part_of(each) for each in joint}):
        rest = [each for each in joint if part_of(each) != what]
        yield what, rest, [each for each in joint if part_of(each) == what]


if __name__ == "__main__":
    sys.exit(main())
