"""Segment files as rows of a data frame, against reading the same files batch by batch in one process."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from chispa import assert_df_equality
from pyspark.sql import DataFrame, SparkSession

from rebalance_audit.lake.records.record_columns import DAMAGE, OF_SEGMENTS
from rebalance_audit.lake.sources.segments_source import SegmentsSource, read_segments
from rebalance_audit.wire.segments.folder import SourceNotReadable, open_log_folder
from tests.spark.in_process import rows_of
from tests.support.batches import Batch, read_batches
from tests.wire.golden import capture
from tests.wire.segments import hand_made

SPLITS = (1, 2_000, 1 << 30)
"""Every batch a piece of its own; several batches a piece; all files in one piece."""


def read(spark: SparkSession, path: Path, **options: Any) -> DataFrame:
    """The whole source, without a lower limit to the size of a piece."""
    given: dict[str, Any] = {"columns": list(OF_SEGMENTS), "cores": 1_000} | options
    segments = [segment for found in open_log_folder(path).segments.values() for segment in found]
    return read_segments(spark, segments, **given).frame


def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of records by place; the others have no place of their own."""
    records = (row for row in rows if row[DAMAGE] is None)
    return sorted(records, key=lambda row: (row["partition"], row["offset"]))


def batch_by_batch(path: Path) -> list[dict[str, Any]]:
    """The rows of a healthy log as `read_batches` has them."""
    rows = []
    for partition, files in open_log_folder(path).partitions.items():
        for batch in (batch for file in files for batch in read_batches(file)):
            assert isinstance(batch, Batch)
            header, records = batch.header, batch.records()
            assert isinstance(records, list)
            has_producer = header.producer_id >= 0
            rows += [
                {
                    "partition": partition,
                    "offset": record.log_offset,
                    "timestamp": record.record_timestamp_ms,
                    "timestamp_type": header.timestamp_type,
                    "leader_epoch": header.leader_epoch,
                    "producer_id": header.producer_id if has_producer else None,
                    "producer_epoch": header.producer_epoch if has_producer else None,
                    "is_transactional": header.is_transactional,
                    "is_control": header.is_control,
                    "key": record.key,
                    "value": record.value,
                    DAMAGE: None,
                }
                for record in records
            ]
    return rows


@pytest.mark.parametrize(
    ("name", "split_target_bytes"),
    [
        ("oddities", 5_000),
        ("oddities", 1 << 30),
        ("offsets", 10_000),
        ("compacted", 10_000),
        ("compacted", 1 << 30),
    ],
)
def test_rows_are_those_of_the_batches_however_files_are_cut(
    spark: SparkSession, name: str, split_target_bytes: int
) -> None:
    """Five codecs, LogAppendTime, transactions, markers, several segments with gaps: every record once, in full."""
    path = capture(name).segments
    found = rows_of(read(spark, path, split_target_bytes=split_target_bytes))
    assert in_order(found) == batch_by_batch(path)
    assert len(found) == len(in_order(found))


def test_a_large_file_is_cut_and_small_ones_share_a_task(spark: SparkSession) -> None:
    """The number of tasks follows from bytes, not from files; more than a few per core would only cost headers."""
    path = capture("offsets").segments
    size_bytes = open_log_folder(path).size_bytes
    assert len(open_log_folder(path).partitions) == 2

    def tasks(split_target_bytes: int, cores: int) -> int:
        rows = read(spark, path, split_target_bytes=split_target_bytes, cores=cores)
        return rows.rdd.getNumPartitions()

    assert tasks(size_bytes, 2) == 1
    assert 8 <= tasks(size_bytes // 10, 4) <= 12
    assert 8 <= tasks(1, 2) <= 10


def damaged_log(folder: Path) -> Path:
    """Forty batches of five commits, two of them broken, nonsense between two, and a torn end."""
    records = hand_made.commits(200)
    parts = [hand_made.batch(records[at : at + 5]) for at in range(0, 200, 5)]
    for broken in (7, 20):
        flipped = bytearray(parts[broken])
        flipped[-3] ^= 0x10
        parts[broken] = bytes(flipped)
    parts.insert(31, b"\xfe" * 100)
    parts.append(parts[-1][:40])
    hand_made.segment(folder / "__consumer_offsets-3", parts)
    return folder


@pytest.mark.parametrize("split_target_bytes", SPLITS)
def test_damage_comes_as_rows_and_loses_nothing_around_it(
    spark: SparkSession, tmp_path: Path, split_target_bytes: int
) -> None:
    """Broken batches and nonsense are rows with bytes and reason; the records of all other batches are there."""
    found = rows_of(read(spark, damaged_log(tmp_path), split_target_bytes=split_target_bytes))
    lost = {*range(35, 40), *range(100, 105)}
    assert [row["offset"] for row in in_order(found)] == sorted(set(range(200)) - lost)
    damage = {row[DAMAGE]["byte_position"]: row for row in found if row[DAMAGE] is not None}
    reasons = [damage[at][DAMAGE]["reason"] for at in sorted(damage)]
    assert reasons == ["crc_mismatch", "crc_mismatch", "not_a_batch"]
    first, second, nonsense = (damage[at] for at in sorted(damage))
    assert (first["offset"], second["offset"], nonsense["offset"]) == (35, 100, None)
    assert nonsense[DAMAGE]["raw"] == b"\xfe" * 100
    for row, after, before in ((first, 34, 40), (second, 99, 105), (nonsense, 154, 155)):
        assert row["partition"] == 3
        assert row[DAMAGE]["source_file"] == "__consumer_offsets-3/00000000000000000000.log"
        assert after < row[DAMAGE]["before_offset"] <= before


def test_chosen_columns_and_files(spark: SparkSession) -> None:
    """Columns come in the order that is asked for; files that are known are not read."""
    path = capture("offsets").segments
    segments = open_log_folder(path).segments
    columns = ["value", "partition"]
    found = read_segments(spark, segments[2], columns=columns).frame
    wanted = [row for row in batch_by_batch(path) if row["partition"] == 2]
    assert rows_of(found) == [{"value": row["value"], "partition": 2} for row in wanted]
    source, known = SegmentsSource(f"segments:{path}", str(path)), {}
    known[1] = [segment.mark for segment in segments[1]]
    of_source = source.without(known).records(spark, "blue").select(*columns)
    assert_df_equality(of_source, found, ignore_nullable=True, ignore_row_order=True)
    known[2] = [segment.mark for segment in segments[2]]
    assert rows_of(source.without(known).records(spark, "blue")) == []


def test_executors_read_a_url(spark: SparkSession, tmp_path: Path) -> None:
    """Rows and errors are those of the mounted folder; `local:` is this machine's disk for fsspec."""
    log = tmp_path / "log"
    shutil.copytree(capture("offsets").segments, log)
    mounted = SegmentsSource(f"segments:{log}", str(log))
    remote = SegmentsSource(f"segments:local://{log}", f"local://{log}")

    def frames(source: SegmentsSource) -> list[DataFrame]:
        return [
            source.records(spark, "blue"),
            source.offsets(spark, "blue"),
        ]

    for found, expected in zip(frames(remote), frames(mounted), strict=True):
        assert not found.isEmpty()
        assert_df_equality(found, expected, ignore_nullable=True, ignore_row_order=True)
    frame = remote.offsets(spark, "blue")
    gone = next(log.glob("__consumer_offsets-2/*.log"))
    gone.unlink()
    with pytest.raises(Exception, match="SourceNotReadable") as reading:
        frame.count()
    assert f"local://{gone} cannot be read" in str(explained(reading.value))


def explained(error: Exception) -> SourceNotReadable | None:
    """What a source makes of an error of Spark's."""
    return SegmentsSource("segments:log", "log").explain(error)


def test_errors_of_workers_are_one_sentence(spark: SparkSession, tmp_path: Path) -> None:
    """A file that is gone when its task begins."""
    log = tmp_path / "log"
    shutil.copytree(capture("offsets").segments, log)
    frame = read(spark, log)
    frame.count()
    gone = next(log.glob("__consumer_offsets-2/*.log"))
    gone.unlink()
    with pytest.raises(Exception, match="SourceNotReadable") as reading:
        frame.count()
    assert f"{gone} cannot be read" in str(explained(reading.value))


def test_a_file_that_is_replaced_is_reported_and_one_that_grows_is_not(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The log cleaner puts smaller files in the place of those that tasks were planned for; a broker appends."""
    log = tmp_path / "log"
    shutil.copytree(capture("offsets").segments, log)
    file = next(log.glob("__consumer_offsets-2/*.log"))
    whole = file.read_bytes()
    count = read(spark, log).count()
    planned = read(spark, log)
    with file.open("ab") as growing:
        growing.write(whole[:100])
    assert planned.count() == count
    planned = read(spark, log)
    cleaned = tmp_path / "cleaned"
    cleaned.write_bytes(whole)
    cleaned.rename(file)
    with pytest.raises(Exception, match="SourceNotReadable") as reading:
        planned.count()
    assert f"{file} was replaced while it was being read" in str(explained(reading.value))
