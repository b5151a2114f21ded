"""The golden records as values; where they come from is in tests/golden/records/PROVENANCE.md."""

import functools
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).parents[1] / "golden" / "records"


class CapturedRecord(NamedTuple):
    """A record that a real broker wrote, with Kafka's own reading of it."""

    name: str
    key: bytes
    value: bytes | None
    kafka: dict[str, Any]
    """`{"key": {"type", "data"}, "value": {"version", "data"} | None}`."""


class KeyVector(NamedTuple):
    """A key and its fields."""

    record_type: int
    key: bytes
    data: dict[str, Any]


class ValueVector(NamedTuple):
    """A value and its fields."""

    record_type: int
    value_version: int
    value: bytes
    data: dict[str, Any]


def _lines(name: str) -> Iterable[dict[str, Any]]:
    with (FOLDER / name).open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


@functools.cache
def captured_records() -> tuple[CapturedRecord, ...]:
    """All records of captured.jsonl."""
    return tuple(
        CapturedRecord(
            f"{row['capture']}-{row['partition']}-{row['offset']}",
            bytes.fromhex(row["key"]),
            None if row["value"] is None else bytes.fromhex(row["value"]),
            row["kafka"],
        )
        for row in _lines("captured.jsonl")
    )


@functools.cache
def key_vectors() -> tuple[KeyVector, ...]:
    """The keys of vectors.jsonl."""
    return tuple(
        KeyVector(row["type"], bytes.fromhex(row["key"]), row["data"])
        for row in _lines("vectors.jsonl")
        if "key" in row
    )


@functools.cache
def value_vectors() -> tuple[ValueVector, ...]:
    """The values of vectors.jsonl."""
    return tuple(
        ValueVector(row["type"], row["version"], bytes.fromhex(row["value"]), row["data"])
        for row in _lines("vectors.jsonl")
        if "value" in row
    )


def plain_key(record_type: int) -> bytes:
    """A key of a record type, for tests of the value."""
    # Every key begins with the group; the ones with a third field have an int32 partition there.
    tails = {0: "000174 00000003", 1: "000174 00000003"} | dict.fromkeys(
        (5, 7, 8, 10, 13, 14, 16, 19, 21, 22), "00016d"
    )
    return record_type.to_bytes(2) + bytes.fromhex("000167" + tails.get(record_type, ""))


@functools.cache
def all_golden() -> tuple[tuple[bytes, bytes], ...]:
    """Key and value of every golden value: captured records and vectors."""
    captured = [(r.key, r.value) for r in captured_records() if r.value is not None]
    return (*captured, *((plain_key(v.record_type), v.value) for v in value_vectors()))
