"""The sticky assignors of classic consumers: `sticky` (eager) and `cooperative-sticky` (AbstractStickyAssignor).

Both keep what members had as far as balance allows. Cooperative members keep consuming while they join, so a partition
that moves between members is withheld from its new owner in this generation: the old owner gives it up and joins again,
and the next generation assigns it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from rebalance_audit.coordinator.assignors import client_sticky_alike, client_sticky_mixed
from rebalance_audit.coordinator.assignors.client_members import (
    JoinedMember,
    NamedPartition,
    PartitionLists,
    by_hash,
    known_topics,
    to_assignments,
)
from rebalance_audit.coordinator.assignors.client_user_data import (
    Claim,
    decode_generation,
    decode_sticky,
)
from rebalance_audit.wire.consumer_protocol import Assignment, Subscription


def assign(members: Sequence[JoinedMember], counts: Mapping[str, int]) -> dict[str, Assignment]:
    """Assign for `sticky`: what members had is in their user data."""
    lists, _ = _assign(members, counts, _sticky_claim)
    return to_assignments(lists)


def assign_cooperatively(
    members: Sequence[JoinedMember], counts: Mapping[str, int]
) -> dict[str, Assignment]:
    """Assign for `cooperative-sticky`, leaving out the partitions whose owners must give them up first."""
    lists, moving = _assign(members, counts, _cooperative_claim)
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


def _assign(
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
        return client_sticky_alike.assign(owned, disputed, topics)
    return client_sticky_mixed.assign(iterated, owned, claims, topics), None


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
