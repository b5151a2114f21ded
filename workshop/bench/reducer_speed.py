"""Group records a second that one core audits, decoding included: `python -m workshop.bench.reducer_speed`.

Two groups of ten members and fifty partitions that rebalance without end: one of the consumer protocol, in which a
member leaves and another comes, and a classic one, in which every generation has another nine of the ten.

*audit* is decoding and `GroupAudit`, up to rows; *reducer* is what a Spark task does: Arrow batches of records in and
of rows out, silver.group_records among them. A record of the consumer protocol gives 1.6 rows, a classic one is a whole
generation and gives 24: what a core does in a second is best compared in rows. A row of twenty columns takes about 1 us
as a dictionary and 2 us more as cells of Arrow columns: 30,000 classic records a second would need rows that are never
put together in Python.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from itertools import count

import pyarrow as pa

from rebalance_audit.audit.group_audit import GroupAudit
from rebalance_audit.audit.rows import Row
from rebalance_audit.lake.gold.group_memory import ReducerOptions
from rebalance_audit.lake.gold.reducer import reduced
from rebalance_audit.lake.records.commit_packs import INPUT
from rebalance_audit.lake.storage.stage import ROWS
from rebalance_audit.replay.changes import Position
from rebalance_audit.tables.arrow_types import column_of
from rebalance_audit.wire.records import Undecodable, decode_record, encode_key, encode_value
from tests.dsl import record_of

MEMBERS = 10
PARTITIONS = 50
GENERATION_VERSION = 3
"""Of the value that a classic generation is written with."""

ARROW_ROWS = 10_000
"""Records of one batch, as Spark hands them over."""
INPUT_KINDS = [
    "int",
    "string",
    "bigint",
    "timestamp",
    "int",
    "bigint",
    "boolean",
    "binary",
    "binary",
    "string",
]
"""Types of the reducer's INPUT."""

Write = tuple[int, list[str]]
"""The version of the values, and the records of one write in the shorthand of tests.dsl."""
Entry = tuple[bytes, bytes | None, Position]


def main() -> None:
    """Measure both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=1000)
    epochs = parser.parse_args().epochs
    for protocol, writes in PROTOCOLS.items():
        records = list(entries(writes(epochs)))
        for stage, of_stage in (("audit", measure), ("reducer", measure_reducer)):
            speed, rows = of_stage(records)
            each = rows / len(records)
            sys.stdout.write(
                f"{protocol:10} {stage:10} {len(records):8,} records {speed:10,.0f} records/s"
                f" {each:6.1f} rows a record {speed * each:10,.0f} rows/s\n"
            )


def measure(records: list[Entry]) -> tuple[float, int]:
    """Records a second of processor time, and how many rows came out."""
    rows = count()

    def emit(_table: str, _row: Row) -> None:
        next(rows)

    began = time.process_time()
    audit = GroupAudit("g", 0, emit)
    for key, value, position in records:
        record = decode_record(key, value)
        assert not isinstance(record, Undecodable)
        audit.feed(record, position)
    audit.finish()
    return len(records) / (time.process_time() - began), next(rows)


def measure_reducer(records: list[Entry]) -> tuple[float, int]:
    """The same of a Spark task."""
    columns = zip(
        *(
            (
                position.log_partition,
                "g",
                position.log_offset,
                position.record_timestamp_ms,
                position.leader_epoch,
                None,
                None,
                key,
                value,
                None,
            )
            for key, value, position in records
        ),
        strict=True,
    )
    table = pa.table([*map(column_of, INPUT_KINDS, columns)], names=[*INPUT])
    batches = table.to_batches(ARROW_ROWS)
    began = time.process_time()
    stream = reduced(batches, ReducerOptions())
    rows = sum(sum(batch[ROWS].to_pylist()) for batch in stream)
    return len(records) / (time.process_time() - began), rows


def entries(writes: Iterator[Write]) -> Iterator[Entry]:
    """The log: each write a second after the one before, with offset commits between."""
    log_offset, now_ms = 0, 1_000
    for version, lines in writes:
        for line in lines:
            record = record_of(line, now_ms)
            value = None if record.value is None else encode_value(record.value, version)
            yield encode_key(record.key), value, Position(0, log_offset, now_ms, 0)
            log_offset += 1
        log_offset += 3
        now_ms += 1_000


def consumer_writes(epochs: int) -> Iterator[Write]:
    """Members of the consumer protocol come and go by turns."""
    names = [f"member-{number}-aaaaaaaaaaaaaaaaaaaa" for number in range(MEMBERS)]
    members: list[str] = []
    epoch = 1
    for turn in range(MEMBERS + epochs):
        name = names[turn // 2 % MEMBERS] if turn >= MEMBERS else names[turn]
        epoch += 1
        if name in members:
            members.remove(name)
            yield 0, [f"8t {name}", f"7t {name}", f"5t {name}", f"3 {epoch} h1"]
            yield 0, [*_targets(members), f"6 {epoch}"]
        else:
            members = sorted([*members, name])
            yield (
                0,
                [
                    f"5 {name}",
                    f"3 {epoch} h1",
                    *_targets(members),
                    f"6 {epoch}",
                    f"8 {name} {epoch}/0 UNRELEASED -",
                ],
            )
        for member in members:
            yield 0, [f"8 {member} {epoch}/{epoch - 1} {_share(member, members)}"]


def classic_writes(epochs: int) -> Iterator[Write]:
    """Generations of a classic group."""
    names = [f"M-{number}-aaaaaaaaaaaaaaaaaaaa" for number in range(MEMBERS)]
    for generation in range(1, epochs * 8 + 1):
        members = [name for place, name in enumerate(names) if place != generation % MEMBERS]
        shares = " ".join(f"{name}={_share(name, members)}" for name in members)
        yield GENERATION_VERSION, [f"2 {generation} range {shares}"]


PROTOCOLS: dict[str, Callable[[int], Iterator[Write]]] = {
    "consumer": consumer_writes,
    "classic": classic_writes,
}


def _targets(members: list[str]) -> list[str]:
    return [f"7 {name} {_share(name, members)}" for name in members]


def _share(name: str, members: list[str]) -> str:
    place, each = members.index(name), PARTITIONS // len(members)
    last = PARTITIONS if place == len(members) - 1 else (place + 1) * each
    return f"{place * each}-{last - 1}"


if __name__ == "__main__":
    main()
