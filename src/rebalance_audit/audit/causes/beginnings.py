"""Whether an epoch is the first of its consumer, share or streams group."""

from enum import Enum, auto
from typing import Final

from rebalance_audit.audit.causes.modern_evidence import WriteEvidence
from rebalance_audit.audit.epochs.epoch_span import EpochSpan
from rebalance_audit.replay.changes import GroupEpochBumped, GroupType
from rebalance_audit.replay.groups import UNRELEASED, ModernGroup

EARLY_FIRST_EPOCH: Final = 1
"""Epoch in a group's first epoch record, up to release 4.2."""
FIRST_EPOCH: Final = 2
"""Epoch in the first epoch record from release 4.3 on (streams groups: 4.2): a new group has the implicit epoch 1."""


class Beginning(Enum):
    """Whether an epoch is its group's first."""

    NONE = auto()
    LIKELY = auto()
    """The epoch has the number of a first one, but its write does not show which release made it."""
    CERTAIN = auto()
    UNNUMBERED = auto()
    """The group had begun before, with a member without topics, which from 4.3 on writes no epoch record."""

    def in_partition(self, *, is_whole: bool | None) -> "Beginning":
        """Certain instead of likely in a partition that lacks no record: none came before."""
        return Beginning.CERTAIN if is_whole and self is Beginning.LIKELY else self


def beginning_of(
    bump: GroupEpochBumped, evidence: WriteEvidence, group: ModernGroup, *, unnumbered: bool
) -> Beginning:
    """Judge, by its write, whether the first epoch that the log has of a group is the group's first.

    Epoch 2 may also be the second epoch of an earlier release, whose first epoch compaction removed. Only releases that
    begin with 2 write the epoch of each assigned partition into the member's assignment (KIP-1251). `unnumbered`: the
    log shows that the group began with a member at the implicit epoch of such a release.
    """
    if unnumbered and bump.old_epoch is None and bump.new_epoch == FIRST_EPOCH:
        return Beginning.UNNUMBERED
    if bump.old_epoch is not None or not (evidence.joined or evidence.regexes):
        return Beginning.NONE
    if bump.new_epoch == EARLY_FIRST_EPOCH:
        return Beginning.CERTAIN
    if bump.new_epoch != FIRST_EPOCH:
        return Beginning.NONE
    if any(change.new_state == UNRELEASED for change in evidence.assigned):
        return Beginning.NONE  # it waits for partitions of an earlier member
    assigned = [change.member_id for change in evidence.assigned if change.new_assigned]
    if not assigned or bump.group_type is not GroupType.CONSUMER:
        return Beginning.LIKELY
    member = group.members.get(assigned[0])
    has_epochs = member is not None and bool(member.assignment_epochs)
    return Beginning.CERTAIN if has_epochs else Beginning.NONE


def carries_over(bump: GroupEpochBumped, span: EpochSpan | None) -> bool:
    """Whether an upgrade only repeats the generation as the first group epoch, which is no new epoch."""
    return bump.old_epoch is None and span is not None and span.epoch == bump.new_epoch


def lacks_records(
    bump: GroupEpochBumped, beginning: Beginning, *, upgraded: bool, is_whole: bool | None
) -> bool:
    """Whether records between this epoch and the one before are missing from the log.

    Where the partition lacks no record, the first epoch that the log has is the group's first, with a join or without.
    """
    if bump.old_epoch is None:
        return not (upgraded or is_whole) and beginning is Beginning.NONE
    return bump.new_epoch != bump.old_epoch + 1
