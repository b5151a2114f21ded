"""A group's offset commits and transactions in a shorthand, as steps and as the batches of a log.

40       a plain commit of offset 40
7:40     one in the transaction of producer 7
t        a tombstone
C7 A7    the marker that commits or aborts the producer's transaction
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from rebalance_audit.sim.brokers.batch_writer import (
    NO_PRODUCER,
    LoggedRecord,
    Producer,
    encode_batch,
    encode_marker,
)
from rebalance_audit.wire.records import encode_key, encode_value
from tests.dsl import log

OWNED = "5 A; 3 2; 7 A 0-1; 6 2; 8 A 2/0 0-1"
"""Member A owns foo-0 and foo-1 of group g from here on."""
BEGIN_MS = 1_700_000_040_000
"""Start of a minute."""


class Step(NamedTuple):
    """One of them."""

    kind: str
    """`commit`, `tombstone`, `committed` or `aborted`."""
    producer_id: int = -1
    committed: int = -1


def steps_of(text: str) -> list[Step]:
    """The steps of a line."""
    return [*map(_step_of, text.split())]


def _step_of(word: str) -> Step:
    if word == "t":
        return Step("tombstone")
    if word[0] in "CA":
        return Step("committed" if word[0] == "C" else "aborted", int(word[1:]))
    producer, _, committed = word.rpartition(":")
    return Step("commit", int(producer or -1), int(committed))


def batches_of(steps: Sequence[Step], every_ms: int) -> Iterator[bytes]:
    """The members' records in one batch, then a batch for each step; `every_ms` between two of them."""
    head = [*log((BEGIN_MS, OWNED))]
    yield encode_batch([_logged(each, at) for at, each in enumerate(head)], 0)
    for number, step in enumerate(steps):
        log_offset, at_ms = len(head) + number, BEGIN_MS + (number + 1) * every_ms
        producer = NO_PRODUCER if step.producer_id < 0 else Producer(step.producer_id, 0)
        if step.kind in {"committed", "aborted"}:
            is_committed = step.kind == "committed"
            yield encode_marker(log_offset, at_ms, 0, producer, 0, committed=is_committed)
            continue
        line = "1t foo:0" if step.kind == "tombstone" else f"1 foo:0 {step.committed}"
        (entry,) = log((at_ms, line))
        yield encode_batch([_logged(entry, log_offset)], 0, producer=producer)


def write_segment(folder: Path, batches: Sequence[bytes]) -> Path:
    """A folder of segments whose partition 0 has these batches; replaces what is there."""
    partition = folder / "__consumer_offsets-0"
    partition.mkdir(parents=True, exist_ok=True)
    (partition / f"{0:020}.log").write_bytes(b"".join(batches))
    return folder


def _logged(entry: tuple, log_offset: int) -> LoggedRecord:  # type: ignore[type-arg]
    record, position = entry
    value = None if record.value is None else encode_value(record.value, record.value_version)
    return LoggedRecord(log_offset, position.record_timestamp_ms, encode_key(record.key), value)
