"""A partition's segments as Kafka's loader reads them: it checks no checksum, and it does not search after damage.

Sound batches come from `wire.segments`. Where that finds damage, the bytes are read as Kafka does: from header to
header by the lengths in them (`FileLogInputStream`, `ByteBufferLogInputStream`), record by record
(`DefaultRecordBatch.RecordIterator`). After a crash the broker's recovery comes first and cuts the log
(`LogSegment.recover`, `LogLoader.recoverLog`).
"""

import os
from collections.abc import Iterator, Sequence
from itertools import islice
from operator import lt
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from rebalance_audit.replay.changes import AnomalyKind
from rebalance_audit.verify.batch_records import (
    Unreadable,
    message_as_kafka_reads_it,
    records_as_kafka_reads_them,
)
from rebalance_audit.wire.segments import batches
from rebalance_audit.wire.segments.bad_bytes import BadBytes, TailNote
from rebalance_audit.wire.segments.columns import ColumnChunk, read_columns
from rebalance_audit.wire.segments.folder import Segment
from rebalance_audit.wire.segments.regular_file import OpenSegment

_UP_TO_MAGIC: Final = 17
_SIZE_AT: Final = 8
_MAGIC_AT: Final = 16
_NEWEST_MAGIC: Final = 2
_SIZE_MIN: Final = 14
"""Of the oldest message format (`LegacyRecord.RECORD_OVERHEAD_V0`)."""
_INDEX_ENTRY_BYTES: Final = 8
COMMIT_INTERVAL: Final = 16384
"""Offsets between two that the loader notes (`CoordinatorLoaderImpl.DEFAULT_COMMIT_INTERVAL_OFFSETS`, since 4.0)."""
JUMPS_MAX: Final = 1000
"""Places in a segment where the loader goes on elsewhere than a reader that looks for sound batches."""
STEPS_MAX: Final = 1 << 16
"""Batches without a sound one between them."""
_INDEX_BYTES_MAX: Final = 64 << 20
UNREADABLE: Final = "unreadable_batch"
NOT_OPENED: Final = "log_not_opened"


class DamagedStretch(NamedTuple):
    """A stretch that holds no whole sound batch."""

    path: str
    byte_position: int
    size_bytes: int
    base_offset: int | None
    """Offset of its first record by its header; None if it has none."""
    reason: str
    """`BadBytesReason` or `TailKind`."""
    detail: str


class LoaderStop(NamedTuple):
    """Where reading the bytes ends the load."""

    rule_id: str | None
    """None: it is not known what the loader does."""
    base_offset: int | None
    """Of the batch; None where there is none."""
    detail: str


class LogEnd(NamedTuple):
    """Where the loader takes the segment to end although bytes follow; after a crash, where recovery cuts the log."""

    hidden_bytes: int
    """Of the segment, that are not read."""


class LastSegment(NamedTuple):
    """The last segment begins: the cleaner leaves it alone."""


LoaderItem: TypeAlias = ColumnChunk | DamagedStretch | LoaderStop | LogEnd | LastSegment


def loader_items(segments: Sequence[Segment], *, after_crash: bool = False) -> Iterator[LoaderItem]:
    """What the loader reads of a partition, in order. Raises OSError that names the file.

    What follows a `LoaderStop` shows the state at the log's end; the loader does not come so far.
    `after_crash`: the broker was not stopped, so that it recovers the log first. After a clean stop it does not, and
    looks for the end of the log from the last entry of the last segment's offset index on.
    """
    following = 0
    violation: _Violation | None = None
    has_looked = False
    for place, segment in enumerate(segments):
        is_last = place == len(segments) - 1
        if is_last:
            yield LastSegment()
        for item in _read(segment, following, is_last=is_last, after_crash=after_crash):
            if not isinstance(item, ColumnChunk):
                yield item
                if isinstance(item, LogEnd) and after_crash:
                    return
            else:
                back = _first_that_goes_back(item.log_offsets, following)
                if back is not None and not has_looked:
                    violation, has_looked = _violation(segments), True
                if back is None or violation is None or violation.path != str(segment.path):
                    yield item
                else:
                    yield _rows(item, None, back)
                    yield violation.stop
                    yield _rows(item, back, None)
                following = item.log_offsets[-1] + 1


def _read(
    segment: Segment, following: int, *, is_last: bool, after_crash: bool
) -> Iterator[LoaderItem]:
    position: int | None = 0
    jumps = 0
    while position is not None:
        start, position = position, None
        jumps += 1
        if jumps > JUMPS_MAX:
            yield LoaderStop(None, None, f"{segment.path} has more damage than is followed")
            return
        for item in read_columns(segment.path, start, from_offset=following):
            if isinstance(item, ColumnChunk):
                yield item
                continue
            yield _stretch(item)
            with _Bytes(segment.path) as file:
                if after_crash and not file.survives(item.byte_position):
                    yield LogEnd(segment.size_bytes - item.byte_position)
                    return
                if is_last and not after_crash:
                    yield from _opening(segment)
                at, end = item.byte_position, item.byte_position + item.size_bytes
                for _ in range(STEPS_MAX):
                    step = file.step(at)
                    yield from step.items
                    if step.stops or step.next_position is None or step.next_position >= end:
                        break
                    at = step.next_position
                else:
                    yield LoaderStop(None, None, f"{segment.path} has more damage than is followed")
            if step.stops:
                continue
            if step.next_position is None:
                yield LogEnd(segment.size_bytes - at)
                return
            if step.next_position > end:
                position = step.next_position
                break


def _first_that_goes_back(log_offsets: list[int], following: int) -> int | None:
    """The first record whose offset is not above the one before it."""
    if log_offsets[0] >= following and all(map(lt, log_offsets, islice(log_offsets, 1, None))):
        return None
    for row, log_offset in enumerate(log_offsets):
        if log_offset < following:
            return row
        following = log_offset + 1
    return None


class _Violation(NamedTuple):
    """The batch at which the loader throws because an offset went back."""

    path: str
    stop: LoaderStop


def _violation(segments: Sequence[Segment]) -> _Violation | None:
    """The first batch after which the loader notes an offset that is not above the last one that it noted.

    It notes the end of a batch at or above the high watermark, and of one in COMMIT_INTERVAL offsets. The high
    watermark is taken to be the log's end, as where followers keep up.
    """
    high_watermark = 0
    for _, batch in _batch_ends(segments):
        high_watermark = batch.end_offset
    written, committed = 0, -1
    for path, batch in _batch_ends(segments):
        end = batch.end_offset
        if end < high_watermark and end - committed < COMMIT_INTERVAL:
            continue
        if end <= written:
            detail = f"a batch ends at offset {end}, one before it at {written}"
            stop = LoaderStop(AnomalyKind.OFFSET_WENT_BACK, batch.base_offset, detail)
            return _Violation(path, stop)
        written = end
        committed = max(committed, min(end, high_watermark))
    return None


def _batch_ends(segments: Sequence[Segment]) -> Iterator[tuple[str, batches.BatchEnd]]:
    return ((str(each.path), batch) for each in segments for batch in batches.batch_ends(each.path))


def _rows(chunk: ColumnChunk, begin: int | None, end: int | None) -> ColumnChunk:
    begin, end = begin or 0, len(chunk.log_offsets) if end is None else end
    runs, at = [], 0
    for run in chunk.runs:
        count = min(end, at + run.record_count) - max(begin, at)
        if count > 0:
            runs.append(run._replace(record_count=count))
        at += run.record_count
    return ColumnChunk._make((*(column[begin:end] for column in chunk[:4]), runs))


def _stretch(item: BadBytes | TailNote) -> DamagedStretch:
    place = (item.path, item.byte_position, item.size_bytes)
    if isinstance(item, TailNote):
        return DamagedStretch(*place, None, item.kind, "The segment ends without a whole batch.")
    return DamagedStretch(*place, item.base_offset, item.reason, item.detail)


def _opening(segment: Segment) -> Iterator[LoaderStop]:
    """What keeps the broker from opening the log after a clean stop (`LogSegment.readNextOffset`)."""
    with _Bytes(segment.path) as file:
        at = _last_indexed(segment.path)
        while at < file.size_bytes - _UP_TO_MAGIC:
            size = file.number(at + _SIZE_AT)
            if size < _SIZE_MIN:
                detail = f"a batch at byte {at} of {segment.path} claims {size} bytes"
                yield LoaderStop(NOT_OPENED, None, detail)
                return
            at += batches.LOG_OVERHEAD_BYTES + size


def _last_indexed(path: Path) -> int:
    """Byte position of the last entry of the segment's offset index; 0 where there is none."""
    try:
        with _Bytes(path.with_suffix(".index")) as index:
            entries = index.read(0, min(index.size_bytes, _INDEX_BYTES_MAX))
    except OSError:
        return 0
    # A running broker's index is filled with zeros behind its entries.
    used = -(-len(entries.rstrip(b"\0")) // _INDEX_ENTRY_BYTES) * _INDEX_ENTRY_BYTES
    return int.from_bytes(entries[max(used - 4, 0) : used])


class _Step(NamedTuple):
    items: list[LoaderItem]
    next_position: int | None
    """None: the loader finds no further batch in this segment."""

    @property
    def stops(self) -> bool:
        return any(isinstance(item, LoaderStop) for item in self.items)


class _Bytes(OpenSegment):
    def read(self, at: int, size_bytes: int) -> bytes:
        """Some bytes, fewer at the end."""
        return os.pread(self._file, size_bytes, at)

    def number(self, at: int) -> int:
        """An int32; 0 beyond the end."""
        return int.from_bytes(self.read(at, 4), signed=True)

    def survives(self, at: int) -> bool:
        """Whether recovery leaves the bytes at a position where a batch should begin (`LogSegment.recover`)."""
        if self.size_bytes - at <= _UP_TO_MAGIC:
            return False
        size = self.number(at + _SIZE_AT)
        whole = batches.LOG_OVERHEAD_BYTES + size
        if not batches.HEADER.size <= whole <= min(self.size_bytes - at, batches.BATCH_BYTES_MAX):
            return False
        batch = self.read(at, whole)
        return _NEWEST_MAGIC <= batch[_MAGIC_AT] < 0x80 and batches.crc_holds(
            memoryview(batch + batches.PADDING)[:whole]
        )

    def step(self, at: int) -> _Step:
        """What the loader makes of the bytes at a position where a batch should begin."""
        left = self.size_bytes - at
        if left < batches.LOG_OVERHEAD_BYTES:
            return _Step([], None)
        size = self.number(at + _SIZE_AT)
        if size < _SIZE_MIN:
            return self._stop(UNREADABLE, at, f"it claims {size} bytes")
        if left < _UP_TO_MAGIC:
            return _Step([], None)
        magic = int.from_bytes(self.read(at + _MAGIC_AT, 1), signed=True)
        if not 0 <= magic <= _NEWEST_MAGIC:
            return self._stop(UNREADABLE, at, f"it has magic {magic}")
        whole = batches.LOG_OVERHEAD_BYTES + size
        if whole > left:
            return _Step([], None)
        if whole > batches.BATCH_BYTES_MAX:
            return self._stop(None, at, f"it has {whole} bytes")
        items: list[LoaderItem] = []
        batch = self.read(at, whole)
        read = records_as_kafka_reads_them if magic == _NEWEST_MAGIC else message_as_kafka_reads_it
        for found in read(batch):
            if isinstance(found, Unreadable):
                stop = self._stop(UNREADABLE if found.is_certain else None, at, found.detail)
                return _Step([*items, *stop.items], None)
            items.append(found)
        return _Step(items, at + whole)

    def _stop(self, rule_id: str | None, at: int, why: str) -> _Step:
        header = self.read(at, batches.HEADER.size)
        base_offset = int.from_bytes(header[:8], signed=True)
        known = base_offset if base_offset >= 0 else None
        return _Step([LoaderStop(rule_id, known, f"the batch at byte {at}: {why}")], None)
