"""Replay: the one way in which group state changes.

`apply` takes one decoded record of a group and brings the group's slot to the state that Kafka's coordinator has after
the same record; what changed is returned. The same function serves the audit of real logs and our own coordinator,
whose handlers only make records.
"""

from collections.abc import Mapping
from typing import Final

from rebalance_audit.replay import classic, offsets
from rebalance_audit.replay.changes import (
    Anomaly,
    AnomalyKind,
    Change,
    GroupStateChanged,
    Position,
)
from rebalance_audit.replay.groups import GroupSlot
from rebalance_audit.replay.modern import rules as modern_rules
from rebalance_audit.replay.step import Policy, ReplayError, ReplayRule, ReplayStep
from rebalance_audit.wire.generated.messages import RecordType
from rebalance_audit.wire.records import Record

__all__ = ["RULES", "Policy", "ReplayError", "apply", "apply_transaction_marker"]

RULES: Final[Mapping[RecordType, ReplayRule]] = {
    **offsets.RULES,
    **classic.RULES,
    **modern_rules.RULES,
}
"""Record type -> what it does to the slot; every type has a rule."""


def apply(
    slot: GroupSlot, record: Record, position: Position, policy: Policy = Policy.LENIENT
) -> list[Change]:
    """Apply one record of the slot's group and say what it changed.

    The changes are in the order they happened; a change of the group's derived state comes last. Under the lenient
    policy a record out of place yields an `Anomaly`; under the strict one it raises `ReplayError` and changes nothing.
    """
    step = ReplayStep(slot, record, position, policy)
    if position.log_offset <= slot.last_log_offset:
        step.refuse(AnomalyKind.OFFSET_WENT_BACK, _went_back(slot))
        return step.changes
    group = slot.group
    old_state = None if group is None else group.group_state()
    try:
        RULES[record.record_type](step, record.key, record.value)
    except ReplayError:
        # Rules refuse before they change a group; at most they have created one.
        slot.group = group
        raise
    slot.last_log_offset = position.log_offset
    group = slot.group
    new_state = None if group is None else group.group_state()
    if new_state != old_state:
        step.changes.append(GroupStateChanged(position, old_state, new_state))
    return step.changes


def apply_transaction_marker(
    slot: GroupSlot,
    producer_id: int,
    committed: bool,
    position: Position,
    policy: Policy = Policy.LENIENT,
) -> list[Change]:
    """Apply a marker of the slot's log partition: commit or drop what the producer has pending in this group.

    Raises ReplayError under the strict policy, as `apply` does.
    """
    if position.log_offset <= slot.last_log_offset:
        kind, detail = AnomalyKind.OFFSET_WENT_BACK, _went_back(slot)
        if policy is Policy.STRICT:
            raise ReplayError(slot.group_id, "transaction marker", position, kind, detail)
        return [Anomaly(position, kind, detail)]
    slot.last_log_offset = position.log_offset
    return offsets.end_transaction(slot, producer_id, position, committed=committed)


def _went_back(slot: GroupSlot) -> str:
    return f"offset {slot.last_log_offset} of this group was applied before"
