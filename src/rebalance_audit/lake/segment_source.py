"""Segment files as a Spark data source: `spark.read.format("segments").load(DIR)`.

Files are cut at batch boundaries, so that one large segment keeps every core busy, and small ones share
a task. Each record is a row with the columns of bronze.records; damaged stretches are rows too, with
`damage` set, so that nothing is lost. Runs in Python workers: pyarrow and numpy are imported where they
work, not where the class is only registered.
"""

import gc
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from rebalance_audit.lake.record_columns import DAMAGE, RECORD, ddl
from rebalance_audit.wire.bad_bytes import BadBytes, TailNote
from rebalance_audit.wire.columns import ColumnChunk, read_columns
from rebalance_audit.wire.log_folder import (
    FileMark,
    Segment,
    SourceNotReadable,
    not_readable,
    open_log_folder,
)
from rebalance_audit.wire.segments import split_points

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT: Final = "segments"
DEFAULT_SPLIT_BYTES: Final = 32 << 20
TASKS_PER_CORE: Final = 4
"""Pieces grow above the target until this many per core are left: cutting a file means walking its headers."""

KnownFiles: TypeAlias = Mapping[int, Collection[FileMark]]
"""Log partition -> segment files that need not be read."""


class Slice(NamedTuple):
    """A stretch of one segment file, between two of its batches."""

    segment: Segment
    start_byte: int
    end_byte: int
    file_number: int
    """The file system's own number of the file: another file of the same name has another one."""


class SlicesPartition(InputPartition):
    """What one task reads."""

    def __init__(self, slices: tuple[Slice, ...]) -> None:
        """Slices in log order, of one or several files."""
        super().__init__(slices)
        self.slices = slices


class SegmentsDataSource(DataSource):
    """The data source `segments`.

    Options: `path` is what `open_log_folder` takes; `split_target_bytes` the size of a piece; `parallelism` the cores
    to keep busy; `log_partitions` and `without_record_types` comma-separated numbers, to read only some partitions and
    to leave out records of some types, which are then counted in rows of `passed_over`; `known_files` what
    `known_files_option` makes of files to leave out. A schema given to the reader
    chooses among the columns; rows of damage come only where `damage` is chosen, counts only where `passed_over` is.
    """

    @classmethod
    def name(cls) -> str:
        """Name of the format."""
        return FORMAT

    def schema(self) -> str:
        """Every record with its bytes, and damaged stretches."""
        return ddl([*RECORD, DAMAGE])

    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader of the chosen columns."""
        return SegmentsReader(self.options, schema.fieldNames())


class SegmentsReader(DataSourceReader):
    """Plans on the driver, reads in the workers; it is pickled in between."""

    def __init__(self, options: Mapping[str, str], columns: Sequence[str]) -> None:
        """Takes the options as the data source got them."""
        self._path = options["path"]
        self._split_target_bytes = int(options.get("split_target_bytes", DEFAULT_SPLIT_BYTES))
        self._parallelism = int(options.get("parallelism", 1))
        self._log_partitions = _numbers(options.get("log_partitions", ""))
        self._without_record_types = _numbers(options.get("without_record_types", ""))
        self._known_files = _known_files(options.get("known_files", "{}"))
        self._columns = tuple(columns)

    def partitions(self) -> Sequence[InputPartition]:
        """Pieces of about equal size. Raises SourceNotReadable."""
        folder = open_log_folder(self._path)
        wanted = [
            segment
            for partition, segments in folder.segments.items()
            if not self._log_partitions or partition in self._log_partitions
            for segment in segments
            if segment.mark not in self._known_files.get(partition, ())
        ]
        total = sum(segment.size_bytes for segment in wanted)
        target = max(self._split_target_bytes, total // (TASKS_PER_CORE * self._parallelism))
        return [SlicesPartition(slices) for slices in pack(wanted, target)]

    def read(self, partition: InputPartition) -> Iterator["pa.RecordBatch"]:
        """The rows of one piece as Arrow batches. Raises SourceNotReadable for a file that cannot be read."""
        from rebalance_audit.lake.segment_rows import SegmentRows  # noqa: PLC0415 - Arrow, see module

        assert isinstance(partition, SlicesPartition)
        rows = SegmentRows(self._columns)
        # Millions of records are made and dropped; looking for cycles among them takes three times as long as reading.
        collecting = gc.isenabled()
        gc.disable()
        try:
            for piece in partition.slices:
                found = self._read_slice(piece, self._without_record_types)
                yield from rows.batches(piece.segment, found, partial(self._offset_before, piece))
        finally:
            if collecting:
                gc.enable()

    def _offset_before(self, piece: Slice) -> int:
        """Offset after the last record in front of a piece, by reading all that is in front of it."""
        offset = piece.segment.base_offset
        for found in self._read_slice(piece._replace(start_byte=0, end_byte=piece.start_byte)):
            if isinstance(found, ColumnChunk) and found.log_offsets:
                offset = found.log_offsets[-1] + 1
        return offset

    def _read_slice(
        self, piece: Slice, without_record_types: frozenset[int] = frozenset()
    ) -> Iterator[ColumnChunk | BadBytes | TailNote]:
        segment = piece.segment
        try:
            yield from read_columns(
                segment.path,
                piece.start_byte,
                piece.end_byte,
                end_offset=segment.end_offset,
                without_record_types=without_record_types,
            )
            _require_same_file(piece)
        except OSError as error:
            raise not_readable(segment.path, error) from error


def known_files_option(known: KnownFiles) -> str:
    """Files as the option `known_files` has them."""
    return json.dumps({partition: sorted(marks) for partition, marks in known.items()})


def _known_files(option: str) -> KnownFiles:
    return {
        int(partition): frozenset(FileMark(*mark) for mark in marks)
        for partition, marks in json.loads(option).items()
    }


def pack(segments: Sequence[Segment], target_bytes: int) -> list[tuple[Slice, ...]]:
    """Cut large files and gather small ones, in log order, into pieces of about `target_bytes`.

    Raises SourceNotReadable.
    """
    packed: list[tuple[Slice, ...]] = []
    piece: list[Slice] = []
    filled = 0
    for found, size_bytes in _slices(segments, target_bytes):
        if piece and filled + size_bytes > target_bytes:
            packed.append(tuple(piece))
            piece, filled = [], 0
        piece.append(found)
        filled += size_bytes
    if piece:
        packed.append(tuple(piece))
    return packed


def _slices(segments: Sequence[Segment], target_bytes: int) -> Iterator[tuple[Slice, int]]:
    for segment in segments:
        try:
            number = segment.path.stat().st_ino
            points = [0, segment.size_bytes]
            if segment.size_bytes > target_bytes:
                points = split_points(segment.path, target_bytes)
        except OSError as error:
            raise not_readable(segment.path, error) from error
        for start, end in pairwise(points):
            yield Slice(segment, start, end, number), end - start


def _require_same_file(piece: Slice) -> None:
    """Raises SourceNotReadable where the log cleaner has put another file in the place of the one that was cut up.

    A file that has only grown since is none: what was added is left for the next time.
    """
    path = piece.segment.path
    found = path.stat()
    if found.st_ino != piece.file_number or found.st_size < piece.end_byte:
        raise SourceNotReadable(
            f"{path} was replaced while it was read, as Kafka's log cleaner does: run it again, or read a copy."
        )


def _numbers(text: str) -> frozenset[int]:
    return frozenset(int(number) for number in text.split(",") if number)
