"""What replay does with a record that the rules exclude."""

from enum import Enum, auto

from rebalance_audit.replay.changes import AnomalyKind, Position


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
