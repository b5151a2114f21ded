"""The bulk path: records of a segment as columns, for Arrow and for loops over millions of offset commits."""

from collections import deque
from collections.abc import Iterator
from itertools import compress, islice
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from rebalance_audit.wire.segments import batches
from rebalance_audit.wire.segments.bad_bytes import BadBytes, TailNote
from rebalance_audit.wire.segments.walk import SegmentWalk

CHUNK_RECORDS: Final = 1 << 16
CHUNK_BYTES: Final = 32 << 20
LEGACY_ATTRIBUTES_AT: Final = 17
_RECORD_BYTES: Final = 24
"""Beside its key and value, at most about."""
RUN_BITS: Final = batches.TRANSACTIONAL | batches.CONTROL | batches.LOG_APPEND_TIME

TROUBLE: Final = (BadBytes, TailNote)

RecordRow: TypeAlias = tuple[int, int, bytes | None, bytes | None]
"""Log offset, record timestamp, key and value of a record."""
_RunFields: TypeAlias = tuple[int | None, int, int, int, int]
"""Leader epoch, producer id and epoch, magic and attribute bits: what the records of a run have in common."""
NO_RUN: Final[_RunFields] = (None, -1, -1, -1, 0)


class Run(NamedTuple):
    """Consecutive records whose batches agree in these fields; in most logs that is thousands of batches."""

    record_count: int
    leader_epoch: int | None
    producer_id: int
    producer_epoch: int
    is_transactional: bool
    is_control: bool
    timestamp_type: batches.TimestampType


class ColumnChunk(NamedTuple):
    """Records in offset order, one list per column; the batch fields as runs that cover the lists from the start."""

    log_offsets: list[int]
    record_timestamps_ms: list[int]
    keys: list[bytes | None]
    values: list[bytes | None]
    runs: list[Run]

    def by_run(self) -> Iterator[tuple[Run, Iterator[RecordRow]]]:
        """Each run and its records; those that are not taken by then are passed over with the next run."""
        rows = zip(*self[:4], strict=True)
        for run in self.runs:
            of_run = islice(rows, run.record_count)
            yield run, of_run
            deque(of_run, maxlen=0)


def read_columns(
    path: str | Path,
    start_byte: int = 0,
    end_byte: int | None = None,
    *,
    from_offset: int = 0,
    end_offset: int | None = None,
    chunk_records: int = CHUNK_RECORDS,
) -> Iterator[ColumnChunk | BadBytes | TailNote]:
    """The records of the batches that begin in [start_byte, end_byte), in file order, in chunks of about chunk_records.

    Start and end must come from `walk.split_points`. Only records with from_offset <= offset < end_offset are
    returned. A chunk has at least one, and ends before each damaged stretch, so everything comes in file order. Raises
    OSError that names the file if it cannot be read; never raises because of the bytes.
    """
    builder = _ChunkBuilder(from_offset, end_offset)
    with SegmentWalk(path, start_byte, end_byte) as walk:
        view = walk.view
        for position, following, found in walk.steps():
            if isinstance(found, TROUBLE):
                trouble = found
            else:
                batch = view(position, following)
                damage = builder.add(found, batch)
                if damage is None:
                    if len(builder.log_offsets) >= chunk_records or builder.weight >= CHUNK_BYTES:
                        yield builder.take()
                    continue
                trouble = batches.bad_batch(walk.path, position, batch, damage)
            if builder.log_offsets:
                yield builder.take()
            yield trouble
    if builder.log_offsets:
        yield builder.take()


class _ChunkBuilder:
    """Collects the records of batches; a batch is taken whole or not at all."""

    def __init__(self, from_offset: int, end_offset: int | None) -> None:
        self._from = from_offset
        self._end = end_offset
        self._is_bounded = from_offset > 0 or end_offset is not None
        self._begin()

    def _begin(self) -> None:
        self._records = batches.BatchRecords([], [], [], [])
        self._runs: list[Run] = []
        self._run: _RunFields = NO_RUN
        self._run_start = self.weight = 0

    @property
    def log_offsets(self) -> list[int]:
        """Of the records since the last `take`."""
        return self._records.log_offsets

    def take(self) -> ColumnChunk:
        self._end_run(len(self.log_offsets))
        chunk = ColumnChunk(*self._records, self._runs)
        self._begin()
        return chunk

    def add(self, header: batches.RawHeader, batch: memoryview) -> batches.Damage | None:
        base, magic = header[batches.BASE_OFFSET], header[batches.MAGIC]
        run: _RunFields
        if magic == 2:
            first, last = base, base + header[batches.LAST_OFFSET_DELTA]
            bits = header[batches.ATTRIBUTES]
            run = (
                header[batches.LEADER_EPOCH],
                header[batches.PRODUCER_ID],
                header[batches.PRODUCER_EPOCH],
                2,
                bits & RUN_BITS,
            )
        else:
            # A compressed message has the offset of its last record.
            first, last = 0, base
            bits = batch[LEGACY_ATTRIBUTES_AT]
            run = *NO_RUN[:3], magic, bits & batches.LOG_APPEND_TIME
        if self._is_bounded and self._is_outside(first, last):
            return None
        found = batches.judged(header, batch)
        if isinstance(found, batches.Damage):
            return found
        is_plain = magic == 2 and not bits & batches.CODEC_MASK
        self.weight += len(batch) if is_plain else _size_bytes(found)
        if self._is_bounded:
            found = self._inside(found)
        if found.log_offsets:
            if run != self._run:
                self._end_run(len(self.log_offsets))
                self._run = run
            self._records.log_offsets.extend(found.log_offsets)
            self._records.record_timestamps_ms.extend(found.record_timestamps_ms)
            self._records.keys.extend(found.keys)
            self._records.values.extend(found.values)
        return None

    def _is_outside(self, first: int, last: int) -> bool:
        return last < self._from or (self._end is not None and first >= self._end)

    def _inside(self, records: batches.BatchRecords) -> batches.BatchRecords:
        are_inside = [not self._is_outside(each, each) for each in records.log_offsets]
        if all(are_inside):
            return records
        return batches.BatchRecords._make(list(compress(each, are_inside)) for each in records)

    def _end_run(self, end: int) -> None:
        """Close the run of records before `end`, if there is one."""
        if end > self._run_start:
            leader_epoch, producer_id, producer_epoch, magic, attributes = self._run
            self._runs.append(
                Run(
                    end - self._run_start,
                    leader_epoch,
                    producer_id,
                    producer_epoch,
                    bool(attributes & batches.TRANSACTIONAL),
                    bool(attributes & batches.CONTROL),
                    batches.timestamp_type_of(magic, attributes),
                )
            )
        self._run_start = end


def _size_bytes(records: batches.BatchRecords) -> int:
    """About what a batch without compression has for them."""
    texts = (len(text) for text in (*records.keys, *records.values) if text)
    return sum(texts) + _RECORD_BYTES * len(records.log_offsets)
