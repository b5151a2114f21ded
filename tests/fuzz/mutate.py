"""Real logs with damage in them, by the million: nothing may come out but declared outcomes, and every record counts.

    python -m tests.fuzz.mutate --records 10000000 --segments 20000 --logs 2000 --seed 1 --processes 2

prints how often each outcome came. A failure names the block's seed and the bytes. `test_mutate.py` runs a sample.
"""

import argparse
import functools
import json
import random
import struct
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Final, TypeAlias

import orjson

from rebalance_audit.audit.log_audit import LogAudit
from rebalance_audit.replay.describe import describe_group
from rebalance_audit.replay.shard import Shard
from rebalance_audit.wire.json_shape import key_data, value_data
from rebalance_audit.wire.records import Record, Undecodable, decode_record, group_id_of
from rebalance_audit.wire.segments.bad_bytes import BadBytes
from rebalance_audit.wire.segments.batches import HEADER
from rebalance_audit.wire.segments.columns import ColumnChunk, read_columns
from rebalance_audit.wire.segments.folder import open_log_folder
from rebalance_audit.wire.segments.walk import split_points
from rebalance_audit.wire.topic_names import TopicNames
from tests.segments.same_columns import assert_same
from tests.support.batches import Batch, LogRecord, read_batches
from tests.support.log_entries import (
    PositionedMarker,
    PositionedRecord,
    apply_entry,
    log_entries,
    position_of,
)
from tests.wire.golden import CAPTURES
from tests.wire.golden_records import all_golden
from tests.wire.mutation import mutated
from tests.wire.segments.hand_made import commits, message_set, with_crc

Tally: TypeAlias = Counter[str]
KeyValue: TypeAlias = tuple[bytes, bytes | None]

BLOCK_RECORDS: Final = 20_000
BLOCK_SEGMENTS: Final = 50
BLOCK_LOGS: Final = 5


@functools.cache
def corpus() -> tuple[tuple[KeyValue, ...], ...]:
    """Keys and values of the golden captures and vectors, grouped by record type so that rare types are not drowned."""
    by_type: dict[bytes, dict[KeyValue, None]] = {}
    captured = (
        (entry.key, entry.value)
        for name in sorted(folder.name for folder in CAPTURES.iterdir())
        for entry in log_entries(open_log_folder(CAPTURES / name / "segments"))
        if isinstance(entry, PositionedRecord) and entry.key is not None
    )
    for key, value in (*captured, *all_golden()):
        by_type.setdefault(key[:2], {})[key, value] = None
    return tuple(tuple(found) for found in by_type.values())


def fuzz_records(seed: int, count: int) -> Tally:
    """Mutate `count` records; each is decoded and shown as JSON, or says why not."""
    chance = random.Random(seed)
    types = corpus()
    tally: Tally = Counter()
    for _ in range(count):
        key, value = chance.choice(chance.choice(types))
        for _ in range(chance.choice((1, 1, 1, 2, 3))):
            if value is None or chance.random() < 0.25:
                key = mutated(key, chance)
            else:
                value = mutated(value, chance)
        try:
            tally[outcome_of(key, value)] += 1
        except Exception as error:
            value_hex = None if value is None else value.hex()
            raise AssertionError(f"seed {seed}: key {key.hex()} value {value_hex}") from error
    assert tally.total() == count
    return tally


def outcome_of(key: bytes | None, value: bytes | None) -> str:
    """What became of one record: decoded or its reason; anything else raises."""
    outcome = decode_record(key, value)
    if isinstance(outcome, Undecodable):
        assert outcome.detail
        return f"quarantined: {outcome.reason.value}"
    assert isinstance(outcome, Record)
    orjson.dumps(key_data(outcome))
    if outcome.value is None:
        return "decoded: tombstone"
    orjson.dumps(value_data(outcome))
    TopicNames().add_record(outcome.key, outcome.value, 0)
    return "decoded: value"


@functools.cache
def segments() -> tuple[bytes, ...]:
    """Real segments, and some in the old message formats."""
    old = [
        message_set(commits(30), 0),
        message_set(commits(30), 1),
        *(message_set(commits(30), 1, codec) * 3 for codec in ("gzip", "snappy", "lz4")),
    ]
    return (*(path.read_bytes() for path in sorted(CAPTURES.rglob("*.log"))), *old)


def damaged_segment(chance: random.Random) -> bytes:
    """A segment with a few things wrong, in half of the cases behind checksums that hold."""
    data = chance.choice(segments())
    for _ in range(chance.choice((1, 1, 2, 5))):
        data = resealed(data, chance) if chance.random() < 0.5 else mutated(data, chance)
    tail = chance.choice((b"", b"", bytes(chance.randrange(500)), chance.randbytes(40)))
    return data + tail


def resealed(data: bytes, chance: random.Random) -> bytes:
    """The segment with one batch damaged in its records or header fields, its length and checksum made right again."""
    batches = []
    at = 0
    while at + HEADER.size <= len(data) and data[at + 16] == 2:
        size = 12 + int.from_bytes(data[at + 8 : at + 12], signed=True)
        if not HEADER.size <= size <= len(data) - at:
            break
        batches.append((at, size))
        at += size
    if not batches:
        return mutated(data, chance)
    at, size = chance.choice(batches)
    head, body = data[at : at + HEADER.size], data[at + HEADER.size : at + size]
    if chance.random() < 0.3:
        place = chance.randrange(21, HEADER.size)
        head = head[:place] + chance.randbytes(1) + head[place + 1 :]
    else:
        body = mutated(body, chance)
    head = head[:8] + struct.pack(">i", HEADER.size - 12 + len(body)) + head[12:]
    return data[:at] + with_crc(head + body) + data[at + size :]


def fuzz_segments(seed: int, count: int) -> Tally:
    """Damage `count` segments; batches, columns and parts must agree, and spans must cover the file."""
    chance = random.Random(seed)
    tally: Tally = Counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{0:020d}.log"
        for _ in range(count):
            data = damaged_segment(chance)
            path.write_bytes(data)
            try:
                tally += read_damaged(path, chance.randrange(1, 4000))
            except Exception as error:
                kept = Path(tempfile.gettempdir()) / f"damaged-segment-{seed}.log"
                kept.write_bytes(data)
                raise AssertionError(f"seed {seed}: segment kept as {kept}") from error
    return tally


def read_damaged(path: Path, target_bytes: int) -> Tally:
    """Read a damaged segment in every way and count what it holds."""
    tally: Tally = Counter()
    rows: list[object] = []
    position = 0
    for found in read_batches(path):
        span = found.header if isinstance(found, Batch) else found
        assert span.byte_position == position
        position += span.size_bytes
        records = records_of(found) if isinstance(found, Batch) else found
        if isinstance(records, list):
            tally["segments: batches"] += 1
            rows += records
            for record in records:
                tally["records read"] += 1
                tally[outcome_of(record.key, record.value).split(":")[0]] += 1
        else:
            what = records.reason if isinstance(records, BadBytes) else records.kind
            tally[f"segments: {what.value}"] += 1
            rows.append(records)
    assert position == path.stat().st_size
    points = split_points(path, target_bytes)
    assert rows == [row for part in pairwise(points) for row in rows_of(path, part)]
    assert tally["records read"] == tally["decoded"] + tally["quarantined"]
    tally["records in columns"] += assert_same(path)
    return tally


def records_of(batch: Batch) -> list[LogRecord] | BadBytes:
    """The records, or the damage of a batch that hides it behind a good checksum."""
    marker = batch.control_marker()
    return marker if isinstance(marker, BadBytes) else batch.records()


def rows_of(path: Path, part: tuple[int, int]) -> Iterator[object]:
    """Records and troubles of a part of the file, by columns."""
    for found in read_columns(path, *part):
        if isinstance(found, ColumnChunk):
            yield from zip(
                found.log_offsets, found.record_timestamps_ms, found.keys, found.values, strict=True
            )
        else:
            yield found


@functools.cache
def logs() -> tuple[tuple[PositionedRecord | PositionedMarker, ...], ...]:
    """The entries of every golden capture, in log order."""
    return tuple(
        tuple(
            entry
            for entry in log_entries(open_log_folder(folder / "segments"))
            if isinstance(entry, PositionedRecord | PositionedMarker)
        )
        for folder in sorted(CAPTURES.iterdir())
    )


def fuzz_logs(seed: int, count: int) -> Tally:
    """Replay and audit `count` logs in which records are damaged, lost or out of place."""
    chance = random.Random(seed)
    tally: Tally = Counter()
    for _ in range(count):
        log = damaged_log(chance)
        try:
            tally += audit_damaged(log)
        except Exception as error:
            kept = Path(tempfile.gettempdir()) / f"damaged-log-{seed}.jsonl"
            lines = (orjson.dumps([*entry], default=bytes.hex) for entry in log)
            kept.write_bytes(b"\n".join(lines))
            raise AssertionError(f"seed {seed}: log kept as {kept}") from error
    return tally


def damaged_log(chance: random.Random) -> list[PositionedRecord | PositionedMarker]:
    """A real log with some share of its records damaged, lost, or with another record's value."""
    log = list(chance.choice(logs()))
    share = chance.choice((0.01, 0.1, 0.5))
    for at, entry in enumerate(log):
        if not isinstance(entry, PositionedRecord) or chance.random() > share:
            continue
        assert entry.key is not None
        match chance.randrange(4):
            case 0:
                log[at] = entry._replace(key=mutated(entry.key, chance))
            case 1 if entry.value is not None:
                log[at] = entry._replace(value=mutated(entry.value, chance))
            case 2:
                log[at] = entry._replace(value=None)
            case _:
                other = chance.choice(log)
                if isinstance(other, PositionedRecord):
                    log[at] = entry._replace(key=other.key, value=other.value)
    if chance.random() < 0.5:
        log = [entry for entry in log if chance.random() > share]
    return log


def audit_damaged(log: list[PositionedRecord | PositionedMarker]) -> Tally:
    """Feed a log to replay, audit and description, as a run on real segments does."""
    tally: Tally = Counter({"logs": 1})
    audit = LogAudit()
    names = TopicNames()
    shards: dict[int, Shard] = {}
    for entry in log:
        shard = shards.setdefault(entry.log_partition, Shard(entry.log_partition))
        if isinstance(entry, PositionedMarker):
            apply_entry(shard, entry)
            continue
        position = position_of(entry)
        tally["records read"] += 1
        outcome = decode_record(entry.key, entry.value)
        if isinstance(outcome, Undecodable):
            tally["quarantined"] += 1
            if outcome.key is not None:
                audit.gap(group_id_of(outcome.key), entry.log_partition)
            continue
        tally["decoded"] += 1
        _, changes = shard.apply(outcome, position)
        tally["changes"] += len(changes)
        audit.feed(outcome, position)
        names.add_record(outcome.key, outcome.value, entry.record_timestamp_ms)
    for shard in shards.values():
        for slot in shard.groups():
            orjson.dumps(describe_group(slot, names))
    tally["rows"] += sum(map(len, audit.tables().values()))
    assert tally["records read"] == tally["decoded"] + tally["quarantined"]
    return tally


def blocks(seed: int, count: int, size: int) -> Iterator[tuple[int, int]]:
    """(seed, count) of each block of work."""
    for number in range(-(-count // size)):
        yield seed * 1_000_000 + number, min(size, count - number * size)


def main() -> None:
    """Run as asked on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("records", "segments", "logs"):
        parser.add_argument(f"--{name}", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=1)
    asked = parser.parse_args()
    work: list[tuple[Callable[[int, int], Tally], int, int]] = [
        (fuzz_records, asked.records, BLOCK_RECORDS),
        (fuzz_segments, asked.segments, BLOCK_SEGMENTS),
        (fuzz_logs, asked.logs, BLOCK_LOGS),
    ]
    with ProcessPoolExecutor(asked.processes) as pool:
        for fuzz, count, size in work:
            begun, tally = time.monotonic(), Counter[str]()
            jobs = list(blocks(asked.seed, count, size))
            for done, part in enumerate(
                pool.map(fuzz, *zip(*jobs, strict=True)) if jobs else (), 1
            ):
                tally += part
                sys.stderr.write(f"\r{fuzz.__name__} {done}/{len(jobs)} blocks")
            seconds = round(time.monotonic() - begun)
            shown = {"asked": count, "seconds": seconds, **dict(sorted(tally.items()))}
            sys.stdout.write(json.dumps({fuzz.__name__: shown}, indent=1) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
