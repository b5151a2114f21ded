from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import pytest

from rebalance_audit.wire.segments import columns
from rebalance_audit.wire.segments.bad_bytes import BadBytes, TailNote
from rebalance_audit.wire.segments.columns import ColumnChunk, read_columns
from rebalance_audit.wire.segments.walk import split_points
from tests.support.batches import Batch, read_batches
from tests.wire.golden import CAPTURE_NAMES, capture
from tests.wire.segments.hand_made import (
    CODEC_NUMBERS,
    Rec,
    batch,
    batches_of,
    commits,
    message_set,
    raw_batch,
    segment,
    varint,
)

ROW_FIELDS = (
    "leader_epoch",
    "producer_id",
    "producer_epoch",
    "is_transactional",
    "is_control",
    "timestamp_type",
)


def rows(found: Iterable[ColumnChunk | BadBytes | TailNote]) -> list[tuple[object, ...]]:
    """Records of the chunks with their batch fields, and all other items, in order."""
    flat: list[tuple[object, ...]] = []
    for item in found:
        if isinstance(item, ColumnChunk):
            flat += ((*row, *run[1:]) for run, of_run in item.by_run() for row in of_run)
        else:
            flat.append(item)
    return flat


def rows_by_batch(path: Path) -> list[tuple[object, ...]]:
    """The same from whole batches."""
    flat: list[tuple[object, ...]] = []
    for item in read_batches(path):
        records = item.records() if isinstance(item, Batch) else item
        if isinstance(item, Batch) and isinstance(records, list):
            fields = [getattr(item.header, name) for name in ROW_FIELDS]
            flat += [(*record, *fields) for record in records]
        else:
            flat.append(records)  # type: ignore[arg-type]  # damage or tail
    return flat


def offsets(found: Iterable[ColumnChunk | BadBytes | TailNote]) -> list[int]:
    """Offsets of the records of all chunks."""
    return [
        offset for item in found if isinstance(item, ColumnChunk) for offset in item.log_offsets
    ]


@pytest.mark.parametrize("name", CAPTURE_NAMES)
def test_columns_equal_batches(name: str) -> None:
    """The bulk path gives the same as the batches, on every real segment, in full and in parts."""
    for path in capture(name).segments.glob("*/*.log"):
        expected = rows_by_batch(path)
        assert rows(read_columns(path)) == expected
        assert rows(read_columns(path, chunk_records=1)) == expected
        parts = pairwise(split_points(path, 3000))
        assert [row for part in parts for row in rows(read_columns(path, *part))] == expected


NONSENSE = raw_batch(varint(7) + b"\0\0\0\x02k\x02v\0", 1, base_offset=30)


@pytest.mark.parametrize("codec", CODEC_NUMBERS)
def test_columns_of_damaged_segments(tmp_path: Path, codec: str) -> None:
    """Damage comes between the chunks, in file order, and loses no record of its neighbours."""
    good = batches_of(commits(30), [7, 7, 7, 7], codec)
    later = batches_of(commits(30, 40), [7, 7, 7, 7], codec)
    wrong_crc = later[1][:-1] + bytes((later[1][-1] ^ 1,))
    late_nonsense = raw_batch(NONSENSE[61:] * 2 + b"\x07", 3, base_offset=70)
    outside = batch([MADE[0], MADE[5]], codec, last_offset_delta=1)
    parts = [*good, NONSENSE, later[0], wrong_crc, *later[2:], late_nonsense, outside]
    path = segment(tmp_path, [*parts, b"\0" * 99])
    found = rows(read_columns(path))
    assert found == rows_by_batch(path)
    assert [str(row.reason) for row in found if isinstance(row, BadBytes)] == [
        "bad_records",
        "crc_mismatch",
        "bad_records",
        "bad_records",
    ]
    assert [row[0] for row in found if not isinstance(row, BadBytes | TailNote)] == [
        *range(30),
        *range(40, 47),
        *range(54, 70),
    ]


def test_a_record_that_reaches_into_the_next_batch(tmp_path: Path) -> None:
    """Bytes after a batch do not change what is reported about it."""
    reaching = raw_batch(varint(9) + b"\0\0\0\x02k\x02v\x02\x80", 1)
    path = segment(tmp_path, [reaching, batch(commits(2, 1))])
    found = rows(read_columns(path))
    assert isinstance(found[0], BadBytes)
    assert found == rows_by_batch(path)


def test_runs(tmp_path: Path) -> None:
    """Adjacent batches that agree form one run; each change of a batch field begins another."""
    plain = batches_of(commits(6), [2, 2, 2])
    path = segment(
        tmp_path,
        [
            *plain,
            batch([], base_offset=6, last_offset_delta=1, producer=(5, 0)),
            batch(commits(2, 8)),
            batch(commits(2, 10), producer=(77, 1), transactional=True),
            batch([(12, 9, b"\0\0\0\1", b"\0\0\0\0\0\1")], producer=(77, 1), attributes=0x30),
            batch(commits(2, 13), leader_epoch=4),
            batch(commits(2, 15), leader_epoch=4, attributes=0x08, max_timestamp=1),
            message_set(commits(3, 17), 0),
            message_set(commits(3, 20), 1, "gzip"),
        ],
    )
    (chunk,) = read_columns(path)
    assert isinstance(chunk, ColumnChunk)
    assert [tuple(run) for run in chunk.runs] == [
        (8, 0, -1, -1, False, False, "CreateTime"),
        (2, 0, 77, 1, True, False, "CreateTime"),
        (1, 0, 77, 1, True, True, "CreateTime"),
        (2, 4, -1, -1, False, False, "CreateTime"),
        (2, 4, -1, -1, False, False, "LogAppendTime"),
        (3, None, -1, -1, False, False, "none"),
        (3, None, -1, -1, False, False, "CreateTime"),
    ]
    producers = [run.producer_id for run, rows in chunk.by_run() for _ in rows]
    assert producers == [-1] * 8 + [77] * 3 + [-1] * 10


MADE: list[Rec] = commits(40)


@pytest.mark.parametrize("codec", ["none", "zstd"])
@pytest.mark.parametrize(
    ("from_offset", "end_offset"),
    [(0, None), (0, 40), (13, None), (0, 17), (13, 17), (15, 15), (40, None)],
)
def test_offset_bounds(
    tmp_path: Path, codec: str, from_offset: int, end_offset: int | None
) -> None:
    """Only the offsets asked for are returned, even where a batch extends beyond an end."""
    path = segment(tmp_path, batches_of(MADE, [10, 10, 10], codec))
    expected = range(from_offset, 40 if end_offset is None else end_offset)
    found = read_columns(path, from_offset=from_offset, end_offset=end_offset)
    assert offsets(found) == list(expected)


def test_offset_bounds_of_old_messages(tmp_path: Path) -> None:
    """Old messages and wrappers are bounded by the same rule."""
    parts = [
        message_set(MADE[:10], 0),
        message_set(MADE[10:20], 1, "gzip"),
        message_set(MADE[20:], 1),
    ]
    path = segment(tmp_path, parts)
    assert offsets(read_columns(path, from_offset=5, end_offset=25)) == list(range(5, 25))


def test_chunk_sizes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks are bounded in records and in bytes, so neither large batches nor large files determine memory."""
    path = segment(tmp_path, batches_of(MADE, [5] * 8))
    sizes = [
        len(c.log_offsets)
        for c in read_columns(path, chunk_records=12)
        if isinstance(c, ColumnChunk)
    ]
    assert sizes == [15, 15, 10]
    monkeypatch.setattr(columns, "CHUNK_BYTES", 2 * path.stat().st_size // 8)
    sizes = [len(c.log_offsets) for c in read_columns(path) if isinstance(c, ColumnChunk)]
    assert len(sizes) == 4
    packed = segment(tmp_path, batches_of(MADE, [5] * 8, "zstd"), base_offset=1)
    assert packed.stat().st_size < path.stat().st_size
    sizes = [len(c.log_offsets) for c in read_columns(packed) if isinstance(c, ColumnChunk)]
    assert len(sizes) == 4, "compressed batches count with the size that they have decompressed"


@pytest.mark.parametrize("key", [b"\0\0\0", b"\0\0\0\1"])
def test_marker_that_cannot_be_read(tmp_path: Path, key: bytes) -> None:
    """A malformed marker is damage of its batch, so readers of columns can parse every control record."""
    bad = batch([(1, 0, key, b"\0\0")], attributes=0x30)
    path = segment(tmp_path, [batch(MADE[:1]), bad, batch(MADE[2:4])])
    first, damage, last = read_columns(path)
    assert isinstance(damage, BadBytes)
    assert (damage.reason, damage.base_offset, damage.raw) == ("bad_marker", 1, bad)
    assert offsets([first, last]) == [0, 2, 3]
