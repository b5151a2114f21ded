"""What work on a consumer, share or streams group has in common."""

from typing import Generic, TypeVar

from rebalance_audit.coordinator.consumer.release import RELEASES, Release
from rebalance_audit.coordinator.context import CoordinatorContext, ResultDraft
from rebalance_audit.coordinator.handling import Dialect, ErrorCode, RefusedError
from rebalance_audit.replay.changes import GroupType
from rebalance_audit.replay.groups import ModernGroup, ModernMember

Soft = TypeVar("Soft")


class ModernWork:
    """A group as replay left it, seen with the eyes of one release."""

    __slots__ = ("group", "release")

    group: ModernGroup
    release: Release

    @property
    def group_epoch(self) -> int:
        """The group's epoch; the release's first one where no record has it."""
        group = self.group
        if group.has_epoch_record:
            return group.group_epoch
        return max(group.group_epoch, self.release.first_epoch)

    @property
    def assignment_epoch(self) -> int:
        """Epoch of the targets; the release's first one where no record has it."""
        group = self.group
        if group.has_assignment_record:
            return group.assignment_epoch
        return max(group.assignment_epoch, self.release.first_epoch)

    def member(self, member_id: str) -> ModernMember:
        """A current member. Raises RefusedError (UNKNOWN_MEMBER_ID)."""
        member = self.group.members.get(member_id)
        if member is None:
            raise RefusedError(
                ErrorCode.UNKNOWN_MEMBER_ID,
                f"Member {member_id} is not a member of group {self.group.group_id}.",
            )
        return member


class SoftWork(ModernWork, Generic[Soft]):
    """A share or streams group with its soft state, and the result in the making."""

    def __init__(
        self, context: CoordinatorContext, group: ModernGroup, soft: Soft, now_ms: int
    ) -> None:
        """Nothing is decided yet."""
        self.config = context.config
        self.image = context.image
        self.group = group
        self.group_id = group.group_id
        self.soft = soft
        self.now_ms = now_ms
        self.release = RELEASES[context.config.dialect]
        self.is_first_release = context.config.dialect is Dialect.R4_1
        self.outcome = ResultDraft()
        self._shard = context.shard


def group_of_type(context: CoordinatorContext, group_id: str, group_type: GroupType) -> ModernGroup:
    """The group of that id. Raises RefusedError (GROUP_ID_NOT_FOUND) unless it has that type."""
    group = context.group(group_id)
    if not isinstance(group, ModernGroup) or group.group_type is not group_type:
        message = f"Group {group_id} is not a {group_type} group."
        raise RefusedError(ErrorCode.GROUP_ID_NOT_FOUND, message)
    return group
