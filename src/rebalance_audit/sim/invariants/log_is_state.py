"""Rule: the log, replayed from its start, gives the state that the coordinator holds."""

from collections.abc import Mapping, Sequence

from rebalance_audit.replay.groups.classic_group import ClassicGroup
from rebalance_audit.replay.groups.slot import CommittedOffset, Group
from rebalance_audit.replay.shard import Shard
from rebalance_audit.sim.brokers.batch_writer import LoggedRecord
from rebalance_audit.sim.brokers.broker import ServedPartition
from rebalance_audit.sim.invariants.broken import InvariantBrokenError

_Essence = tuple[
    Group | None,
    Mapping[tuple[str, int], CommittedOffset],
    Mapping[int, Mapping[tuple[str, int], CommittedOffset]],
]


class Reloads:
    """Compares what a coordinator loads with what the one before it held."""

    def __init__(self) -> None:
        """No coordinator has stopped yet."""
        self._before: dict[int, Shard] = {}
        """Partition of the log -> state of the coordinator that stopped."""

    def stopped(self, shard: ServedPartition) -> None:
        """Remember the state of a coordinator that is about to stop."""
        self._before[shard.number] = shard.shard

    def check(self, shard: ServedPartition, lost: Sequence[LoggedRecord]) -> None:
        """Raises InvariantBrokenError where nothing was lost but the new coordinator has another state."""
        before = self._before.pop(shard.number, None)
        if before is not None and not lost:
            require_equal(before, shard.shard, f"reload of partition {shard.number}")


def require_equal(live: Shard, replayed: Shard, where: str) -> None:
    """Raises InvariantBrokenError where two shards differ in anything but what a cleaner may remove."""
    left, right = _essence(live), _essence(replayed)
    for group_id in sorted(left.keys() | right.keys()):
        one, other = left.get(group_id), right.get(group_id)
        if one != other:
            raise InvariantBrokenError(f"{where}: {group_id} is {one} live and {other} replayed")


def _essence(shard: Shard) -> dict[str, _Essence]:
    found: dict[str, _Essence] = {}
    for slot in shard.slots():
        pending = {producer: held for producer, held in slot.pending_offsets.items() if held}
        group = slot.group
        if isinstance(group, ClassicGroup) and not group.has_record:
            group = None  # a simple group is nothing but its offsets
        if group is not None or slot.offsets or pending:
            found[slot.group_id] = group, slot.offsets, pending
    return found
