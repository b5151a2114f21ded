"""What a task makes of its part of a log, against the same log read batch by batch and record by record."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rebalance_audit.lake.records.commit_packs import DECIDED, pack_columns
from rebalance_audit.lake.records.record_columns import DAMAGE, RECORD
from rebalance_audit.lake.records.record_counts import RecordCounts, counts_in
from rebalance_audit.lake.records.topics import names_in_reports
from rebalance_audit.lake.runs.progress import Progress
from rebalance_audit.lake.silver import log_reading
from rebalance_audit.lake.silver.log_reading import read_log
from rebalance_audit.lake.sources.segments_source import Reading, pack, read_split
from rebalance_audit.lake.storage.stage import TABLE
from rebalance_audit.tables.arrow_types import schema_of_columns
from rebalance_audit.wire.generated.messages import OffsetCommitValue
from rebalance_audit.wire.records import Undecodable, decode_record
from rebalance_audit.wire.segments.folder import open_log_folder
from rebalance_audit.wire.topic_names import ZERO_TOPIC_ID
from tests.support.batches import Batch, BatchHeader, LogRecord, read_batches
from tests.support.data_files import empty_table
from tests.wire.golden import CAPTURE_NAMES, capture
from tests.wire.segments.hand_made import batch, batches_of, commits, segment

COMMIT_KEYS = (b"\0\0", b"\0\1")


def tasks(path: Path, target_bytes: int) -> Iterator[list[pa.RecordBatch]]:
    """The rows of each task."""
    segments = [each for found in open_log_folder(path).segments.values() for each in found]
    for piece in pack(segments, target_bytes):
        yield [*read_split(piece, [*RECORD, DAMAGE], Reading())]


def left(path: Path, folder: Any = None, target_bytes: int = 1 << 30) -> list[dict[str, Any]]:
    """The rows that leave all tasks."""
    return [
        row
        for given in tasks(path, target_bytes)
        for made in read_log(given, folder, {"cluster": "c"}, with_packs=True)
        for row in made.to_pylist()
    ]


def of_part(rows: list[dict[str, Any]], part: str) -> list[dict[str, Any]]:
    """Those of one part."""
    return [row for row in rows if row[TABLE] == part]


def reports(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the tasks have counted."""
    found = of_part(rows, log_reading.REPORTS)
    return [orjson.loads(row["summary"]) for row in found if row["path"] is None]


def counts(rows: list[dict[str, Any]]) -> RecordCounts:
    """Of all tasks."""
    return counts_in(row for report in reports(rows) for row in report["counts"])


def records(path: Path) -> list[tuple[int, BatchHeader, LogRecord]]:
    """Log partition, batch and record of a healthy log, in order."""
    found = []
    for partition, files in sorted(open_log_folder(path).partitions.items()):
        for each in (each for file in files for each in read_batches(file)):
            assert isinstance(each, Batch)
            inside = each.records()
            assert isinstance(inside, list)
            found += [(partition, each.header, record) for record in inside]
    return found


def is_commit(header: BatchHeader, record: LogRecord) -> bool:
    """By the first two bytes of the key."""
    return not header.is_control and (record.key or b"")[:2] in COMMIT_KEYS


@pytest.mark.parametrize("name", CAPTURE_NAMES)
@pytest.mark.parametrize("target_bytes", [10_000, 1 << 30])
def test_tasks_count_what_the_log_has(name: str, target_bytes: int) -> None:
    """By partition, however many tasks read it."""
    path = capture(name).segments
    found = counts(left(path, target_bytes=target_bytes))
    expected: dict[int, dict[str, list[int]]] = {}
    for partition, header, record in records(path):
        part = expected.setdefault(partition, {"kinds": [0, 0, 0, 0], "offsets": [], "times": []})
        flags = (True, is_commit(header, record), header.is_control, header.is_transactional)
        part["kinds"] = [known + flag for known, flag in zip(part["kinds"], flags, strict=True)]
        part["offsets"].append(record.log_offset)
        part["times"].append(record.record_timestamp_ms)
    assert {
        number: (
            [part.records, part.commits, part.controls, part.transactional],
            (part.first_offset, part.next_offset, part.first_ms, part.last_ms),
        )
        for number, part in found.partitions.items()
    } == {
        number: (
            part["kinds"],
            (
                min(part["offsets"]),
                max(part["offsets"]) + 1,
                min(part["times"]),
                max(part["times"]),
            ),
        )
        for number, part in expected.items()
    }
    assert found.damaged_stretches == 0


@pytest.mark.parametrize("name", CAPTURE_NAMES)
def test_each_record_leaves_once(name: str, tmp_path: Path) -> None:
    """As a row of the file, as a commit of a pack, or as it is."""
    path = capture(name).segments
    folder = empty_table(tmp_path)
    rows = left(path, folder)
    plain, packs, others = set(), set(), set()
    for partition, header, record in records(path):
        at = (partition, record.log_offset)
        if not is_commit(header, record):
            others.add(at)
            continue
        packs.add(at)
        if not header.is_transactional:
            assert not isinstance(decode_record(record.key, record.value), Undecodable)
            plain.add(at)
    assert {at_of(row) for row in of_part(rows, log_reading.OTHERS)} == others
    in_packs = [
        (row["partition"], offset)
        for row in of_part(rows, log_reading.PACKS)
        for offset in pack_columns(row["value"])[0].tolist()
    ]
    assert len(in_packs) == len(packs)
    assert set(in_packs) == packs
    assert all(row["kind"] != DECIDED for row in of_part(rows, log_reading.PACKS))
    written = [
        at_of(row)
        for file in of_part(rows, log_reading.REPORTS)
        if file["path"] is not None
        for row in pq.read_table(Path(folder.root, file["path"])).to_pylist()
    ]
    assert len(written) == len(plain)
    assert set(written) == plain
    assert sum(report["given"] for report in reports(rows)) == len(packs)


def at_of(row: dict[str, Any]) -> tuple[int, int]:
    """The place in the log."""
    return row["partition"], row["offset"]


@pytest.mark.parametrize("name", CAPTURE_NAMES)
def test_the_first_commit_with_an_id_names_its_topic(name: str) -> None:
    """In order of the log, whichever task reads it."""
    path = capture(name).segments
    expected: dict[bytes, str] = {}
    for _, header, record in records(path):
        if is_commit(header, record):
            found = decode_record(record.key, record.value)
            assert not isinstance(found, Undecodable)
            value = found.value
            if isinstance(value, OffsetCommitValue) and value.topic_id != ZERO_TOPIC_ID:
                expected.setdefault(value.topic_id, found.key.topic)  # type: ignore[union-attr]
    rows = [row for report in reports(left(path, None, 10_000)) for row in report["topics"]]
    assert {each.topic_id: each.name for each in names_in_reports(rows)} == expected


def test_damage_and_records_that_cannot_be_decoded(tmp_path: Path) -> None:
    """Damage is counted and stays as it is; a commit whose bytes end too soon is a row of quarantine with its bytes."""
    short = batch([(50, 5, b"\0\1\0\1g\0\1t\0\0\0\0", b"\0")])
    log = [*batches_of(commits(40), [20, 20]), b"\7" * 70, short]
    segment(tmp_path / "log" / "__consumer_offsets-0", log)
    rows = left(tmp_path / "log", empty_table(tmp_path / "lake"))
    found = counts(rows)
    assert (found.records, found.commits, found.damaged_stretches) == (41, 41, 1)
    (damage,) = of_part(rows, log_reading.OTHERS)
    assert damage[DAMAGE]["reason"] == "not_a_batch"
    (quarantined,) = of_part(rows, log_reading.ODD)
    assert (quarantined["offset"], quarantined["value"]) == (50, b"\0")
    assert quarantined["reason"]


def test_a_partition_of_damage_alone_has_no_offsets(tmp_path: Path) -> None:
    """Nothing is known of its end; the other partition counts as it would alone."""
    segment(tmp_path / "__consumer_offsets-0", batches_of(commits(40), [40]))
    segment(tmp_path / "__consumer_offsets-1", [b"\7" * 70])
    found = counts(left(tmp_path))
    assert found.damaged_stretches == 1
    assert {number: part.next_offset for number, part in found.partitions.items()} == {0: 40}
    assert Progress(0).after(found).whole == {0}


def test_a_log_of_nothing_has_a_report() -> None:
    """The driver gets the counts of each task."""
    (report,) = read_log([], None, {}, with_packs=True)
    assert report.schema == schema_of_columns(log_reading.LEFT)
    assert counts_in(orjson.loads(report["summary"][0].as_py())["counts"]) == RecordCounts({})
