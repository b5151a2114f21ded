"""End offsets from files of samples and from copies of topic partitions."""

import gzip
import json
import shutil
from pathlib import Path

import pytest

from rebalance_audit.audit.lag.end_offsets import EndOffset
from rebalance_audit.bounds import Bounds
from rebalance_audit.local.audit import audit_segments
from rebalance_audit.local.given_files import read_end_offsets
from rebalance_audit.wire.generated.messages import OffsetCommitKey, OffsetCommitValue
from rebalance_audit.wire.segments.batches import CONTROL, HEADER, LOG_OVERHEAD_BYTES
from rebalance_audit.wire.segments.folder import SourceNotReadable
from tests.support.log_entries import records_of

CAPTURE = Path(__file__).parents[1] / "golden" / "captures" / "consumer-protocol" / "segments"
SAMPLE = {"topic": "orders", "topic_partition": 0, "sampled_at": 1_700_000_000_000, "end_offset": 7}


@pytest.mark.parametrize("packed", [False, True])
def test_a_file_of_samples(packed: bool, tmp_path: Path) -> None:
    """With the columns of bronze.end_offsets; times as ISO 8601 or epoch milliseconds."""
    later = {
        **SAMPLE,
        "sampled_at": "2023-11-14T22:13:25Z",
        "start_offset": 3,
        "end_offset": 9,
        "max_timestamp": None,
    }
    text = "".join(json.dumps(row) + "\n" for row in (later, SAMPLE)).encode()
    path = tmp_path / "samples.jsonl"
    path.write_bytes(gzip.compress(text) if packed else text)
    found = read_end_offsets([path]).of("orders", 0)
    assert found is not None
    assert found.samples == [
        EndOffset(1_700_000_000_000, None, 7),
        EndOffset(1_700_000_005_000, 3, 9),
    ]


def test_samples_of_one_moment_may_differ_in_what_they_know(tmp_path: Path) -> None:
    """Two tools sampled in the same millisecond, and only one of them asked for the start offset."""
    rows = [
        {**SAMPLE, "start_offset": 3, "max_timestamp": 5},
        SAMPLE,
        {**SAMPLE, "start_offset": 3},
    ]
    path = tmp_path / "samples.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = read_end_offsets([path]).of("orders", 0)
    assert found is not None
    assert found.start_at(1_700_000_000_000) == 3
    assert found.end_at(1_700_000_000_000) == Bounds.exactly(7)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{", "no JSON object that ends"),
        ("[]", "it has no topic_partition, sampled_at, end_offset"),
        (json.dumps({**SAMPLE, "end_offset": -1}), "end_offset is -1"),
        (json.dumps({**SAMPLE, "end_offset": "7"}), "end_offset is '7'"),
        (json.dumps({**SAMPLE, "topic": None}), "topic is None"),
        (json.dumps({**SAMPLE, "sampled_at": "soon"}), "sampled_at is 'soon', not a time"),
        ('{"topic": "' + "x" * 100_000 + '"}', "it has no"),
        (json.dumps({**SAMPLE, "sampled_at": -5}), "sampled_at is -5, not a time of 2000 to 2099"),
        (json.dumps({**SAMPLE, "sampled_at": "5000-01-01T00:00Z"}), "not a time of 2000 to 2099"),
        (json.dumps({**SAMPLE, "start_offset": 8}), "start_offset is 8, beyond end_offset 7"),
    ],
)
def test_a_line_that_is_no_sample_is_named(line: str, why: str, tmp_path: Path) -> None:
    """File and line stand in the message."""
    path = tmp_path / "samples.jsonl"
    path.write_text(f"{json.dumps(SAMPLE)}\n\n{line}\n")
    with pytest.raises(SourceNotReadable, match="line 3: not a sample") as caught:
        read_end_offsets([path])
    assert why in str(caught.value)


def test_a_copy_of_a_topic_partition_is_read_by_its_batch_headers(tmp_path: Path) -> None:
    """A broker's segments under a topic's name: each sample is an end that the records reach by that time."""
    (source,) = sorted(CAPTURE.glob("__consumer_offsets-1"))
    shutil.copytree(source, tmp_path / "copies" / "orders-1")
    shutil.copytree(source, tmp_path / "copies" / "__consumer_offsets-1")
    ends = read_end_offsets([tmp_path / "copies"])
    assert len(ends) == 1
    found = ends.of("orders", 1)
    assert found is not None
    records = [position for _, position in records_of(CAPTURE) if position.log_partition == 1]
    last = found.samples[-1]
    assert last.end_offset >= records[-1].log_offset + 1
    for sample in found.samples:
        by_then = [each for each in records if each.log_offset < sample.end_offset]
        assert max(each.record_timestamp_ms for each in by_then) <= sample.sampled_at_ms


@pytest.mark.parametrize(
    ("batches", "end", "markers"),
    [
        ([(0, 3, False), (3, 1, True)], 4, 1),
        ([(0, 3, False), (3, 1, True), (4, 1, True)], 5, 2),
        ([(0, 3, False), (3, 1, True), (4, 2, False)], 6, 0),
    ],
)
def test_markers_at_the_end_are_no_records(
    batches: list[tuple[int, int, bool]], end: int, markers: int, tmp_path: Path
) -> None:
    """The header of a control batch says that it is one."""
    folder = tmp_path / "orders-0"
    folder.mkdir()
    (folder / "00000000000000000000.log").write_bytes(
        b"".join(
            HEADER.pack(
                *(base, HEADER.size - LOG_OVERHEAD_BYTES, 0, 2, 0, CONTROL if is_control else 0),
                *(count - 1, 1_795_252_000_000, 1_795_252_000_000 + base, 7, 0, -1, count),
            )
            for base, count, is_control in batches
        )
    )
    found = read_end_offsets([tmp_path]).of("orders", 0)
    assert found is not None
    assert (found.samples[-1].end_offset, found.samples[-1].markers) == (end, markers)


def test_what_holds_no_samples_is_refused(tmp_path: Path) -> None:
    """The message says what was expected."""
    with pytest.raises(SourceNotReadable, match="holds no end offsets"):
        read_end_offsets([tmp_path])


def test_a_document_that_needs_more_than_a_gigabyte_is_refused(tmp_path: Path) -> None:
    """Each of its texts is three bytes, and an object of 80."""
    path = tmp_path / "samples.json"
    path.write_text('["' + '","'.join("\u4e00" * 6_000_000) + '"]', encoding="utf-8")
    with pytest.raises(SourceNotReadable, match="a document of more than 32 MiB"):
        read_end_offsets([path])


def test_samples_bound_what_a_rebalance_of_a_real_group_delayed(tmp_path: Path) -> None:
    """Without them the cost is an estimate by the rate of commits, with them it has bounds."""
    without = _costs(CAPTURE)
    assert {row["records_delayed_by"] for row in without} == {"commit_rate", None}
    committed: dict[tuple[str, int], int] = {}
    for record, _ in records_of(CAPTURE):
        if isinstance(record.key, OffsetCommitKey) and isinstance(record.value, OffsetCommitValue):
            partition = record.key.topic, record.key.partition
            committed[partition] = max(record.value.offset, committed.get(partition, 0))
    path = tmp_path / "samples.jsonl"
    with path.open("w") as file:
        for (topic, number), end in committed.items():
            for at_ms in (1_000_000_000_000, 4_000_000_000_000):
                row = {"topic": topic, "topic_partition": number, "sampled_at": at_ms}
                file.write(json.dumps({**row, "end_offset": end}) + "\n")
    bounded = [row for row in _costs(CAPTURE, path) if row["records_delayed_by"]]
    assert bounded
    assert {row["records_delayed_by"] for row in bounded} == {"end_offsets"}
    assert all(row["records_delayed_max"] is not None for row in bounded)


def _costs(segments: Path, *end_offsets: Path) -> list[dict[str, object]]:
    return audit_segments(segments, end_offsets=end_offsets).tables["rebalances"]
