"""Ends of members whose truth is known, with what the audit weighed: simulated clients and logs of real ones."""

import json
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from rebalance_audit.audit.causes.departure_model import WAYS
from rebalance_audit.audit.verdicts.cause import DepartureFacts, Verdict
from rebalance_audit.sim.chance import Chance
from rebalance_audit.sim.clients.client_config import COMMIT_HABITS, Traffic
from rebalance_audit.sim.options import FaultOptions, Overrides, Protocol, draw_options
from rebalance_audit.sim.scenario import Simulation
from workshop.accuracy.captured import CAPTURES, LOGGED_ENDS
from workshop.accuracy.simulated import audit_folder, truth_of

CLIENTS: Final = CAPTURES.parent / "clients"
"""Logs of clients that the captures do not have, with what the broker said of each end."""
SIMULATED: Final = "simulated"
_CAPTURED: Final = "Java, librdkafka and kafka-python, in the captures"
_MINUTES: Final = 12
_GROUPS: Final = 6
_SAME_MS: Final = 50
"""A record's time is at most so far from that of the end that it shows; a member id can end several times."""
_WEIGHED: Final = frozenset(way.text for way in WAYS)


class End(NamedTuple):
    """One end of one member."""

    source: str
    """SIMULATED, or the name of the log."""
    client: str
    """What the client was; the group's name where nothing else identifies it."""
    group: str
    """Identifies the group among all sources."""
    true: str
    """How it ended: the name of a cause."""
    facts: DepartureFacts


def ends_of_seed(seed: int) -> list[End]:
    """The ends in a cluster with groups of six kinds of clients."""
    simulation = _cluster_of_clients(seed)
    simulation.run_faults()
    habits = {fleet.plan.group_id: fleet.plan.habit for fleet in simulation.fleets}
    with tempfile.TemporaryDirectory() as name:
        simulation.write(Path(name))
        seen = _verdicts_of(Path(name), simulation.scheduler.now_ms)
    ends = []
    for row in truth_of(simulation).rows["member"]:
        habit = habits.get(row["group_id"])
        found = [
            verdict.facts
            for verdict in seen[row["group_id"], row["member_id"]]
            if row["end"] in _WEIGHED and abs(verdict.at_ms - row["ended_at"]) <= _SAME_MS
        ]
        if habit is not None and found and found[0] is not None:
            group = f"{seed}/{row['group_id']}"
            ends.append(End(SIMULATED, habit.name, group, row["end"], found[0]))
    return ends


def ends_of_log(name: str) -> list[End]:
    """The ends in a log of real clients."""
    folder = CLIENTS / name if (CLIENTS / name).is_dir() else CAPTURES / name
    words: dict[tuple[str, str], list[tuple[int, str]]] = defaultdict(list)
    for at_ms, group_id, member_id, end in _words_of(folder):
        words[group_id, member_id].append((at_ms, end))
    is_client = folder.parent == CLIENTS
    return [
        End(
            name,
            key[0] if is_client else _CAPTURED,
            f"{name}/{key[0]}",
            _nearest(words[key], verdict.at_ms),
            verdict.facts,
        )
        for key, verdicts in _verdicts_of(folder / "segments", None).items()
        for verdict in verdicts
        if verdict.facts is not None and words[key]
    ]


def log_names() -> list[str]:
    """The logs of real clients that say how members ended."""
    folders = [*CLIENTS.iterdir(), *CAPTURES.iterdir()]
    return sorted(folder.name for folder in folders if any(_words_of(folder)))


def _words_of(folder: Path) -> list[tuple[int, str, str, str]]:
    """(time, group id, member id, end) as the broker logged them."""
    if (folder / "ends.jsonl").exists():
        rows = map(json.loads, (folder / "ends.jsonl").read_text("utf-8").splitlines())
        return [(row["at_ms"], row["group_id"], row["member_id"], row["end"]) for row in rows]
    rows = map(json.loads, (folder / "truth.jsonl").read_text("utf-8").splitlines())
    return [
        (row["t_ms"], row["group"], row["member_id"], row["cause"])
        for row in rows
        if row["cause"] in LOGGED_ENDS and "member_id" in row
    ]


def _nearest(words: Sequence[tuple[int, str]], at_ms: int) -> str:
    return min(words, key=lambda word: abs(word[0] - at_ms))[1]


def _verdicts_of(
    segments: Path, log_end_ms: int | None
) -> defaultdict[tuple[str, str], list[Verdict]]:
    """(group id, member id) -> the verdicts on its ends."""
    seen: defaultdict[tuple[str, str], list[Verdict]] = defaultdict(list)

    def note(group_id: str, verdict: Verdict) -> None:
        if verdict.facts is not None and verdict.member_id is not None:
            seen[group_id, verdict.member_id].append(verdict)

    settings: dict[str, Any] = {"note_cause": note, "log_end_ms": log_end_ms}
    audit_folder(segments, **settings)
    return seen


def _cluster_of_clients(seed: int) -> Simulation:
    """More of its members leave than end otherwise, as where people run them."""
    options = draw_options(seed, Overrides(minutes=_MINUTES, groups=_GROUPS))
    chance = Chance(seed, "clients")
    options.cluster.log.stamps_append_time = False
    options.cluster.clock_offsets_ms = ()
    for plan in options.groups:
        plan.protocol = chance.weighted((Protocol.CLASSIC, Protocol.CONSUMER), (4, 1))
        plan.habit = chance.choice(COMMIT_HABITS)
        plan.commit_interval_ms = plan.habit.interval_ms
        plan.traffic = chance.weighted(tuple(Traffic), (3, 2, 3, 2))
        plan.static = chance.happens(0.15)
        plan.topics = plan.topics or (next(iter(options.topics)),)
        plan.size = chance.between(1, 4)
    options.faults = FaultOptions(
        deploys=0.25,
        scale_changes=0.25,
        crashes=0.3,
        freezes=0.15,
        slow_polls=0.1,
        subscription_changes=0.05,
        admin_removals=0.02,
        duplicate_instances=0.0,
        outages=0.12,
        fail_overs=0.03,
        topic_growths=0.05,
        topic_deletions=0.0,
        topic_creations=0.0,
        cleanings=0.0,
        partitions_from_network=0.05,
        offset_deletions=0.0,
    )
    return Simulation(seed, options, with_broker_log=False, with_checks=False)
