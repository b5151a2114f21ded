"""Contradictions in modern groups: records that cannot follow the replayed ones, so that others must be missing."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from rebalance_audit.audit.causes.modern_scene import WriteEvidence
from rebalance_audit.audit.members.stint import MemberWatch
from rebalance_audit.audit.ownership.ownership import Owner
from rebalance_audit.audit.writes import Role, Write
from rebalance_audit.replay.changes import (
    GroupType,
    MemberAssigned,
    MemberSubscribed,
    RegexResolved,
)
from rebalance_audit.replay.groups import (
    STABLE,
    STATIC_LEAVE_EPOCH,
    UNKNOWN,
    UNREVOKED,
    ModernGroup,
)
from rebalance_audit.replay.partitions import TopicPartition, each, minus, union


class Believed(NamedTuple):
    """The replayed group as it was before the write."""

    watches: Mapping[str, MemberWatch]
    owner_of: Callable[[TopicPartition], Owner | None]


def contradicts(
    write: Write, evidence: WriteEvidence, group: ModernGroup, believed: Believed
) -> bool:
    """Whether the write, after which the group is `group`, cannot be the group's next one.

    A log without missing records has no contradiction.
    """
    converts = write.role is Role.CLASSIC
    return write.is_contradicted or any(
        check(evidence, group, believed)
        for kind, checks in _CHECKS.items()
        if kind in evidence.kinds
        for check in checks
        if not (converts and check in _NOT_IN_CONVERSIONS)
    )


def _nothing_new(evidence: WriteEvidence, _group: ModernGroup, _believed: Believed) -> bool:
    """A member's record that repeats the known one: it is written only on a change, so a record is missing."""
    return not all(change.changed for change in evidence.updated)


def _broken_chain(evidence: WriteEvidence, group: ModernGroup, _believed: Believed) -> bool:
    """An assignment with the wrong previous member epoch; a joining member has the previous epoch 0.

    3.7 wrote the epoch before the last change of epoch, not that of the previous record. Where the epoch stays,
    releases differ in whether the previous one moves (4.2: it stays too).
    """
    return any(
        member.member_epoch not in (STATIC_LEAVE_EPOCH, change.old_member_epoch)
        and member.target_member_epoch < 0
        and member.previous_member_epoch != change.old_member_epoch
        for change in evidence.answers
        if (member := group.members.get(change.member_id)) is not None
    )


def _impossible_step(evidence: WriteEvidence, group: ModernGroup, _believed: Believed) -> bool:
    """A record that no step of Kafka's CurrentAssignmentBuilder leads to from the member's last one."""
    return group.group_type is not GroupType.SHARE and any(
        _is_impossible(change, group)
        for change in evidence.answers
        if change.member_id not in evidence.newcomers
        and (member := group.members.get(change.member_id)) is not None
        and member.target_member_epoch < 0
    )


def _is_impossible(change: MemberAssigned, group: ModernGroup) -> bool:
    old_epoch, new_epoch = change.old_member_epoch, change.new_member_epoch
    if old_epoch < 0 or new_epoch < 0 or UNKNOWN in (change.old_state, change.new_state):
        return False
    gained = minus(change.new_assigned, change.old_assigned)
    if change.new_state == UNREVOKED:
        # What it has to give up it had, and it stays at its epoch until then.
        had = union(change.old_assigned, change.old_pending)
        may_be_at = {old_epoch, old_epoch + (change.old_state == UNREVOKED)}
        return bool(gained or minus(change.new_pending, had)) or new_epoch not in may_be_at
    if new_epoch == old_epoch:
        return bool(gained) and change.old_state == STABLE  # it had all of the epoch
    target = group.target_of(change.member_id)
    return new_epoch != group.assignment_epoch or bool(minus(change.new_assigned, target))


def _without_beginning(evidence: WriteEvidence, _group: ModernGroup, believed: Believed) -> bool:
    """An assignment of a member that no record shows to have joined."""
    return any(
        change.member_id not in believed.watches and change.member_id not in evidence.newcomers
        for change in evidence.assigned
    )


def _never_joined(evidence: WriteEvidence, group: ModernGroup, _believed: Believed) -> bool:
    """A member that looks new, without the assignment of one that comes: an earlier record of it is missing.

    A join takes the member from epoch 0 to the target's, which is a record; it gives nothing up yet, and gets what the
    target gives it. Only where the group has no target yet the member stays at 0: at a first epoch 0, or while a client
    assigns (3.7).
    """
    assigned = {change.member_id: change for change in evidence.assigned}
    bump = evidence.bump
    has_target = group.assignment_epoch > 0 or (bump is not None and bump.new_metadata_hash)
    for change in evidence.joined:
        first = assigned.get(change.member_id)
        if first is None:
            if has_target:
                return True
        elif first.new_pending or minus(first.new_assigned, group.target_of(change.member_id)):
            return True
    return False


def _unknown_expression(evidence: WriteEvidence, group: ModernGroup, _believed: Believed) -> bool:
    """A resolved expression that no member has: only expressions of members are resolved."""
    resolved = {change.regular_expression for change in evidence.regexes if change.new is not None}
    # Whoever wrote last probably asked for it.
    return any(
        all(
            member.subscribed_topic_regex != expression
            for member in reversed(group.members.values())
        )
        for expression in resolved
    )


def _taken(evidence: WriteEvidence, group: ModernGroup, believed: Believed) -> bool:
    """A partition assigned while another member has it: its owner must have written a record that gives it up."""
    if group.group_type is GroupType.SHARE:
        return False
    gains = [minus(change.new_assigned, change.old_assigned) for change in evidence.assigned]
    if not any(gains):
        return False
    wrote = {change.member_id for change in evidence.assigned}
    wrote.update(change.member_id for change in evidence.gone)
    wrote.update(old.member_id for old, _ in evidence.replaced.values())
    owners = (believed.owner_of(partition) for gained in gains for partition in each(gained))
    return any(owner is not None and owner.member_id not in wrote for owner in owners)


_CHECKS: Mapping[type, Sequence[Callable[[WriteEvidence, ModernGroup, Believed], bool]]] = {
    MemberSubscribed: (_nothing_new, _never_joined),
    MemberAssigned: (_broken_chain, _impossible_step, _without_beginning, _taken),
    RegexResolved: (_unknown_expression,),
}
"""A change -> what it can contradict."""

_NOT_IN_CONVERSIONS = (_broken_chain, _impossible_step, _never_joined)
"""What does not hold in the write that upgrades a classic group, whose members come over as they are."""
