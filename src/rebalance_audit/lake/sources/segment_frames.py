"""Segment files as rows of a data frame.

Files are cut at batch boundaries, so that one large segment keeps every core busy, and small ones share a task. Each
record is a row with the columns of bronze.records; damaged stretches are rows too, with `damage` set, so that nothing
is lost. The driver itself finds the pieces: a Python data source of Spark's would start two processes for each query to
ask for them.
"""

import gc
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from itertools import pairwise
from typing import Final, NamedTuple

import pyarrow as pa
from pyspark.sql import SparkSession

from rebalance_audit.lake.records.record_columns import SegmentRows, ddl
from rebalance_audit.lake.session.pieces import TASKS_PER_CORE, Pieces, parallelism
from rebalance_audit.lake.sources.remote_log import RemoteLog
from rebalance_audit.segments.available import should_use_compiled_walk
from rebalance_audit.segments.reader import Found, read_segment
from rebalance_audit.wire.segments.bad_bytes import BadBytes, TailNote
from rebalance_audit.wire.segments.folder import Segment, SourceNotReadable, not_readable
from rebalance_audit.wire.segments.walk import split_points

DEFAULT_SPLIT_BYTES: Final = 32 << 20


class Reading(NamedTuple):
    """How to read a piece."""

    without_record_types: frozenset[int] = frozenset()
    core_bytes: int = 0
    """Of all segments, how much one core will read, about: the more, the longer a start may take."""
    remote: RemoteLog | None = None
    """Where the segments are, unless they are mounted."""


class Slice(NamedTuple):
    """A stretch of one segment file, between two of its batches."""

    segment: Segment
    start_byte: int
    end_byte: int
    file_number: int | None
    """The file's inode number: another file of the same name has another one. None where it is not mounted."""


def read_segments(
    spark: SparkSession,
    segments: Sequence[Segment],
    *,
    columns: Sequence[str],
    split_target_bytes: int = DEFAULT_SPLIT_BYTES,
    cores: int | None = None,
    without_record_types: Collection[int] = (),
    remote: RemoteLog | None = None,
) -> Pieces[tuple[Slice, ...]]:
    """The rows of segments as they are now; every worker must see them under the same paths, or they are `remote`.

    `columns` are names of OF_SEGMENTS: only with `damage` are there rows of damage, and only with `passed_over` rows
    that count the records of types that are left out. A piece has about `split_target_bytes`; `cores` is the number of
    them to keep busy, None for all. Raises SourceNotReadable; a file that fails later does so when it is read.
    """
    busy = cores or parallelism(spark)
    total = sum(segment.size_bytes for segment in segments)
    # More pieces cost more starts, and cutting reads a file's headers.
    target_bytes = max(split_target_bytes, total // (TASKS_PER_CORE * busy))
    pieces = pack(segments, target_bytes, are_mounted=remote is None)
    reading = Reading(frozenset(without_record_types), total // busy, remote)
    return Pieces(
        spark, pieces, partial(read_piece, columns=columns, reading=reading), ddl(columns)
    )


def pack(
    segments: Sequence[Segment], target_bytes: int, *, are_mounted: bool = True
) -> list[tuple[Slice, ...]]:
    """Cut large files and gather small ones, in log order, into pieces of about `target_bytes`.

    Files that are not mounted stay whole: where to cut them is in headers all over the file. Raises SourceNotReadable.
    """
    packed: list[tuple[Slice, ...]] = []
    piece: list[Slice] = []
    filled = 0
    for found, size_bytes in _slices(segments, target_bytes, are_mounted=are_mounted):
        if piece and filled + size_bytes > target_bytes:
            packed.append(tuple(piece))
            piece, filled = [], 0
        piece.append(found)
        filled += size_bytes
    if piece:
        packed.append(tuple(piece))
    return packed


def _slices(
    segments: Sequence[Segment], target_bytes: int, *, are_mounted: bool
) -> Iterator[tuple[Slice, int]]:
    for segment in segments:
        if not are_mounted:
            yield Slice(segment, 0, segment.size_bytes, None), segment.size_bytes
            continue
        try:
            number = segment.path.stat().st_ino
            points = [0, segment.size_bytes]
            if segment.size_bytes > target_bytes:
                points = split_points(segment.path, target_bytes)
        except OSError as error:
            raise not_readable(segment.path, error) from error
        for start, end in pairwise(points):
            yield Slice(segment, start, end, number), end - start


def read_piece(
    slices: Sequence[Slice], columns: Sequence[str], reading: Reading
) -> Iterator[pa.RecordBatch]:
    """The rows of a piece. Raises SourceNotReadable."""
    rows = SegmentRows(columns)
    # Millions of records are made and dropped; searching them for cycles takes three times as long as reading.
    collecting = gc.isenabled()
    gc.disable()
    try:
        for piece in slices:
            with _on_this_machine(piece.segment, reading.remote) as segment:
                here = piece._replace(segment=segment)
                found = _read_slice(here, reading)
                if reading.remote is not None:
                    found = reading.remote.as_read(found, piece.segment, segment)
                yield from rows.batches(segment, found, partial(_offset_before, here))
    finally:
        if collecting:
            gc.enable()


def _on_this_machine(segment: Segment, remote: RemoteLog | None) -> AbstractContextManager[Segment]:
    return nullcontext(segment) if remote is None else remote.copy_of(segment)


def _offset_before(piece: Slice) -> int:
    """Offset after the last record before a piece, found by reading the file up to there."""
    offset = piece.segment.base_offset
    for found in _read_slice(piece._replace(start_byte=0, end_byte=piece.start_byte), Reading()):
        if not isinstance(found, BadBytes | TailNote) and len(found.log_offsets):
            offset = int(found.log_offsets[-1]) + 1
    return offset


def _read_slice(piece: Slice, reading: Reading) -> Iterator[Found]:
    segment = piece.segment
    try:
        yield from read_segment(
            segment.path,
            piece.start_byte,
            piece.end_byte,
            end_offset=segment.end_offset,
            without_record_types=reading.without_record_types,
            compiled=should_use_compiled_walk(reading.core_bytes),
        )
        _require_same_file(piece)
    except OSError as error:
        raise not_readable(segment.path, error) from error


def _require_same_file(piece: Slice) -> None:
    """Raises SourceNotReadable if the log cleaner has replaced the file that was cut.

    A file that has only grown is the same: the next run reads what was added.
    """
    if piece.file_number is None:
        return  # it is a copy
    path = piece.segment.path
    found = path.stat()
    if found.st_ino != piece.file_number or found.st_size < piece.end_byte:
        raise SourceNotReadable(
            f"{path} was replaced while it was being read, as Kafka's log cleaner does: run it again, or read a copy."
        )
