"""A log as a tenant makes it who may only create groups: what clients write is the tenant's choice."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rebalance_audit.wire.consumer_protocol import (
    Assignment,
    Subscription,
    encode_assignment,
    encode_subscription,
)
from rebalance_audit.wire.generated import messages as m
from rebalance_audit.wire.records import encode_key, encode_value
from tests.wire.segments.hand_made import Rec, batch, segment

START_MS = 1_750_000_000_000


class TenantLog:
    """Collects records, each with its time, and writes them as one segment."""

    def __init__(self, start_ms: int = START_MS, first_offset: int = 0) -> None:
        self.now_ms = start_ms
        self.records: list[Rec] = []
        self._next_offset = first_offset

    def add(self, key: Any, value: Any = None, *, version: int = 0, after_ms: int = 0) -> None:
        """A coordinator record; without a value a tombstone."""
        self.raw(
            encode_key(key),
            None if value is None else encode_value(value, version),
            after_ms=after_ms,
        )

    def raw(self, key: bytes | None, value: bytes | None, *, after_ms: int = 0) -> None:
        """Any bytes."""
        self.now_ms += after_ms
        self.records.append((self._next_offset, self.now_ms, key, value))
        self._next_offset += 1

    def generation(
        self, group: str, number: int, assigned: Iterable[tuple[str, tuple[int, ...]]], **of: Any
    ) -> None:
        """A generation of a classic group with one member, which has these partitions of each topic."""
        shares = tuple(assigned)
        topics = tuple(topic for topic, _ in shares)
        member = m.GroupMetadataMember(
            "a",
            "c",
            "/h",
            of.get("session_timeout_ms", 10_000),
            encode_subscription(Subscription(topics, b"", (), -1, None, 3)),
            encode_assignment(Assignment(shares, b"", 3)),
            None,
            60_000,
        )
        began_ms = self.now_ms
        self.add(
            m.GroupMetadataKey(group),
            m.GroupMetadataValue("consumer", number, "range", "a", (member,), began_ms),
            version=3,
            after_ms=of.get("after_ms", 5_000),
        )

    def write(self, folder: Path, codec: str = "none", *, per_batch: int = 200) -> Path:
        """The log under `folder`, as partition 0."""
        parts = [
            batch(self.records[at : at + per_batch], codec)
            for at in range(0, len(self.records), per_batch)
        ]
        segment(folder / "__consumer_offsets-0", parts)
        return folder
