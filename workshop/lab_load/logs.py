"""Partition logs as lists of batches: taken from golden logs or written in shorthand, changed at one place, encoded.

Everything here is a function of its arguments and of the files in `tests/golden`: the same case gives the same bytes.
Batches are placed at leader epoch 0, since the topic of the lab is younger than the logs. The checksum does not cover
that field.
"""

import struct
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Final, NamedTuple, TypeAlias

from rebalance_audit.replay.java_order import hash_code
from rebalance_audit.resources import checkout_root
from rebalance_audit.sim.brokers.batch_writer import (
    NO_PRODUCER,
    Codec,
    LoggedRecord,
    Producer,
    encode_batch,
    encode_marker,
)
from rebalance_audit.wire.generated.messages import RecordType
from rebalance_audit.wire.records import Record, encode_key, encode_value
from tests.dsl import records
from tests.support.batches import Batch, read_batches
from workshop.lab_load.damage import changed_header

GOLDEN: Final = checkout_root() / "tests" / "golden"
LEADER_EPOCH: Final = 0
BEGIN_MS: Final = 1_790_000_000_000
"""Time of the first batch that is written in shorthand; the next is a second later."""
WRITE_MS: Final = 1_000
PRODUCER: Final = Producer(1000, 0)
_CODECS: Final = {name: Codec[name.upper()] for name in ("none", "gzip", "snappy", "lz4", "zstd")}
_LEADER_EPOCH_AT: Final = 12
_GROUP_AT: Final = 4
_NAME_TRIES: Final = 1 << 14
VALUE_VERSIONS: Final = {RecordType.OFFSET_COMMIT: 3, RecordType.GROUP_METADATA: 3}
"""What every release reads. 4.1 and later write version 4 of offset commits."""

Damage: TypeAlias = Callable[[bytes], bytes]
"""What becomes of the bytes of one batch."""


class Marker(NamedTuple):
    """A control batch: the transaction's end, or the bytes of a control record's key."""

    committed: bool = True
    key: bytes | None = None
    """Instead of the key that Kafka writes."""


class LogBatch(NamedTuple):
    """A batch before it is encoded."""

    records: tuple[LoggedRecord, ...]
    producer: Producer = NO_PRODUCER
    codec: Codec = Codec.NONE
    marker: Marker | None = None
    damage: Damage | None = None


Log: TypeAlias = tuple[LogBatch, ...]


# --- where logs come from -----------------------------------------------------------------------


@cache
def golden(capture: str, log_partition: int, *group_ids: str) -> Log:
    """The log of a partition of a golden log, or what it holds of some groups, at its own offsets."""
    folder = GOLDEN / capture / "segments" / f"__consumer_offsets-{log_partition}"
    batches = (each for path in sorted(folder.glob("*.log")) for each in read_batches(path))
    found: list[LogBatch] = []
    for batch in batches:
        assert isinstance(batch, Batch), batch
        held = batch.records()
        assert isinstance(held, list), held
        header = batch.header
        producer = Producer(header.producer_id, header.producer_epoch)
        ended = batch.control_marker()
        if ended is not None:
            assert not hasattr(ended, "reason"), ended
            is_commit = bytes(held[0].key or b"")[-1] == 1
            marker = Marker(is_commit)
            found.append(LogBatch((LoggedRecord(*held[0]),), producer, marker=marker))
            continue
        kept = tuple(
            LoggedRecord(*each) for each in held if not group_ids or group_of(each.key) in group_ids
        )
        if kept:
            found.append(LogBatch(kept, producer, _CODECS[header.codec]))
    assert found, (capture, log_partition, group_ids)
    return tuple(found)


def written(*lines: str, producer: Producer = NO_PRODUCER, from_offset: int = 0) -> Log:
    """A batch for each line of shorthand (`tests.dsl`), at consecutive offsets; `C` and `A` are markers."""
    found: list[LogBatch] = []
    log_offset = from_offset
    for number, line in enumerate(lines):
        at_ms = BEGIN_MS + number * WRITE_MS
        if line in {"C", "A"}:
            held: tuple[LoggedRecord, ...] = (LoggedRecord(log_offset, at_ms, b"", b""),)
            found.append(LogBatch(held, producer, marker=Marker(line == "C")))
        else:
            held = tuple(
                LoggedRecord(log_offset + place, at_ms, *_encoded(each))
                for place, each in enumerate(records(line, at_ms))
            )
            found.append(LogBatch(held, producer))
        log_offset += len(held)
    return tuple(found)


def raw(*pairs: tuple[bytes | None, bytes | None], from_offset: int = 0) -> Log:
    """A batch of one record for each pair of key and value."""
    return tuple(
        LogBatch((LoggedRecord(from_offset + place, BEGIN_MS + place * WRITE_MS, *pair),))
        for place, pair in enumerate(pairs)
    )


def key_bytes(record_type: int, *texts: str, partition: int | None = None) -> bytes:
    """A key of any type: the number, its strings, and a partition."""
    out = struct.pack(">h", record_type)
    for text in texts:
        data = text.encode()
        out += struct.pack(">h", len(data)) + data
    return out if partition is None else out + struct.pack(">i", partition)


def _encoded(record: Record) -> tuple[bytes, bytes | None]:
    if record.value is None:
        return encode_key(record.key), None
    value_version = VALUE_VERSIONS.get(record.record_type, 0)
    return encode_key(record.key), encode_value(record.value, value_version, record.layout)


# --- what is changed ----------------------------------------------------------------------------


def type_of(key: bytes | None) -> int | None:
    """The number that a key begins with."""
    return struct.unpack_from(">h", key)[0] if key is not None and len(key) > 1 else None


def group_of(key: bytes | None) -> str | None:
    """The group of a key, None if it has none."""
    if key is None or len(key) < _GROUP_AT:
        return None
    (size,) = struct.unpack_from(">h", key, 2)
    if size < 0 or len(key) < _GROUP_AT + size:
        return None
    try:
        return key[_GROUP_AT : _GROUP_AT + size].decode()
    except UnicodeDecodeError:
        return None


def places(log: Log, record_type: int | None = None) -> list[tuple[int, int]]:
    """Where the records of a type are: (batch, place in the batch), in offset order; without markers."""
    return [
        (number, place)
        for number, batch in enumerate(log)
        if batch.marker is None
        for place, each in enumerate(batch.records)
        if record_type is None or type_of(each.key) == record_type
    ]


def patched(
    log: Log,
    record_type: int | None,
    nth: int = 0,
    key: Callable[[bytes], bytes | None] | None = None,
    value: Callable[[bytes], bytes | None] | None = None,
) -> Log:
    """With another key or value in the nth record of a type (-1: the last one)."""
    number, place = places(log, record_type)[nth]
    held = list(log[number].records)
    each = held[place]
    if key is not None:
        assert each.key is not None
        each = each._replace(key=key(each.key))
    if value is not None:
        assert each.value is not None
        each = each._replace(value=value(each.value))
    held[place] = each
    return (*log[:number], log[number]._replace(records=tuple(held)), *log[number + 1 :])


def without(log: Log, *dropped: tuple[int, int]) -> Log:
    """Without the records (type, nth), as after compaction: the others keep their offsets."""
    gone = {places(log, record_type)[nth] for record_type, nth in dropped}
    return _filtered(log, lambda number, place: (number, place) not in gone)


def without_types(log: Log, *record_types: int) -> Log:
    """Without all records of some types."""
    gone = {each for record_type in record_types for each in places(log, record_type)}
    return _filtered(log, lambda number, place: (number, place) not in gone)


def first_records(log: Log, count: int) -> Log:
    """The first records, as if the log ended there."""
    kept = set(places(log)[:count])
    return _filtered(log, lambda number, place: (number, place) in kept)


def last_records(log: Log, count: int) -> Log:
    """The last records, as if those before had been removed."""
    kept = set(places(log)[-count:])
    return _filtered(log, lambda number, place: (number, place) in kept)


def compacted(log: Log) -> Log:
    """The last record of each key, as the cleaner leaves it; tombstones stay."""
    last = {log[number].records[place].key: (number, place) for number, place in places(log)}
    kept = set(last.values())
    return _filtered(log, lambda number, place: (number, place) in kept)


def _filtered(log: Log, keeps: Callable[[int, int], bool]) -> Log:
    found = []
    for number, batch in enumerate(log):
        held = tuple(
            each
            for place, each in enumerate(batch.records)
            if batch.marker is not None or keeps(number, place)
        )
        if held:
            found.append(batch._replace(records=held))
    return tuple(found)


def reordered(log: Log, order: Iterable[int]) -> Log:
    """The records one a batch, in another order, at the offsets that are there."""
    held = [log[number].records[place] for number, place in places(log)]
    moved = [held[place] for place in order]
    assert len(moved) == len(held)
    return tuple(
        LogBatch((each._replace(log_offset=there.log_offset),))
        for each, there in zip(moved, held, strict=True)
    )


def joined(*logs: Log) -> Log:
    """One log after the other, renumbered from 0 without gaps."""
    found: list[LogBatch] = []
    log_offset = 0
    for batch in (batch for log in logs for batch in log):
        held = tuple(
            each._replace(log_offset=log_offset + place) for place, each in enumerate(batch.records)
        )
        log_offset += len(held)
        found.append(batch._replace(records=held))
    return tuple(found)


def damaged(log: Log, nth: int, damage: Damage) -> Log:
    """With damage to the bytes of the nth batch."""
    number = range(len(log))[nth]
    return (*log[:number], log[number]._replace(damage=damage), *log[number + 1 :])


def compressed(log: Log, codec: Codec) -> Log:
    """The same log in compressed batches."""
    return tuple(batch if batch.marker else batch._replace(codec=codec) for batch in log)


# --- bytes --------------------------------------------------------------------------------------


def group_at(name: str, log_partition: int, partition_count: int) -> str:
    """The group's name with the smallest number behind it that lives in that partition."""
    for number in range(_NAME_TRIES):
        tried = f"{name}~{number}"
        if partition_of(tried, partition_count) == log_partition:
            return tried
    raise AssertionError(name)


def partition_of(group_id: str, partition_count: int) -> int:
    """The partition of `__consumer_offsets` that a group lives in."""
    return abs(hash_code(group_id)) % partition_count


def names_in(log: Log) -> list[str]:
    """The names of all groups whose records have readable keys, in the order of their first records."""
    held = (each for batch in log if batch.marker is None for each in batch.records)
    return list(dict.fromkeys(name for each in held if (name := group_of(each.key)) is not None))


def encoded_log(log: Log, log_partition: int, partition_count: int) -> bytes:
    """The bytes of the segment, with each group under a name that lives in the partition."""
    names = {name: group_at(name, log_partition, partition_count) for name in names_in(log)}
    return b"".join(_encoded_batches(log, names))


def last_batch(log: Log, log_partition: int, partition_count: int) -> tuple[int, int]:
    """Offset and byte position of the last batch in those bytes."""
    names = {name: group_at(name, log_partition, partition_count) for name in names_in(log)}
    sizes = [len(each) for each in _encoded_batches(log, names)]
    return log[-1].records[0].log_offset, sum(sizes[:-1])


def _encoded_batches(log: Log, names: dict[str, str]) -> Iterator[bytes]:
    for batch in log:
        data = bytearray(_encoded_batch(batch, names))
        data[_LEADER_EPOCH_AT : _LEADER_EPOCH_AT + 4] = struct.pack(">i", LEADER_EPOCH)
        yield batch.damage(bytes(data)) if batch.damage else bytes(data)


def _encoded_batch(batch: LogBatch, names: dict[str, str]) -> bytes:
    first = batch.records[0]
    if batch.marker is None:
        held = [each._replace(key=_renamed(each.key, names)) for each in batch.records]
        return encode_batch(held, LEADER_EPOCH, batch.codec, batch.producer)
    marker = encode_marker(
        first.log_offset,
        first.record_timestamp_ms,
        LEADER_EPOCH,
        batch.producer,
        0,
        committed=batch.marker.committed,
    )
    if batch.marker.key is None:
        return marker
    control = first._replace(key=batch.marker.key, value=struct.pack(">hi", 0, 0))
    return as_control(encode_batch([control], LEADER_EPOCH, producer=batch.producer))


def _renamed(key: bytes | None, names: dict[str, str]) -> bytes | None:
    name = group_of(key)
    if key is None or name is None:
        return key
    (size,) = struct.unpack_from(">h", key, 2)
    data = names[name].encode()
    return key[:2] + struct.pack(">h", len(data)) + data + key[_GROUP_AT + size :]


def as_control(batch: bytes) -> bytes:
    """The batch with the flag of control batches."""
    return changed_header(batch, attributes=lambda flags: flags | 0x20)
