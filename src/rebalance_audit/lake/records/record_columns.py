"""The columns in which every source delivers the records of a log, and batches of segments that have them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from rebalance_audit.moments import MILLIS_MAX, MILLIS_MIN, NO_TIMESTAMP_MS
from rebalance_audit.segments.columns import Blobs, Columns
from rebalance_audit.segments.reader import Found
from rebalance_audit.tables.arrow_types import arrow_type
from rebalance_audit.wire.segments.bad_bytes import BadBytes, TailNote
from rebalance_audit.wire.segments.folder import Segment

RECORD: Final[Mapping[str, str]] = {
    "partition": "int",
    "offset": "bigint",
    "timestamp": "timestamp",
    "timestamp_type": "string",
    "leader_epoch": "int",
    "producer_id": "bigint",
    "producer_epoch": "int",
    "is_transactional": "boolean",
    "is_control": "boolean",
    "key": "binary",
    "value": "binary",
}
"""Name and type of what bronze.records keeps of a record; null if the source does not show."""

DAMAGE: Final = "damage"
OF_SEGMENTS: Final[Mapping[str, str]] = {
    **RECORD,
    DAMAGE: (
        "struct<reason: string, detail: string, source_file: string, byte_position: bigint,"
        " raw: binary, before_offset: bigint>"
    ),
}
"""What the segment reader can deliver besides records: rows for a damaged stretch, which have the partition, and of the
other columns of a record perhaps the offset."""


Make: TypeAlias = Callable[[Columns], pa.Array]


class SegmentRows:
    """Builds batches of the chosen columns."""

    def __init__(self, columns: Sequence[str]) -> None:
        """`columns` are names of OF_SEGMENTS, in the wanted order."""
        self._columns = tuple(columns)

    def batches(
        self,
        segment: Segment,
        found: Iterable[Found],
        offset_before: Callable[[], int],
    ) -> Iterator[pa.RecordBatch]:
        """The batches for what a stretch of a segment contains; an unfinished end gives none.

        `offset_before` returns the offset after the last record before the stretch; it is called only if the stretch
        begins with damage.
        """
        partition = segment.log_partition
        next_offset: int | None = None
        for part in found:
            if isinstance(part, BadBytes):
                if DAMAGE in self._columns:
                    next_offset = offset_before() if next_offset is None else next_offset
                    damage = _damage(segment, part, next_offset)
                    # The base offset in the header, if it can be one.
                    offset = part.base_offset if (part.base_offset or 0) >= 0 else None
                    yield self._single(partition, offset=offset, damage=damage)
            elif not isinstance(part, TailNote):
                yield self._records(partition, part)
                next_offset = int(part.log_offsets[-1]) + 1

    def _records(self, partition: int, chunk: Columns) -> pa.RecordBatch:
        count = len(chunk.log_offsets)
        arrays = []
        for name in self._columns:
            make = MAKERS.get(name)
            if name == "partition":
                arrays.append(pa.array(np.full(count, partition, np.int32)))
            elif make is not None:
                arrays.append(make(chunk))
            else:
                arrays.append(pa.nulls(count, arrow_type(OF_SEGMENTS[name])))
        return pa.RecordBatch.from_arrays(arrays, names=list(self._columns))

    def _single(self, partition: int, **values: Any) -> pa.RecordBatch:
        row = {"partition": partition, **values}
        return pa.RecordBatch.from_arrays(
            [pa.array([row.get(name)], arrow_type(OF_SEGMENTS[name])) for name in self._columns],
            names=list(self._columns),
        )


def timestamps(moments_ms: npt.ArrayLike) -> pa.Array:
    """Moments in epoch milliseconds as a column; null if there is none or it is absurd."""
    millis = np.array(moments_ms, np.int64)
    absent = (millis == NO_TIMESTAMP_MS) | (millis < MILLIS_MIN) | (millis > MILLIS_MAX)
    micros = np.where(absent, 0, millis) * 1000
    return pa.array(micros, pa.timestamp("us", tz="UTC"), mask=absent)


def _of_runs(field: str, kind: pa.DataType, absent: int | None = None) -> Make:
    """Makes a column of a field that has one value per run; `absent` is the value that stands for none."""

    def make(chunk: Columns) -> pa.Array:
        values = [getattr(run, field) for run in chunk.runs]
        values = [None if value == absent else value for value in values]
        counts = [run.record_count for run in chunk.runs]
        return pa.array(values, kind).take(pa.array(np.repeat(np.arange(len(counts)), counts)))

    return make


def _binary(strings: Blobs) -> pa.Array:
    """A column of byte strings, without a copy."""
    valid = None if strings.there.all() else np.packbits(strings.there, bitorder="little")
    buffers = [
        None if part is None else pa.py_buffer(part) for part in (valid, strings.ends, strings.data)
    ]
    return pa.Array.from_buffers(pa.binary(), len(strings.there), buffers)


MAKERS: Final[Mapping[str, Make]] = {
    "offset": lambda chunk: pa.array(chunk.log_offsets, pa.int64()),
    "timestamp": lambda chunk: timestamps(chunk.record_timestamps_ms),
    "timestamp_type": _of_runs("timestamp_type", pa.string()),
    "leader_epoch": _of_runs("leader_epoch", pa.int32(), absent=-1),
    "producer_id": _of_runs("producer_id", pa.int64(), absent=-1),
    "producer_epoch": _of_runs("producer_epoch", pa.int32(), absent=-1),
    "is_transactional": _of_runs("is_transactional", pa.bool_()),
    "is_control": _of_runs("is_control", pa.bool_()),
    "key": lambda chunk: _binary(chunk.keys),
    "value": lambda chunk: _binary(chunk.values),
}


def _damage(segment: Segment, found: BadBytes, before_offset: int) -> dict[str, Any]:
    return {
        "reason": found.reason.value,
        "detail": found.detail,
        "source_file": f"{segment.path.parent.name}/{segment.path.name}",
        "byte_position": found.byte_position,
        "raw": found.raw,
        "before_offset": before_offset,
    }
