"""The range assignor of classic consumers: contiguous partitions per topic (RangeAssignor of the Java client)."""

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
from rebalance_audit.wire.consumer_protocol import Assignment


def assign(members: Sequence[JoinedMember], counts: Mapping[str, int]) -> dict[str, Assignment]:
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
