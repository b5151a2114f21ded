"""The bounds of a classic group's times hold the truth: the brokers' own lines, and what clients saw."""

import gzip
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest

from rebalance_audit.demo_log import extract_to
from tests.cli.audited import audited_once
from tests.support.archives import unpack

Row = dict[str, Any]

GOLDEN: Final = Path(__file__).resolve().parents[1] / "golden"
TOLERANCE_MS: Final = 60
"""The broker's line and its record are stamped by different calls."""
MOVES_TOLERANCE: Final = 4
"""Clients move partitions without a record: a member that has its assignment too late for its callback."""
DEMO: Final = GOLDEN / "demo"
CAPTURES: Final = [
    *sorted(path.parent for path in GOLDEN.glob("captures/*/prepared.jsonl")),
    DEMO,
]
CALLBACK_MS: Final = 200
"""Per partition: from the record to the client's callback; the machine was busy."""
EMPTIED: Final = re.compile(r"(\S+) INFO .* Group (.+) with generation \d+ is now empty")
ENDS_OF_CLIENTS: Final = {"kill9", "died", "close_end"}
PAIRED: Final = sorted(GOLDEN.glob("paired/*.tar.xz"))


@pytest.fixture(scope="module", autouse=True)
def demo_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled log, unpacked."""
    return extract_to(tmp_path_factory.mktemp("demo"))


def audited(folder: Path, demo_log: Path, *, logged: bool) -> dict[str, list[Row]]:
    """Tables of a capture or of the bundled log, with the brokers' logs if they are wanted."""
    logs = sorted(folder.glob("server*.log*")) if logged else []
    log = demo_log if folder == DEMO else folder / "segments"
    return audited_once(log, broker_logs=logs).tables


def lines(path: Path) -> Iterator[Row]:
    """Rows of a file of JSON lines, packed or not."""
    read = gzip.open if path.suffix == ".gz" else open
    with read(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def not_stable_by_group(tables: dict[str, list[Row]], prepared: Path) -> dict[str, list[int]]:
    """Group -> least, truth, most of its finished classic rebalances; bounds hold for each of them."""
    began: dict[str, list[Row]] = defaultdict(list)
    for row in lines(prepared):
        began[row["group"]].append(row)
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    lives: dict[str, set[int]] = defaultdict(set)
    for row in tables["epochs"]:
        lives[row["group_id"]].add(row["incarnation"])
    before: dict[str, int] = {}
    for row in sorted(tables["rebalances"], key=lambda row: row["rebalance_seq"]):
        group_id, ended_ms = row["group_id"], row["ended_at"]
        if row["protocol"] != "classic" or len(lives[group_id]) > 1:
            continue  # the numbers of another life's generations are the same
        previous, before[group_id] = before.get(group_id, 0), row["last_epoch"]
        if row["completeness"] == "gap":
            continue
        # A line has the generation that was left: only numbers show which rebalance it began.
        starts = [
            line["t_ms"]
            for line in began[group_id]
            if previous <= line["generation"] < row["last_epoch"]
        ]
        if not starts or ended_ms is None:
            continue
        truth = ended_ms - min(starts)
        assert row["duration_min_ms"] - TOLERANCE_MS <= truth, row
        if row["duration_max_ms"] is None:
            continue  # a coordinator forgets a join phase with its fail-over
        assert truth <= row["duration_max_ms"] + TOLERANCE_MS, row
        for place, value in enumerate((row["duration_min_ms"], truth, row["duration_max_ms"])):
            sums[group_id][place] += value
    return sums


@pytest.mark.parametrize("logged", [False, True])
@pytest.mark.parametrize("folder", CAPTURES, ids=lambda folder: folder.name)
def test_the_time_not_stable_lies_between_its_bounds(
    folder: Path, logged: bool, demo_log: Path
) -> None:
    """From the line that says that a rebalance is prepared to the record, for each rebalance and in total."""
    tables = audited(folder, demo_log, logged=logged)
    sums = not_stable_by_group(tables, folder / "prepared.jsonl")
    for group_id, (least, truth, most) in sums.items():
        assert least <= truth + TOLERANCE_MS, group_id
        assert truth <= most + TOLERANCE_MS, group_id


@pytest.mark.parametrize("packed", PAIRED, ids=lambda packed: packed.name.partition(".")[0])
def test_time_without_owner_lies_between_its_bounds_and_moves_are_counted(
    packed: Path, tmp_path: Path
) -> None:
    """By the callbacks of clients: from the begin of a revocation or the death of a process to the next owner."""
    unpack(packed, tmp_path)
    tables = audited_once(tmp_path / "segments").tables
    not_stable_by_group(tables, tmp_path / "prepared.jsonl")
    truth = json.loads((tmp_path / "truth-pairs.json").read_text())["groups"]
    for group_id, true in truth.items():
        if true["protocol"] != "classic":
            continue
        epochs = [row for row in tables["epochs"] if row["group_id"] == group_id]
        later = [row for row in epochs if (row["converged_at"] or 0) >= true["settled_ms"]]
        least = sum(row["unowned_partition_min_ms"] for row in later)
        # A static member that came back made no epoch: its time belongs to the one that went on.
        most = sum(row["unowned_partition_max_ms"] for row in epochs)
        assert least <= 1000 * true["unowned_s"] <= most, group_id
        moved = sum(row["partitions_moved"] for row in later)
        assert abs(moved - true["moved"]) <= MOVES_TOLERANCE, group_id


def empty_by_group(folder: Path) -> dict[str, list[tuple[int, int]]]:
    """Group -> from, to (epoch milliseconds) where the broker's log says that it was empty."""
    began: dict[str, list[int]] = defaultdict(list)
    for row in lines(folder / "prepared.jsonl"):
        began[row["group"]].append(row["t_ms"])
    found: dict[str, list[tuple[int, int]]] = defaultdict(list)
    [log] = folder.glob("server*.log*")
    with gzip.open(log, "rt", encoding="utf-8") as file:
        for match in filter(None, map(EMPTIED.match, file)):
            at, group_id = match[1], match[2]
            at_ms = (
                int(at)
                if at.isdigit()
                else round(datetime.fromisoformat(at).replace(tzinfo=UTC).timestamp() * 1000)
            )
            again = [ms for ms in began[group_id] if ms > at_ms]
            found[group_id].append((at_ms, min(again, default=at_ms)))
    return found


def unowned_by_callbacks(
    clients: Sequence[Row], empty: Sequence[tuple[int, int]]
) -> tuple[int, int]:
    """Milliseconds in which a partition was between two owners while the group had members, summed; and partitions."""
    owners: dict[tuple[str, int], set[str]] = defaultdict(set)
    free: dict[tuple[str, int], int] = {}
    total_ms = 0
    for row in sorted(clients, key=lambda row: row["t_ms"]):
        client, event, at_ms = row["actor"], row["event"], row["t_ms"]
        named = [(topic, number) for topic, number in row.get("partitions") or ()]
        if event == "assigned":
            for partition in named:
                owners[partition].add(client)
                since_ms = free.pop(partition, at_ms)
                away_ms = sum(
                    max(0, min(at_ms, to_ms) - max(since_ms, from_ms)) for from_ms, to_ms in empty
                )
                total_ms += at_ms - since_ms - away_ms
            continue
        if event in ENDS_OF_CLIENTS:
            named = [partition for partition, who in owners.items() if client in who]
        elif event not in {"revoked", "lost"}:
            continue
        for partition in named:
            owners[partition].discard(client)
            if not owners[partition]:
                free.setdefault(partition, at_ms)
    return total_ms, len(owners)


@pytest.mark.parametrize("logged", [False, True])
@pytest.mark.parametrize("folder", CAPTURES, ids=lambda folder: folder.name)
def test_time_without_owner_lies_between_its_bounds_for_every_group(
    folder: Path, logged: bool, demo_log: Path
) -> None:
    """By the callbacks of clients that write them down: groups that were classic for all of one life."""
    tables = audited(folder, demo_log, logged=logged)
    empty = empty_by_group(folder)
    clients: dict[str, list[Row]] = defaultdict(list)
    for row in lines(folder / "clients.jsonl.gz"):
        clients[row["group"]].append(row)
    for group_id, rows in clients.items():
        epochs = [row for row in tables["epochs"] if row["group_id"] == group_id]
        known = all(
            row["protocol"] == "classic" and row["completeness"] == "complete" for row in epochs
        )
        if not known or not any(row.get("partitions") for row in rows):
            continue
        least = sum(row["unowned_partition_min_ms"] for row in epochs)
        most = [row["unowned_partition_max_ms"] for row in epochs]
        truth, partitions = unowned_by_callbacks(rows, empty[group_id])
        tolerance_ms = CALLBACK_MS * partitions
        assert least <= truth + tolerance_ms, group_id
        if None not in most:
            assert truth <= sum(most) + tolerance_ms, group_id
