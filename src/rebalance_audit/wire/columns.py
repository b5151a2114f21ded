"""The bulk path: records of a segment as columns, for Arrow and for loops over millions of offset commits."""

from collections.abc import Iterable, Iterator
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from rebalance_audit.wire import legacy
from rebalance_audit.wire.bad_bytes import BadBytes, BadBytesReason, TailNote
from rebalance_audit.wire.batches import (
    ATTRIBUTES,
    BASE_OFFSET,
    CODEC_MASK,
    CONTROL,
    LAST_OFFSET_DELTA,
    LEADER_EPOCH,
    LENGTH,
    LOG_APPEND_TIME,
    LOG_OVERHEAD_BYTES,
    MAGIC,
    OUTSIDE_HEADER,
    PRODUCER_EPOCH,
    PRODUCER_ID,
    RECORD_COUNT,
    TRANSACTIONAL,
    RawHeader,
    TimestampType,
    bad_batch,
    clause_of,
    compiled_batch,
    legacy_records,
    offsets_fit,
    parse_marker,
    timestamp_type_of,
)
from rebalance_audit.wire.codecs import CompressionError
from rebalance_audit.wire.segment_walk import SegmentWalk
from rebalance_audit.wire.segments import WRONG_CHECKSUM

CHUNK_RECORDS: Final = 1 << 16
CHUNK_BYTES: Final = 32 << 20
COMPRESSED_WEIGHT: Final = 10
LEGACY_ATTRIBUTES_AT: Final = 17
RUN_BITS: Final = TRANSACTIONAL | CONTROL | LOG_APPEND_TIME
ROW: Final = attrgetter("offset", "timestamp", "key", "value")

Damage: TypeAlias = tuple[BadBytesReason, str]
"""Reason, and a clause that completes "the batch ..."."""
_RunFields: TypeAlias = tuple[int | None, int, int, int, int]
"""Leader epoch, producer id and epoch, magic, attribute bits: what the records of a run share."""
NO_RUN: Final[_RunFields] = (None, -1, -1, -1, 0)


class Run(NamedTuple):
    """Neighbouring records whose batches agree in these fields: in most logs thousands of batches."""

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
    """Records that the caller did not want: of an excluded type, or outside the offsets asked for."""

    def column(self, name: str) -> list[Any]:
        """One field of the runs, a value per record."""
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

    Start and end must come from `segments.split_points`. Only records with from_offset <= offset < end_offset are
    returned, and none of `without_record_types` (the number that a coordinator record's key begins with; control
    records and keys too short for a type are always returned). A chunk ends before each damaged stretch, so everything
    comes in file order. Raises OSError that names the file where the file cannot be read; never raises on bytes.
    """
    builder = _ChunkBuilder(from_offset, end_offset, without_record_types)
    with SegmentWalk(path, start_byte, end_byte) as walk:
        for position, found in walk.steps():
            if isinstance(found, BadBytes | TailNote):
                trouble: BadBytes | TailNote = found
            else:
                batch = walk.view(position, LOG_OVERHEAD_BYTES + found[LENGTH])
                damage = builder.add(found, batch)
                if damage is None:
                    if builder.weight >= CHUNK_BYTES or len(builder.log_offsets) >= chunk_records:
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
        from rebalance_audit.wire import c_reader  # noqa: PLC0415 - loaded on first use, see there

        self._c_batch = c_reader.DefaultRecordBatch
        self._decode_errors = c_reader.DECODE_ERRORS
        self._from = from_offset
        self._end = end_offset
        self._without = frozenset(number.to_bytes(2) for number in without_record_types)
        self.log_offsets: list[int] = []
        self._timestamps: list[int] = []
        self._keys: list[bytes | None] = []
        self._values: list[bytes | None] = []
        self._runs: list[Run] = []
        self._run: _RunFields = NO_RUN
        self._run_start = 0
        self.excluded_count = 0
        self.weight = 0

    def add(self, header: RawHeader, batch: memoryview) -> Damage | None:
        """Take the batch's records; or say what is wrong with it."""
        mark = len(self.log_offsets)
        if header[MAGIC] == 2:
            first, last = header[BASE_OFFSET], header[BASE_OFFSET] + header[LAST_OFFSET_DELTA]
            attributes = header[ATTRIBUTES]
            run: _RunFields = (
                header[LEADER_EPOCH],
                header[PRODUCER_ID],
                header[PRODUCER_EPOCH],
                2,
                attributes & RUN_BITS,
            )
            if last < self._from or (self._end is not None and first >= self._end):
                self.excluded_count += header[RECORD_COUNT]
                return None
            damage = self._decode(header, batch, mark)
        else:
            attributes = batch[LEGACY_ATTRIBUTES_AT]
            run = (None, -1, -1, header[MAGIC], attributes & LOG_APPEND_TIME)
            damage = self._decode_legacy(batch)
        if damage is not None:
            self._cut(mark)
            return damage
        if self._from or self._end is not None:
            self._drop_outside(mark)
        if run != self._run and len(self.log_offsets) > mark:
            self._end_run(mark)
            self._run = run
        # A compressed batch counts for what it may have unfolded to.
        self.weight += len(batch) * (COMPRESSED_WEIGHT if attributes & CODEC_MASK else 1)
        return None

    def take(self) -> ColumnChunk:
        """What came together since the last call."""
        self._end_run(len(self.log_offsets))
        chunk = ColumnChunk(
            self.log_offsets,
            self._timestamps,
            self._keys,
            self._values,
            self._runs,
            self.excluded_count,
        )
        self.log_offsets, self._timestamps, self._keys, self._values = [], [], [], []
        self._runs = []
        self._run = NO_RUN
        self._run_start = self.excluded_count = self.weight = 0
        return chunk

    def _decode(self, header: RawHeader, batch: memoryview, mark: int) -> Damage | None:
        compiled = self._c_batch(batch)
        if not compiled.validate_crc():
            return BadBytesReason.CRC_MISMATCH, WRONG_CHECKSUM
        attributes = header[ATTRIBUTES]
        log_offsets = self.log_offsets
        try:
            if attributes & CODEC_MASK:
                compiled = compiled_batch(batch, header)
            if self._without and not attributes & CONTROL:
                rows = list(map(ROW, compiled))
                ends = (rows[0][0], rows[-1][0]) if rows else None
                self._keep_wanted(rows)
            else:
                timestamps, keys, values = self._timestamps, self._keys, self._values
                for record in compiled:
                    log_offsets.append(record.offset)
                    timestamps.append(record.timestamp)
                    keys.append(record.key)
                    values.append(record.value)
                ends = (log_offsets[mark], log_offsets[-1]) if len(log_offsets) > mark else None
        except CompressionError as error:
            return BadBytesReason.BAD_COMPRESSION, str(error)
        except self._decode_errors as error:
            return BadBytesReason.BAD_RECORDS, clause_of(error)
        if ends is not None and not offsets_fit(header, *ends):
            return BadBytesReason.BAD_RECORDS, OUTSIDE_HEADER
        return self._check_markers(mark) if attributes & CONTROL else None

    def _check_markers(self, mark: int) -> Damage | None:
        """Whether `parse_marker` can read the control records from `mark` on, so that no caller has to ask."""
        for key, value in zip(self._keys[mark:], self._values[mark:], strict=True):
            marker = parse_marker(key, value)
            if isinstance(marker, str):
                return BadBytesReason.BAD_MARKER, marker
        return None

    def _decode_legacy(self, message: memoryview) -> Damage | None:
        if not legacy.crc_holds(message):
            return BadBytesReason.CRC_MISMATCH, WRONG_CHECKSUM
        records = legacy_records(message)
        if isinstance(records, str):
            return BadBytesReason.BAD_RECORDS, records
        self._keep_wanted(records)
        return None

    def _keep_wanted(self, rows: Iterable[tuple[int, int, bytes | None, bytes | None]]) -> None:
        without = self._without
        for log_offset, timestamp_ms, key, value in rows:
            if key is not None and key[:2] in without:
                self.excluded_count += 1
                continue
            self.log_offsets.append(log_offset)
            self._timestamps.append(timestamp_ms)
            self._keys.append(key)
            self._values.append(value)

    def _drop_outside(self, mark: int) -> None:
        """Of the records from `mark` on, keep those inside the offsets asked for: a batch may reach over an end."""
        end = self._end
        offsets = self.log_offsets[mark:]
        kept = [
            at
            for at, offset in enumerate(offsets, mark)
            if offset >= self._from and (end is None or offset < end)
        ]
        if len(kept) == len(offsets):
            return
        self.excluded_count += len(offsets) - len(kept)
        self.log_offsets[mark:] = [self.log_offsets[at] for at in kept]
        self._timestamps[mark:] = [self._timestamps[at] for at in kept]
        self._keys[mark:] = [self._keys[at] for at in kept]
        self._values[mark:] = [self._values[at] for at in kept]

    def _cut(self, mark: int) -> None:
        del self.log_offsets[mark:], self._timestamps[mark:]
        del self._keys[mark:], self._values[mark:]

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
