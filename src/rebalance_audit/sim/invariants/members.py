"""Rules for what members hold.

A partition has one owner at a time, in the records of either protocol. A member of a share group, which shares
partitions, has none that its target does not give it. A member's epoch is never above that of the target assignment.
"""

from collections.abc import Iterable

from rebalance_audit.replay.groups.classic_group import ClassicGroup
from rebalance_audit.replay.groups.modern_group import ModernGroup, ModernMember
from rebalance_audit.replay.partitions import TopicPartition, each, minus
from rebalance_audit.sim.invariants.broken import InvariantBrokenError, require


def check_generation(group: ClassicGroup) -> None:
    """Raises InvariantBrokenError where the assignment of a generation gives a partition to two members."""
    _check_shares(
        ((member.member_id, each(member.assigned)) for member in group.members.values()),
        f"generation {group.generation} of {group.group_id} gives",
    )


def check_group(group: ModernGroup) -> None:
    """Raises InvariantBrokenError where two members of a group hold a partition."""
    _check_shares(
        ((member.member_id, _held_by(member)) for member in group.members.values()),
        f"{group.group_id} gives",
    )


def check_owner(group: ModernGroup, member: ModernMember) -> None:
    """Raises InvariantBrokenError where another member owns what this one holds."""
    for partition in _held_by(member):
        owner = group.owners.get(partition)
        if owner != member.member_id:
            message = (
                f"{partition} of {group.group_id} has two owners, {member.member_id} and {owner}"
            )
            raise InvariantBrokenError(message)


def check_target(group: ModernGroup, member: ModernMember) -> None:
    """Raises InvariantBrokenError where a member of a share group has more than its target."""
    beyond = minus(member.assigned, group.target_of(member.member_id))
    for partition in each(beyond):
        raise InvariantBrokenError(
            f"{member.member_id} of {group.group_id} has {partition}, which is not in its target"
        )


def check_member_epoch(group: ModernGroup, member: ModernMember) -> None:
    """Raises InvariantBrokenError where a member's epoch is above the assignment epoch."""
    require(
        member.member_epoch <= group.assignment_epoch or not group.has_assignment_record,
        f"member {member.member_id} of {group.group_id} is at epoch {member.member_epoch}, "
        f"above the assignment epoch {group.assignment_epoch}",
    )


def _held_by(member: ModernMember) -> tuple[TopicPartition, ...]:
    """What it gives up is still its own."""
    return (*each(member.assigned), *each(member.pending_revocation))


def _check_shares(shares: Iterable[tuple[str, Iterable[TopicPartition]]], gives: str) -> None:
    owners: dict[TopicPartition, str] = {}
    for member_id, partitions in shares:
        for partition in partitions:
            other = owners.setdefault(partition, member_id)
            if other != member_id:
                raise InvariantBrokenError(f"{gives} {partition} to {other} and {member_id}")
