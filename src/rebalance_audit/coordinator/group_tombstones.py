"""The records that end a group."""

from rebalance_audit.coordinator.handling import RecordDraft
from rebalance_audit.replay.changes import GroupType
from rebalance_audit.replay.modern.group import ModernGroup
from rebalance_audit.replay.slot import Group
from rebalance_audit.wire.generated.messages import (
    ConsumerGroupMetadataKey,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupTargetAssignmentMetadataKey,
    GroupMetadataKey,
    Key,
)


def group_tombstones(group: Group) -> tuple[RecordDraft, ...]:
    """Tombstones of an empty group in the order that replay requires: [2t], or [6t] [16t]* [4t] [3t].

    [4t] is written even by releases that never write [4], as Kafka does: the log may be older than its broker.
    """
    group_id = group.group_id
    if not isinstance(group, ModernGroup):
        return (RecordDraft(GroupMetadataKey(group_id), None),)
    assert group.group_type is GroupType.CONSUMER
    assert not group.members
    keys: tuple[Key, ...] = (
        ConsumerGroupTargetAssignmentMetadataKey(group_id),
        *(ConsumerGroupRegularExpressionKey(group_id, regex) for regex in group.regexes),
        ConsumerGroupPartitionMetadataKey(group_id),
        ConsumerGroupMetadataKey(group_id),
    )
    return tuple(RecordDraft(key, None) for key in keys)
