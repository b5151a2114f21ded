"""The assignors that classic consumers can be configured with, by the name of their protocol."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from typing import Final, NamedTuple

from rebalance_audit.coordinator.assignors.client_members import (
    NO_GENERATION,
    Assign,
    Claim,
    JoinedMember,
    NamedPartition,
    PartitionLists,
    by_hash,
    by_place,
    decode_generation,
    decode_sticky,
    encode_generation,
    encode_sticky,
    known_topics,
    to_assignments,
)
from rebalance_audit.coordinator.assignors.client_sticky import assign_alike, assign_mixed
from rebalance_audit.coordinator.assignors.group_spec import ranges
from rebalance_audit.replay.java_order import string_rank
from rebalance_audit.wire.consumer_protocol import Assignment, Subscription


def assign_ranges(
    members: Sequence[JoinedMember], counts: Mapping[str, int]
) -> dict[str, Assignment]:
    """Cut every topic into ranges, one per subscriber, the longer ones first (RangeAssignor)."""
    iterated = by_hash(members)
    lists: PartitionLists = {member.member_id: [] for member in iterated}
    subscribers: dict[str, list[str]] = {}
    for member in by_place(iterated):
        for topic in dict.fromkeys(member.subscription.topics):
            subscribers.setdefault(topic, []).append(member.member_id)
    for topic, count in known_topics(iterated, counts).items():
        takers = subscribers[topic]
        for member_id, numbers in zip(takers, ranges(count, len(takers)), strict=False):
            lists[member_id].extend((topic, number) for number in numbers)
    return to_assignments(lists)


def assign_in_turn(
    members: Sequence[JoinedMember], counts: Mapping[str, int]
) -> dict[str, Assignment]:
    """Deal the partitions of all topics one by one, skipping members that do not subscribe (RoundRobinAssignor)."""
    lists: PartitionLists = {member.member_id: [] for member in by_hash(members)}
    circle = by_place(by_hash(members))
    subscribed = [frozenset(member.subscription.topics) for member in circle]
    known = known_topics(members, counts)
    at = 0
    for topic in sorted(known, key=string_rank):
        for number in range(known[topic]):
            while topic not in subscribed[at]:
                at = (at + 1) % len(circle)
            lists[circle[at].member_id].append((topic, number))
            at = (at + 1) % len(circle)
    return to_assignments(lists)


def assign_sticky(
    members: Sequence[JoinedMember], counts: Mapping[str, int]
) -> dict[str, Assignment]:
    """Assign for `sticky`: what members had is in their user data."""
    lists, _ = _assign_stickily(members, counts, _sticky_claim)
    return to_assignments(lists)


def assign_cooperatively(
    members: Sequence[JoinedMember], counts: Mapping[str, int]
) -> dict[str, Assignment]:
    """Assign for `cooperative-sticky`, leaving out the partitions whose owners must give them up first.

    Cooperative members keep consuming while they join, so a partition that moves between members is withheld from its
    new owner in this generation: the old owner gives it up and joins again, and the next generation assigns it.
    """
    lists, moving = _assign_stickily(members, counts, _cooperative_claim)
    if moving is None:
        moving = _moving(members, lists)
    return to_assignments(
        {
            member_id: [partition for partition in partitions if partition not in moving]
            for member_id, partitions in lists.items()
        }
    )


def _sticky_claim(subscription: Subscription) -> Claim:
    return decode_sticky(subscription.user_data)


def _cooperative_claim(subscription: Subscription) -> Claim:
    generation = subscription.generation_id
    if generation < 0:
        generation = decode_generation(subscription.user_data)
    return Claim(tuple(_owned(subscription)), generation)


def _owned(subscription: Subscription) -> Iterator[NamedPartition]:
    for topic, numbers in subscription.owned_partitions:
        for number in numbers:
            yield topic, number


def _assign_stickily(
    members: Sequence[JoinedMember],
    counts: Mapping[str, int],
    claim_of: Callable[[Subscription], Claim],
) -> tuple[PartitionLists, frozenset[NamedPartition] | None]:
    """The full assignment, and the partitions that move between members where the algorithm tracked them."""
    iterated = by_hash(members)
    topics = known_topics(iterated, counts)
    claims = {member.member_id: claim_of(member.subscription) for member in iterated}
    owned, disputed = _settle(iterated, topics, claims)
    if len({frozenset(member.subscription.topics) for member in iterated}) <= 1:
        return assign_alike(owned, disputed, topics)
    return assign_mixed(iterated, owned, claims, topics), None


def _settle(
    members: Sequence[JoinedMember], topics: Mapping[str, int], claims: Mapping[str, Claim]
) -> tuple[PartitionLists, frozenset[NamedPartition]]:
    """What each member may keep, and the partitions that two members claim in one generation, which neither keeps.

    Of claims in different generations the newer one counts. As in Kafka the earlier claimant's generation is the one in
    its subscription, even where its claim is in the user data.
    """
    generations = {member.member_id: member.subscription.generation_id for member in members}
    owned: PartitionLists = {member_id: [] for member_id in claims}
    claimants: dict[NamedPartition, str] = {}
    disputed: set[NamedPartition] = set()
    for member_id, (partitions, generation) in claims.items():
        for partition in partitions:
            topic, number = partition
            if not 0 <= number < topics.get(topic, 0):
                continue
            other = claimants.get(partition)
            if other is None:
                owned[member_id].append(partition)
                claimants[partition] = member_id
                continue
            other_generation = max(generations[other], -1)
            if generation < other_generation:
                continue
            if partition in owned[other]:
                owned[other].remove(partition)
            claimants[partition] = member_id
            if generation == other_generation:
                disputed.add(partition)
            else:
                owned[member_id].append(partition)
    return owned, frozenset(disputed)


def _moving(
    members: Sequence[JoinedMember], lists: Mapping[str, Sequence[NamedPartition]]
) -> frozenset[NamedPartition]:
    """Partitions that one member loses and another one gets."""
    added: set[NamedPartition] = set()
    revoked: set[NamedPartition] = set()
    for member in members:
        before = set(_owned(member.subscription))
        after = set(lists[member.member_id])
        added |= after - before
        revoked |= before - after
    return frozenset(added & revoked)


class RebalanceProtocol(IntEnum):
    """What members do with their partitions while they join (KIP-429); of two, the higher number is preferred."""

    EAGER = 0
    """Give up all partitions before joining; the subscription lists none as owned."""
    COOPERATIVE = 1
    """Keep all partitions, give up those missing from the new assignment, and join again if there were any."""


class PartitionAssignor(NamedTuple):
    """One assignor as a classic consumer uses it."""

    protocols: frozenset[RebalanceProtocol]
    """The rebalance protocols that it supports."""
    assign: Assign
    """What the leader computes."""
    user_data: Callable[[Claim | None], bytes | None]
    """User data that a member adds to its subscription, from its last assignment and generation (None = none yet)."""


def _no_user_data(_: Claim | None) -> None:
    return None


def _last_assignment(last: Claim | None) -> bytes | None:
    return None if last is None else encode_sticky(last)


def _last_generation(last: Claim | None) -> bytes:
    return encode_generation(NO_GENERATION if last is None else last.generation)


_EAGER: Final = frozenset({RebalanceProtocol.EAGER})

CLIENT_ASSIGNORS: Final[Mapping[str, PartitionAssignor]] = {
    "range": PartitionAssignor(_EAGER, assign_ranges, _no_user_data),
    "roundrobin": PartitionAssignor(_EAGER, assign_in_turn, _no_user_data),
    "sticky": PartitionAssignor(_EAGER, assign_sticky, _last_assignment),
    "cooperative-sticky": PartitionAssignor(
        frozenset(RebalanceProtocol), assign_cooperatively, _last_generation
    ),
}


def rebalance_protocol(names: Iterable[str]) -> RebalanceProtocol:
    """The protocol of a consumer configured with these assignors: the highest one that all of them support.

    So `cooperative-sticky` next to `range` is eager, whichever the group selects; that is how a rolling change of
    strategy works. Raises KeyError for an unknown assignor, ValueError for none at all.
    """
    supported = [CLIENT_ASSIGNORS[name].protocols for name in names]
    if not supported:
        raise ValueError("a consumer needs at least one assignor")
    return max(frozenset.intersection(*supported))
