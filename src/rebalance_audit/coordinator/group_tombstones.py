"""The records that end a group."""

from collections.abc import Callable, Mapping
from typing import Final

from rebalance_audit.coordinator.handling import RecordDraft
from rebalance_audit.replay.changes import GroupType
from rebalance_audit.replay.groups import Group, ModernGroup
from rebalance_audit.wire.generated.messages import (
    ConsumerGroupMetadataKey,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupTargetAssignmentMetadataKey,
    GroupMetadataKey,
    Key,
    ShareGroupMetadataKey,
    ShareGroupStatePartitionMetadataKey,
    ShareGroupTargetAssignmentMetadataKey,
    StreamsGroupMetadataKey,
    StreamsGroupTargetAssignmentMetadataKey,
    StreamsGroupTopologyKey,
)


def group_tombstones(group: Group) -> tuple[RecordDraft, ...]:
    """Tombstones of an empty group in the order that replay requires.

    [2t]; [6t] [16t]* [4t] [3t]; [12t] [15t] [11t]; [20t] [17t] [23t]. [4t] is written even by releases that never write
    [4], as Kafka does: the log may be older than its broker.
    """
    group_id = group.group_id
    if not isinstance(group, ModernGroup):
        return (RecordDraft(GroupMetadataKey(group_id), None),)
    assert not group.members
    return tuple(RecordDraft(key, None) for key in _KEYS[group.group_type](group))


def _of_consumer_group(group: ModernGroup) -> tuple[Key, ...]:
    group_id = group.group_id
    return (
        ConsumerGroupTargetAssignmentMetadataKey(group_id),
        *(ConsumerGroupRegularExpressionKey(group_id, regex) for regex in group.regexes),
        ConsumerGroupPartitionMetadataKey(group_id),
        ConsumerGroupMetadataKey(group_id),
    )


def _of_share_group(group: ModernGroup) -> tuple[Key, ...]:
    group_id = group.group_id
    return (
        ShareGroupTargetAssignmentMetadataKey(group_id),
        ShareGroupStatePartitionMetadataKey(group_id),
        ShareGroupMetadataKey(group_id),
    )


def _of_streams_group(group: ModernGroup) -> tuple[Key, ...]:
    group_id = group.group_id
    return (
        StreamsGroupTargetAssignmentMetadataKey(group_id),
        StreamsGroupMetadataKey(group_id),
        StreamsGroupTopologyKey(group_id),
    )


_KEYS: Final[Mapping[GroupType, Callable[[ModernGroup], tuple[Key, ...]]]] = {
    GroupType.CONSUMER: _of_consumer_group,
    GroupType.SHARE: _of_share_group,
    GroupType.STREAMS: _of_streams_group,
}
