"""The round-robin assignor of classic consumers (RoundRobinAssignor of the Java client)."""

from collections.abc import Mapping, Sequence

from rebalance_audit.coordinator.assignors.client_members import (
    JoinedMember,
    PartitionLists,
    by_hash,
    by_place,
    known_topics,
    to_assignments,
)
from rebalance_audit.replay.java_order import string_rank
from rebalance_audit.wire.consumer_protocol import Assignment


def assign(members: Sequence[JoinedMember], counts: Mapping[str, int]) -> dict[str, Assignment]:
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
