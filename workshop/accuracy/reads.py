"""What rebalances cost, against what real clients wrote down: which records they read, when, and what they committed.

See `workshop/reads`. All processes ran on one machine, so their clocks show the same.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Final, NamedTuple

from rebalance_audit.audit.rows import OWNERSHIP, REBALANCES
from rebalance_audit.local.audit import audit_segments

Row = dict[str, Any]
Place = tuple[str, int]
"""Group and partition; a group reads one topic."""

WHAT: Final = ("delayed", "read_again", "skipped")
LONG_STOP_MS: Final = 10_000
CALLBACK_MS: Final = 2_000
"""From the record that gives a partition to the client's callback, at most: the machine was busy."""


@dataclass
class ReadCosts:
    """The counts of one capture."""

    compared: int = 0
    """Rebalances."""
    left_out: list[str] = field(default_factory=list)
    """Rebalances in which clients and audit count different partitions, or a client read nothing of what it got."""
    outside: list[str] = field(default_factory=list)
    """What a rebalance cost that its bounds do not hold."""
    true: dict[str, list[int]] = field(default_factory=lambda: {what: [] for what in WHAT})
    """Of each compared rebalance."""
    widths: dict[str, list[int | None]] = field(default_factory=lambda: {what: [] for what in WHAT})
    """Width of the bounds of each compared rebalance; None without an upper bound."""
    relative_widths: list[float] = field(default_factory=list)
    """Of the bounds of delayed records, as a share of the truth, where the mean stop was `LONG_STOP_MS` or longer."""


@dataclass
class Taking:
    """A partition in one client's hands."""

    assigned_ms: int
    read: list[int] = field(default_factory=list)
    """Offsets, in order."""


class Logs(NamedTuple):
    """What the clients of all groups wrote down."""

    takings: Mapping[Place, list[Taking]]
    """In order of time."""
    commits: Mapping[Place, list[tuple[int, int]]]
    """(Epoch ms of the acknowledgement, offset), in order of time."""
    arrived: Mapping[tuple[str, int], list[int]]
    """Topic and partition -> times (epoch ms) at which the records arrived, by offset."""


def read_logs(folder: Path) -> Logs:
    """The logs of a capture. Each number that was read is the one that was produced at that offset."""
    arrived: dict[tuple[str, int], list[int]] = defaultdict(list)
    numbers: dict[tuple[str, int], list[str]] = defaultdict(list)
    for at, topic, partition, offset, number in sorted(
        lines_of(folder / "produced.tsv"), key=lambda row: int(row[3])
    ):
        assert len(numbers[topic, int(partition)]) == int(offset)
        arrived[topic, int(partition)].append(int(at))
        numbers[topic, int(partition)].append(number)
    takings: dict[Place, list[Taking]] = defaultdict(list)
    commits: dict[Place, list[tuple[int, int]]] = defaultdict(list)
    for path in sorted((folder / "clients").glob("*/*.tsv")):
        group_id = path.parent.name
        topic = "short-lived" if group_id.startswith("short") else "numbers"
        held: dict[int, Taking] = {}
        for at, event, *fields in lines_of(path):
            if event == "assigned":
                for each in filter(None, fields[0].split(",")):
                    held[int(each)] = Taking(int(at))
                    takings[group_id, int(each)].append(held[int(each)])
            elif event == "read":
                assert numbers[topic, int(fields[0])][int(fields[1])] == fields[2]
                held[int(fields[0])].read.append(int(fields[1]))
            elif event == "committed":
                commits[group_id, int(fields[0])].append((int(at), int(fields[1])))
    for of_place in takings.values():
        of_place.sort(key=lambda taking: taking.assigned_ms)
    for committed in commits.values():
        committed.sort()
    return Logs(takings, commits, arrived)


def lines_of(path: Path) -> Iterator[list[str]]:
    """The fields of each line; the last line of a killed process may lack its end."""
    for line in path.read_text("utf-8").splitlines(keepends=True):
        if line.endswith("\n"):
            yield line[:-1].split("\t")


class _True(NamedTuple):
    delayed: int
    """Arrived, not committed, when the new owner got the partition."""
    read_again: int
    """Read by an owner before and by the new one, committed or not."""
    skipped: int
    """Not committed, and the new owner began after them; an owner before may have read some."""


def costs_of_capture(folder: Path) -> ReadCosts:
    """Compare each rebalance of each group."""
    logs, found = read_logs(folder), ReadCosts()
    audit = audit_segments(folder / "segments", end_offsets=[folder / "samples.jsonl"])
    rows: dict[str, list[Row]] = defaultdict(list)
    for row in audit.tables[REBALANCES]:
        rows[row["group_id"]].append(row)
    given: dict[Place, list[int]] = defaultdict(list)
    for row in audit.tables[OWNERSHIP]:
        given[row["group_id"], row["topic_partition"]].append(row["from_at"])
    for group_id, of_group in sorted(rows.items()):
        of_group.sort(key=lambda row: (row["incarnation"], row["rebalance_seq"]))
        ended = [row["ended_at"] for row in of_group if row["ended_at"] is not None]
        by_row: dict[int, list[_True | None]] = defaultdict(list)
        for place, takings in logs.takings.items():
            if place[0] == group_id:
                for taking, true in _truths(place, takings, logs, [*given[place], *ended]):
                    by_row[_row_of(taking, of_group)].append(true)
        for index, row in enumerate(of_group):
            _compare(found, row, by_row[index])
    return found


def _row_of(taking: Taking, rows: Iterable[Row]) -> int:
    """The last rebalance that had begun when the client got the partition."""
    began = [index for index, row in enumerate(rows) if row["started_at"] <= taking.assigned_ms]
    return began[-1] if began else 0


def _truths(
    place: Place, takings: list[Taking], logs: Logs, given: Iterable[int]
) -> Iterator[tuple[Taking, _True | None]]:
    """What each handover of a partition cost that had been committed; None if its new owner read nothing of it.

    `given`: times (epoch ms) of the coordinator's records that may have given the partition; the last one before the
    callback did. Only the moment is the log's: what had arrived then, and what was read, is not.
    """
    group_id, partition = place
    topic = "short-lived" if group_id.startswith("short") else "numbers"
    for index, taking in enumerate(takings):
        committed = [offset for at, offset in logs.commits[place] if at <= taking.assigned_ms]
        if not committed:
            continue
        if not taking.read:
            yield taking, None
            continue
        before = {offset for each in takings[:index] for offset in each.read}
        at_ms = max(each for each in given if each <= taking.assigned_ms)
        assert taking.assigned_ms - at_ms <= CALLBACK_MS
        end = bisect_right(logs.arrived[topic, partition], at_ms)
        yield (
            taking,
            _True(
                delayed=max(0, end - committed[-1]),
                read_again=len(before.intersection(taking.read)),
                skipped=max(0, taking.read[0] - max(committed)),
            ),
        )


def _compare(found: ReadCosts, row: Row, truths: list[_True | None]) -> None:
    stopped = row["partitions_stopped"]
    if not stopped and not truths:
        return
    where = f"{row['group_id']} rebalance {row['incarnation']}/{row['rebalance_seq']}"
    known = [true for true in truths if true is not None]
    if len(known) != stopped:
        found.left_out.append(f"{where}: {len(known)} of {len(truths)}, not {stopped} partitions")
        return
    found.compared += 1
    for what in WHAT:
        value = sum(getattr(true, what) for true in known)
        least, most = row[f"records_{what}_min"], row[f"records_{what}_max"]
        found.true[what].append(value)
        found.widths[what].append(None if most is None else most - least)
        if not (least <= value and (most is None or value <= most)):
            found.outside.append(f"{where}: {what} {value} not in [{least}, {most}]")
        if what == "delayed" and row["stopped_partition_ms"] / stopped >= LONG_STOP_MS and value:
            assert most is not None
            found.relative_widths.append((most - least) / value)


def table(found: ReadCosts) -> list[str]:
    """Lines of text."""
    lines = [f"  {found.compared} rebalances compared, {len(found.left_out)} left out"]
    for what in WHAT:
        widths = [width for width in found.widths[what] if width is not None]
        lines.append(
            f"  {what}: truth {sum(found.true[what])} records in {sum(map(bool, found.true[what]))} rebalances, "
            f"median width {median(widths) if widths else None}, "
            f"{len(found.widths[what]) - len(widths)} without an upper bound"
        )
    if found.relative_widths:
        lines.append(
            f"  delayed, stops of ten seconds and more: median width {median(found.relative_widths):.0%} "
            f"of the truth, of {len(found.relative_widths)}"
        )
    return lines
