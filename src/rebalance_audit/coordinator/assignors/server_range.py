"""The coordinator's range assignor: contiguous partitions per topic, the same numbers for topics of equal size.

It is not sticky: each target is computed anew. Racks are ignored, as in Kafka since 3.8 (RangeAssignor of the group
coordinator).
"""

from collections.abc import Iterator, Mapping, Sequence

from rebalance_audit.coordinator.assignors.group_spec import GroupSpec, MemberSpec, SubscriptionType
from rebalance_audit.coordinator.assignors.ranges import ranges, static_first
from rebalance_audit.replay.partitions import Partitions, Topic


def assign(spec: GroupSpec) -> Mapping[str, Partitions]:
    """Target of every member. Raises AssignorError for a subscribed topic without a partition count."""
    members = sorted(spec.members, key=_place)
    targets: dict[str, dict[Topic, frozenset[int]]] = {
        member.member_id: {} for member in spec.members
    }
    for topic, subscribers in _subscribers(members, spec.subscription_type):
        count = spec.partition_count(topic)
        for member, numbers in zip(subscribers, ranges(count, len(subscribers)), strict=False):
            targets[member.member_id][topic] = frozenset(numbers)
    return targets


def _place(member: MemberSpec) -> tuple[bool, bytes]:
    return static_first(member.instance_id, member.member_id)


def _subscribers(
    members: Sequence[MemberSpec], subscription_type: SubscriptionType
) -> Iterator[tuple[Topic, Sequence[MemberSpec]]]:
    """Each topic with its subscribers in order."""
    if subscription_type is SubscriptionType.HOMOGENEOUS:
        # With ten thousand members and a thousand topics each, a look at every pair would take too long.
        for topic in members[0].subscribed_topics if members else ():
            yield topic, members
        return
    subscribers: dict[Topic, list[MemberSpec]] = {}
    for member in members:
        for topic in member.subscribed_topics:
            subscribers.setdefault(topic, []).append(member)
    yield from subscribers.items()
