"""Holds the compiled walk to the plain reader: the same columns, damage and counts."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from rebalance_audit.segments.columns import Columns
from rebalance_audit.segments.reader import Found, read_segment
from rebalance_audit.wire.segments.bad_bytes import BadBytes, TailNote

NONE: frozenset[int] = frozenset()
COMMITS = frozenset((0, 1))


def assert_same(path: Path, end_offset: int | None = None) -> int:
    """Both ways give the same rows, with commits and without; returns how many rows there are."""
    for without in (COMMITS, NONE):
        walked, plain = (
            listed(
                read_segment(
                    path,
                    end_offset=end_offset,
                    without_record_types=without,
                    compiled=compiled,
                )
            )
            for compiled in (True, False)
        )
        assert walked == plain
    return sum(
        isinstance(row, tuple) and not isinstance(row, BadBytes | TailNote) for row in plain[0]
    )


def listed(found: Iterable[Found]) -> list[Any]:
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


def rows_of(found: Columns) -> Iterator[tuple[Any, ...]]:
    """Records with the fields of their run."""
    chunk = found.all()
    fields = [run[1:] for run in chunk.runs for _ in range(run.record_count)]
    columns = (chunk.log_offsets, chunk.record_timestamps_ms, chunk.keys, chunk.values)
    return zip(*columns, fields, strict=True)
