"""The records of share groups, as GroupCoordinatorRecordHelpers makes them."""

from collections.abc import Iterable, Mapping

from rebalance_audit.coordinator.consumer.drafts import topics_in_order
from rebalance_audit.coordinator.handling import RecordDraft
from rebalance_audit.replay.groups import ModernMember
from rebalance_audit.replay.partitions import Partitions
from rebalance_audit.wire.generated import messages

STABLE_CODE = 0


def share_member(group_id: str, described: ModernMember) -> RecordDraft:
    """[10]: what the member said about itself."""
    value = messages.ShareGroupMemberMetadataValue(
        described.rack_id,
        described.client_id,
        described.client_host,
        tuple(sorted(described.subscribed_topic_names)),
    )
    key = messages.ShareGroupMemberMetadataKey(group_id, described.member_id)
    return RecordDraft(key, value)


def share_group_epoch(group_id: str, epoch: int, metadata_hash: int) -> RecordDraft:
    """[11]."""
    value = messages.ShareGroupMetadataValue(epoch, metadata_hash)
    return RecordDraft(messages.ShareGroupMetadataKey(group_id), value)


def share_target_epoch(group_id: str, epoch: int, computed_at_ms: int) -> RecordDraft:
    """[12]; the time is 0 in releases that do not keep it."""
    value = messages.ShareGroupTargetAssignmentMetadataValue(epoch, computed_at_ms)
    return RecordDraft(messages.ShareGroupTargetAssignmentMetadataKey(group_id), value)


def share_target(group_id: str, member_id: str, partitions: Partitions) -> RecordDraft:
    """[13]."""
    value = messages.ShareGroupTargetAssignmentMemberValue(
        tuple(
            messages.ShareGroupTargetAssignmentMemberTopicPartitions(topic, numbers)
            for topic, numbers in topics_in_order(partitions)
        )
    )
    return RecordDraft(messages.ShareGroupTargetAssignmentMemberKey(group_id, member_id), value)


def share_current(group_id: str, moved: ModernMember) -> RecordDraft:
    """[14]: a member of a share group gives nothing up, so it is always stable."""
    value = messages.ShareGroupCurrentMemberAssignmentValue(
        moved.member_epoch,
        moved.previous_member_epoch,
        STABLE_CODE,
        tuple(
            messages.ShareGroupCurrentMemberAssignmentTopicPartitions(topic, numbers)
            for topic, numbers in topics_in_order(moved.assigned)
        ),
    )
    key = messages.ShareGroupCurrentMemberAssignmentKey(group_id, moved.member_id)
    return RecordDraft(key, value)


def share_state(
    group_id: str,
    initializing: Partitions,
    initialized: Partitions,
    names: Mapping[bytes, str],
) -> RecordDraft:
    """[15]: which partitions are, or are being, initialised. Topics that are deleted leave it at once."""

    def entries(
        partitions: Partitions,
    ) -> Iterable[messages.ShareGroupStatePartitionMetadataTopicPartitionsInfo]:
        for topic, numbers in topics_in_order(partitions):
            yield messages.ShareGroupStatePartitionMetadataTopicPartitionsInfo(
                topic, names[topic], numbers
            )

    value = messages.ShareGroupStatePartitionMetadataValue(
        tuple(entries(initialized)), (), tuple(entries(initializing))
    )
    return RecordDraft(messages.ShareGroupStatePartitionMetadataKey(group_id), value)
