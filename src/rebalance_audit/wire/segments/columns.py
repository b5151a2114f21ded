"""The bulk path: records of a segment as columns, for Arrow and for loops over millions of offset commits."""

from collections.abc import Iterable, Iterator
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from rebalance_audit.wire.segments import message_sets
from rebalance_audit.wire.segments.bad_bytes import BadBytes, BadBytesReason, TailNote
from rebalance_audit.wire.segments.batches import (
    BASE_OFFSET,
    BATCH_RECORDS_MAX,
    CODEC_MASK,
    CONTRADICTORY,
    CONTROL,
    LOG_APPEND_TIME,
    MAGIC,
    OUTSIDE_HEADER,
    TOO_MANY_RECORDS,
    TRANSACTIONAL,
    RawHeader,
    TimestampType,
    bad_batch,
    legacy_records,
    parse_marker,
    plain_batch,
    timestamp_type_of,
)
from rebalance_audit.wire.segments.codecs import CompressionError
from rebalance_audit.wire.segments.segment_file import WRONG_CHECKSUM
from rebalance_audit.wire.segments.walk import SegmentWalk

CHUNK_RECORDS: Final = 1 << 16
CHUNK_BYTES: Final = 32 << 20
LEGACY_ATTRIBUTES_AT: Final = 17
RUN_BITS: Final = TRANSACTIONAL | CONTROL | LOG_APPEND_TIME
ROW: Final = attrgetter("offset", "timestamp", "key", "value")

TROUBLE: Final = (BadBytes, TailNote)

Damage: TypeAlias = tuple[BadBytesReason, str]
"""Reason, and a clause that completes "the batch ..."."""
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
    timestamp_type: TimestampType


class ColumnChunk(NamedTuple):
    """Records in offset order, one list per column; the batch fields as runs that cover the lists from the start."""

    log_offsets: list[int]
    record_timestamps_ms: list[int]
    keys: list[bytes | None]
    values: list[bytes | None]
    runs: list[Run]
    excluded_count: int
    """Records left out: of an excluded type, or outside the requested offsets."""
    excluded_last_ms: int | None = None
    """Largest time of a batch that had records of an excluded type; None where there was none."""
    excluded_last_offset: int | None = None
    """Last offset of the last of these batches."""

    def column(self, name: str) -> list[Any]:
        """One field of the runs, with one value per record."""
        at = Run._fields.index(name)
        return [value for run in self.runs for value in [run[at]] * run.record_count]


def read_columns(
    path: str | Path,
    start_byte: int = 0,
    end_byte: int | None = None,
    *,
    from_offset: int = 0,
    end_offset: int | None = None,
    without_record_types: frozenset[int] = frozenset(),
    chunk_records: int = CHUNK_RECORDS,
) -> Iterator[ColumnChunk | BadBytes | TailNote]:
    """The records of the batches that begin in [start_byte, end_byte), in file order, in chunks of about chunk_records.

    Start and end must come from `segment_file.split_points`. Only records with from_offset <= offset < end_offset are
    returned, and none of `without_record_types` (the number that a coordinator record's key begins with; control
    records and keys too short for a type are always returned). A chunk ends before each damaged stretch, so everything
    comes in file order. Raises OSError that names the file if it cannot be read; never raises because of the bytes.
    """
    builder = _ChunkBuilder(from_offset, end_offset, without_record_types)
    add_batch = builder.add_batch
    with SegmentWalk(path, start_byte, end_byte) as walk:
        view = walk.view
        for position, following, found in walk.steps():
            if isinstance(found, TROUBLE):
                trouble = found
            else:
                batch = view(position, following)
                damage = (
                    add_batch(found, batch)
                    if found[MAGIC] == 2
                    else builder.add_legacy(found, batch)
                )
                if damage is None:
                    if len(builder.log_offsets) >= chunk_records or builder.weight >= CHUNK_BYTES:
                        yield builder.take()
                    continue
                trouble = bad_batch(walk.path, position, batch, *damage)
            if builder.log_offsets:
                yield builder.take()
            yield trouble
    if builder.log_offsets or builder.excluded_count:
        yield builder.take()


class _ChunkBuilder:
    """Collects the records of batches; a batch is taken whole or not at all."""

    def __init__(
        self, from_offset: int, end_offset: int | None, without_record_types: frozenset[int]
    ) -> None:
        from rebalance_audit.wire.segments import c_reader  # noqa: PLC0415 - loaded on first use, see there

        self._c_batch = c_reader.DefaultRecordBatch
        self._decode_errors = c_reader.DECODE_ERRORS
        self._from = from_offset
        self._end = end_offset
        self._is_bounded = from_offset > 0 or end_offset is not None
        self._without = frozenset(number.to_bytes(2) for number in without_record_types)
        self.log_offsets: list[int] = []
        self._timestamps: list[int] = []
        self._keys: list[bytes | None] = []
        self._values: list[bytes | None] = []
        self._runs: list[Run] = []
        self._run: _RunFields = NO_RUN
        self._run_start = 0
        self.excluded_count = 0
        self._excluded_last_ms: int | None = None
        self._excluded_last_offset: int | None = None
        self.weight = 0

    def take(self) -> ColumnChunk:
        """What was collected since the last call."""
        self._end_run(len(self.log_offsets))
        chunk = ColumnChunk(
            self.log_offsets,
            self._timestamps,
            self._keys,
            self._values,
            self._runs,
            self.excluded_count,
            self._excluded_last_ms,
            self._excluded_last_offset,
        )
        self._excluded_last_ms = self._excluded_last_offset = None
        self.log_offsets, self._timestamps, self._keys, self._values = [], [], [], []
        self._runs = []
        self._run = NO_RUN
        self._run_start = self.excluded_count = self.weight = 0
        return chunk

    def add_batch(self, header: RawHeader, batch: memoryview) -> Damage | None:
        """Take the records of a batch of magic 2, or say what is wrong with it."""
        (
            base,
            _,
            leader_epoch,
            _,
            _,
            bits,
            last_delta,
            _,
            last_ms,
            producer_id,
            producer_epoch,
            _,
            count,
        ) = header
        if self._is_bounded and self._is_outside(base, base + last_delta):
            self.excluded_count += count
            return None
        compiled = self._c_batch(batch)
        if not compiled.validate_crc():
            return BadBytesReason.CRC_MISMATCH, WRONG_CHECKSUM
        if count > BATCH_RECORDS_MAX:
            return BadBytesReason.BAD_RECORDS, TOO_MANY_RECORDS
        log_offsets = self.log_offsets
        mark = len(log_offsets)
        first = last = base
        try:
            if bits & CODEC_MASK:
                batch = plain_batch(batch, header)
                compiled = self._c_batch(batch)
            if self._without and not bits & CONTROL:
                rows = list(map(ROW, compiled))
                if rows:
                    first, last = rows[0][0], rows[-1][0]
                if self._keep_wanted(rows):
                    self._note_excluded(last_ms, last)
            else:
                timestamps, keys, values = self._timestamps, self._keys, self._values
                for record in compiled:
                    log_offsets.append(record.offset)
                    timestamps.append(record.timestamp)
                    keys.append(record.key)
                    values.append(record.value)
                if count:
                    first, last = log_offsets[mark], log_offsets[-1]
        except CompressionError as error:
            return self._cut(mark, BadBytesReason.BAD_COMPRESSION, str(error))
        except self._decode_errors:
            return self._cut(mark, BadBytesReason.BAD_RECORDS, CONTRADICTORY)
        if not base <= first <= last <= base + last_delta:
            return self._cut(mark, BadBytesReason.BAD_RECORDS, OUTSIDE_HEADER)
        if bits & CONTROL:
            clause = self._marker_damage(mark)
            if clause is not None:
                return self._cut(mark, BadBytesReason.BAD_MARKER, clause)
        self.weight += len(batch)  # of a compressed one, the size that it has now
        if self._is_bounded:
            self._drop_outside(mark)
        run = (leader_epoch, producer_id, producer_epoch, 2, bits & RUN_BITS)
        if run != self._run and len(log_offsets) > mark:
            self._begin_run(mark, run)
        return None

    def add_legacy(self, header: RawHeader, message: memoryview) -> Damage | None:
        """Take the records of a message of magic 0 or 1, or say what is wrong with it."""
        # A compressed message has the offset of its last record.
        if self._is_bounded and header[BASE_OFFSET] < self._from:
            self.excluded_count += 1
            return None
        if not message_sets.message_crc_holds(message):
            return BadBytesReason.CRC_MISMATCH, WRONG_CHECKSUM
        records = legacy_records(message)
        if isinstance(records, str):
            return BadBytesReason.BAD_RECORDS, records
        mark = len(self.log_offsets)
        if self._keep_wanted(records):
            self._note_excluded(max(record[1] for record in records), records[-1][0])
        self.weight += sum(len(record.value or b"") for record in records)
        if self._is_bounded:
            self._drop_outside(mark)
        stamped = message[LEGACY_ATTRIBUTES_AT] & LOG_APPEND_TIME
        run = (None, -1, -1, header[MAGIC], stamped)
        if run != self._run and len(self.log_offsets) > mark:
            self._begin_run(mark, run)
        return None

    def _cut(self, mark: int, reason: BadBytesReason, clause: str) -> Damage:
        """Remove what was added from `mark` on: a batch is taken whole or not at all."""
        del self.log_offsets[mark:], self._timestamps[mark:]
        del self._keys[mark:], self._values[mark:]
        return reason, clause

    def _marker_damage(self, mark: int) -> str | None:
        """Why `parse_marker` cannot read a control record from `mark` on, so that no caller has to check; else None."""
        for key, value in zip(self._keys[mark:], self._values[mark:], strict=True):
            marker = parse_marker(key, value)
            if isinstance(marker, str):
                return marker
        return None

    def _note_excluded(self, last_ms: int, last_offset: int) -> None:
        self._excluded_last_offset = last_offset
        before = self._excluded_last_ms
        self._excluded_last_ms = last_ms if before is None else max(before, last_ms)

    def _keep_wanted(self, rows: Iterable[tuple[int, int, bytes | None, bytes | None]]) -> bool:
        """Take what is not of an excluded type; returns whether anything was excluded."""
        without = self._without
        before = self.excluded_count
        for log_offset, timestamp_ms, key, value in rows:
            if key is not None and key[:2] in without:
                self.excluded_count += 1
                continue
            self.log_offsets.append(log_offset)
            self._timestamps.append(timestamp_ms)
            self._keys.append(key)
            self._values.append(value)
        return self.excluded_count > before

    def _is_outside(self, first: int, last: int) -> bool:
        return last < self._from or (self._end is not None and first >= self._end)

    def _drop_outside(self, mark: int) -> None:
        """Of the records from `mark` on, keep the requested ones: a batch may extend past either end."""
        offsets = self.log_offsets[mark:]
        kept = [
            at for at, offset in enumerate(offsets, mark) if not self._is_outside(offset, offset)
        ]
        if len(kept) == len(offsets):
            return
        self.excluded_count += len(offsets) - len(kept)
        self.log_offsets[mark:] = [self.log_offsets[at] for at in kept]
        self._timestamps[mark:] = [self._timestamps[at] for at in kept]
        self._keys[mark:] = [self._keys[at] for at in kept]
        self._values[mark:] = [self._values[at] for at in kept]

    def _begin_run(self, mark: int, run: _RunFields) -> None:
        self._end_run(mark)
        self._run = run

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
                    bool(attributes & TRANSACTIONAL),
                    bool(attributes & CONTROL),
                    timestamp_type_of(magic, attributes),
                )
            )
        self._run_start = end
