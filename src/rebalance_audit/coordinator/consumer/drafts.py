"""The records of one consumer group, one function per record and per tombstone.

A field that a release does not have stays at its default, so that the release's layout can hold the value.
"""

from collections.abc import Iterable
from typing import Any

from rebalance_audit.coordinator.consumer.release import Release
from rebalance_audit.coordinator.handling import RecordDraft
from rebalance_audit.replay.groups import (
    STABLE,
    UNRELEASED,
    UNREVOKED,
    ClientAssignorResult,
    ModernMember,
    RecordedTopic,
)
from rebalance_audit.replay.partitions import Partitions
from rebalance_audit.wire.generated import messages

STATE_CODES = {STABLE: 0, UNREVOKED: 1, UNRELEASED: 2}
UNKNOWN_STATE_CODE = 127


class Drafts:
    """Drafts one group's records in the layout of one release."""

    __slots__ = ("group_id", "release")

    def __init__(self, group_id: str, release: Release) -> None:
        """Drafts are values; this keeps none of them."""
        self.group_id = group_id
        self.release = release

    def member(self, member: ModernMember) -> RecordDraft:
        """[5]: what the member said about itself."""
        classic = member.classic
        value = messages.ConsumerGroupMemberMetadataValue(
            member.instance_id,
            member.rack_id,
            member.client_id,
            member.client_host,
            tuple(sorted(member.subscribed_topic_names)),
            member.subscribed_topic_regex,
            member.rebalance_timeout_ms,
            member.server_assignor,
            None
            if classic is None
            else messages.ConsumerGroupMemberMetadataClassicMemberMetadata(
                classic.session_timeout_ms,
                tuple(
                    messages.ConsumerGroupMemberMetadataClassicProtocol(name, metadata)
                    for name, metadata in classic.supported_protocols
                ),
            ),
            member.client_assignors,
        )
        key = messages.ConsumerGroupMemberMetadataKey(self.group_id, member.member_id)
        return RecordDraft(key, value)

    def group_epoch(self, group_epoch: int, metadata_hash: int) -> RecordDraft:
        """[3]: the group epoch; the hash where the release has one."""
        kept = 0 if self.release.topic_metadata_record else metadata_hash
        value = messages.ConsumerGroupMetadataValue(group_epoch, kept)
        return RecordDraft(messages.ConsumerGroupMetadataKey(self.group_id), value)

    def topic_metadata(self, topics: Iterable[RecordedTopic]) -> RecordDraft:
        """[4]: the subscribed topics that exist. 3.7 left its epoch at 0."""
        value = messages.ConsumerGroupPartitionMetadataValue(
            tuple(
                messages.ConsumerGroupPartitionMetadataTopicMetadata(
                    topic.topic_id,
                    topic.topic_name,
                    topic.partition_count,
                    tuple(
                        messages.ConsumerGroupPartitionMetadataPartitionMetadata(number, racks)
                        for number, racks in topic.partition_racks
                    ),
                )
                for topic in topics
            )
        )
        if self.release.early_access:
            value = value._replace(epoch=0)
        return RecordDraft(messages.ConsumerGroupPartitionMetadataKey(self.group_id), value)

    def topic_metadata_gone(self) -> RecordDraft:
        """[4t]."""
        return RecordDraft(messages.ConsumerGroupPartitionMetadataKey(self.group_id), None)

    def target(
        self, member_id: str, partitions: Partitions, result: ClientAssignorResult | None = None
    ) -> RecordDraft:
        """[7]: the member's target, and what its client-side assignor said."""
        value = messages.ConsumerGroupTargetAssignmentMemberValue(
            tuple(
                messages.ConsumerGroupTargetAssignmentMemberTopicPartitions(topic, numbers)
                for topic, numbers in topics_in_order(partitions)
            )
        )
        if result is not None:
            value = value._replace(
                error=result.error,
                metadata_version=result.metadata_version,
                metadata_bytes=result.metadata_bytes,
            )
        key = messages.ConsumerGroupTargetAssignmentMemberKey(self.group_id, member_id)
        return RecordDraft(key, value)

    def target_epoch(self, assignment_epoch: int, computed_at_ms: int) -> RecordDraft:
        """[6]: the targets belong to this group epoch."""
        kept = computed_at_ms if self.release.assignment_interval else 0
        value = messages.ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch, kept)
        return RecordDraft(messages.ConsumerGroupTargetAssignmentMetadataKey(self.group_id), value)

    def current(self, member: ModernMember) -> RecordDraft:
        """[8]: the member's current assignment, its epochs and its state."""
        held = self._held(member, member.assigned)
        pending = self._held(member, member.pending_revocation)
        value = messages.ConsumerGroupCurrentMemberAssignmentValue(
            member.member_epoch, member.previous_member_epoch, held, pending
        )
        if not self.release.early_access:
            code = STATE_CODES.get(member.member_state, UNKNOWN_STATE_CODE)
            value = value._replace(state=code)
        else:
            result = member.client_assignor_result or ClientAssignorResult(0, 0, b"")
            value = value._replace(
                target_member_epoch=member.target_member_epoch,
                partitions_pending_assignment=self._held(member, member.pending_assignment),
                error=result.error,
                metadata_version=result.metadata_version,
                metadata_bytes=result.metadata_bytes,
            )
        key = messages.ConsumerGroupCurrentMemberAssignmentKey(self.group_id, member.member_id)
        return RecordDraft(key, value)

    def _held(self, member: ModernMember, partitions: Partitions) -> Any:
        entry = messages.ConsumerGroupCurrentMemberAssignmentTopicPartitions
        if not self.release.assignment_epochs:
            return tuple(entry(topic, numbers) for topic, numbers in topics_in_order(partitions))
        return tuple(
            entry(
                topic,
                numbers,
                tuple(member.assignment_epoch_of(topic, number) for number in numbers),
            )
            for topic, numbers in topics_in_order(partitions)
        )

    def regex(
        self, expression: str, topic_names: Iterable[str], metadata_version: int, started_at_ms: int
    ) -> RecordDraft:
        """[16]: the topics that an expression matches."""
        value = messages.ConsumerGroupRegularExpressionValue(
            tuple(sorted(topic_names)), metadata_version, started_at_ms
        )
        key = messages.ConsumerGroupRegularExpressionKey(self.group_id, expression)
        return RecordDraft(key, value)

    def regex_gone(self, expression: str) -> RecordDraft:
        """[16t]."""
        key = messages.ConsumerGroupRegularExpressionKey(self.group_id, expression)
        return RecordDraft(key, None)


def topics_in_order(partitions: Partitions) -> Iterable[tuple[bytes, tuple[int, ...]]]:
    """Topics by id, partitions ascending: Kafka's order is that of its hash maps and carries no meaning."""
    for topic in sorted(topic for topic in partitions if isinstance(topic, bytes)):
        yield topic, tuple(sorted(partitions[topic]))
