"""A log that lacks records: a lake knows where, as the audit in one process does."""

from collections.abc import Collection
from pathlib import Path
from random import Random

from pyspark.sql import SparkSession

from rebalance_audit.audit.holes import RANGES_MAX, holes_among
from rebalance_audit.lake.records.missing_offsets import holes_in
from rebalance_audit.lake.runs.run import run_audit
from rebalance_audit.local.audit import audit_segments
from tests.spark.in_process import in_order
from tests.spark.lakes import OF_THE_AUDIT, Whole, empty_lake, request_of, table, without_commits
from tests.spark.mixed_log import batches_of
from tests.wire.golden import capture

PARTITION = 2
AT_THE_SEAM = 59
MISSING = (11, AT_THE_SEAM, 125)
"""Batches with steps of members; the first run's log ends before the second of them."""


def write_log(folder: Path, missing: Collection[int] = (), until: int | None = None) -> Path:
    """A capture's partition up to a batch, without some."""
    target = folder / f"__consumer_offsets-{PARTITION}"
    target.mkdir(parents=True, exist_ok=True)
    batches = list(batches_of(capture("consumer-static").segments / target.name))[:until]
    kept = [batch for number, batch in enumerate(batches) if number not in missing]
    (target / f"{0:020d}.log").write_bytes(b"".join(kept))
    return folder


def assert_equals_the_audit(lake: Path, log: Path) -> None:
    """Every gold table has the rows of `inspect`."""
    expected = audit_segments(log).tables
    for name in OF_THE_AUDIT:
        rows = in_order(name, expected[name.partition(".")[2]])
        assert without_commits(table(lake, name)) == rows, name


def holes_of_lake(lake: Path) -> list[tuple[int, int]]:
    """The ranges that meta.progress has."""
    (row,) = table(lake, "meta.progress")
    assert row["records_between_holes"] == 1
    return [(each["first_offset"], each["end_offset"]) for each in row["holes"]]


def test_runs_know_where_records_are_missing(
    spark: SparkSession, whole: Whole, tmp_path: Path
) -> None:
    """Inside of what a run reads, between two runs, and no more when another copy of the log has the records."""
    lake, log = empty_lake(tmp_path / "lake", whole.lake), tmp_path / "log"
    run_audit(spark, request_of(f"segments:{write_log(log, MISSING, AT_THE_SEAM)}", lake))
    assert len(holes_of_lake(lake)) == 1
    assert_equals_the_audit(lake, log)
    second = run_audit(spark, request_of(f"segments:{write_log(log, MISSING)}", lake))
    assert (second.resumed > 0, second.rebuilt) == (True, 0)
    assert len(holes_of_lake(lake)) == len(MISSING)
    assert_equals_the_audit(lake, log)
    gaps = {row["completeness"] for row in table(lake, "gold.ownership")}
    assert gaps == {"complete", "gap"}
    third = run_audit(spark, request_of(f"segments:{write_log(log)}", lake))
    assert third.rebuilt == third.groups > 0
    assert holes_of_lake(lake) == []
    assert_equals_the_audit(lake, log)


def test_ranges_are_those_of_one_process(spark: SparkSession) -> None:
    """Some partitions lack so much that ranges close together count as one."""
    chance = Random(8)
    logs = {
        3: [offset for offset in range(20_000) if chance.random() < 0.8],
        4: [5, 6, 7, 20, 21, 30],
        5: [8, 9],
    }
    rows = [(number, offset) for number, offsets in logs.items() for offset in offsets]
    frame = spark.createDataFrame(rows, "partition int, offset bigint").repartition(5, "offset")
    expected = {number: holes_among(offsets) for number, offsets in logs.items()}
    assert holes_in(frame, logs.keys()) == expected
    assert 1 < len(expected[3].firsts) <= RANGES_MAX
    assert expected[3].apart > 1
