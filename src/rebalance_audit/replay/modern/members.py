"""Replay of member metadata ([5], [10], [19]): what members say about themselves."""

from typing import Any

from rebalance_audit.replay.changes import AnomalyKind, MemberSubscribed, MemberUnsubscribed
from rebalance_audit.replay.groups.modern_group import LEFT_EPOCH, ModernGroup, ModernMember
from rebalance_audit.replay.modern.kinds import GroupKind
from rebalance_audit.replay.modern.lookup import (
    group_for_tombstone,
    group_for_value,
    known_member,
)
from rebalance_audit.replay.step import ReplayStep


def replay_member(kind: GroupKind, step: ReplayStep, key: Any, value: Any) -> None:
    """Overwrite the member's description; the tombstone removes the member."""
    member_id = key.member_id
    if value is None:
        _remove_member(kind, step, member_id)
        return
    group = group_for_value(kind, step)
    if group is None:
        return
    member = group.members.get(member_id)
    joined = member is None
    if member is None:
        member = group.members[member_id] = ModernMember(member_id)
        group.note_convergence(member)
    old_instance_id = member.instance_id
    changed: list[str] = []
    for name, described in zip(kind.member_fields, kind.member_values(value), strict=True):
        if getattr(member, name) != described:
            setattr(member, name, described)
            changed.append(name)
    if not member.described:
        # Known only by its assignment, or not at all: nothing is known to differ.
        changed.clear()
        member.described = True
    if member.instance_id != old_instance_id:
        _forget_instance(group, old_instance_id, member_id)
    if member.instance_id is not None:
        group.static_members[member.instance_id] = member_id
    step.changes.append(
        MemberSubscribed(step.position, member_id, member.instance_id, joined, tuple(changed))
    )


def _remove_member(kind: GroupKind, step: ReplayStep, member_id: str) -> None:
    group = group_for_tombstone(kind, step)
    if group is None:
        return
    member = known_member(group, step, member_id)
    if member is None:
        return
    if member.member_epoch != LEFT_EPOCH:
        step.refuse(
            AnomalyKind.MEMBER_NOT_RELEASED,
            f"member {member_id} is still at epoch {member.member_epoch}",
        )
        return
    if member_id in group.targets:
        step.refuse(AnomalyKind.MEMBER_NOT_RELEASED, f"member {member_id} still has a target")
        return
    del group.members[member_id]
    group.forget_convergence(member_id)
    _forget_instance(group, member.instance_id, member_id)
    step.changes.append(
        MemberUnsubscribed(
            step.position, member_id, member.instance_id, member.client_id, member.client_host
        )
    )


def _forget_instance(group: ModernGroup, instance_id: str | None, member_id: str) -> None:
    """Unless another member has taken the instance id over meanwhile."""
    if instance_id is not None and group.static_members.get(instance_id) == member_id:
        del group.static_members[instance_id]
