"""Who may commit and fetch offsets of a consumer group: checks of member epochs (OffsetCommit and OffsetFetch 9).

The rules are those of Kafka's ConsumerGroup.validateOffsetCommit and validateOffsetFetch.
"""

from typing import Final

from rebalance_audit.coordinator.consumer.release import RELEASES
from rebalance_audit.coordinator.context import CoordinatorContext
from rebalance_audit.coordinator.handling import ErrorCode
from rebalance_audit.coordinator.offset_commits import RequestedCommit
from rebalance_audit.coordinator.requests.offsets import OffsetFetchRequestGroup
from rebalance_audit.replay.changes import GroupType
from rebalance_audit.replay.groups import ModernGroup, ModernMember

MEMBER_EPOCH_VERSION: Final = 9
"""From this version on OffsetCommit and OffsetFetch carry member epochs."""


class EpochChecks:
    """The checks, for all consumer groups of one coordinator."""

    def __init__(self, context: CoordinatorContext) -> None:
        """Of the context, only the release matters here."""
        self._context = context

    def commit_error(self, group: ModernGroup, committer: RequestedCommit) -> ErrorCode:
        """NONE where this commit may be written, else the error that refuses it.

        A non-member (epoch below 0) may commit while the group is empty; a transaction may name no member at all.
        From 4.3 on an older epoch is accepted where every partition was assigned no later than at that epoch.
        """
        if group.group_type is not GroupType.CONSUMER:
            return ErrorCode.GROUP_ID_NOT_FOUND
        member_epoch = committer.generation_or_epoch
        if member_epoch < 0 and not group.members:
            return ErrorCode.NONE
        names_no_member = not committer.member_id and committer.instance_id is None
        if committer.is_transactional and member_epoch == -1 and names_no_member:
            return ErrorCode.NONE
        member = group.members.get(committer.member_id)
        if member is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if (
            not committer.is_transactional
            and member.classic is None
            and committer.api_version < MEMBER_EPOCH_VERSION
        ):
            return ErrorCode.UNSUPPORTED_VERSION
        if member_epoch == member.member_epoch:
            return ErrorCode.NONE
        release = RELEASES[self._context.config.dialect]
        if (
            member_epoch < member.member_epoch
            and release.assignment_epochs
            and _held_since(member, committer)
        ):
            return ErrorCode.NONE
        return _stale(member)

    def fetch_error(self, group: ModernGroup, requested: OffsetFetchRequestGroup) -> ErrorCode:
        """NONE where this client may read the group's offsets; an administrator names neither member nor epoch."""
        if group.group_type is not GroupType.CONSUMER:
            return ErrorCode.GROUP_ID_NOT_FOUND
        if requested.member_id is None and requested.member_epoch < 0:
            return ErrorCode.NONE
        member = group.members.get(requested.member_id or "")
        if member is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        return ErrorCode.NONE if requested.member_epoch == member.member_epoch else _stale(member)


def _held_since(member: ModernMember, committer: RequestedCommit) -> bool:
    """Whether the member has held every partition of the commit since the commit's epoch or longer."""
    held = (member.assigned, member.pending_revocation)
    return all(
        any(partition.partition_index in each.get(topic.topic_id, ()) for each in held)
        and member.assignment_epoch_of(topic.topic_id, partition.partition_index)
        <= committer.generation_or_epoch
        for topic in committer.topics
        for partition in topic.partitions
    )


def _stale(member: ModernMember) -> ErrorCode:
    """The error for a stale epoch; a classic member takes the epoch for a generation."""
    if member.classic is None:
        return ErrorCode.STALE_MEMBER_EPOCH
    return ErrorCode.ILLEGAL_GENERATION
