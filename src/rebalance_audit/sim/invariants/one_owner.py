"""Rule: a partition has one owner at a time, in the records of either protocol."""

from collections.abc import Iterable

from rebalance_audit.replay.groups.classic_group import ClassicGroup
from rebalance_audit.replay.groups.modern_group import ModernGroup, ModernMember
from rebalance_audit.replay.partitions import TopicPartition, each
from rebalance_audit.sim.invariants.broken import InvariantBrokenError


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


def check_member(group: ModernGroup, member: ModernMember) -> None:
    """Raises InvariantBrokenError where another member owns what this one holds."""
    for partition in _held_by(member):
        owner = group.owners.get(partition)
        if owner != member.member_id:
            message = (
                f"{partition} of {group.group_id} has two owners, {member.member_id} and {owner}"
            )
            raise InvariantBrokenError(message)


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
