"""The records that end a group, or a member of one."""

from collections.abc import Callable, Mapping
from typing import Final

from rebalance_audit.coordinator.handling import RecordDraft
from rebalance_audit.replay.changes import GroupType
from rebalance_audit.replay.groups import Group, ModernGroup
from rebalance_audit.wire.generated import messages

MEMBER_KEYS: Final[Mapping[GroupType, tuple[Callable[[str, str], messages.Key], ...]]] = {
    GroupType.CONSUMER: (
        messages.ConsumerGroupCurrentMemberAssignmentKey,
        messages.ConsumerGroupTargetAssignmentMemberKey,
        messages.ConsumerGroupMemberMetadataKey,
    ),
    GroupType.SHARE: (
        messages.ShareGroupCurrentMemberAssignmentKey,
        messages.ShareGroupTargetAssignmentMemberKey,
        messages.ShareGroupMemberMetadataKey,
    ),
    GroupType.STREAMS: (
        messages.StreamsGroupCurrentMemberAssignmentKey,
        messages.StreamsGroupTargetAssignmentMemberKey,
        messages.StreamsGroupMemberMetadataKey,
    ),
}
"""What names a member, in the order that replay requires of its tombstones: assignment, target, description."""

_GROUP_KEYS: Final[Mapping[GroupType, tuple[Callable[[str], messages.Key], ...]]] = {
    GroupType.CONSUMER: (
        messages.ConsumerGroupTargetAssignmentMetadataKey,
        messages.ConsumerGroupPartitionMetadataKey,
        messages.ConsumerGroupMetadataKey,
    ),
    GroupType.SHARE: (
        messages.ShareGroupTargetAssignmentMetadataKey,
        messages.ShareGroupStatePartitionMetadataKey,
        messages.ShareGroupMetadataKey,
    ),
    GroupType.STREAMS: (
        messages.StreamsGroupTargetAssignmentMetadataKey,
        messages.StreamsGroupMetadataKey,
        messages.StreamsGroupTopologyKey,
    ),
}


def member_tombstones(group: ModernGroup, member_id: str) -> tuple[RecordDraft, ...]:
    """[8t][7t][5t]; [14t][13t][10t]; [22t][21t][19t]."""
    keys = MEMBER_KEYS[group.group_type]
    return tuple(RecordDraft(key(group.group_id, member_id), None) for key in keys)


def group_tombstones(group: Group) -> tuple[RecordDraft, ...]:
    """Tombstones of a group without members in the order that replay requires.

    [2t]; [6t] [16t]* [4t] [3t]; [12t] [15t] [11t]; [20t] [17t] [23t]. [4t] is written even by releases that never write
    [4], as Kafka does: the log may be older than its broker.
    """
    group_id = group.group_id
    if not isinstance(group, ModernGroup):
        return (RecordDraft(messages.GroupMetadataKey(group_id), None),)
    target_epoch, *others = _GROUP_KEYS[group.group_type]
    keys = (
        target_epoch(group_id),
        *(messages.ConsumerGroupRegularExpressionKey(group_id, each) for each in group.regexes),
        *(key(group_id) for key in others),
    )
    return tuple(RecordDraft(key, None) for key in keys)
