"""Which client-side assignor a group uses, which members can run it, and the run under way (KIP-848, Client Side Mode).

Where the KIP leaves a choice, it is made so that every coordinator makes the same one.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from rebalance_audit.replay.groups import ModernMember
from rebalance_audit.replay.partitions import Partitions
from rebalance_audit.wire.generated.messages import ConsumerGroupMemberMetadataAssignor


class ClientChoice(NamedTuple):
    """A client-side assignor that every member supports."""

    assignor_name: str
    runners: tuple[str, ...]
    """Ids of the members that can run it for all, longest in the group first; never empty."""


def choose_client_assignor(members: Collection[ModernMember]) -> ClientChoice | None:
    """The client-side assignor of the group; None where a server-side one is used.

    Each member votes for its most preferred assignor among those that all members support and at least one can run. The
    one with the most votes wins; a tie goes to the one that the longest-standing member prefers.
    """
    if not members or not all(member.client_assignors for member in members):
        return None
    runners = {name: _runners(members, name) for name in _common_names(members)}
    votes = Counter(
        next(name for name in names if runners.get(name))
        for names in (_names(member) for member in members)
        if any(runners.get(name) for name in names)
    )
    if not votes:
        return None
    name, _ = votes.most_common(1)[0]
    return ClientChoice(name, runners[name])


def offered(member: ModernMember, name: str) -> ConsumerGroupMemberMetadataAssignor | None:
    """What a member says about the assignor of that name."""
    return next((each for each in member.client_assignors if each.name == name), None)


def overlap(
    assignors: Iterable[ConsumerGroupMemberMetadataAssignor], members: Iterable[ModernMember]
) -> bool:
    """Whether each of a member's assignors shares a version with every other member's assignor of that name."""
    known = [each for member in members for each in member.client_assignors]
    return all(
        mine.minimum_version <= other.maximum_version
        and other.minimum_version <= mine.maximum_version
        for mine in assignors
        for other in known
        if other.name == mine.name
    )


def _names(member: ModernMember) -> tuple[str, ...]:
    return tuple(assignor.name for assignor in member.client_assignors)


def _common_names(members: Collection[ModernMember]) -> set[str]:
    return set.intersection(*(set(_names(member)) for member in members))


def _runners(members: Collection[ModernMember], name: str) -> tuple[str, ...]:
    """Members whose range covers every member's; where there is none, those whose range covers all versions in use."""
    offers = [(member.member_id, offered(member, name)) for member in members]
    ranges = [(member_id, offer) for member_id, offer in offers if offer is not None]
    lowest = min(offer.minimum_version for _, offer in ranges)
    highest = max(offer.maximum_version for _, offer in ranges)
    in_use = [offer.version for _, offer in ranges]
    whole = tuple(
        member_id
        for member_id, offer in ranges
        if offer.minimum_version <= lowest and highest <= offer.maximum_version
    )
    return whole or tuple(
        member_id
        for member_id, offer in ranges
        if offer.minimum_version <= min(in_use) and max(in_use) <= offer.maximum_version
    )


class PreparedFacts(NamedTuple):
    """What the member was given to work on; its result is judged by this, whatever has happened since."""

    group_epoch: int
    members: Mapping[str, str | None]
    """Member id -> instance id."""
    partitions: Partitions
    """Every partition of the subscribed topics."""


@dataclass(slots=True)
class ClientRun:
    """The one run that a group may have under way."""

    assignor_name: str
    member_id: str
    """The member that must run the assignor."""
    failed: frozenset[str] = frozenset()
    """Members that were chosen for this target and did not deliver in time."""
    notified: bool = False
    """Whether the member was asked; its timeout then runs."""
    facts: PreparedFacts | None = None
    """What the member was given; None until it asks."""
