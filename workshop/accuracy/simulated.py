"""The audit of simulated logs against the simulator's truth."""

import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from rebalance_audit.audit.broker_log.broker_log import BrokerLog
from rebalance_audit.audit.broker_log.read import LogReader
from rebalance_audit.audit.log_audit import LogAudit
from rebalance_audit.audit.options import AuditOptions
from rebalance_audit.local.survey import survey
from rebalance_audit.sim.brokers.compaction import Cleaner
from rebalance_audit.sim.brokers.server_log import SERVER_LOG
from rebalance_audit.sim.options import (
    GROUP_FAULTS,
    MINUTES_A_DAY,
    Overrides,
    SimulationOptions,
    draw_options,
)
from rebalance_audit.sim.scenario import Simulation
from rebalance_audit.time_zones import zone_of
from rebalance_audit.wire.metadata_log import read_topic_names
from rebalance_audit.wire.segments.folder import open_log_folder
from tests.support.log_entries import records_of
from workshop.accuracy.latencies import judge_times
from workshop.accuracy.members import Clients, Habit, judge_members
from workshop.accuracy.ownership import judge_ownership
from workshop.accuracy.tally import Tally
from workshop.accuracy.verdicts import judge_epoch

Row = dict[str, Any]
EpochKey = tuple[str, int, int]

WHOLE: Final = "simulated"
APPEND_TIME: Final = "simulated, LogAppendTime"
COMPACTED: Final = "simulated, compacted"
WITH_BROKER_LOG: Final = "simulated, with broker logs"
ORDINARY: Final = "simulated, ordinary clusters"
ORDINARY_FAULTS: Final = 240
"""Faults a day in each group."""
ORDINARY_MINUTES: Final = 30
SEGMENT_BYTES: Final = 20_000
"""So small that the cleaner finds something to do."""
DENSE_GROUPS: Final = 6
DENSITY: Final = 2.0
FAULTS_OF_GROUPS: Final = (
    *("deploys", "scale_changes", "crashes", "freezes", "slow_polls"),
    *("subscription_changes", "admin_removals", "outages", "partitions_from_network"),
)


class Truth(NamedTuple):
    """What a simulation says of itself, by kind of row."""

    epochs: Mapping[EpochKey, list[Row]]
    meanwhile: Mapping[EpochKey, list[str]]
    """Causes that happened in an epoch and did not begin it."""
    rows: Mapping[str, list[Row]]
    clients: Clients


def tally_of_seed(seed: int, minutes: int | None) -> Tally:
    """Simulate a seed and audit its log as it was written, with the brokers' log beside it, and compacted."""
    options = _options(seed, minutes)
    simulation = Simulation(seed, options)
    with _named(seed):
        simulation.run()
    truth, about = truth_of(simulation), _about(seed, options)
    source = APPEND_TIME if options.cluster.log.stamps_append_time else WHOLE
    tally = Tally()
    tally.count("seeds", options.coordinator.dialect.value)
    _note_density(tally, WHOLE, options)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        simulation.write(folder)
        judge(tally, source, audit_folder(folder), truth, about)
        log = BrokerLog.of(LogReader(zone_of("UTC")).facts([folder / SERVER_LOG]))
        tables = audit_folder(folder, broker_facts=log.facts_of)
        judge(tally, WITH_BROKER_LOG, tables, truth, about, with_times=source == WHOLE)
    if any(
        Cleaner(served.log).clean(simulation.scheduler.now_ms)
        for served in simulation.cluster.partitions.values()
    ):
        with tempfile.TemporaryDirectory() as name:
            simulation.write(Path(name))
            found = audit_folder(Path(name))
            judge(tally, COMPACTED, found, truth, about, with_times=source == WHOLE)
    return tally


def ordinary_tally_of_seed(seed: int, minutes: int | None) -> Tally:
    """The same of a cluster in which as much happens as in one that people run: its log as it was written."""
    overrides = Overrides(minutes=minutes or ORDINARY_MINUTES, faults_per_day=ORDINARY_FAULTS)
    options = _with_small_segments(draw_options(seed, overrides))
    options.cluster.log.stamps_append_time = False
    simulation = Simulation(seed, options, with_broker_log=False, with_checks=False)
    with _named(seed):
        simulation.run()
    tally = Tally()
    tally.count("seeds", options.coordinator.dialect.value)
    _note_density(tally, ORDINARY, options)
    with tempfile.TemporaryDirectory() as name:
        simulation.write(Path(name))
        tables = audit_folder(Path(name))
    about = _about(seed, options)
    judge(tally, ORDINARY, tables, truth_of(simulation), about, with_times=False)
    return tally


def dense_tally_of_seed(seed: int, minutes: int | None) -> Tally:
    """The most epochs for the time: many groups and faults, no commits, no checks of the simulation itself."""
    options = _options(seed, minutes, groups=DENSE_GROUPS)
    for name in FAULTS_OF_GROUPS:
        setattr(options.faults, name, DENSITY * getattr(options.faults, name))
    for group in options.groups:
        group.commit_interval_ms = 0
    simulation = Simulation(seed, options, with_broker_log=False, with_checks=False)
    with _named(seed):
        simulation.run_faults()
        simulation.cluster.flush()
    source = APPEND_TIME if options.cluster.log.stamps_append_time else WHOLE
    tally = Tally()
    tally.count("seeds", options.coordinator.dialect.value)
    with tempfile.TemporaryDirectory() as name:
        simulation.write(Path(name))
        tables = audit_folder(Path(name))
    judge(tally, source, tables, truth_of(simulation), _about(seed, options))
    return tally


def _options(seed: int, minutes: int | None, groups: int | None = None) -> SimulationOptions:
    """What the seed draws, with small segments and no cleaner."""
    return _with_small_segments(draw_options(seed, Overrides(minutes=minutes, groups=groups)))


def _with_small_segments(options: SimulationOptions) -> SimulationOptions:
    options.faults.cleanings = 0.0
    options.cluster.log.segment_bytes = SEGMENT_BYTES
    return options


def _note_density(tally: Tally, source: str, options: SimulationOptions) -> None:
    """Count a cluster, and how many faults a day each of its groups has."""
    per_minute = sum(getattr(options.faults, name) for name in GROUP_FAULTS)
    tally.count("density", source, "clusters")
    tally.count("density", source, "faults a day", times=round(MINUTES_A_DAY * per_minute))


def _about(seed: int, options: SimulationOptions) -> str:
    return f"seed {seed} release {options.coordinator.dialect.value}"


@contextmanager
def _named(seed: int) -> Iterator[None]:
    """Name the seed in errors of its simulation."""
    try:
        yield
    except Exception as error:
        error.add_note(f"seed {seed}")
        raise


def truth_of(simulation: Simulation) -> Truth:
    """The rows of the truth file."""
    holdings = simulation.cluster.holdings
    rows: dict[str, list[Row]] = defaultdict(list)
    epochs: dict[EpochKey, list[Row]] = defaultdict(list)
    meanwhile: dict[EpochKey, list[str]] = defaultdict(list)
    for true_row in simulation.truth.rows([*holdings.uses, *holdings.still_held()]):
        row: Row = dict(true_row)
        rows[row["kind"]].append(row)
        if row["kind"] == "epoch":
            epochs[key_of(row)].append(row)
        elif row["kind"] == "meanwhile":
            meanwhile[key_of(row)].append(row["cause"])
    habits = {
        (fleet.plan.group_id, name): Habit(
            library.value if fleet.plan.commit_interval_ms else "none",
            fleet.plan.committing.value,
            fleet.plan.traffic.value,
        )
        for fleet in simulation.fleets
        for name, library in fleet.libraries.items()
    }
    return Truth(epochs, meanwhile, rows, Clients(habits, simulation.cluster.committed))


def audit_folder(path: Path, **settings: Any) -> dict[str, list[Row]]:
    """Gold tables of a folder of segments."""
    folder = open_log_folder(path)
    names, (counted, _) = read_topic_names(folder), survey(folder)
    options = AuditOptions(
        topic_name=names.name_of,
        topic_shapes=names.shapes_of,
        is_whole=counted.is_whole,
        holes=counted.holes,
        **settings,
    )
    audit = LogAudit(options)
    for record, position in records_of(path):
        audit.feed(record, position)
    return audit.tables()


def judge(
    tally: Tally,
    source: str,
    tables: Mapping[str, list[Row]],
    truth: Truth,
    about: str,
    *,
    with_times: bool = True,
) -> None:
    """Compare all tables of one audit with the truth; append times are compared in `APPEND_TIME` alone."""
    if source == COMPACTED:
        tables = _numbered_like(truth, tables)
    causes = by_epoch(tables["rebalance_causes"])
    epochs = {key_of(row): row for row in tables["epochs"]}
    protocol_of: dict[EpochKey, str] = {
        key: rows[0]["protocol"].lower() for key, rows in truth.epochs.items()
    }
    for key, rows in truth.epochs.items():
        epoch, protocol = epochs.get(key), protocol_of[key]
        where = f"{about} {key[0]}/{key[1]} epoch {key[2]}"
        if epoch is None:
            tally.count("missing", source, protocol)
            if source != COMPACTED:
                tally.example("epoch without row", where)
            continue
        true = [row["cause"] for row in rows]
        beside = truth.meanwhile.get(key, ())
        judge_epoch(tally, source, epoch, causes[key], true, where, meanwhile=beside)
        if with_times:
            judge_times(tally, source, epoch, rows[0], where)
    for key in epochs.keys() - truth.epochs.keys():
        tally.count("invented", source, epochs[key]["protocol"])
        tally.example("row without epoch", f"{about} {key} of {source}")
    if source == WHOLE:
        judge_ownership(tally, source, tables, truth.rows, about)
    judge_members(tally, source, tables["members"], truth.rows["member"], truth.clients, about)


def _numbered_like(truth: Truth, tables: Mapping[str, list[Row]]) -> dict[str, list[Row]]:
    """The tables with the truth's incarnations: a log that lost whole lives of a group counts fewer."""
    lives: dict[tuple[str, int], list[tuple[int, int]]] = defaultdict(list)
    for (group_id, incarnation, epoch), rows in truth.epochs.items():
        lives[group_id, epoch].append((rows[0]["started_at"], incarnation))
    true_of: dict[EpochKey, int] = {}
    for row in tables["epochs"]:
        # A record can have a later time: of its append, or of a static member's return to the generation.
        before = [
            life
            for life in lives[row["group_id"], row["epoch"]]
            if life[0] <= (row["started_at"] or 0)
        ]
        true_of[key_of(row)] = max(before)[1] if before else row["incarnation"]
    renumbered = {
        name: [{**row, "incarnation": true_of[key_of(row)]} for row in tables[name]]
        for name in ("epochs", "rebalance_causes", "convergence")
    }
    return {**tables, **renumbered}


def key_of(row: Row) -> EpochKey:
    """What names an epoch."""
    return row["group_id"], row["incarnation"], row["epoch"]


def by_epoch(rows: Iterable[Row]) -> Mapping[EpochKey, list[Row]]:
    """Rows of each epoch."""
    found: dict[EpochKey, list[Row]] = defaultdict(list)
    for row in rows:
        found[key_of(row)].append(row)
    return found
