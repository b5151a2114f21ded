"""Standing sweeps: a log is damaged in every way at many places; nothing may be proven that it did not show whole."""

import tempfile
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Final, NamedTuple

from rebalance_audit.local.audit import audit_segments
from rebalance_audit.sim.brokers.batch_writer import LoggedRecord, Producer
from rebalance_audit.sim.brokers.partition_log import LoggedBatch, Marker
from rebalance_audit.sim.options import Overrides, draw_options
from rebalance_audit.sim.scenario import Simulation
from tests.support.log_entries import Entry, PositionedRecord, entries_of
from workshop.accuracy.captured import CAPTURES
from workshop.accuracy.damage import Write, damages, writes_of
from workshop.accuracy.simulated import EpochKey, Row, by_epoch, key_of
from workshop.accuracy.tally import Tally
from workshop.accuracy.verdicts import COMPLETE

METADATA: Final = "__cluster_metadata-0"
Claim = tuple[str, int, str]
"""Group, epoch and cause; incarnations are counted otherwise where a deletion is lost."""
INTERVAL: Final = ("group_id", "topic_id", "topic", "topic_partition", "member_id", "from_offset")
INTERVAL_MS: Final = ("held_ms", "unowned_before_ms")
EPOCH_MS: Final = (
    *("assign_ms", "reconcile_ms", "convergence_ms", "sync_ms"),
    *("unowned_partition_ms", "slowest_member_ms"),
)
"""Durations that are exact or unknown; the others are bounds."""
LOSSES: Final = (
    *("lost write", "lost hole", "lost run of a group"),
    *("cleaned", "cleaned without tombstones"),
)
"""Kinds of damage after which the records that are left have their offsets and times."""
CLOCKS: Final = ("clock set back", "clock set ahead")
"""After these, durations by one clock are what they were."""


class Found(NamedTuple):
    """What the audit of a log says."""

    proven: AbstractSet[Claim]
    """Causes that are called proven."""
    named: AbstractSet[Claim]
    """Causes that are named, with any certainty."""
    epochs: Sequence[Row]
    causes: Mapping[EpochKey, Sequence[Row]]
    marked: int
    """Epochs that are marked: records that show their cause may be missing."""
    negative: int
    """Time spans below 0, in any table."""
    intervals: Mapping[Hashable, Row]
    """Intervals of ownership that are not marked."""


def sweep_of_capture(name: str, trials: int | None) -> Tally:
    """Damage the log of a real broker."""
    return _sweep(name, CAPTURES / name / "segments", trials)


def sweep_of_seed(seed: int, minutes: int | None, trials: int | None) -> Tally:
    """Damage a simulated log, as it was at the end of the phase of faults."""
    options = draw_options(seed, Overrides(minutes=minutes))
    options.faults.cleanings = 0.0
    options.cluster.partition_count = 1
    options.cluster.log.stamps_append_time = False
    simulation = Simulation(seed, options, with_broker_log=False, with_checks=False)
    simulation.run_faults()
    with tempfile.TemporaryDirectory() as name:
        simulation.write(Path(name))
        about = f"seed {seed} release {options.coordinator.dialect.value}"
        return _sweep(about, Path(name), trials)


def _sweep(about: str, segments: Path, trials: int | None) -> Tally:
    tally = Tally()
    logs: dict[int, list[Entry]] = defaultdict(list)
    for entry in entries_of(segments):
        logs[entry.log_partition].append(entry)
    metadata = segments / METADATA
    for log_partition, entries in sorted(logs.items()):
        whole = _audited(writes_of(entries), log_partition, metadata)
        tally.count("sweep", "none", "trials")
        tally.count("sweep", "none", "marked", times=whole.marked)
        tally.count("sweep", "none", "negative", times=whole.negative)
        for kind, log_offset, writes in damages(entries, trials):
            found = _audited(writes, log_partition, metadata)
            where = f"{about}, partition {log_partition} at offset {log_offset}"
            tally.count("sweep", kind, "trials")
            tally.count("sweep", kind, "proven", times=len(found.proven))
            tally.count("sweep", kind, "marked", times=found.marked)
            note_new(tally, kind, where, found.proven, whole.named)
            _note_negative(tally, kind, where, found)
            _note_unmarked(tally, kind, where, found, whole)
            # A log that only ends earlier has no hole: what happened later it cannot show.
            if writes[-1][-1].log_offset == entries[-1].log_offset:
                _note_durations(tally, kind, where, found, whole)
    return tally


def _note_negative(tally: Tally, kind: str, where: str, found: Found) -> None:
    tally.count("sweep", kind, "negative", times=found.negative)
    if found.negative:
        tally.example(f"sweep {kind}: negative", f"{where}: {found.negative} time spans below 0")


def _note_unmarked(tally: Tally, kind: str, where: str, found: Found, whole: Found) -> None:
    """Count epochs that look complete and name none of the causes that the whole log proves."""
    # A log that lost a whole life of a group counts fewer, but the records that are left stay where they are.
    place = "first_offset" if kind in LOSSES else "incarnation"
    proven = {
        _at(row, place): {
            cause["cause"] for cause in whole.causes[key_of(row)] if cause["certainty"] == "proven"
        }
        for row in whole.epochs
    }
    for row in found.epochs:
        named = {cause["cause"] for cause in found.causes[key_of(row)]}
        known = proven.get(_at(row, place))
        if row["completeness"] == COMPLETE and known and not known & named:
            tally.count("sweep", kind, "unmarked")
            epoch = f"{row['group_id']} epoch {row['epoch']}"
            tally.example(f"sweep {kind}: unmarked", f"{where}: {epoch}")


def _at(row: Row, place: str) -> tuple[str, int, int]:
    return row["group_id"], row["epoch"], row[place]


def _note_durations(tally: Tally, kind: str, where: str, found: Found, whole: Found) -> None:
    """Count intervals of ownership and epochs that look complete and last otherwise than in the whole log.

    An epoch that is open has the figures of what the log shows so far.
    """
    if kind not in (*LOSSES, *CLOCKS):
        return
    true_of: dict[Hashable, Row] = {_at(row, "first_offset"): row for row in whole.epochs}
    epochs = {
        _at(row, "first_offset"): row
        for row in found.epochs
        if row["completeness"] == COMPLETE and row["outcome"] != "open"
    }
    for what, rows, durations, known in (
        ("interval", found.intervals, INTERVAL_MS, whole.intervals),
        ("epoch", epochs, EPOCH_MS, true_of),
    ):
        for key, row in rows.items():
            true = known.get(key)
            if true is None or any(row[each] not in (None, true[each]) for each in durations):
                tally.count("sweep", kind, what)
                off = {each: (row[each], true and true[each]) for each in durations}
                tally.example(f"sweep {kind}: {what}", f"{where}: {key}: {off}")


def note_new(
    tally: Tally, kind: str, where: str, found: AbstractSet[Claim], whole: AbstractSet[Claim]
) -> None:
    """Count what a damaged log proves and the whole log does not have."""
    for group_id, epoch, cause in sorted(found - whole):
        tally.count("sweep", kind, "new")
        known = sorted(each[2] for each in whole if each[:2] == (group_id, epoch))
        tally.example(
            f"sweep {kind}",
            f"{where}: {group_id} epoch {epoch}: {cause} (proven), in the whole log "
            f"{known or 'no such epoch'}",
        )


def new_in_sweeps(tally: Tally) -> int:
    """Proven causes of damaged logs that the whole logs do not have."""
    return sum(tally.get("sweep", kind, "new") for kind in tally.next_names("sweep"))


def _audited(writes: Sequence[Write], log_partition: int, metadata: Path) -> Found:
    """Audit these writes as a folder of segments."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / f"__consumer_offsets-{log_partition}"
        folder.mkdir()
        data = b"".join(_batch(write).encoded() for write in writes)
        (folder / f"{writes[0][0].log_offset:020}.log").write_bytes(data)
        if metadata.exists():
            (Path(name) / METADATA).symlink_to(metadata.resolve())
        tables = audit_segments(Path(name)).tables
    causes = tables["rebalance_causes"]
    return Found(
        {
            (row["group_id"], row["epoch"], row["cause"])
            for row in causes
            if row["certainty"] == "proven"
        },
        {(row["group_id"], row["epoch"], row["cause"]) for row in causes},
        tables["epochs"],
        by_epoch(causes),
        sum(row["completeness"] != COMPLETE for row in tables["epochs"]),
        sum(_negative(rows) for rows in tables.values()),
        {
            tuple(row[column] for column in INTERVAL): row
            for row in tables["ownership"]
            if row["completeness"] == COMPLETE
        },
    )


def _negative(rows: Sequence[Row]) -> int:
    """Durations below 0; they can be unknown."""
    durations = [column for column in rows[0] if column.endswith("_ms")] if rows else []
    return sum((row[column] or 0) < 0 for row in rows for column in durations)


def _batch(write: Write) -> LoggedBatch:
    first, last = write[0], write[-1]
    records = [
        LoggedRecord(entry.log_offset, entry.record_timestamp_ms, entry.key, entry.value)
        for entry in write
        if isinstance(entry, PositionedRecord)
    ]
    marker = None
    if not isinstance(first, PositionedRecord):
        marker = Marker(first.committed, first.coordinator_epoch)
    return LoggedBatch(
        first.log_offset,
        last.log_offset,
        first.leader_epoch or 0,
        records,
        first.record_timestamp_ms,
        Producer(first.producer_id, first.producer_epoch),
        marker,
    )
