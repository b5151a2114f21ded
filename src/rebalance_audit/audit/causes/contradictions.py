"""Contradictions in modern groups: records that cannot follow the replayed ones, so that others must be missing."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from rebalance_audit.audit.causes.modern_scene import WriteEvidence
from rebalance_audit.audit.members.member_watch import MemberWatch
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


def contradiction(
    write: Write, evidence: WriteEvidence, group: ModernGroup, believed: Believed
) -> str | None:
    """Why the write, after which the group is `group`, cannot be the group's next one; None if it can.

    A log without missing records has no contradiction.
    """
    if write.is_contradicted:
        return "a record is out of place"
    converts = write.role is Role.CLASSIC
    for kind, checks in _CHECKS.items():
        if kind not in evidence.kinds:
            continue
        for check in checks:
            if not (converts and check in _NOT_IN_CONVERSIONS):
                why = check(evidence, group, believed)
                if why is not None:
                    return why
    return None


def _nothing_new(evidence: WriteEvidence, _group: ModernGroup, _believed: Believed) -> str | None:
    """A member's record that repeats the known one: it is written only on a change, so a record is missing."""
    for change in evidence.updated:
        if not change.changed:
            return f"the record of member {change.member_id} has no change"
    return None


def _broken_chain(evidence: WriteEvidence, group: ModernGroup, _believed: Believed) -> str | None:
    """An assignment with the wrong previous member epoch; a joining member has the previous epoch 0."""
    for change in evidence.answers:
        member_id = change.member_id
        member = group.members.get(member_id)
        if member is None or member.member_epoch == STATIC_LEAVE_EPOCH:
            continue
        if member.target_member_epoch >= 0:
            continue  # 3.7 wrote the epoch before the last change of epoch, not that of the previous record
        if member.member_epoch == change.old_member_epoch:
            continue  # where the epoch stays, releases differ in whether the previous one moves (4.2: it stays too)
        if member.previous_member_epoch != change.old_member_epoch:
            return (
                f"member {member_id} came from epoch {member.previous_member_epoch}, "
                f"not {change.old_member_epoch}"
            )
    return None


def _impossible_step(
    evidence: WriteEvidence, group: ModernGroup, _believed: Believed
) -> str | None:
    """A record that no step of Kafka's CurrentAssignmentBuilder leads to from the member's last one."""
    if group.group_type is GroupType.SHARE:
        return None
    for change in evidence.answers:
        member_id = change.member_id
        member = group.members.get(member_id)
        if member_id in evidence.newcomers or member is None or member.target_member_epoch >= 0:
            continue
        why = _why_impossible(change, group)
        if why is not None:
            return f"member {member_id} {why}"
    return None


def _why_impossible(change: MemberAssigned, group: ModernGroup) -> str | None:
    old_epoch, new_epoch = change.old_member_epoch, change.new_member_epoch
    if old_epoch < 0 or new_epoch < 0 or UNKNOWN in (change.old_state, change.new_state):
        return None
    gained = minus(change.new_assigned, change.old_assigned)
    if change.new_state == UNREVOKED:
        had = union(change.old_assigned, change.old_pending)
        if gained or minus(change.new_pending, had):
            return "has to give partitions up, and has some that it did not have"
        if new_epoch not in {old_epoch, old_epoch + (change.old_state == UNREVOKED)}:
            return f"has partitions to give up, and moved on to epoch {new_epoch}"
        return None
    if new_epoch == old_epoch:
        if gained and change.old_state == STABLE:
            return f"got partitions after it had all of epoch {new_epoch}"
        return None
    if new_epoch != group.assignment_epoch:
        return f"moved on to epoch {new_epoch}, not to the target's, {group.assignment_epoch}"
    if minus(change.new_assigned, group.target_of(change.member_id)):
        return "has what no target gives it"
    return None


def _without_beginning(
    evidence: WriteEvidence, _group: ModernGroup, believed: Believed
) -> str | None:
    for change in evidence.assigned:
        if change.member_id not in believed.watches and change.member_id not in evidence.newcomers:
            return f"no record shows that member {change.member_id} joined"
    return None


def _never_joined(evidence: WriteEvidence, group: ModernGroup, _believed: Believed) -> str | None:
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
                return f"member {change.member_id} joined without an assignment"
        elif first.new_pending:
            return f"member {change.member_id} joined and had partitions to give up"
        elif minus(first.new_assigned, group.target_of(change.member_id)):
            return f"member {change.member_id} joined and got what no target gives it"
    return None


def _unknown_expression(
    evidence: WriteEvidence, group: ModernGroup, _believed: Believed
) -> str | None:
    """A resolved expression that no member has: only expressions of members are resolved."""
    resolved = {change.regular_expression for change in evidence.regexes if change.new is not None}
    for expression in sorted(resolved):
        # Whoever wrote last probably asked for it.
        members = reversed(group.members.values())
        if all(member.subscribed_topic_regex != expression for member in members):
            return f"no member has the expression {expression}"
    return None


def _taken(evidence: WriteEvidence, group: ModernGroup, believed: Believed) -> str | None:
    """A partition assigned while another member has it: its owner must have written a record that gives it up."""
    if group.group_type is GroupType.SHARE:
        return None
    gains = [
        (change, gained)
        for change in evidence.assigned
        if (gained := minus(change.new_assigned, change.old_assigned))
    ]
    if not gains:
        return None
    wrote = {change.member_id for change in evidence.assigned}
    wrote.update(change.member_id for change in evidence.gone)
    wrote.update(old.member_id for old, _ in evidence.replaced.values())
    for change, gained in gains:
        for partition in each(gained):
            owner = believed.owner_of(partition)
            if owner is not None and owner.member_id not in wrote:
                return f"member {change.member_id} has what member {owner.member_id} never gave up"
    return None


_CHECKS: Mapping[type, Sequence[Callable[[WriteEvidence, ModernGroup, Believed], str | None]]] = {
    MemberSubscribed: (_nothing_new, _never_joined),
    MemberAssigned: (_broken_chain, _impossible_step, _without_beginning, _taken),
    RegexResolved: (_unknown_expression,),
}
"""A change -> what it can contradict."""

_NOT_IN_CONVERSIONS = (_broken_chain, _impossible_step, _never_joined)
"""What does not hold in the write that upgrades a classic group, whose members come over as they are."""
