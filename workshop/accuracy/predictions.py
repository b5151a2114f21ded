"""How well `what-if` predicts: paired captures from each of their siblings, and simulated groups as they were."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median, quantiles
from typing import Final, NamedTuple

from rebalance_audit.local.audit import audit_segments
from rebalance_audit.sim.holdings import Use
from rebalance_audit.sim.options import (
    START_MS,
    Overrides,
    Protocol,
    SimulationOptions,
    draw_options,
)
from rebalance_audit.sim.scenario import Simulation
from rebalance_audit.whatif.answer import evaluate
from rebalance_audit.whatif.extraction import refusal_of, script_of
from rebalance_audit.whatif.group_rows import GroupRows, group_rows
from rebalance_audit.whatif.tracker import Outcomes
from rebalance_audit.whatif.variant import Variant
from rebalance_audit.wire.topic_names import topic_id_text
from tests.whatif.paired import CHANGES, PACKED, Seen, paired
from workshop.accuracy.tally import Tally

Table = list[tuple[str, ...]]

RUNS: Final = 5
NOTABLE: Final = 0.15
"""Two runs of one script on real brokers differ by up to this share; smaller differences have no sign."""
MEASURES: Final = ("rebalances", "partitions moved", "time without owner")
CONTROL: Final = "control"
PREDICTED: Final = "predicted"
SIMULATED: Final = "control, simulated"
SIGN: Final = "sign"
CONTROL_SEEDS: Final = 500_000
"""Seeds of the simulated groups."""
_MINUTES: Final = 60
_FAULTS: Final = 240
"""Faults a day in each group."""
_LEFT_OUT: Final = (
    *("cleanings", "subscription_changes", "topic_deletions", "topic_creations"),
    *("duplicate_instances", "offset_deletions"),
)
"""Faults that change what the group is asked to do, or that make the log refuse an answer."""
_EXACT: Final = 10_000
"""Errors are counted in hundredths of a percent."""


class Losses(NamedTuple):
    """What MEASURES name, of one group."""

    rebalances: int
    partitions_moved: int
    unowned_ms: int


def tally_of_pair(name: str) -> Tally:
    """Predict each group of one paired capture from each of its siblings, and from itself."""
    tally, capture = Tally(), paired(name)
    for source in CHANGES:
        script = capture.script(source)
        targets = [each for each in CHANGES if each != source]
        found = evaluate(script, [CHANGES[each] for each in targets], seeds=RUNS)
        tally.count("what-if refused", PREDICTED, times=found.refused is not None)
        was, control = _seen(capture.seen[source]), _losses(found.control)
        _judge(tally, CONTROL, control, was)
        for target, prediction in zip(targets, found.predictions, strict=False):
            truth, predicted = _seen(capture.seen[target]), _losses(prediction.outcomes)
            _judge(tally, PREDICTED, predicted, truth)
            for measure, values in zip(
                MEASURES, zip(was, truth, control, predicted, strict=True), strict=True
            ):
                _judge_sign(tally, measure, *values)
    return tally


def tally_of_simulated(seed: int) -> Tally:
    """Play the groups of one simulated cluster again as they were."""
    tally = Tally()
    for seen, rows in _simulated(seed):
        script = script_of(rows, seen.from_ms, seen.to_ms)
        found = evaluate(script, [Variant()], seeds=RUNS)
        if found.refused is None:
            _judge(tally, SIMULATED, _losses(found.control), _seen(seen))
        tally.count("what-if refused", SIMULATED, times=found.refused is not None)
    return tally


def names() -> list[str]:
    """The paired captures."""
    return list(PACKED)


# --- judging ---------------------------------------------------------------------------------------


def _seen(seen: Seen) -> Losses:
    return Losses(seen.rebalances, seen.partitions_moved, seen.unowned_ms)


def _losses(outcomes: Outcomes) -> Losses:
    return Losses(
        outcomes.rebalances.median, outcomes.partitions_moved.median, outcomes.unowned_ms.median
    )


def _judge(tally: Tally, what: str, found: Losses, truth: Losses) -> None:
    for measure, value, true in zip(MEASURES, found, truth, strict=True):
        # Below a second of partition time nothing is measured.
        least = 1_000 if measure == MEASURES[-1] else 1
        error = abs(value - true) / max(true, least)
        tally.count("what-if", what, measure, str(round(_EXACT * error)))


def _judge_sign(
    tally: Tally, measure: str, was: int, truth: int, control: int, predicted: int
) -> None:
    if abs(truth - was) > NOTABLE * was:
        is_right = (truth - was) * (predicted - control) > 0
        tally.count("what-if", SIGN, measure, "right" if is_right else "wrong")


def errors(tally: Tally, what: str, measure: str) -> list[float]:
    """All relative errors of one measure, 0.1 for a tenth; sorted."""
    return sorted(
        int(counted[3]) / _EXACT
        for counted, times in tally.counts.items()
        if counted[:3] == ("what-if", what, measure)
        for _ in range(times)
    )


def signs(tally: Tally, measure: str) -> tuple[int, int]:
    """How often the sign of a notable difference was right, and how often there was one."""
    right, wrong = (tally.get("what-if", SIGN, measure, each) for each in ("right", "wrong"))
    return right, right + wrong


def table(tally: Tally) -> Table:
    """Medians and quartiles of the errors, and how often a sign was right."""
    rows: Table = [
        ("", "groups or pairs", "measure", "median error", "third quartile", "sign right")
    ]
    for what in (CONTROL, SIMULATED, PREDICTED):
        for measure in MEASURES:
            found = errors(tally, what, measure)
            if not found:
                continue
            third = quantiles(found, n=4)[2] if len(found) > 1 else found[0]
            right, notable = signs(tally, measure)
            sign = f"{right} of {notable}" if what == PREDICTED else "–"
            row = (what, str(len(found)), measure, f"{median(found):.0%}", f"{third:.0%}", sign)
            rows.append(row)
    return rows


def explanation(tally: Tally) -> str:
    """What the table shows."""
    refused = tally.get("what-if refused", SIMULATED)
    return (
        "Four paired captures of `tests/golden/paired`: on one real broker the same churn, at the same moments, to five"
        " groups under different protocols and settings. Each group's log predicts each of its siblings, with its"
        " siblings' settings as options; the truth is what the clients' callbacks and the broker saw. *Control*: the"
        " group itself, under the settings that its own log shows. *Sign right*: of the differences above 15 % between"
        " a group and its sibling, those whose direction was predicted; two real runs of one script differ by up to"
        " 15 % themselves. *Simulated*: groups of an hour with random deploys, scalings, crashes, freezes, slow polls,"
        f" network failures, removals and fail-overs, played again; {refused} more are refused, because the control"
        " misses their logs."
    )


# --- simulated groups ------------------------------------------------------------------------------


def _simulated(seed: int) -> Iterator[tuple[Seen, GroupRows]]:
    """Groups of one simulated hour with the truth about them; those that subscribe by expressions are left out."""
    options = _options(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        simulation = Simulation(
            seed, options, with_broker_log=False, with_checks=False, folder=folder
        )
        simulation.run_faults()
        simulation.write(folder)
        audit = audit_segments(folder)
    holdings = simulation.cluster.holdings
    uses = [*holdings.uses, *holdings.still_held()]
    from_ms, to_ms = START_MS + 60_000, START_MS + _MINUTES * 60_000
    for plan in options.groups:
        rows = group_rows(audit.tables, plan.group_id, audit.facts.last_ms)
        by_expression = plan.regex is not None and plan.protocol is Protocol.CONSUMER
        if by_expression or refusal_of(rows, from_ms, to_ms) is not None:
            continue
        own = [use for use in uses if use.group_id == plan.group_id]
        rebalances = sum(from_ms <= (row["started_at"] or 0) < to_ms for row in rows.epochs)
        unowned_ms = _unowned_ms(own, rows, from_ms, to_ms)
        moved = _moved(own, from_ms, to_ms)
        yield Seen(from_ms, to_ms, rebalances, moved, unowned_ms), rows


def _options(seed: int) -> SimulationOptions:
    protocol = (Protocol.CLASSIC, Protocol.CONSUMER)[seed % 2]
    options = draw_options(
        seed,
        Overrides(minutes=_MINUTES, groups=3, faults_per_day=_FAULTS, protocol=protocol),
    )
    for name in _LEFT_OUT:
        setattr(options.faults, name, 0.0)
    return options


def _unowned_ms(uses: list[Use], rows: GroupRows, from_ms: int, to_ms: int) -> int:
    """Partition time without a client that used it, from its first use until its topic was deleted."""
    deleted = {row["topic_id"]: row["deleted_at"] for row in rows.topics if row["deleted_at"]}
    by_partition: dict[tuple[bytes, int], list[Use]] = {}
    for use in uses:
        by_partition.setdefault((use.topic_id, use.topic_partition), []).append(use)
    total_ms = 0
    for (topic_id, _), own in by_partition.items():
        own.sort(key=lambda use: use.from_ms)
        end_ms = min(to_ms, deleted.get(topic_id_text(topic_id), to_ms))
        free_ms = max(from_ms, own[0].from_ms)
        for use in own:
            total_ms += max(0, min(use.from_ms, end_ms) - free_ms)
            free_ms = max(free_ms, end_ms if use.to_ms is None else use.to_ms)
        total_ms += max(0, end_ms - free_ms)
    return total_ms


def _moved(uses: list[Use], from_ms: int, to_ms: int) -> int:
    last: dict[tuple[bytes, int], str] = {}
    moved = 0
    for use in sorted(uses, key=lambda use: use.from_ms):
        key = use.topic_id, use.topic_partition
        before, last[key] = last.get(key), use.client
        moved += before not in {None, use.client} and from_ms <= use.from_ms < to_ms
    return moved
