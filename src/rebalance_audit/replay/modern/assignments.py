"""Replay of target assignments ([7], [13], [21]) and current assignments ([8], [14], [22])."""

from typing import Any

from rebalance_audit.replay import groups
from rebalance_audit.replay.changes import AnomalyKind, MemberAssigned, MemberTargeted
from rebalance_audit.replay.modern.kinds import (
    EARLY_ACCESS_LAYOUT,
    CurrentAssignment,
    GroupKind,
    known_member,
)
from rebalance_audit.replay.partitions import (
    NOTHING,
    Partitions,
    minus,
    partitions_of,
    text_of,
    union,
)
from rebalance_audit.replay.step import ReplayStep
from rebalance_audit.wire.generated.messages import (
    ConsumerGroupCurrentMemberAssignmentValue,
    StreamsGroupCurrentMemberAssignmentKey,
    StreamsGroupCurrentMemberAssignmentValue,
)


def replay_target(
    kind: GroupKind, group: groups.ModernGroup, step: ReplayStep, key: Any, value: Any
) -> None:
    """Set one member's target, whether or not the member exists; the tombstone removes it."""
    member_id = key.member_id
    if value is None:
        new = None
        old = group.targets.pop(member_id, None)
        group.target_results.pop(member_id, None)
    else:
        new = kind.target(value)
        old = group.targets.get(member_id)
        group.targets[member_id] = new
        if step.record.layout == EARLY_ACCESS_LAYOUT:
            group.target_results[member_id] = _assignor_result(value)
    step.changes.append(MemberTargeted(step.position, member_id, old, new))


def _assignor_result(value: Any) -> groups.ClientAssignorResult:
    return groups.ClientAssignorResult(value.error, value.metadata_version, value.metadata_bytes)


def replay_current(
    kind: GroupKind, group: groups.ModernGroup, step: ReplayStep, key: Any, value: Any
) -> None:
    """Overwrite the member's epochs, state and partitions; the tombstone leaves it at epoch -1 with nothing."""
    member_id = key.member_id
    if value is None:
        _release_member(group, step, member_id)
        return
    current = kind.current_assignment(value)
    member = group.members.get(member_id)
    before = NOTHING if member is None else union(member.assigned, member.pending_revocation)
    after = union(current.assigned, current.pending_revocation)
    # Unless ownership is disputed, what the member had before is its own, so only the difference needs a check.
    claimed = after if group.disputed else minus(after, before)
    _require_sound(step, value.member_epoch, current)
    if claimed and kind.one_owner:
        _require_free(group, step, member_id, claimed, value.member_epoch)
    if value.member_epoch > group.assignment_epoch:
        _require_reached(group, step, member_id, value.member_epoch)
    if member is None:
        member = group.members[member_id] = groups.ModernMember(member_id)
    old_epoch, old_state = member.member_epoch, member.member_state
    old_assigned, old_pending = member.assigned, member.pending_revocation
    assigned, pending = current.assigned, current.pending_revocation
    member.member_epoch = value.member_epoch
    member.previous_member_epoch = value.previous_member_epoch
    member.assigned = assigned
    member.pending_revocation = pending
    member.assignment_epochs = current.assignment_epochs
    if step.record.layout == EARLY_ACCESS_LAYOUT:
        _note_early_access(member, value)
    else:
        member.member_state = kind.member_states.get(value.state, groups.UNKNOWN)
    if kind.one_owner and (claimed or before != after):
        group.release(member_id, minus(before, after))
        group.take(member_id, claimed)
    group.note_convergence(member)
    step.changes.append(
        MemberAssigned(
            step.position,
            member_id,
            False,
            old_epoch,
            member.member_epoch,
            old_state,
            member.member_state,
            old_assigned,
            assigned,
            old_pending,
            pending,
        )
    )


def _note_early_access(
    member: groups.ModernMember, value: ConsumerGroupCurrentMemberAssignmentValue
) -> None:
    """3.7 wrote no state: it follows from what the member waits for, as in its ConsumerGroupMember.Builder."""
    if value.partitions_pending_revocation:
        member.member_state = groups.UNREVOKED
    else:
        member.member_state = (
            groups.UNRELEASED if value.partitions_pending_assignment else groups.STABLE
        )
    member.target_member_epoch = value.target_member_epoch
    member.pending_assignment = partitions_of(value.partitions_pending_assignment)
    member.client_assignor_result = _assignor_result(value)


def _require_sound(step: ReplayStep, member_epoch: int, current: CurrentAssignment) -> None:
    """Refuse values that no coordinator writes."""
    assigned, pending = current.assigned, current.pending_revocation
    if member_epoch < 0 and member_epoch != groups.STATIC_LEAVE_EPOCH:
        step.refuse(AnomalyKind.BAD_VALUE, f"member epoch {member_epoch}")
    if current.uneven:
        step.refuse(
            AnomalyKind.BAD_VALUE,
            f"assignment epochs of {text_of(current.uneven[0])} do not pair with its partitions",
        )
    if pending and any(
        topic in pending and numbers & pending[topic] for topic, numbers in assigned.items()
    ):
        step.refuse(AnomalyKind.BAD_VALUE, "the member both has and gives up a partition")


def _require_reached(
    group: groups.ModernGroup, step: ReplayStep, member_id: str, member_epoch: int
) -> None:
    """A member is never above the assignment epoch.

    So a member above the implicit 0 of a group without a target assignment record proves that the group started at 1:
    4.3 or later wrote it.
    """
    implicit = not group.has_assignment_record and group.assignment_epoch == 0
    assignment_epoch = 1 if implicit else group.assignment_epoch
    if member_epoch > assignment_epoch:
        step.refuse(
            AnomalyKind.MEMBER_ABOVE_ASSIGNMENT,
            f"member {member_id} at epoch {member_epoch}, assignment epoch {assignment_epoch}",
        )
    if implicit:
        group.assignment_epoch = 1
        if not group.has_epoch_record:
            group.group_epoch = 1


def _require_free(
    group: groups.ModernGroup,
    step: ReplayStep,
    member_id: str,
    partitions: Partitions,
    member_epoch: int,
) -> None:
    taken = group.contested(member_id, partitions, member_epoch)
    if not taken:
        return
    topic, number = min(taken, key=lambda partition: (text_of(partition[0]), partition[1]))
    owner = group.members[group.owners[topic, number]]
    others = f" and {len(taken) - 1} more" if len(taken) > 1 else ""
    step.refuse(
        AnomalyKind.PARTITION_OWNED_TWICE,
        f"member {member_id} takes {text_of(topic)}-{number}{others} at epoch {member_epoch}, but "
        f"member {owner.member_id} holds it at epoch {owner.member_epoch}",
    )


def _release_member(group: groups.ModernGroup, step: ReplayStep, member_id: str) -> None:
    member = known_member(group, step, member_id)
    if member is None:
        return
    old_epoch, old_assigned, old_pending = (
        member.member_epoch,
        member.assigned,
        member.pending_revocation,
    )
    member.member_epoch = member.previous_member_epoch = groups.LEFT_EPOCH
    member.assigned = member.pending_revocation = NOTHING
    member.standby = member.warmup = member.pending_assignment = NOTHING
    member.assignment_epochs = {}
    group.release(member_id, old_assigned)
    group.release(member_id, old_pending)
    group.note_convergence(member)
    step.changes.append(
        MemberAssigned(
            step.position,
            member_id,
            released=True,
            old_member_epoch=old_epoch,
            new_member_epoch=groups.LEFT_EPOCH,
            old_state=member.member_state,
            new_state=member.member_state,
            old_assigned=old_assigned,
            new_assigned=NOTHING,
            old_pending=old_pending,
            new_pending=NOTHING,
        )
    )


def replay_streams_current(
    kind: GroupKind,
    group: groups.ModernGroup,
    step: ReplayStep,
    key: StreamsGroupCurrentMemberAssignmentKey,
    value: StreamsGroupCurrentMemberAssignmentValue | None,
) -> None:
    """As for the other group types, plus the member's standby and warmup tasks."""
    replay_current(kind, group, step, key, value)
    if value is not None:
        member = group.members[key.member_id]
        member.standby = partitions_of(value.standby_tasks)
        member.warmup = partitions_of(value.warmup_tasks)
