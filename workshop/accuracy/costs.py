"""What rebalances cost, against what each simulated client read and what the log holds committed."""

import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from rebalance_audit.audit.lag.end_offsets import EndOffset, PartitionSamples
from rebalance_audit.audit.log_audit import LogAudit
from rebalance_audit.audit.options import AuditOptions
from rebalance_audit.audit.rows import OWNERSHIP, REBALANCES
from rebalance_audit.local.survey import survey
from rebalance_audit.replay.changes import Position
from rebalance_audit.sim.clients.client_config import Traffic
from rebalance_audit.sim.holdings import Use
from rebalance_audit.sim.options import START_MS, Overrides, Protocol, draw_options
from rebalance_audit.sim.scenario import Simulation
from rebalance_audit.wire.generated.messages import OffsetCommitKey, OffsetCommitValue
from rebalance_audit.wire.metadata_log import read_topic_names
from rebalance_audit.wire.records import Record, group_id_of
from rebalance_audit.wire.segments.folder import open_log_folder
from tests.support.log_entries import records_of

Row = dict[str, Any]
Partition = tuple[str, int]

SAMPLED_EVERY_MS: Final = 5_000
COMMITTED_EVERY_MS: Final = 5_000
HEARD_WITHIN_MS: Final = 1_000
"""From the record that gives a partition to the moment at which the client begins to read it."""
LONG_STOP_MS: Final = 10_000
WHAT: Final = ("delayed", "read_again", "skipped")


@dataclass
class Costs:
    """The counts of some simulations."""

    compared: int = 0
    """Rebalances."""
    left_out: int = 0
    """Rebalances in which the simulator and the audit count different partitions, or none."""
    outside: list[str] = field(default_factory=list)
    """What a rebalance cost that its bounds do not hold."""
    widths: list[float] = field(default_factory=list)
    """Of the bounds of delayed records, as a share of the truth, where the mean stop was `LONG_STOP_MS` or longer."""


@dataclass
class _True:
    partitions: int = 0
    delayed: int = 0
    read_again: int = 0
    skipped: int = 0


def costs_of_seed(seed: int, minutes: int, found: Costs) -> None:
    """Simulate a seed with commits and samples every five seconds, and compare each rebalance of each group.

    All clocks show the same: samples are taken by the sampler's clock.
    """
    overrides = Overrides(minutes=minutes, commit_interval_ms=COMMITTED_EVERY_MS)
    options = draw_options(seed, overrides)
    options.faults.cleanings = 0.0
    options.cluster.log.stamps_append_time = False
    options.cluster.clock_offsets_ms = ()
    simulation = Simulation(seed, options, with_broker_log=False, with_checks=False)
    simulation.run()
    end_ms = simulation.scheduler.now_ms
    with tempfile.TemporaryDirectory() as name:
        path = Path(name)
        simulation.write(path)
        records = _by_group(path)
        for plan in options.groups:
            if plan.protocol not in {Protocol.CLASSIC, Protocol.CONSUMER}:
                continue
            tables = _audited(path, records[plan.group_id], plan.traffic, seed, end_ms)
            uses = _uses(simulation, plan.group_id)
            about = f"seed {seed} {plan.group_id}"
            _compare(found, about, tables, uses, plan.traffic, records[plan.group_id])


def _by_group(path: Path) -> Mapping[str, list[tuple[Record, Position]]]:
    found: dict[str, list[tuple[Record, Position]]] = defaultdict(list)
    for record, position in records_of(path):
        found[group_id_of(record.key)].append((record, position))
    return found


def _audited(
    path: Path,
    records: list[tuple[Record, Position]],
    traffic: Traffic,
    seed: int,
    end_ms: int,
) -> Mapping[str, list[Row]]:
    folder = open_log_folder(path)
    names, (counted, _) = read_topic_names(folder), survey(folder)
    moments = range(START_MS - seed % SAMPLED_EVERY_MS, end_ms + 20_000, SAMPLED_EVERY_MS)
    samples: dict[int, PartitionSamples] = {}

    def end_offsets(_topic: str, number: int) -> PartitionSamples:
        if number not in samples:
            samples[number] = PartitionSamples(
                EndOffset(at_ms, 0, traffic.position(number, at_ms)) for at_ms in moments
            )
        return samples[number]

    options = AuditOptions(
        topic_name=names.name_of,
        topic_shapes=names.shapes_of,
        is_whole=counted.is_whole,
        holes=counted.holes,
        end_offsets=end_offsets,
    )
    audit = LogAudit(options)
    for record, position in records:
        audit.feed(record, position)
    return audit.tables()


def _uses(simulation: Simulation, group_id: str) -> Mapping[Partition, list[Use]]:
    found: dict[Partition, list[Use]] = defaultdict(list)
    holdings = simulation.cluster.holdings
    for use in (*holdings.uses, *holdings.still_held()):
        if use.group_id == group_id:
            topic = simulation.cluster.topics.name_of(use.topic_id)
            found[topic, use.topic_partition].append(use)
    for of_partition in found.values():
        of_partition.sort(key=lambda use: use.from_ms)
    return found


def _commits(records: list[tuple[Record, Position]]) -> Mapping[Partition, list[tuple[int, int]]]:
    """(Time, offset) of each commit outside of transactions, as the log has them."""
    found: dict[Partition, list[tuple[int, int]]] = defaultdict(list)
    for record, position in records:
        if isinstance(record.key, OffsetCommitKey) and isinstance(record.value, OffsetCommitValue):
            key = record.key
            found[key.topic, key.partition].append(
                (position.record_timestamp_ms, record.value.offset)
            )
    return found


def _compare(
    found: Costs,
    about: str,
    tables: Mapping[str, list[Row]],
    uses: Mapping[Partition, list[Use]],
    traffic: Traffic,
    records: list[tuple[Record, Position]],
) -> None:
    commits = _commits(records)
    given = _given(tables)
    rows = sorted(tables[REBALANCES], key=lambda row: (row["incarnation"], row["rebalance_seq"]))
    for row in rows:
        if row["partitions_stopped"] is None or row["records_delayed_max"] is None:
            continue
        true = _truth(row, given, uses, commits, traffic, tables[OWNERSHIP])
        if true is None or true.partitions != row["partitions_stopped"]:
            found.left_out += 1
            continue
        found.compared += 1
        for what in WHAT:
            value = getattr(true, what)
            least, most = row[f"records_{what}_min"], row[f"records_{what}_max"]
            if not (least <= value and (most is None or value <= most)):
                where = f"{about} rebalance {row['incarnation']}/{row['rebalance_seq']}"
                found.outside.append(f"{where}: {what} {value} not in [{least}, {most}]")
        stopped_ms = row["stopped_partition_ms"] / row["partitions_stopped"]
        if stopped_ms >= LONG_STOP_MS and true.delayed:
            width = row["records_delayed_max"] - row["records_delayed_min"]
            found.widths.append(width / true.delayed)


def _held_at(at_ms: int, ownership: list[Row]) -> Iterator[Partition]:
    """What has an owner then."""
    for row in ownership:
        if row["from_at"] <= at_ms and (row["to_at"] is None or row["to_at"] > at_ms):
            yield row["topic"], row["topic_partition"]


def _given(tables: Mapping[str, list[Row]]) -> Mapping[Partition, list[int]]:
    """When the coordinator gave each partition to an owner (epoch ms)."""
    found: dict[Partition, list[int]] = defaultdict(list)
    for row in tables[OWNERSHIP]:
        if row["topic"] is not None:
            found[row["topic"], row["topic_partition"]].append(row["from_at"])
    return found


def _truth(
    row: Row,
    given: Mapping[Partition, list[int]],
    uses: Mapping[Partition, list[Use]],
    commits: Mapping[Partition, list[tuple[int, int]]],
    traffic: Traffic,
    ownership: list[Row],
) -> _True | None:
    """What the clients that began to read in the rebalance's time had before them; None if one never did."""
    began_ms, ended_ms = row["started_at"], row["ended_at"]
    if ended_ms is None or began_ms is None:
        return None
    true = _True()
    if any(
        commits[partition]
        and not any(
            use.from_ms <= ended_ms + HEARD_WITHIN_MS and (use.to_ms or ended_ms + 1) > ended_ms
            for use in uses[partition]
        )
        for partition in _held_at(ended_ms, ownership)
    ):
        return None  # a client died before it read what it was given
    for partition, of_partition in uses.items():
        for index, use in enumerate(of_partition):
            at_ms = max(
                (each for each in (*given[partition], ended_ms) if each <= use.from_ms), default=0
            )
            if row["protocol"] == "classic":
                at_ms = min(use.from_ms, ended_ms)
            in_time = began_ms <= use.from_ms <= ended_ms + HEARD_WITHIN_MS
            if not in_time or not began_ms <= at_ms <= ended_ms:
                continue
            before = [offset for when_ms, offset in commits[partition] if when_ms <= at_ms]
            if not before:
                continue
            after = [offset for when_ms, offset in commits[partition] if when_ms > use.from_ms]
            if use.first_offset is None or (after and after[0] < use.first_offset):
                return None  # it committed, as real clients do not, before it knew where to begin
            earlier = [each for each in of_partition[:index] if each.first_offset is not None]
            if not earlier:
                return None
            end = traffic.position(partition[1], at_ms)
            read_to = max(_read_by(each, at_ms, end) for each in earlier)
            true.partitions += 1
            true.delayed += max(0, end - before[-1])
            true.read_again += max(0, min(read_to, end) - use.first_offset)
            true.skipped += max(0, use.first_offset - max(read_to, *before))
    return true


def _read_by(use: Use, at_ms: int, end: int) -> int:
    """The offset after the last one that a client had read by then; one that still holds the partition reads on."""
    if use.next_offset is None or use.to_ms is None or use.to_ms > at_ms:
        return end
    return use.next_offset


def costs_of(seeds: Iterator[int] | range, minutes: int) -> Costs:
    """The counts of several seeds."""
    found = Costs()
    for seed in seeds:
        costs_of_seed(seed, minutes, found)
    return found
