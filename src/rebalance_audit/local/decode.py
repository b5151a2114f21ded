"""Records of segments as objects or lines of JSON, in the shape of Kafka's own JSON converters."""

import re
from base64 import b64encode
from collections.abc import Collection, Iterator
from functools import cache, partial
from itertools import count
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import orjson

from rebalance_audit.errors import BadRequest, UnknownPartition
from rebalance_audit.local.byte_ranges import Range, RangeItem, in_portions, ranges_of, workers_for
from rebalance_audit.local.commit_lines import CommitLines, ValueParts
from rebalance_audit.local.packed_log import open_log
from rebalance_audit.moment_text import MomentLike, moment_ms
from rebalance_audit.segments.columns import Columns, Int64s
from rebalance_audit.tables.json_values import json_bytes
from rebalance_audit.wire import key_bytes
from rebalance_audit.wire.generated.messages import RecordType
from rebalance_audit.wire.json_shape import key_data, value_data
from rebalance_audit.wire.records import Record, Undecodable, decode_record
from rebalance_audit.wire.segments.bad_bytes import BadBytes, TailNote
from rebalance_audit.wire.segments.batches import TransactionMarker, parse_marker
from rebalance_audit.wire.segments.columns import ColumnChunk, RecordRow, Run
from rebalance_audit.wire.segments.folder import LogFolder

DecodedRecord: TypeAlias = dict[str, Any]

MARKERS: Final = "control"
"""Stands for transaction markers among record types: they have none."""
_TYPES: Final[dict[str, int | str]] = {
    MARKERS: MARKERS,
    **{record_type.name.lower().replace("_", ""): int(record_type) for record_type in RecordType},
}
"""Name in lower case without separators -> number."""


class RecordFilter(NamedTuple):
    """Which records to decode; None = no limit. Damaged stretches are always reported: they may hold any record."""

    groups: tuple[bytes, ...] | None = None
    """What keys contain from `TYPE_BYTES` on: one of these."""
    types: tuple[bytes, ...] | None = None
    """What keys begin with: one of these."""
    markers: bool = True
    """Transaction markers, which have no type and belong to no group."""
    from_ms: int | None = None
    to_ms: int | None = None
    """The first moment that is too late."""


def decode_segments(
    path: str | Path,
    groups: Collection[str] = (),
    record_types: Collection[int | str] = (),
    partitions: Collection[int] = (),
    *,
    start: MomentLike | None = None,
    end: MomentLike | None = None,
) -> Iterator[DecodedRecord]:
    """Every record of a folder of segments, partition by partition in offset order, as `rebalance-audit decode` has it.

    A record has `partition`, `offset`, `timestamp` (epoch milliseconds), `leaderEpoch`, `key` {type, data} and `value`
    {version, data}, None for a tombstone, with data as Kafka's JSON converters print it. A transaction marker
    has `control` as well; its key and value are not there. What cannot be decoded has `error`, and its bytes in base64.

    `groups`, `partitions`: only these. `record_types`: only these, by number, by name as `OffsetCommit`, or `control`
    for transaction markers. `start`, `end`: only records from the one moment on and before the other. Records are read
    as they are asked for.

    Raises SourceNotReadable, UnknownPartition, BadRequest for an unknown record type or an unreadable time, and OSError
    that names the file.
    """
    folder = open_log(path)
    types = [record_type_of(kind) for kind in record_types]
    wanted = record_filter(groups, types, moment_ms(start), moment_ms(end))
    for part in ranges_of(folder, _chosen(folder, partitions)):
        yield from range_shapes(part, wanted)


def record_type_of(kind: int | str) -> int | str:
    """The number of a record type that is given by number or by name, or MARKERS. Raises BadRequest."""
    name = re.sub(r"[^a-z0-9]", "", str(kind).lower())
    if name.isdecimal() and int(name) < 1 << 15:
        return int(name)
    if name not in _TYPES:
        raise BadRequest(
            f"{str(kind)!r} is not a record type: give 0 to {max(RecordType)}, a name such as OffsetCommit"
            f" or ConsumerGroupMemberMetadata, or {MARKERS} for transaction markers."
        )
    return _TYPES[name]


def record_filter(
    groups: Collection[str],
    record_types: Collection[int | str],
    from_ms: int | None,
    to_ms: int | None,
) -> RecordFilter:
    """What to decode; no groups and no types stand for all of them. Types are numbers, or MARKERS."""
    numbers = frozenset(kind for kind in record_types if isinstance(kind, int))
    return RecordFilter(
        groups=key_bytes.of_groups(groups) or None,
        types=key_bytes.of_types(numbers) if record_types else None,
        markers=MARKERS in record_types or not (record_types or groups),
        from_ms=from_ms,
        to_ms=to_ms,
    )


def decoded_lines(
    folder: LogFolder, wanted: RecordFilter, log_partitions: Collection[int] = ()
) -> Iterator[bytes]:
    """Lines of JSON, many at a time, partition by partition in offset order; from all cores where the log is large.

    `log_partitions`: only these; all of them if empty. Raises UnknownPartition, and OSError that names the file.
    """
    chosen = _chosen(folder, log_partitions)
    size_bytes = sum(part.size_bytes for number in chosen for part in folder.segments[number])
    work = partial(_lines, wanted=wanted)
    yield from in_portions(work, ranges_of(folder, chosen), workers_for(size_bytes))


def _chosen(folder: LogFolder, log_partitions: Collection[int]) -> list[int]:
    present = list(folder.segments)
    missing = sorted(set(log_partitions).difference(present))
    if missing:
        raise UnknownPartition(missing, present)
    return sorted(set(log_partitions)) or present


def _lines(part: Range, read: list[RangeItem], wanted: RecordFilter) -> bytes:
    records = _Records(part.segment.log_partition, wanted)
    known = _commit_lines()
    return b"".join(
        _line(_bad_bytes(part.segment.log_partition, found)).encode()
        if isinstance(found, BadBytes)
        else records.lines(found, known).encode()
        for found in read
        if not isinstance(found, TailNote)
    )


def range_shapes(part: Range, wanted: RecordFilter) -> Iterator[DecodedRecord]:
    """The records of a range as objects, see `decode_segments`. Raises OSError that names the file."""
    records = _Records(part.segment.log_partition, wanted)
    for found in part.read():
        if isinstance(found, BadBytes):
            yield _bad_bytes(part.segment.log_partition, found)
        elif not isinstance(found, TailNote):
            for run, row in _with_runs(found.chosen(records.rows(found))):
                yield records.shape(run, row)[0]


def _with_runs(chunk: ColumnChunk) -> Iterator[tuple[Run, RecordRow]]:
    return ((run, row) for run, rows in chunk.by_run() for row in rows)


@cache
def _commit_lines() -> CommitLines:
    """Of all ranges that a process prints."""
    return CommitLines()


class _Records:
    """Turns the records of one log partition into objects and lines to print."""

    def __init__(self, log_partition: int, wanted: RecordFilter) -> None:
        self._log_partition = log_partition
        self._wanted = wanted

    def rows(self, found: Columns) -> Int64s:
        """The numbers of the records to print."""
        wanted, times = self._wanted, found.record_timestamps_ms
        are_markers = found.are_control()
        are_wanted = np.where(are_markers, wanted.markers, True)
        if wanted.from_ms is not None:
            are_wanted &= times >= wanted.from_ms
        if wanted.to_ms is not None:
            are_wanted &= times < wanted.to_ms
        if wanted.types is not None or wanted.groups is not None:
            rows = np.flatnonzero(are_wanted & ~are_markers)
            are_wanted[rows] = [self._wants(key) for key in found.keys.at(rows)]
        return np.flatnonzero(are_wanted)

    def lines(self, found: Columns, known: CommitLines) -> str:
        rows = self.rows(found)
        keys = found.keys.at(rows)
        others, committed, moments_ms = ValueParts.of(found, rows)
        parts = [*map(known.parts_of, zip(keys, others, strict=True))]
        new = [place for place, of_line in enumerate(parts) if of_line is None]
        whole: dict[int, str] = {}
        for place, (run, row) in zip(new, _with_runs(found.chosen(rows[new])), strict=True):
            parts[place] = known.parts_of((keys[place], others[place]))
            if parts[place] is None:
                shape, is_exact = self.shape(run, row)
                whole[place] = line = _line(shape)
                if is_exact:
                    numbers = committed[place], moments_ms[place]
                    known.learn(line, keys[place], others[place], *numbers)
        leader_epochs = found.of_runs(
            -1 if run.leader_epoch is None else run.leader_epoch for run in found.runs
        )
        columns = zip(
            count(),
            found.log_offsets[rows].tolist(),
            found.record_timestamps_ms[rows].tolist(),
            leader_epochs[rows].tolist(),
            parts,
            committed,
            moments_ms,
            strict=False,
        )
        begin = f'{{"partition":{self._log_partition},"offset":'
        return "".join(
            whole[place]
            if of_line is None
            else f'{begin}{offset},"timestamp":{at_ms},"leaderEpoch":{leader_epoch},'
            f"{of_line[0]}{position}{of_line[1]}{moment_ms}{of_line[2]}"
            for place, offset, at_ms, leader_epoch, of_line, position, moment_ms in columns
        )

    def shape(self, run: Run, row: RecordRow) -> tuple[DecodedRecord, bool]:
        """The object, and whether its fields are all that the record holds."""
        log_offset, record_timestamp_ms, key, value = row
        place: DecodedRecord = {
            "partition": self._log_partition,
            "offset": log_offset,
            "timestamp": record_timestamp_ms,
            "leaderEpoch": run.leader_epoch,
        }
        if run.is_control:
            _add_marker(place, run, key, value)
            return place, False
        record = decode_record(key, value)
        if isinstance(record, Undecodable):
            place["error"] = f"{record.reason}: {record.detail}"
            place["key"], place["value"] = _base64(key), _base64(value)
            return place, False
        place["key"] = {"type": int(record.record_type), "data": key_data(record)}
        place["value"] = None if record.value is None else _value(record)
        return place, record.value is not None and not record.value_trailing

    def _wants(self, key: bytes | None) -> bool:
        if key is None:
            return False
        groups, types = self._wanted[:2]
        return (types is None or key.startswith(types)) and (
            groups is None or key.startswith(groups, key_bytes.TYPE_BYTES)
        )


def _add_marker(place: DecodedRecord, run: Run, key: bytes | None, value: bytes | None) -> None:
    marker = parse_marker(key, value)
    if isinstance(marker, TransactionMarker):
        place["control"] = {
            "type": "COMMIT" if marker.committed else "ABORT",
            "coordinatorEpoch": marker.coordinator_epoch,
            "producerId": run.producer_id,
            "producerEpoch": run.producer_epoch,
        }
    else:
        place["control"] = {"type": "UNKNOWN"}
        place["key"], place["value"] = _base64(key), _base64(value)


def _value(record: Record) -> DecodedRecord:
    shape: DecodedRecord = {"version": record.value_version, "data": value_data(record)}
    if record.unknown_tags:
        shape["unknownTags"] = [
            {"path": path, "tag": tag, "data": _base64(data)}
            for path, tag, data in record.unknown_tags
        ]
    return shape


def _bad_bytes(log_partition: int, bad: BadBytes) -> DecodedRecord:
    return {
        "partition": log_partition,
        "offset": bad.base_offset,
        "error": f"{bad.reason}: {bad.detail}",
        "file": bad.path,
        "position": bad.byte_position,
        "size": bad.size_bytes,
        "raw": _base64(bad.raw),
    }


def _base64(data: bytes | None) -> str | None:
    return None if data is None else b64encode(data).decode()


def _line(shape: DecodedRecord) -> str:
    return json_bytes(shape, orjson.OPT_APPEND_NEWLINE).decode()
