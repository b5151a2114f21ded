"""Bronze is laid out and read so that group records are found without the commits."""

from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from rebalance_audit.lake.records import routing
from rebalance_audit.lake.runs.run import IngestRequest, run_ingest
from rebalance_audit.lake.sources.source_spec import parse_source
from tests.wire.golden import capture

KEYS = (
    None,
    b"",
    b"\0",
    b"\0\0",
    b"\0\1",
    b"\0\1\0\1g",
    b"\0\2",
    b"\0\3\0\1g",
    b"\x7f",
    b"\xff\xff",
)


def test_every_record_is_a_commit_or_another_one(spark: SparkSession) -> None:
    """Both sides of the log say the same of every key, also of damaged ones, and of markers."""
    rows = [(key, control) for key in KEYS for control in (None, False, True)]
    log = spark.createDataFrame(rows, "key binary, is_control boolean")
    others = log.where(routing.is_other())
    found = [(row["key"] and bytes(row["key"]), row["is_control"]) for row in others.collect()]
    assert log.where(routing.is_commit()).count() == len(rows) - len(found)
    commits = {KEYS[place] for place in (3, 4, 5)}
    assert set(found) == {(key, control) for key, control in rows if control or key not in commits}


def test_files_of_bronze_have_the_others_behind_the_commits(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Each file; and all of its records are there."""
    source = parse_source(f"segments:{capture('offsets').segments}")
    report = run_ingest(spark, IngestRequest(source, str(tmp_path), "c"))
    total = 0
    for path in (tmp_path / "bronze" / "records").rglob("*.parquet"):
        table = pq.read_table(path, columns=["key", "is_control"], partitioning=None)
        marks = [
            row["is_control"] or row["key"][:2] not in {b"\0\0", b"\0\1"}
            for row in table.to_pylist()
        ]
        assert marks == sorted(marks)
        assert any(marks)
        total += len(marks)
    assert total == report.ingested.records
