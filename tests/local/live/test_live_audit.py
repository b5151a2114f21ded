"""Logs of real brokers that grow in steps: `watch` says of each rebalance what the audit of the whole log says."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rebalance_audit.audit.lag.rebalance_cost import COST_COLUMNS
from rebalance_audit.audit.options import AuditOptions
from rebalance_audit.local.audit import audit_segments
from rebalance_audit.local.live.growth import Break, GrowingSegments
from rebalance_audit.local.live.live_audit import LiveAudit
from rebalance_audit.local.survey import survey
from rebalance_audit.wire.segments.columns import ColumnChunk
from rebalance_audit.wire.segments.folder import open_log_folder
from tests.cli.call import CAPTURES, call

STEPS = 9


@pytest.mark.parametrize("capture", ["classic-cooperative", "compacted", "failover"])
def test_growing_log(capture: str, tmp_path: Path) -> None:
    """Cut anywhere, also inside a batch: the last report of a rebalance is what the whole log shows."""
    assert_same_in_the_end(CAPTURES / capture / "segments", tmp_path)


@pytest.mark.parametrize("seed", [12, 13])
def test_growing_log_of_a_simulation(seed: int, tmp_path: Path) -> None:
    """Seed 13 was cleaned: where a partition lacks records, a classic generation that was skipped may be lost."""
    size = ("--minutes", "3", "--groups", "6", "--members", "3")
    assert call("simulate", "--seed", str(seed), *size, "--out", tmp_path / "whole").code == 0
    (tmp_path / "growing").mkdir()
    assert_same_in_the_end(tmp_path / "whole", tmp_path / "growing")


def assert_same_in_the_end(whole: Path, tmp_path: Path) -> None:
    """The last report of each rebalance equals what the audit of the whole log says."""
    names = survey(open_log_folder(whole))[1]
    options = AuditOptions(
        topic_name=names.name_of,
        topic_deleted_at=names.deleted_at_ms,
        topic_lives=names.lives_of,
        topic_shapes=names.shapes_of,
    )
    live = LiveAudit(options, names)
    last: dict[tuple[str, int, int], dict[str, Any]] = {}
    log = None
    for _ in grown(whole, tmp_path):
        log = log or GrowingSegments(tmp_path)
        for log_partition, found in log.read():
            live.take(log_partition, found)
        for news in live.updates():
            last |= {key_of(row): without_cost(row) for row, _ in news.ended}
    rebalances = audit_segments(whole).tables["rebalances"]
    ended = [row for row in rebalances if row["outcome"] != "open"]
    assert last == {key_of(row): without_cost(row) for row in ended}


def without_cost(row: dict[str, Any]) -> dict[str, Any]:
    """What is known when a rebalance ends: its cost shows in the commits after it."""
    return {name: value for name, value in row.items() if name not in COST_COLUMNS}


def test_truncated_log(tmp_path: Path) -> None:
    """A segment that ends before what was read, as after an unclean election, is read again from its beginning."""
    partition = grown_once(tmp_path)
    log = GrowingSegments(tmp_path)
    first = offsets_in(log)
    text = partition.read_bytes()
    partition.write_bytes(text[: len(text) // 2])
    assert [found for _, found in log.read()] == [Break.TRUNCATED]
    again = offsets_in(log)
    assert again
    assert again == first[: len(again)]


def test_lost_log(tmp_path: Path) -> None:
    """Segments that are gone before they were read leave a gap, and what follows is read."""
    file = grown_once(tmp_path)
    log = GrowingSegments(tmp_path)
    assert list(log.read())
    file.rename(file.with_name("00000000000000900000.log"))
    assert next(found for _, found in log.read()) is Break.LOST


def offsets_in(log: GrowingSegments) -> list[int]:
    """The offsets of what is new."""
    chunks = [found for _, found in log.read() if isinstance(found, ColumnChunk)]
    return [offset for chunk in chunks for offset in chunk.log_offsets]


def key_of(row: dict[str, Any]) -> tuple[str, int, int]:
    """The key of gold.rebalances."""
    return row["group_id"], row["incarnation"], row["rebalance_seq"]


def grown_once(folder: Path) -> Path:
    """A copy of the largest partition; returns its file."""
    files = (CAPTURES / "failover" / "segments").glob("__consumer_offsets-*/*.log")
    file = max(files, key=lambda each: each.stat().st_size)
    copy = folder / file.parent.name / file.name
    copy.parent.mkdir()
    copy.write_bytes(file.read_bytes())
    return copy


def grown(whole: Path, folder: Path) -> Iterator[None]:
    """The partitions grow in parallel, each segment of one after the other."""
    partitions = []
    for partition in sorted(whole.glob("__consumer_offsets-*")):
        (folder / partition.name).mkdir()
        files = [(file.name, file.read_bytes()) for file in sorted(partition.glob("*.log"))]
        partitions.append((folder / partition.name, files))
    for step in range(1, STEPS + 1):
        for partition, files in partitions:
            left = sum(len(text) for _, text in files) * step // STEPS
            for name, text in files:
                if left > 0 or not text:
                    (partition / name).touch()
                    with (partition / name).open("r+b") as file:
                        file.write(text[:left])
                left -= len(text)
        yield
