"""The coordinator's assignors, by the names that members select them by: range and uniform.

Racks are ignored, as in Kafka since 3.8.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple

from rebalance_audit.coordinator.assignors import server_uniform_mixed
from rebalance_audit.coordinator.assignors.group_spec import (
    AssignorError,
    GroupSpec,
    MemberSpec,
    SubscriptionType,
    ranges,
    static_first,
)
from rebalance_audit.replay.java_order import copied_capacity, hash_map_order
from rebalance_audit.replay.partitions import Partitions, Topic, TopicPartition, count, union


def assign_by_range(spec: GroupSpec) -> Mapping[str, Partitions]:
    """Contiguous partitions per topic, the same numbers for topics of equal size (RangeAssignor).

    It is not sticky: each target is computed anew. Returns the target of every member.
    Raises AssignorError for a subscribed topic without a partition count.
    """
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


def assign_uniformly(spec: GroupSpec) -> Mapping[str, Partitions]:
    """Balance first, then stickiness to the previous target; returns the target of every member.

    Groups whose members all subscribe to the same topics are served as of releases 4.0.1 and 4.1
    (UniformHomogeneousAssignmentBuilder), all others by `server_uniform_mixed`.

    Raises AssignorError for a subscribed topic without a partition count, and, as Kafka does, for previous targets that
    fill quotas with partitions that do not exist: a classic group that is upgraded brings its assignment by names of
    topics, and one of them may have been recreated with fewer partitions.
    """
    if not spec.members:
        return {}
    if spec.subscription_type is SubscriptionType.HOMOGENEOUS:
        return _assign_alike(spec)
    return server_uniform_mixed.assign(spec)


def _assign_alike(spec: GroupSpec) -> Mapping[str, Partitions]:
    asked = spec.members[0].subscribed_topics
    counts = {
        topic: spec.partition_count(topic)
        for topic in hash_map_order(asked, copied_capacity(len(asked)))
    }
    if not counts:
        return {member.member_id: {} for member in spec.members}
    unassigned = _unassigned(spec, counts)
    shortest, longer = divmod(sum(counts.values()), len(spec.members))
    targets: dict[str, Partitions] = {}
    quotas: list[tuple[str, int]] = []
    for index, member in enumerate(spec.members):
        takes_extra = longer > 0
        kept = _kept(member, counts, shortest + takes_extra)
        targets[member.member_id] = kept.partitions
        unassigned.extend(kept.given_up)
        quota = kept.quota_left
        if takes_extra and quota > 0 and len(spec.members) - index > longer:
            # Later members may already hold the extra partition: leave it to them while there are enough.
            quota -= 1
            takes_extra = False
        if quota > 0:
            quotas.append((member.member_id, quota))
        longer -= takes_extra
    waiting = iter(unassigned)
    for member_id, quota in quotas:
        targets[member_id] = union(targets[member_id], _grouped(islice(waiting, quota)))
    if next(waiting, None) is not None:
        raise AssignorError("Partitions were left unassigned")
    return targets


class _Kept(NamedTuple):
    """What one member keeps of its previous target."""

    partitions: Partitions
    given_up: list[TopicPartition]
    quota_left: int


def _kept(member: MemberSpec, counts: Mapping[Topic, int], quota: int) -> _Kept:
    wanted = {
        topic: numbers for topic, numbers in member.previous_target.items() if topic in counts
    }
    size = count(wanted)
    if size <= quota:
        return _Kept(wanted, [], quota - size)
    partitions: dict[Topic, frozenset[int]] = {}
    given_up: list[TopicPartition] = []
    for topic in hash_map_order(member.previous_target):
        numbers = wanted.get(topic, frozenset())
        if len(numbers) <= quota:
            if numbers:
                partitions[topic] = numbers
            quota -= len(numbers)
            continue
        ordered = hash_map_order(sorted(numbers), copied_capacity(len(numbers)))
        if quota:
            partitions[topic] = frozenset(ordered[:quota])
        given_up.extend((topic, number) for number in ordered[quota:])
        quota = 0
    return _Kept(partitions, given_up, quota)


def _unassigned(spec: GroupSpec, counts: Mapping[Topic, int]) -> list[TopicPartition]:
    """Partitions that are in no member's previous target."""
    held: dict[Topic, set[int]] = {topic: set() for topic in counts}
    for member in spec.members:
        for topic, numbers in member.previous_target.items():
            if topic in held:
                held[topic] |= numbers
    return [
        (topic, number)
        for topic, count in counts.items()
        for number in range(count)
        if number not in held[topic]
    ]


def _grouped(partitions: Iterator[TopicPartition]) -> Partitions:
    numbers: dict[Topic, list[int]] = {}
    for topic, number in partitions:
        numbers.setdefault(topic, []).append(number)
    return {topic: frozenset(of_topic) for topic, of_topic in numbers.items()}


SERVER_ASSIGNORS: Final[Mapping[str, Callable[[GroupSpec], Mapping[str, Partitions]]]] = {
    "uniform": assign_uniformly,
    "range": assign_by_range,
}
"""Name in `group.consumer.assignors` -> function from a group's members and topics to the target of every member."""
