"""Holds the compiled walk to the plain reader: the same columns and damage."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from rebalance_audit.segments.columns import Columns
from rebalance_audit.segments.reader import Found, read_segment
from rebalance_audit.wire.segments.bad_bytes import BadBytes, TailNote


def assert_same(path: Path, end_offset: int | None = None) -> int:
    """Both ways give the same rows and damage; returns how many rows there are."""
    walked, plain = (
        listed(read_segment(path, end_offset=end_offset, compiled=compiled))
        for compiled in (True, False)
    )
    assert walked == plain
    return sum(not isinstance(row, BadBytes | TailNote) for row in plain)


def listed(found: Iterable[Found]) -> list[Any]:
    """Rows and damage in order."""
    order: list[Any] = []
    for each in found:
        order += [each] if isinstance(each, BadBytes | TailNote) else rows_of(each)
    return order


def rows_of(found: Columns) -> Iterator[tuple[Any, ...]]:
    """Records with the fields of their run."""
    chunk = found.all()
    fields = [run[1:] for run in chunk.runs for _ in range(run.record_count)]
    columns = (chunk.log_offsets, chunk.record_timestamps_ms, chunk.keys, chunk.values)
    return zip(*columns, fields, strict=True)
