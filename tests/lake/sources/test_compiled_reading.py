"""Rows of segments are the same, whether the compiled walk reads them or the readers that it is held to."""

from pathlib import Path

import pyarrow as pa
import pytest

from rebalance_audit.lake.records.record_columns import OF_SEGMENTS
from rebalance_audit.lake.sources.segments_source import Reading, pack, read_split
from rebalance_audit.wire.segments.folder import open_log_folder
from tests.wire.golden import CAPTURE_NAMES, capture
from tests.wire.segments.hand_made import batch, batches_of, commits, segment

ALWAYS = 1 << 40
"""So large a log is always worth the start."""


def rows(path: Path, target_bytes: int, reading: Reading) -> pa.Table:
    """The records and the damage of a folder."""
    segments = [each for found in open_log_folder(path).segments.values() for each in found]
    batches = [
        one
        for piece in pack(segments, target_bytes)
        for one in read_split(piece, tuple(OF_SEGMENTS), reading)
    ]
    return pa.Table.from_batches(batches)


@pytest.mark.parametrize("name", CAPTURE_NAMES)
def test_real_segments(name: str) -> None:
    """Every column, also where a piece ends between two batches."""
    path = capture(name).segments
    for target_bytes in (1_000, 1 << 30):
        assert rows(path, target_bytes, Reading(ALWAYS)) == rows(path, target_bytes, Reading())


def test_nulls_damage_and_codecs(tmp_path: Path) -> None:
    """Null keys and values, compressed batches, and a stretch that no record comes from."""
    nulls = batch([(40, 5, None, b"v"), (41, 6, b"k", None)], "zstd", producer=(7, 1))
    segment(
        tmp_path / "__consumer_offsets-0",
        [*batches_of(commits(40), [10] * 4, "gzip"), b"\7" * 70, nulls],
    )
    assert rows(tmp_path, 1 << 30, Reading(core_bytes=ALWAYS)) == rows(tmp_path, 1 << 30, Reading())
