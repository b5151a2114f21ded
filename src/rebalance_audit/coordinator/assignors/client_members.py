"""What the leader of a classic group knows, and what it sends back.

Racks are ignored: Java's range and sticky assignors look at them only if some racks have no replica of a partition.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from rebalance_audit.coordinator.assignors.ranges import static_first
from rebalance_audit.replay.java_order import hash_map_order
from rebalance_audit.wire.consumer_protocol import Assignment, Subscription

NamedPartition: TypeAlias = tuple[str, int]
PartitionLists: TypeAlias = dict[str, list[NamedPartition]]
"""Member id -> its partitions, in the order in which it was given them."""


class JoinedMember(NamedTuple):
    """One member of the JoinGroup response to the leader."""

    member_id: str
    instance_id: str | None
    subscription: Subscription


Assign: TypeAlias = Callable[[Sequence[JoinedMember], Mapping[str, int]], dict[str, Assignment]]
"""(members in the order of the response, topic name -> partition count) -> assignment of every member.

Topics that do not exist have no count; their subscribers get nothing for them.
"""


def by_hash(members: Sequence[JoinedMember]) -> list[JoinedMember]:
    """Members in the order in which the Java client iterates over them."""
    of_id = {member.member_id: member for member in members}
    return [of_id[member_id] for member_id in hash_map_order(of_id)]


def by_place(members: Iterable[JoinedMember]) -> list[JoinedMember]:
    """Static members by instance id, then dynamic ones by member id."""
    return sorted(members, key=lambda member: static_first(member.instance_id, member.member_id))


def known_topics(members: Sequence[JoinedMember], counts: Mapping[str, int]) -> dict[str, int]:
    """Subscribed topics that exist, with their partition counts, in the Java client's order."""
    asked = dict.fromkeys(topic for member in members for topic in member.subscription.topics)
    known = hash_map_order(topic for topic in hash_map_order(asked) if counts.get(topic, 0) > 0)
    return {topic: counts[topic] for topic in known}


def to_assignments(lists: Mapping[str, Sequence[NamedPartition]]) -> dict[str, Assignment]:
    """Assignments for the SyncGroup request; topics in the order of each member's first partition of them."""
    return {
        member_id: Assignment(grouped(partitions), user_data=None)
        for member_id, partitions in lists.items()
    }


def grouped(partitions: Iterable[NamedPartition]) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Partitions as the consumer protocol writes them."""
    numbers: dict[str, list[int]] = {}
    for topic, number in partitions:
        numbers.setdefault(topic, []).append(number)
    return tuple((topic, tuple(of_topic)) for topic, of_topic in numbers.items())
