"""Holds the columns that the compiled walk makes to those of `wire.segments`."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from rebalance_audit.scan.column_buffers import Blobs, ColumnBuffers, WalkedColumns
from rebalance_audit.scan.segment_scan import scan
from rebalance_audit.wire.segments.bad_bytes import BadBytes, TailNote
from rebalance_audit.wire.segments.columns import ColumnChunk, read_columns

NONE: frozenset[int] = frozenset()
COMMITS = frozenset((0, 1))


def assert_same_columns(path: Path, end_offset: int | None = None) -> None:
    """The same rows, damage and counts, with commits and without."""
    for without in (NONE, COMMITS):
        walked = scan(
            ColumnBuffers(without), path, end_offset=end_offset, without_record_types=without
        )
        plain = read_columns(path, end_offset=end_offset, without_record_types=without)
        assert told(walked) == told(plain)


def told(found: Iterable[WalkedColumns | ColumnChunk | BadBytes | TailNote]) -> list[Any]:
    """Rows and damage in order, and what was left out in all."""
    order: list[Any] = []
    excluded, last_ms, last_offset = 0, -1, -1
    for each in found:
        if isinstance(each, BadBytes | TailNote):
            order.append(each)
            continue
        order += rows_of(each)
        excluded += each.excluded_count
        if each.excluded_last_ms is not None:
            last_ms = max(last_ms, each.excluded_last_ms)
        if each.excluded_last_offset is not None:
            last_offset = each.excluded_last_offset
    return [order, excluded, last_ms, last_offset]


def rows_of(chunk: WalkedColumns | ColumnChunk) -> Iterator[tuple[Any, ...]]:
    """Records with the fields of their run."""
    fields = [run[1:] for run in chunk.runs for _ in range(run.record_count)]
    if isinstance(chunk, ColumnChunk):
        columns = (chunk.log_offsets, chunk.record_timestamps_ms, chunk.keys, chunk.values)
    else:
        columns = (
            chunk.log_offsets.tolist(),
            chunk.record_timestamps_ms.tolist(),
            strings(chunk.keys),
            strings(chunk.values),
        )
    return zip(*columns, fields, strict=True)


def strings(blobs: Blobs) -> list[bytes | None]:
    """The byte strings."""
    data, ends = blobs.data.tobytes(), blobs.ends.tolist()
    return [
        data[begin:end] if there else None
        for begin, end, there in zip(ends, ends[1:], blobs.there.tolist(), strict=False)
    ]
