"""The newest records of share and streams groups whose content replay does not keep, for the coordinator alone.

Replay keeps what the audit judges. A coordinator also needs the topology and its validation, the standby tasks, and
which partitions are initialised for sharing. All of that is the newest value of some key, and is kept as such.
"""

from typing import Any, Final

from rebalance_audit.replay.changes import Change, Position
from rebalance_audit.replay.groups import GroupSlot
from rebalance_audit.replay.shard import Shard
from rebalance_audit.replay.step import Policy
from rebalance_audit.wire.generated.messages import Key, RecordType, Value
from rebalance_audit.wire.records import Record

_KEPT: Final = frozenset(
    {
        RecordType.SHARE_GROUP_STATE_PARTITION_METADATA,
        RecordType.STREAMS_GROUP_METADATA,
        RecordType.STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER,
        RecordType.STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT,
        RecordType.STREAMS_GROUP_TOPOLOGY,
    }
)


class LedgerShard(Shard):
    """A shard that also keeps the newest values of these records. Only `apply` writes them, like all hard state."""

    def __init__(self, log_partition: int, policy: Policy = Policy.LENIENT) -> None:
        """Starts empty."""
        super().__init__(log_partition, policy)
        self._newest: dict[tuple[type, Key], Value] = {}
        """By type too: keys of different types can have equal fields."""

    def apply(self, record: Record, position: Position) -> tuple[GroupSlot, list[Change]]:
        """Apply one record to its group. Raises ReplayError as `Shard.apply` does."""
        applied = super().apply(record, position)
        if record.record_type in _KEPT:
            key = type(record.key), record.key
            if record.value is None:
                self._newest.pop(key, None)
            else:
                self._newest[key] = record.value
        return applied

    def newest(self, key: Key) -> Value | None:
        """The newest value of a key, None after its tombstone."""
        return self._newest.get((type(key), key))


def newest(shard: Shard, key: Key) -> Any:
    """The newest value of a key; None where there is none or the shard keeps no ledger."""
    return shard.newest(key) if isinstance(shard, LedgerShard) else None
