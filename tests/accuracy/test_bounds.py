"""What is told of a classic group's times holds the truth: the brokers' own lines, and what clients saw."""

import json
import tarfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from rebalance_audit.local.audit import audit_segments

Row = dict[str, Any]

GOLDEN: Final = Path(__file__).resolve().parents[1] / "golden"
TOLERANCE_MS: Final = 60
"""The broker's line and its record are stamped by different calls."""
MOVES_TOLERANCE: Final = 4
"""Clients move partitions of which no record tells: a member that has its assignment too late for its callback."""
CAPTURES: Final = sorted(path.parent for path in GOLDEN.glob("captures/*/prepared.jsonl"))
PAIRED: Final = sorted(GOLDEN.glob("paired/*.tar.xz"))


def lines(path: Path) -> Iterator[Row]:
    """Rows of a file of JSON lines."""
    yield from map(json.loads, path.read_text("utf-8").splitlines())


def not_stable_by_group(tables: dict[str, list[Row]], prepared: Path) -> dict[str, list[int]]:
    """Group -> least, truth, most of its finished classic rebalances; bounds hold for each of them."""
    began: dict[str, list[Row]] = defaultdict(list)
    for row in lines(prepared):
        began[row["group"]].append(row)
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    lives: dict[str, set[int]] = defaultdict(set)
    led: dict[tuple[str, int], int | None] = {}
    for row in tables["epochs"]:
        lives[row["group_id"]].add(row["incarnation"])
        led[row["group_id"], row["epoch"]] = row["coordinator_epoch"]
    before: dict[str, int] = {}
    for row in sorted(tables["rebalances"], key=lambda row: row["rebalance_seq"]):
        group_id, ended_ms = row["group_id"], row["ended_at"]
        if row["protocol"] != "classic" or len(lives[group_id]) > 1:
            continue  # the numbers of another life's generations are the same
        previous, before[group_id] = before.get(group_id, 0), row["last_epoch"]
        moved = previous and led[group_id, previous] != led[group_id, row["last_epoch"]]
        if moved or row["completeness"] == "gap":
            continue  # a coordinator forgets a join phase with its fail-over
        # A line has the generation that was left: nothing but numbers tells here which rebalance it began.
        starts = [
            line["t_ms"]
            for line in began[group_id]
            if previous <= line["generation"] < row["last_epoch"]
        ]
        if not starts or ended_ms is None or row["duration_max_ms"] is None:
            continue
        truth = ended_ms - min(starts)
        assert row["duration_min_ms"] - TOLERANCE_MS <= truth, row
        assert truth <= row["duration_max_ms"] + TOLERANCE_MS, row
        for place, value in enumerate((row["duration_min_ms"], truth, row["duration_max_ms"])):
            sums[group_id][place] += value
    return sums


@pytest.mark.parametrize("logged", [False, True])
@pytest.mark.parametrize("folder", CAPTURES, ids=lambda folder: folder.name)
def test_the_time_not_stable_lies_between_its_bounds(folder: Path, logged: bool) -> None:
    """From the line that says that a rebalance is prepared to the record, for each rebalance and in sum."""
    logs = sorted(folder.glob("server*.log*")) if logged else []
    audited = audit_segments(folder / "segments", broker_logs=logs)
    sums = not_stable_by_group(audited.tables, folder / "prepared.jsonl")
    for group_id, (least, truth, most) in sums.items():
        assert least <= truth + TOLERANCE_MS, group_id
        assert truth <= most + TOLERANCE_MS, group_id


@pytest.mark.parametrize("packed", PAIRED, ids=lambda packed: packed.name.partition(".")[0])
def test_time_without_owner_lies_between_its_bounds_and_moves_are_counted(
    packed: Path, tmp_path: Path
) -> None:
    """By the callbacks of clients: from the begin of a revocation or the death of a process to the next owner."""
    with tarfile.open(packed) as archive:
        archive.extractall(tmp_path, filter="data")
    tables = audit_segments(tmp_path / "segments").tables
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
