"""The range and the round-robin assignor of classic consumers (Java: RangeAssignor, RoundRobinAssignor)."""

from collections.abc import Mapping, Sequence

from rebalance_audit.coordinator.assignors.client_members import (
    JoinedMember,
    PartitionLists,
    by_hash,
    by_place,
    known_topics,
    to_assignments,
)
from rebalance_audit.coordinator.assignors.ranges import ranges
from rebalance_audit.replay.java_order import string_rank
from rebalance_audit.wire.consumer_protocol import Assignment


def assign_ranges(
    members: Sequence[JoinedMember], counts: Mapping[str, int]
) -> dict[str, Assignment]:
    """Cut every topic into ranges, one per subscriber, the longer ones first."""
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
    """Deal the partitions of all topics one by one, skipping members that do not subscribe."""
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
