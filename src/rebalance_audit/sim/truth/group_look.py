"""What a write may have moved in a group: all of it or, in a large group, only the members that the write named."""

from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple

from rebalance_audit.replay.changes import (
    Change,
    GenerationCompleted,
    GroupCreated,
    GroupRemoved,
    MemberAssigned,
    MemberSubscribed,
    MemberUnsubscribed,
)
from rebalance_audit.replay.groups.classic_group import ClassicGroup
from rebalance_audit.replay.groups.modern_group import STABLE, ModernGroup, ModernMember
from rebalance_audit.replay.partitions import TopicPartition, each

_MOVES_ALL: Final = (GroupCreated, GroupRemoved, GenerationCompleted)


class GroupLook(NamedTuple):
    """A group right after a write."""

    is_whole: bool
    """Everything was looked at: what is not named here does not exist."""
    members: Mapping[str, str | None] = {}
    """Member id -> instance id."""
    gone: Collection[str] = ()
    """Ids that the write named and that are not members; empty where everything was looked at."""
    instances: Collection[str] = ()
    """Instance ids that members hold."""
    owners: Mapping[TopicPartition, str | None] = {}
    """Which member holds a partition, by topic id or name as the protocol has it; one being given up is still held."""
    arrived: Mapping[str, int] = {}
    """Member id -> its epoch, for members that have nothing to give up or to wait for."""


def look_at(group: object, changes: Iterable[Change]) -> GroupLook:
    """Look at a group as this write left it; None and other objects stand for a group that is gone."""
    if isinstance(group, ClassicGroup):
        return _classic(group, changes)
    if not isinstance(group, ModernGroup):
        return GroupLook(is_whole=True)
    named: dict[str, None] = {}
    partitions: dict[TopicPartition, None] = {}
    for change in changes:
        if isinstance(change, _MOVES_ALL):
            return _modern(group)
        if isinstance(change, MemberAssigned):
            named[change.member_id] = None
            for held in (
                change.old_assigned,
                change.old_pending,
                change.new_assigned,
                change.new_pending,
            ):
                partitions.update(dict.fromkeys(each(held)))
        elif isinstance(change, MemberSubscribed | MemberUnsubscribed):
            named[change.member_id] = None
    found = [member for member_id in named if (member := group.members.get(member_id)) is not None]
    gone = [member_id for member_id in named if member_id not in group.members]
    return GroupLook(
        is_whole=False,
        members={member.member_id: member.instance_id for member in found},
        gone=gone,
        instances=frozenset(group.static_members) if gone else (),
        owners={partition: group.owners.get(partition) for partition in partitions},
        arrived=_arrived(group, found),
    )


def _modern(group: ModernGroup) -> GroupLook:
    return GroupLook(
        is_whole=True,
        members={member.member_id: member.instance_id for member in group.members.values()},
        instances=frozenset(group.static_members),
        owners=dict(group.owners),
        arrived=_arrived(group, group.members.values()),
    )


def _arrived(group: ModernGroup, members: Iterable[ModernMember]) -> dict[str, int]:
    return {
        member.member_id: member.member_epoch
        for member in members
        if member.member_state == STABLE
        and member.member_epoch >= group.assignment_epoch
        and not member.pending_revocation
    }


def _classic(group: ClassicGroup, changes: Iterable[Change]) -> GroupLook:
    """Before a downgrade, in the same write, a static member may have taken over what another one had."""
    members = group.members.values()
    taken_over = (
        change
        for change in changes
        if isinstance(change, MemberAssigned) and change.member_id in group.members
    )
    return GroupLook(
        is_whole=True,
        members={member.member_id: member.instance_id for member in members},
        instances=frozenset(
            member.instance_id for member in members if member.instance_id is not None
        ),
        owners={
            partition: member.member_id for member in members for partition in each(member.assigned)
        },
        arrived={
            change.member_id: change.new_member_epoch
            for change in taken_over
            if not change.released and change.new_state == STABLE and not change.new_pending
        },
    )
