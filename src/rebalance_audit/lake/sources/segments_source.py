"""Segment files as a source: `segments:DIR`, or `segments:URL` for storage that is not mounted.

Files are cut at batch boundaries, so that one large segment keeps every core busy, and small ones share a task. Each
record is a row with the columns of bronze.records; damaged stretches are rows too, with `damage` set, so that nothing
is lost. The driver itself finds the splits: a Python data source of Spark's would start two processes for each query to
ask for them.
"""

import gc
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from rebalance_audit.lake.records.record_columns import (
    DAMAGE,
    OF_SEGMENTS,
    RECORD,
    SegmentRows,
)
from rebalance_audit.lake.session.splits import TASKS_PER_CORE, Splits, parallelism
from rebalance_audit.lake.sources.remote_log import RemoteLog
from rebalance_audit.lake.sources.source import Source
from rebalance_audit.location import local_path
from rebalance_audit.segments.available import should_use_compiled_walk
from rebalance_audit.segments.reader import Found, read_segment
from rebalance_audit.tables.arrow_types import ddl_of_columns
from rebalance_audit.wire.metadata_log import read_topic_names
from rebalance_audit.wire.segments.bad_bytes import BadBytes, TailNote
from rebalance_audit.wire.segments.folder import (
    FileMark,
    LogFolder,
    Segment,
    SourceNotReadable,
    not_readable,
    open_log_folder,
)
from rebalance_audit.wire.segments.walk import split_points
from rebalance_audit.wire.topic_names import TopicNames

DEFAULT_SPLIT_BYTES: Final = 32 << 20


class Reading(NamedTuple):
    """How to read a split."""

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
    remote: RemoteLog | None = None,
) -> Splits[tuple[Slice, ...]]:
    """The rows of segments as they are now; every worker must see them under the same paths, or they are `remote`.

    `columns` are names of OF_SEGMENTS: only with `damage` are there rows of damage. A split has about
    `split_target_bytes`; `cores` is the number of them to keep busy, None for all. Raises SourceNotReadable; a file
    that fails later does so when it is read.
    """
    busy = cores or parallelism(spark)
    total = sum(segment.size_bytes for segment in segments)
    # More splits cost more starts, and cutting reads a file's headers.
    target_bytes = max(split_target_bytes, total // (TASKS_PER_CORE * busy))
    splits = pack(segments, target_bytes, are_mounted=remote is None)
    reading = Reading(total // busy, remote)
    made = ddl_of_columns({name: OF_SEGMENTS[name] for name in columns})
    return Splits(spark, splits, partial(read_split, columns=columns, reading=reading), made)


def pack(
    segments: Sequence[Segment], target_bytes: int, *, are_mounted: bool = True
) -> list[tuple[Slice, ...]]:
    """Cut large files and gather small ones, in log order, into splits of about `target_bytes`.

    Files that are not mounted stay whole: where to cut them is in headers all over the file. Raises SourceNotReadable.
    """
    packed: list[tuple[Slice, ...]] = []
    split: list[Slice] = []
    filled = 0
    for found, size_bytes in _slices(segments, target_bytes, are_mounted=are_mounted):
        if split and filled + size_bytes > target_bytes:
            packed.append(tuple(split))
            split, filled = [], 0
        split.append(found)
        filled += size_bytes
    if split:
        packed.append(tuple(split))
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


def read_split(
    slices: Sequence[Slice], columns: Sequence[str], reading: Reading
) -> Iterator[pa.RecordBatch]:
    """The rows of a split. Raises SourceNotReadable."""
    rows = SegmentRows(columns)
    # Millions of records are made and dropped; searching them for cycles takes three times as long as reading.
    collecting = gc.isenabled()
    gc.disable()
    try:
        for part in slices:
            remote = reading.remote
            mounted = nullcontext(part.segment)
            with mounted if remote is None else remote.copy_of(part.segment) as segment:
                here = part._replace(segment=segment)
                found = _read_slice(here, reading)
                if remote is not None:
                    found = remote.as_read(found, part.segment, segment)
                yield from rows.batches(segment, found, partial(_offset_before, here))
    finally:
        if collecting:
            gc.enable()


def _offset_before(part: Slice) -> int:
    """Offset after the last record before a part, found by reading the file up to there."""
    offset = part.segment.base_offset
    for found in _read_slice(part._replace(start_byte=0, end_byte=part.start_byte), Reading()):
        if not isinstance(found, BadBytes | TailNote):
            offset = int(found.log_offsets[-1]) + 1
    return offset


def _read_slice(part: Slice, reading: Reading) -> Iterator[Found]:
    segment = part.segment
    try:
        yield from read_segment(
            segment.path,
            part.start_byte,
            part.end_byte,
            end_offset=segment.end_offset,
            compiled=should_use_compiled_walk(reading.core_bytes),
        )
        _require_same_file(part)
    except OSError as error:
        raise not_readable(segment.path, error) from error


def _require_same_file(part: Slice) -> None:
    """Raises SourceNotReadable if the log cleaner has replaced the file that was cut.

    A file that has only grown is the same: the next run reads what was added.
    """
    if part.file_number is None:
        return  # it is a copy
    path = part.segment.path
    found = path.stat()
    if found.st_ino != part.file_number or found.st_size < part.end_byte:
        raise SourceNotReadable(
            f"{path} was replaced while it was being read, as Kafka's log cleaner does: run it again, or read a copy."
        )


KnownFiles: TypeAlias = Mapping[int, Collection[FileMark]]
"""Log partition -> segment files that need not be read."""


class SegmentsSource(Source):
    """A folder of segment files; every worker must see it at the same path, or read its URL with fsspec."""

    shows_markers = True

    def __init__(
        self,
        spec: str,
        location: str,
        split_target_bytes: int = DEFAULT_SPLIT_BYTES,
        storage_options: Mapping[str, str] | None = None,
    ) -> None:
        """Large mounted files are cut into splits of about `split_target_bytes`; options are those of fsspec."""
        path = local_path(location)
        is_remote = path is None and "://" in location
        super().__init__(spec, location if is_remote else str((path or Path(location)).absolute()))
        self._split_target_bytes = split_target_bytes
        self._storage_options = storage_options or {}
        self._remote = RemoteLog(location, self._storage_options) if is_remote else None
        self._known: KnownFiles = {}
        self._folder: LogFolder | None = None
        """As it was when an ingest began; None for as it is."""

    def without(self, known: KnownFiles) -> "SegmentsSource":
        """The folder as it is now, without the files that are known. Raises SourceNotReadable."""
        other = SegmentsSource(
            self.spec, self.location, self._split_target_bytes, self._storage_options
        )
        other._known, other._folder = known, self._open()
        return other

    def files(self) -> dict[int, frozenset[FileMark]]:
        """Log partition -> its segment files, including those that are known. Raises SourceNotReadable."""
        return {
            number: frozenset(segment.mark for segment in segments)
            for number, segments in self._open().segments.items()
        }

    def check(self) -> None:
        """Open the folder."""
        self._open()

    def records(
        self,
        spark: SparkSession,
        cluster: str,
    ) -> DataFrame:
        """The records, with the column DAMAGE as well."""
        return self.log(spark, cluster).frame

    def log(
        self,
        spark: SparkSession,
        cluster: str,  # noqa: ARG002 - a folder has one cluster's log
    ) -> Splits[Any]:
        """Read and stored by the same tasks."""
        return self._rows(spark, [*RECORD, DAMAGE])

    def offsets(
        self,
        spark: SparkSession,
        cluster: str,  # noqa: ARG002 - a folder has one cluster's log
    ) -> DataFrame:
        """Without the bytes of the records."""
        return self._rows(spark, ["partition", "offset"]).frame

    def _rows(self, spark: SparkSession, columns: Sequence[str]) -> Splits[Any]:
        return read_segments(
            spark,
            self._unread(),
            columns=columns,
            split_target_bytes=self._split_target_bytes,
            remote=self._remote,
        )

    def first_offsets(self) -> dict[int, int]:
        """Partition -> lowest offset in the names of files that are not known."""
        begins: dict[int, int] = {}
        for segment in self._unread():
            number, begin = segment.log_partition, segment.base_offset
            begins[number] = min(begin, begins.get(number, begin))
        return begins

    def _unread(self) -> list[Segment]:
        return [
            segment
            for number, segments in (self._folder or self._open()).segments.items()
            for segment in segments
            if segment.mark not in self._known.get(number, ())
        ]

    def topic_names(self, cluster: str = "") -> TopicNames:  # noqa: ARG002 - it has one
        """Names in the `__cluster_metadata` log beside the segments, if there is one."""
        if self._remote is not None:
            return self._remote.topic_names()
        return read_topic_names(self._open())

    def _open(self) -> LogFolder:
        return open_log_folder(self.location) if self._remote is None else self._remote.open()
