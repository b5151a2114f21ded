"""Commits of transactions in a lake: runs that end between commit and marker leave the tables of one run."""

from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.lake.runs.run import run_audit
from rebalance_audit.local.state import segment_state
from rebalance_audit.wire.segments.folder import open_log_folder
from tests.spark.lakes import TABLES, difference, empty_lake, request_of, table
from tests.spark.pieces import Pieces
from tests.support.transactions import batches_of, steps_of, write_segment

LINE = "40 7:50 C7 7:60 A7 8:70 7:80 | 75 C8 | C7 9:90 t | C9 7:92 8:94 | C8 | 7:96 A7 9:98 C9 7:99"
"""A log with an end of a run at each bar."""
COMMITTED = [40, 50, 75, 94, 98]
"""Minute by minute: 70 and 80 are older than 75 when their markers come, 90 was deleted before."""
EVERY_MS = 40_000


def assert_same(lake: Path, whole: Path) -> None:
    """All that a log decides."""
    for name in TABLES:
        assert name == "bronze.records" or not difference(name, lake, whole), name


def test_runs_that_end_between_commit_and_marker(spark: SparkSession, tmp_path: Path) -> None:
    """Snapshots are resumed, and committed offsets are those of the coordinator."""
    parts = LINE.split("|")
    batches = [*batches_of(steps_of(" ".join(parts)), EVERY_MS)]
    log = write_segment(tmp_path / "log", batches)
    whole = tmp_path / "whole"
    run_audit(spark, request_of(f"segments:{log}", whole))
    lake, end = empty_lake(tmp_path / "lake", whole), 1
    for number, part in enumerate(parts):
        end += len(steps_of(part))
        grown = write_segment(tmp_path / "grown", batches[:end])
        report = run_audit(spark, request_of(f"segments:{grown}", lake))
        assert (report.resumed, report.rebuilt) == ((1, 0) if number else (0, 1))
    assert end == len(batches)
    assert_same(lake, whole)
    rows = [row for row in table(lake, "gold.progress") if not row["is_deleted"]]
    assert [row["committed_offset"] for row in rows] == COMMITTED
    (group,) = segment_state(open_log_folder(log)).groups
    assert group["offsets"]["foo"]["0"]["offset"] == COMMITTED[-1]


def test_a_marker_that_comes_late(spark: SparkSession, tmp_path: Path) -> None:
    """Until then the producer's next marker decides; the group is replayed from its first record."""
    batches = [*batches_of(steps_of("40 7:50 A7 7:60 C7 70"), EVERY_MS)]
    log = write_segment(tmp_path / "log", batches)
    whole = tmp_path / "whole"
    run_audit(spark, request_of(f"segments:{log}", whole))
    lake = empty_lake(tmp_path / "lake", whole)
    (marker,) = (
        row["offset"]
        for row in table(whole, "bronze.records")
        if row["is_control"] and row["key"] == bytes(4)
    )
    pieces = Pieces(spark, whole, tmp_path, seed=1)
    run_audit(spark, request_of(pieces.of(F.col("offset") != marker), lake))
    report = run_audit(spark, request_of(f"segments:{log}", lake))
    assert (report.resumed, report.rebuilt) == (0, 1)
    assert_same(lake, whole)
    assert [row["committed_offset"] for row in table(lake, "gold.progress")] == [40, 60, 70]
