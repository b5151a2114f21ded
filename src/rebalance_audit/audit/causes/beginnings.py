"""Whether an epoch of a consumer, share or streams group is its first."""

from enum import Enum, auto
from typing import Final

from rebalance_audit.audit.causes.modern_evidence import WriteEvidence
from rebalance_audit.replay.changes import GroupEpochBumped, GroupType
from rebalance_audit.replay.modern.group import UNRELEASED, ModernGroup

EARLY_FIRST_EPOCH: Final = 1
"""Number of a group's first epoch record up to release 4.2."""
FIRST_EPOCH: Final = 2
"""The same from 4.3, where a group's implicit epoch is 1."""


class Beginning(Enum):
    """Whether an epoch is its group's first."""

    NONE = auto()
    LIKELY = auto()
    """It has the number of a first epoch, and nothing in its write tells whether its release begins there."""
    CERTAIN = auto()


def beginning_of(
    bump: GroupEpochBumped, evidence: WriteEvidence, group: ModernGroup, *, unnumbered: bool
) -> Beginning:
    """Judge the first epoch that the log holds of a group, by the write that made it.

    An epoch 2 may be the second of an earlier release whose first compaction took: only releases that begin with it
    write the epoch of each assigned partition into the member's assignment (KIP-1251). `unnumbered`: the log shows the
    group begin with a member at the implicit epoch of such a release.
    """
    if unnumbered and bump.old_epoch is None and bump.new_epoch == FIRST_EPOCH:
        return Beginning.CERTAIN
    if bump.old_epoch is not None or not (evidence.joined or evidence.regexes):
        return Beginning.NONE
    if bump.new_epoch == EARLY_FIRST_EPOCH:
        return Beginning.CERTAIN
    if bump.new_epoch != FIRST_EPOCH:
        return Beginning.NONE
    if any(change.new_state == UNRELEASED for change in evidence.assigned):
        return Beginning.NONE  # it waits for partitions of somebody who was there before
    assigned = [change.member_id for change in evidence.assigned if change.new_assigned]
    if not assigned or bump.group_type is not GroupType.CONSUMER:
        return Beginning.LIKELY
    member = group.members.get(assigned[0])
    has_epochs = member is not None and bool(member.assignment_epochs)
    return Beginning.CERTAIN if has_epochs else Beginning.NONE
