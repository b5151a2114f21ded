"""One record on its way into a slot, and what becomes of one that the rules exclude."""

from collections.abc import Callable
from enum import Enum, auto
from typing import Any, TypeAlias

from rebalance_audit.replay.changes import Anomaly, AnomalyKind, Change, Position
from rebalance_audit.replay.groups import GroupSlot
from rebalance_audit.wire.records import Record


class Policy(Enum):
    """How replay treats a record out of place."""

    LENIENT = auto()
    """Real logs: apply it as Kafka's own loader would, or leave it out if that would stop, and report an `Anomaly`."""
    STRICT = auto()
    """Our own logs: a record out of place is a bug; raise `ReplayError` and leave the state as it was."""


class ReplayError(Exception):
    """A record that the rules exclude, met under the strict policy."""

    def __init__(
        self, group_id: str, record_name: str, position: Position, kind: AnomalyKind, detail: str
    ) -> None:
        """`record_name` is the record type, with `tombstone` if it is one; `detail` says what is wrong."""
        super().__init__(
            f"group {group_id!r}: {record_name} at partition {position.log_partition}, offset "
            f"{position.log_offset} is out of place ({kind.value}): {detail}"
        )
        self.group_id = group_id
        self.position = position
        self.kind = kind


class ReplayStep:
    """What the rules share while one record is applied: its slot, and what it has changed so far."""

    __slots__ = ("_policy", "changes", "position", "record", "slot")

    def __init__(self, slot: GroupSlot, record: Record, position: Position, policy: Policy) -> None:
        self.slot = slot
        self.record = record
        self.position = position
        self.changes: list[Change] = []
        self._policy = policy

    @property
    def is_lenient(self) -> bool:
        """Whether the log is a real one, which compaction may have changed."""
        return self._policy is Policy.LENIENT

    def refuse(self, kind: AnomalyKind, detail: str) -> None:
        """Say that the rules exclude the record; under the strict policy this raises, so call it before any change."""
        if self._policy is Policy.STRICT:
            record_name = self.record.record_type.name
            if self.record.value is None:
                record_name += " tombstone"
            raise ReplayError(self.slot.group_id, record_name, self.position, kind, detail)
        self.changes.append(Anomaly(self.position, kind, detail))


ReplayRule: TypeAlias = Callable[[ReplayStep, Any, Any], None]
"""Applies one record type: (step, key, value or None for a tombstone)."""
