"""Records of segments as objects or lines of JSON, in the shape of Kafka's own JSON converters."""

import re
from base64 import b64encode
from collections.abc import Collection, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import orjson

from rebalance_audit.errors import BadRequest, UnknownPartition
from rebalance_audit.local.byte_ranges import Range, RangeItem, in_portions, ranges_of, workers_for
from rebalance_audit.local.packed_log import open_log
from rebalance_audit.moment_text import MomentLike, moment_ms
from rebalance_audit.scan.available import should_use_compiled_scan
from rebalance_audit.tables.json_values import json_bytes
from rebalance_audit.wire import key_bytes
from rebalance_audit.wire.generated.messages import RecordType
from rebalance_audit.wire.json_shape import key_data, value_data
from rebalance_audit.wire.records import Record, Undecodable, decode_record
from rebalance_audit.wire.segments.bad_bytes import BadBytes, TailNote
from rebalance_audit.wire.segments.batches import parse_marker
from rebalance_audit.wire.segments.columns import ColumnChunk, Run
from rebalance_audit.wire.segments.folder import LogFolder

DecodedRecord: TypeAlias = dict[str, Any]
Raw: TypeAlias = tuple[int, int, bytes | None, bytes | None]
"""Log offset, record timestamp, key, value."""

MARKERS: Final = "control"
"""Stands for transaction markers among record types: they have none."""
_TYPES: Final[dict[str, int | str]] = {
    MARKERS: MARKERS,
    **{record_type.name.lower().replace("_", ""): int(record_type) for record_type in RecordType},
}
"""Name in lower case without separators -> number."""


class RecordFilter(NamedTuple):
    """Which records to decode; None = no limit. Damaged stretches are always reported: they may hold any record."""

    group_ids: tuple[str, ...] | None = None
    record_types: frozenset[int] | None = None
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
        yield from _shapes(part, wanted)


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
        group_ids=tuple(groups) or None,
        record_types=numbers if record_types else None,
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
    if should_use_compiled_scan("render", size_bytes):
        yield from walked_lines(folder, wanted, chosen)
    else:
        yield from plain_lines(folder, wanted, chosen, workers_for(size_bytes))


def plain_lines(
    folder: LogFolder, wanted: RecordFilter, log_partitions: Collection[int], workers: int = 1
) -> Iterator[bytes]:
    """The lines of these partitions, by the readers of `wire.segments`."""
    work = partial(_lines, wanted=wanted)
    yield from in_portions(work, ranges_of(folder, log_partitions), workers)


def walked_lines(
    folder: LogFolder, wanted: RecordFilter, log_partitions: Collection[int]
) -> Iterator[bytes]:
    """The same lines by the compiled walk, which prints offset commits itself."""
    from rebalance_audit.scan.line_buffers import Chosen, LineBuffers  # noqa: PLC0415 - see should_use_compiled_scan
    from rebalance_audit.scan.segment_scan import scan  # noqa: PLC0415 - see should_use_compiled_scan

    types = key_bytes.OFFSET_COMMIT_TYPES
    chosen = Chosen(
        key_bytes.of_groups(wanted.group_ids or ()),
        () if wanted.record_types is None else types - wanted.record_types,
        wanted.from_ms,
        wanted.to_ms,
    )
    for log_partition in log_partitions:
        records = _Records(log_partition, wanted)
        room = LineBuffers(log_partition, chosen)
        for segment in folder.segments[log_partition]:
            for found in scan(room, segment.path, end_offset=segment.end_offset):
                for part in found if isinstance(found, list) else [found]:
                    yield (
                        part if isinstance(part, bytes) else b"".join(map(_line, records.of(part)))
                    )


def _chosen(folder: LogFolder, log_partitions: Collection[int]) -> list[int]:
    present = list(folder.segments)
    missing = sorted(set(log_partitions).difference(present))
    if missing:
        raise UnknownPartition(missing, present)
    return sorted(set(log_partitions)) or present


def _lines(part: Range, read: list[RangeItem], wanted: RecordFilter) -> bytes:
    records = _Records(part.segment.log_partition, wanted)
    return b"".join(_line(shape) for found in read for shape in records.of(found))


def _shapes(part: Range, wanted: RecordFilter) -> Iterator[DecodedRecord]:
    records = _Records(part.segment.log_partition, wanted)
    for found in part.read():
        yield from records.of(found)


class _Records:
    """Turns the records of one log partition into objects to print."""

    def __init__(self, log_partition: int, wanted: RecordFilter) -> None:
        self._log_partition = log_partition
        self._markers = wanted.markers
        self._keys_begin = (
            None if wanted.record_types is None else key_bytes.of_types(wanted.record_types)
        )
        self._groups = None if wanted.group_ids is None else key_bytes.of_groups(wanted.group_ids)
        self._times = None if (wanted.from_ms, wanted.to_ms) == (None, None) else wanted

    def of(self, found: ColumnChunk | BadBytes | TailNote) -> Iterator[DecodedRecord]:
        """Records, damage, or nothing."""
        if isinstance(found, BadBytes):
            yield _bad_bytes(self._log_partition, found)
        elif isinstance(found, ColumnChunk):
            yield from self.shapes(found)

    def shapes(self, chunk: ColumnChunk) -> Iterator[DecodedRecord]:
        rows = zip(
            chunk.log_offsets, chunk.record_timestamps_ms, chunk.keys, chunk.values, strict=True
        )
        for run in chunk.runs:
            of_run: Iterator[Raw] = islice(rows, run.record_count)
            if self._times is not None:
                of_run = (row for row in of_run if _in_time(row[1], self._times))
            yield from self._control(run, of_run) if run.is_control else self._data(run, of_run)

    def _data(self, run: Run, rows: Iterator[Raw]) -> Iterator[DecodedRecord]:
        log_partition, leader_epoch = self._log_partition, run.leader_epoch
        everything = self._keys_begin is None and self._groups is None
        for log_offset, record_timestamp_ms, key, value in rows:
            if not everything and not self._wants(key):
                continue
            record = decode_record(key, value)
            place: DecodedRecord = {
                "partition": log_partition,
                "offset": log_offset,
                "timestamp": record_timestamp_ms,
                "leaderEpoch": leader_epoch,
            }
            if isinstance(record, Undecodable):
                place["error"] = f"{record.reason}: {record.detail}"
                place["key"], place["value"] = _base64(key), _base64(value)
            else:
                place["key"] = {"type": int(record.record_type), "data": key_data(record)}
                place["value"] = None if record.value is None else _value(record)
            yield place

    def _control(self, run: Run, rows: Iterator[Raw]) -> Iterator[DecodedRecord]:
        for log_offset, record_timestamp_ms, key, value in rows:
            if not self._markers:
                continue
            place: DecodedRecord = {
                "partition": self._log_partition,
                "offset": log_offset,
                "timestamp": record_timestamp_ms,
                "leaderEpoch": run.leader_epoch,
            }
            marker = parse_marker(key, value)
            if isinstance(marker, str):
                place["error"] = f"bad_marker: The control record {marker}."
                place["key"], place["value"] = _base64(key), _base64(value)
            elif marker is None:
                place["control"] = {"type": "UNKNOWN"}
                place["key"], place["value"] = _base64(key), _base64(value)
            else:
                place["control"] = {
                    "type": "COMMIT" if marker.committed else "ABORT",
                    "coordinatorEpoch": marker.coordinator_epoch,
                    "producerId": run.producer_id,
                    "producerEpoch": run.producer_epoch,
                }
            yield place

    def _wants(self, key: bytes | None) -> bool:
        if key is None:
            return False
        return (self._keys_begin is None or key.startswith(self._keys_begin)) and (
            self._groups is None or key.startswith(self._groups, key_bytes.TYPE_BYTES)
        )


def _value(record: Record) -> DecodedRecord:
    shape: DecodedRecord = {"version": record.value_version, "data": value_data(record)}
    if record.unknown_tags:
        shape["unknownTags"] = [
            {"path": path, "tag": tag, "data": _base64(data)}
            for path, tag, data in record.unknown_tags
        ]
    return shape


def _in_time(record_timestamp_ms: int, wanted: RecordFilter) -> bool:
    return (wanted.from_ms is None or record_timestamp_ms >= wanted.from_ms) and (
        wanted.to_ms is None or record_timestamp_ms < wanted.to_ms
    )


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


def _line(shape: DecodedRecord) -> bytes:
    return json_bytes(shape, orjson.OPT_APPEND_NEWLINE)
