"""Departures: a leave, a timeout, an administrator, a static member's temporary leave, or its replacement."""

from collections.abc import Collection
from dataclasses import replace

from rebalance_audit.coordinator.consumer.bumps import bump_for_topics
from rebalance_audit.coordinator.consumer.work import Work
from rebalance_audit.coordinator.group_tombstones import member_tombstones
from rebalance_audit.coordinator.reasons import BumpReason, Trigger
from rebalance_audit.replay.groups import STATIC_LEAVE_EPOCH, ModernMember
from rebalance_audit.replay.partitions import NOTHING


def remove_members(work: Work, leaving: Collection[ModernMember], trigger: Trigger) -> None:
    """Drafts [8t][7t][5t] per member, [16t]*, [4]?, one [3], and [6] where no member is left. Their timers end.

    The records are the same whatever made the members leave, even if the topics stay as they were.
    """
    drafts, group = work.drafts, work.group
    gone = [member.member_id for member in leaving]
    for member_id in gone:
        work.records.extend(member_tombstones(group, member_id))
    reasons = [work.departed(member, trigger) for member in leaving]
    is_empty = group.members.keys() <= set(gone)
    if is_empty:
        reasons.append(BumpReason(Trigger.GROUP_EMPTIED))
    regexes = dict(group.regexes)
    for expression in {member.subscribed_topic_regex: None for member in leaving}:
        left = sum(member.subscribed_topic_regex == expression for member in leaving)
        if expression and work.soft.expressions[expression] == left:
            work.records.append(drafts.regex_gone(expression))
            regexes.pop(expression, None)
    names = work.topic_names_with(without=gone)
    group_epoch = bump_for_topics(work, names, regexes, reasons)
    assert group_epoch is not None
    if is_empty and work.release.emptied_group_has_target:
        # Time 0: the next member's target need not wait for the assignment interval.
        work.records.append(drafts.target_epoch(group_epoch, 0))


def leave_for_a_while(work: Work, member: ModernMember) -> None:
    """Drafts the [8] of a static member that will come back: it keeps its partitions, and its session keeps running."""
    # Without epochs of their own the partitions count as assigned at epoch 0: whoever comes back has always had them.
    left = replace(
        member,
        member_epoch=STATIC_LEAVE_EPOCH,
        pending_revocation=NOTHING,
        assignment_epochs={},
    )
    work.records.append(work.drafts.current(left))


def replace_member(work: Work, old: ModernMember, new_member_id: str) -> ModernMember:
    """Replace a static member that came back under another id. Drafts [8t][7t][5t] [5][7][8]; the new one, epoch 0."""
    drafts = work.drafts
    work.records.extend(member_tombstones(work.group, old.member_id))
    if old.member_id != new_member_id:
        work.departed(old, Trigger.STATIC_MEMBER_REPLACED)
    new = replace(old, member_id=new_member_id, member_epoch=0, previous_member_epoch=0)
    work.records.append(drafts.member(new))
    work.records.append(drafts.target(new_member_id, work.group.target_of(old.member_id)))
    work.records.append(drafts.current(new))
    return new
