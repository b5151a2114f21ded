"""What members lost and gained between two generations of a classic group."""

from typing import NamedTuple

from rebalance_audit.audit.causes.classic_scene import Generation
from rebalance_audit.audit.epochs.generation_delta import Members
from rebalance_audit.replay.partitions import NOTHING, Partitions, minus


class Shift(NamedTuple):
    """What one member lost and gained."""

    lost: Partitions
    gained: Partitions


def shifts(before: Members, after: Members) -> dict[str, Shift]:
    """Shifts of all members whose assignment differs, by the maps' keys: members that stayed or came, then the rest."""
    found: dict[str, Shift] = {}
    for key, member in after.items():
        has, earlier = member.assigned, before.get(key)
        if earlier is None:
            if has:
                found[key] = Shift(NOTHING, has)
            continue
        had = earlier.assigned
        if had is not has and had != has:
            found[key] = Shift(minus(had, has), minus(has, had))
    for key, member in before.items():
        if key not in after and member.assigned:
            found[key] = Shift(member.assigned, NOTHING)
    return found


def by_identity(generation: Generation) -> Members:
    """A generation's members by instance id, or by member id if they have none."""
    return identified(generation.members) if generation.has_static else generation.members


def identified(members: Members) -> Members:
    """Members by instance id, or by member id if they have none."""
    return {member.instance_id or member.member_id: member for member in members.values()}
