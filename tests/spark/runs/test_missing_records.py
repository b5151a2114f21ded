"""A log that lacks records: a lake knows where, as the audit in one process does, and what lacks none goes on."""

from collections.abc import Collection, Mapping
from pathlib import Path
from random import Random
from typing import Any

from pyspark.sql import SparkSession

from rebalance_audit.audit.holes import RANGES_MAX, holes_among
from rebalance_audit.lake.runs.missing_records import holes_in
from rebalance_audit.lake.runs.run import run_audit
from rebalance_audit.local.audit import audit_segments
from tests.spark.faults import SEEN_IN_LOG
from tests.spark.in_process import in_order
from tests.spark.lakes import (
    FINDINGS,
    OF_THE_AUDIT,
    TABLES,
    Whole,
    difference,
    empty_lake,
    request_of,
    table,
)
from tests.spark.mixed_log import BAD_RECORDS, DAMAGED_PARTITION, PARTS, batches_of, write_log
from tests.wire.golden import capture

(LACKING,) = (part for part in PARTS if part.name == "broker-3.7")
"""Its last record is that of the mixed log: what is found by the time since then is the same."""
AT_THE_SEAM = 41
MISSING = (23, AT_THE_SEAM, 62)
"""Batches of it with steps of members of the group `modern`; the first run's log ends before the second of them."""
(WHOLE,) = (part for part in PARTS if part.becomes == DAMAGED_PARTITION)
"""Of one group: commits that no marker decides, at their end some that cannot be decoded."""


def write_logs(
    folder: Path, share: float = 1.0, missing: Collection[int] = (), until: int | None = None
) -> Path:
    """A share of the one partition; the other up to a batch, without some."""
    write_log(folder, share, [WHOLE])
    target = folder / f"__consumer_offsets-{LACKING.becomes}"
    target.mkdir(parents=True, exist_ok=True)
    source = capture(LACKING.name).segments / f"__consumer_offsets-{LACKING.partition}"
    batches = list(batches_of(source))[:until]
    kept = [batch for number, batch in enumerate(batches) if number not in missing]
    (target / f"{0:020d}.log").write_bytes(b"".join(kept))
    return folder


def assert_equals_the_audit(lake: Path, log: Path) -> None:
    """Every gold table has the rows of `inspect`."""
    expected = audit_segments(log, finding_rules=FINDINGS).tables
    for name in OF_THE_AUDIT:
        rows = in_order(name, expected[name.partition(".")[2]])
        assert table(lake, name) == rows, name


def holes_of_lake(lake: Path) -> list[tuple[int, int]]:
    """The ranges that meta.progress has for the partition that lacks records."""
    (row,) = (row for row in table(lake, "meta.progress") if row["partition"] == LACKING.becomes)
    assert row["records_between_holes"] == 1
    return [(each["first_offset"], each["end_offset"]) for each in row["holes"]]


def is_of_whole_partition(row: Mapping[str, Any]) -> bool:
    """Whether a row is about the partition that lacks no record, or about its group."""
    return row.get("partition") == WHOLE.becomes or row.get("group_id") == "fleet"


def test_runs_know_where_records_are_missing(
    spark: SparkSession, whole: Whole, tmp_path: Path
) -> None:
    """Inside of what a run reads, between two runs, and no more when another copy of the log has the records.

    The partition beside it, which comes in two pieces, has the rows that one run makes of it. Files that somebody has
    put in another order in between are no change: OPTIMIZE and VACUUM keep the rows, so the run goes on from the last.
    """
    lake, log = empty_lake(tmp_path / "lake", whole.lake), tmp_path / "log"
    run_audit(spark, request_of(f"segments:{write_logs(log, 0.5, MISSING, AT_THE_SEAM)}", lake))
    assert len(holes_of_lake(lake)) == 1
    assert_equals_the_audit(lake, log)
    SEEN_IN_LOG["vacuumed"](spark, lake / "gold" / "members")
    second = run_audit(spark, request_of(f"segments:{write_logs(log, 1.0, MISSING)}", lake))
    assert (second.resumed > 0, second.rebuilt) == (True, 0)
    assert second.notes == []
    assert second.counts.quarantined == len(BAD_RECORDS)
    assert len(holes_of_lake(lake)) == len(MISSING)
    assert_equals_the_audit(lake, log)
    for name in TABLES:
        assert not difference(name, lake, whole.lake, is_of_whole_partition), name
    ownership = [row for row in table(lake, "gold.ownership") if row["group_id"] == "modern"]
    assert {row["completeness"] for row in ownership} == {"complete", "gap"}
    third = run_audit(spark, request_of(f"segments:{write_logs(log)}", lake))
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
