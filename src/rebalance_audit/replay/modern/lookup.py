"""Finds the group and the member that a record belongs to, as Kafka's loader does."""

from rebalance_audit.replay.changes import AnomalyKind, GroupCreated, GroupType
from rebalance_audit.replay.groups.classic_group import ClassicGroup
from rebalance_audit.replay.groups.modern_group import ModernGroup, ModernMember
from rebalance_audit.replay.groups.slot import Group, type_of
from rebalance_audit.replay.modern.kinds import GroupKind
from rebalance_audit.replay.step import ReplayStep


def group_for_value(kind: GroupKind, step: ReplayStep) -> ModernGroup | None:
    """The group that a record with a value belongs to, made if there is none; None if the record must be left out.

    In a real log a consumer or streams group's record also shows that the classic group before it is gone, by an
    upgrade whose tombstone is missing: the cleaner may have passed one segment and not yet another. Kafka's loader
    would stop.
    """
    group = step.slot.group
    if group is None:
        return _create(kind, step, None)
    if isinstance(group, ClassicGroup) and kind.replaces_simple and group.is_simple():
        # A simple group only exists to hold offsets, which belong to the group id: nothing is lost.
        return _create(kind, step, GroupType.CLASSIC)
    if isinstance(group, ModernGroup) and group.group_type is kind.group_type:
        return group
    _refuse_type(kind, step, group)
    if isinstance(group, ClassicGroup) and kind.replaces_classic:
        return _create(kind, step, GroupType.CLASSIC)
    return None


def group_for_tombstone(kind: GroupKind, step: ReplayStep) -> ModernGroup | None:
    """The group that a tombstone belongs to; None when it is unknown or of another type.

    In a real log those of a consumer or streams group may follow the record of the classic group that took its place,
    if the log was read while the cleaner was at work: the classic group stays, and there is nothing left to remove.
    """
    group = step.slot.group
    if group is None:
        step.refuse(AnomalyKind.TOMBSTONE_OF_UNKNOWN, "there is no such group")
        return None
    if isinstance(group, ModernGroup) and group.group_type is kind.group_type:
        return group
    if isinstance(group, ClassicGroup):
        if kind.replaces_simple and group.is_simple():
            return _create(kind, step, GroupType.CLASSIC)
        if kind.replaces_classic and group.has_record and step.is_lenient:
            return None
    _refuse_type(kind, step, group)
    return None


def _refuse_type(kind: GroupKind, step: ReplayStep, group: Group) -> None:
    step.refuse(
        AnomalyKind.WRONG_GROUP_TYPE,
        f"it belongs to a {kind.group_type} group, but this is a {type_of(group)} group",
    )


def _create(kind: GroupKind, step: ReplayStep, replaced: GroupType | None) -> ModernGroup:
    group = ModernGroup(step.slot.group_id, kind.group_type)
    step.slot.group = group
    step.changes.append(
        GroupCreated(step.position, kind.group_type, simple=False, replaced=replaced)
    )
    return group


def known_member(group: ModernGroup, step: ReplayStep, member_id: str) -> ModernMember | None:
    """The member that a tombstone names; None when the group does not know it."""
    member = group.members.get(member_id)
    if member is None:
        step.refuse(AnomalyKind.TOMBSTONE_OF_UNKNOWN, f"the group does not know member {member_id}")
    return member


def streams_group(step: ReplayStep) -> ModernGroup | None:
    """The slot's streams group; None if the record was left out because the group has another type."""
    group = step.slot.group
    if isinstance(group, ModernGroup) and group.group_type is GroupType.STREAMS:
        return group
    return None
