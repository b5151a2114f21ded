import base64
import re

import pytest

from rebalance_audit.wire.segments.folder import open_log_folder
from tests.support.batches import Batch, read_batches
from tests.support.log_entries import PositionedMarker, PositionedRecord, log_entries
from tests.wire.golden import BATCH_LINE, CAPTURE_NAMES, RECORD_LINE, capture


def size_of(data: bytes | None) -> int:
    """Size as the dump prints it."""
    return -1 if data is None else len(data)


@pytest.mark.parametrize("name", CAPTURE_NAMES)
def test_batches_equal_kafkas_dump(name: str) -> None:
    """Every batch header has the numbers that Kafka's own tool prints, at the same positions of the same files."""
    folder = open_log_folder(capture(name).segments)
    checked = 0
    for partition, paths in folder.partitions.items():
        lines = [line for line in capture(name).dump(partition) if line.startswith("baseOffset")]
        found = [batch for path in paths for batch in read_batches(path)]
        assert len(found) == len(lines)
        for batch, line in zip(found, lines, strict=True):
            assert isinstance(batch, Batch), batch
            match = BATCH_LINE.match(line)
            assert match is not None, line
            expected = match.groupdict()
            horizon = re.sub(r"\D", "", expected.pop("delete_horizon_ms"))
            header = batch.header._asdict()
            del header["base_timestamp_ms"]
            assert str(header.pop("delete_horizon_ms") or "") == horizon
            assert {field: str(value) for field, value in header.items()} == {
                field: value.title() if value in ("true", "false") else value
                for field, value in expected.items()
            }
            checked += 1
    assert checked == capture(name).meta()["records_by_key_type"]["total"]["batches"]


@pytest.mark.parametrize("name", CAPTURE_NAMES)
def test_records_equal_kafkas_dump(name: str) -> None:
    """Every record has the offset, time and sizes that Kafka's own tool prints, and none is missing or duplicated."""
    folder = open_log_folder(capture(name).segments)
    counts = capture(name).meta()["records_by_key_type"]
    assert {f"__consumer_offsets-{partition}" for partition in folder.partitions} == set(counts) - {
        "total"
    }
    for partition in folder.partitions:
        expected = [
            {field: int(value) for field, value in match.groupdict().items()}
            for line in capture(name).dump(partition)
            if (match := RECORD_LINE.match(line))
        ]
        entries = list(log_entries(folder, partition))
        records = [entry for entry in entries if isinstance(entry, PositionedRecord)]
        markers = [entry for entry in entries if isinstance(entry, PositionedMarker)]
        assert len(records) + len(markers) == len(entries), "no damage and no tail"
        marker_offsets = {marker.log_offset for marker in markers}
        assert [
            {
                "log_offset": record.log_offset,
                "record_timestamp_ms": record.record_timestamp_ms,
                "key_size": size_of(record.key),
                "value_size": size_of(record.value),
            }
            for record in records
        ] == [line for line in expected if line["log_offset"] not in marker_offsets]
        by_type = counts[f"__consumer_offsets-{partition}"]
        assert len(records) == sum(n for kind, n in by_type.items() if kind.isdigit())
        assert len(markers) == by_type.get("control", 0)
        assert sum(record.value is None for record in records) == by_type.get("tombstones", 0)


def test_transaction_markers_equal_kafkas_dump() -> None:
    """Commits and aborts of real transactions come with their producer and the coordinator's epoch."""
    folder = open_log_folder(capture("offsets").segments)
    expected = [
        (int(match[1]), match[2] == "COMMIT", int(match[3]))
        for partition in folder.partitions
        for line in capture("offsets").dump(partition)
        if (
            match := re.match(
                r"\| offset: (\d+) .*endTxnMarker: (\w+) coordinatorEpoch: (\d+)", line
            )
        )
    ]
    markers = [entry for entry in log_entries(folder) if isinstance(entry, PositionedMarker)]
    assert [(m.log_offset, m.committed, m.coordinator_epoch) for m in markers] == expected
    assert len(expected) == 11
    assert {marker.committed for marker in markers} == {True, False}
    assert all(marker.producer_id >= 0 for marker in markers)


def test_compacted_records_equal_the_stream_before_compaction() -> None:
    """What the cleaner left equals what was written: same offset, time, key and value."""
    streamed = {
        (row["partition"], row["offset"]): (
            row["timestamp"],
            None if row["key"] is None else base64.b64decode(row["key"]),
            None if row["value"] is None else base64.b64decode(row["value"]),
        )
        for row in capture("compacted").stream()
    }
    records = [
        entry
        for entry in log_entries(open_log_folder(capture("compacted").segments))
        if isinstance(entry, PositionedRecord)
    ]
    assert len(records) == 389
    for record in records:
        assert streamed[record.log_partition, record.log_offset] == (
            record.record_timestamp_ms,
            record.key,
            record.value,
        )
