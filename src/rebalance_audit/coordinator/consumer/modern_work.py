"""What work on a consumer, share or streams group has in common."""

from rebalance_audit.coordinator.consumer.release import Release
from rebalance_audit.replay.groups.modern_group import ModernGroup


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
