"""Several sources for one cluster: bronze has every record once, and says where they differ."""

import os
import shutil
import time
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from rebalance_audit.errors import LakeNotWritable
from rebalance_audit.lake.bronze.ingest import ingest
from rebalance_audit.lake.bronze.ledger import Ledger, digest
from rebalance_audit.lake.bronze.record_table import Bronze, Ingested
from rebalance_audit.lake.gold.log_findings import source_findings
from rebalance_audit.lake.sources.source_spec import parse_source
from rebalance_audit.lake.storage.sinks import Sink
from rebalance_audit.lake.storage.tables import Lake
from rebalance_audit.wire.segments.folder import SourceNotReadable
from tests.spark.in_process import rows_of
from tests.spark.lakes import table
from tests.support.batches import Batch, read_batches
from tests.wire.golden import capture
from tests.wire.segments import hand_made

CLUSTER = "blue"
PARTITION = 2
"""Of the capture; the one that is cut and changed here."""


def take(spark: SparkSession, spec: str, lake: Path, **more: Any) -> Ingested:
    """One ingest."""
    now = datetime.now(UTC)
    return ingest(
        parse_source(spec), Lake(spark, str(lake)), CLUSTER, uuid.uuid4().hex, now, **more
    )


def bronze(spark: SparkSession, lake: Path) -> list[dict[str, Any]]:
    """Every record in bronze, in order, without who brought it and when."""
    rows = Lake(spark, str(lake)).read("bronze.records").drop("source", "ingested_at")
    return rows_of(rows.orderBy("partition", "offset"))


def in_source(spark: SparkSession, spec: str) -> list[dict[str, Any]]:
    """Every record of a source, in order."""
    rows = parse_source(spec).records(spark, CLUSTER)
    return rows_of(rows.drop("damage").orderBy("partition", "offset"))


class Log:
    """A copy of a capture, one of whose partitions can be cut and changed batch by batch."""

    def __init__(self, folder: Path) -> None:
        shutil.copytree(capture("offsets").segments, folder)
        self.spec = f"segments:{folder}"
        (self._file,) = folder.glob(f"__consumer_offsets-{PARTITION}/*.log")
        whole = self._file.read_bytes()
        self.batches = [
            whole[batch.header.byte_position :][: batch.header.size_bytes]
            for batch in read_batches(self._file)
            if isinstance(batch, Batch)
        ]

    def write(self, batches: list[bytes]) -> None:
        """Let the partition have these."""
        self._file.write_bytes(b"".join(batches))


class Hasty(Ledger):
    """One that may look a moment too early."""

    looks = True

    def catch_up(self) -> None:
        """Only if it should look."""
        if self.looks:
            super().catch_up()


@pytest.fixture
def log(tmp_path: Path) -> Log:
    """A healthy log."""
    return Log(tmp_path / "log")


def test_a_log_that_grows(spark: SparkSession, log: Log, tmp_path: Path) -> None:
    """Each ingest adds what is new; one without news makes no version; the ledger counts what bronze has."""
    lake = tmp_path / "lake"
    whole = in_source(spark, log.spec)
    log.write(log.batches[:60])
    first = take(spark, log.spec, lake)
    log.write(log.batches)
    second = take(spark, log.spec, lake)
    assert 0 < first.records < len(whole)
    # Files of the other partitions are as they were.
    looked_at = sum(row["partition"] == PARTITION for row in whole)
    assert (second.records + second.known, second.late) == (looked_at, {})
    assert second.records == len(whole) - first.records
    assert bronze(spark, lake) == whole
    versions = {
        name: Lake(spark, str(lake)).version(name) for name in ("bronze.records", "meta.ingested")
    }
    assert take(spark, log.spec, lake).records == 0
    assert versions == {name: Lake(spark, str(lake)).version(name) for name in versions}
    for row in Lake(spark, str(lake)).read("meta.ingested").collect():
        mine = [each["offset"] for each in whole if each["partition"] == row["partition"]]
        assert (row["first_offset"], row["next_offset"]) == (mine[0], mine[-1] + 1)
        assert row["records"] == len(mine)
        assert (
            row["missing_offsets"] == row["compacted_offsets"] == mine[-1] + 1 - mine[0] - len(mine)
        )


@pytest.fixture
def new_york(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The zone of the machine, as Python sees it."""
    with monkeypatch.context() as patched:
        patched.setenv("TZ", "America/New_York")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("new_york")
def test_the_ledger_says_what_bronze_has(spark: SparkSession, log: Log, tmp_path: Path) -> None:
    """After a second ingest too; times are UTC."""
    lake = tmp_path / "lake"
    log.write(log.batches[:60])
    take(spark, log.spec, lake)
    log.write(log.batches)
    take(spark, log.spec, lake)
    whole = in_source(spark, log.spec)
    for row in table(lake, "meta.ingested"):
        mine = [each for each in whole if each["partition"] == row["partition"]]
        times = [each["timestamp"] for each in mine if each["timestamp"] is not None]
        assert (row["first_offset"], row["next_offset"]) == (
            mine[0]["offset"],
            mine[-1]["offset"] + 1,
        )
        assert (row["records"], row["last_record_at"]) == (len(mine), max(times))
        assert row["last_digest"] == digest(mine[-1]["key"], mine[-1]["value"])


def test_a_file_that_has_not_changed_is_not_read_again(
    spark: SparkSession, log: Log, tmp_path: Path
) -> None:
    """Name, size and time decide, also in a copy at another place; what is touched is compared with bronze."""
    lake = tmp_path / "lake"
    first = take(spark, log.spec, lake)
    copy = shutil.copytree(tmp_path / "log", tmp_path / "copy")
    (file,) = copy.glob(f"__consumer_offsets-{PARTITION}/*.log")
    times = file.stat()
    whole = bytearray(file.read_bytes())
    whole[len(whole) // 2] ^= 1  # unnoticed without reading
    file.write_bytes(whole)
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    unread = take(spark, f"segments:{copy}", lake)
    assert (unread.known, unread.records, unread.damaged_stretches) == (0, 0, 0)
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns + 1))
    read = take(spark, f"segments:{copy}", lake)
    assert 0 < read.known < first.records
    assert (read.records, read.damaged_stretches) == (0, 1)


def test_a_source_that_fills_holes_in_front(spark: SparkSession, log: Log, tmp_path: Path) -> None:
    """What a later source has in front of bronze's end is added, and reported as late."""
    lake = tmp_path / "lake"
    whole = in_source(spark, log.spec)
    log.write(log.batches[:20] + log.batches[40:])
    take(spark, log.spec, lake)
    missing = len(whole) - len(bronze(spark, lake))
    log.write(log.batches)
    delta = str(tmp_path / "delta")
    parse_source(log.spec).records(spark, CLUSTER).drop("damage").write.format("delta").save(delta)
    found = take(spark, f"delta:{delta}", lake)
    assert (found.records, found.differing) == (missing, 0)
    assert list(found.late) == [PARTITION]
    assert bronze(spark, lake) == whole


def test_a_record_with_other_bytes_is_in_quarantine(
    spark: SparkSession, log: Log, tmp_path: Path
) -> None:
    """The first source's record stands; the other one is kept with both sources' names, once, and is a finding."""
    lake = tmp_path / "lake"
    take(spark, log.spec, lake)
    before = bronze(spark, lake)
    changed = before[[row["partition"] for row in before].index(PARTITION) + 5]
    copy = str(tmp_path / "copy")
    at = (F.col("partition") == PARTITION) & (F.col("offset") == changed["offset"])
    rows = parse_source(log.spec).records(spark, CLUSTER).drop("damage")
    rows.withColumn("value", F.when(at, b"other").otherwise(F.col("value"))).write.format(
        "delta"
    ).save(copy)
    for quarantined in (1, 0):
        found = take(spark, f"delta:{copy}", lake)
        assert (found.records, found.known, found.differing) == (0, len(before) - 1, 1)
        assert found.quarantine_rows == quarantined
    assert bronze(spark, lake) == before
    (row,) = rows_of(Lake(spark, str(lake)).read("silver.quarantine"))
    assert (row["partition"], row["offset"], row["value"]) == (
        PARTITION,
        changed["offset"],
        b"other",
    )
    assert (row["reason"], row["source_file"]) == ("differs_between_sources", f"delta:{copy}")
    assert log.spec in row["detail"]
    assert row["before_offset"] is None
    tables = Lake(spark, str(lake))
    with tables.staging("run") as stage:
        findings = source_findings(
            stage.keep, tables.read("silver.quarantine"), tables.read("bronze.records")
        )
        (finding,) = rows_of(findings)
    assert finding["kind"] == "sources_differ"
    assert (finding["group_id"], finding["log_partition"]) == (None, PARTITION)
    assert finding["from_offset"] == changed["offset"]
    assert f"1 record of partition {PARTITION}, from offset" in finding["detail"]
    ours, other = finding["evidence"]
    assert ours["offset"] == other["offset"] == changed["offset"]
    assert ours["fact"].startswith(f"{log.spec}: digest ")
    assert other["fact"].startswith(f"delta:{copy}: digest ")
    digests = [fact["fact"].partition(": digest ")[2].partition(",")[0] for fact in (ours, other)]
    assert len(set(digests)) == 2
    assert all(digests)


def test_another_log_leaves_no_trace(spark: SparkSession, log: Log, tmp_path: Path) -> None:
    """One that differs at the last offset that both have was cut off, or is another cluster's: nothing is taken."""
    lake = tmp_path / "lake"
    log.write(log.batches[:60])
    take(spark, log.spec, lake)
    before = bronze(spark, lake)
    last = max(row["offset"] for row in before if row["partition"] == PARTITION)
    other = hand_made.batch(
        [(offset, 1_795_253_000_000, b"\0\3\0\1g", None) for offset in range(last, last + 50)]
    )
    log.write([*log.batches[:50], other])
    versions = {
        name: Lake(spark, str(lake)).version(name)
        for name in ("bronze.records", "silver.quarantine")
    }
    with pytest.raises(
        SourceNotReadable,
        match=f"the last record that both have of partition {PARTITION}, at offset {last}",
    ):
        take(spark, log.spec, lake)
    assert versions == {name: Lake(spark, str(lake)).version(name) for name in versions}


def test_an_ingest_that_was_killed_before_it_had_noted_what_it_wrote(
    spark: SparkSession, log: Log, tmp_path: Path
) -> None:
    """The ledger learns from bronze itself: nothing is doubled."""
    lake = tmp_path / "lake"
    log.write(log.batches[:30])
    take(spark, log.spec, lake)
    noted = Ledger(Lake(spark, str(lake)), CLUSTER)
    log.write(log.batches[:60])
    take(spark, log.spec, lake)
    noted.save("as before the kill", "killed", datetime.now(UTC))
    log.write(log.batches)
    take(spark, log.spec, lake)
    assert bronze(spark, lake) == in_source(spark, log.spec)


def test_two_that_append_at_once(spark: SparkSession, log: Log, tmp_path: Path) -> None:
    """Where no lock can be had, Delta refuses or leaves out the second of two appends to what both have seen."""
    lake = tmp_path / "lake"
    log.write(log.batches[:30])
    take(spark, log.spec, lake)
    stale = Hasty(Lake(spark, str(lake)), CLUSTER)
    stale.looks = False
    log.write(log.batches)
    take(spark, log.spec, lake)
    tables = Lake(spark, str(lake))
    late = Bronze(Sink(tables, CLUSTER, "late"), stale, "late", datetime.now(UTC))
    with tables.staging("late"):
        given = late.take(parse_source(log.spec).records(spark, CLUSTER), log.spec)
        with pytest.raises(LakeNotWritable, match="Another ingest of cluster blue wrote"):
            late.append(given.records, log.spec, {})
    assert bronze(spark, lake) == in_source(spark, log.spec)


def test_from_a_moment_on(spark: SparkSession, log: Log, tmp_path: Path) -> None:
    """Each partition begins with its first record of that time or later, as a live cluster would find it."""
    whole = in_source(spark, log.spec)
    from_ms = sorted(row["timestamp"] for row in whole)[len(whole) // 2]
    take(spark, log.spec, tmp_path / "lake", from_ms=from_ms)
    expected = []
    for number in {row["partition"] for row in whole}:
        mine = [row for row in whole if row["partition"] == number]
        first = next((at for at, row in enumerate(mine) if row["timestamp"] >= from_ms), len(mine))
        expected += mine[first:]
    assert 0 < len(expected) < len(whole)
    assert bronze(spark, tmp_path / "lake") == sorted(
        expected, key=lambda row: (row["partition"], row["offset"])
    )
