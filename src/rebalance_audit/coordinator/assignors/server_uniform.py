"""The coordinator's uniform assignor: balance first, then stickiness to the previous target.

This module serves groups whose members all subscribe to the same topics, as of releases 4.0.1 and 4.1
(UniformHomogeneousAssignmentBuilder); `server_uniform_mixed` serves all other groups. Racks are ignored, as
in Kafka since 3.8.
"""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import NamedTuple

from rebalance_audit.coordinator.assignors import server_uniform_mixed
from rebalance_audit.coordinator.assignors.group_spec import (
    AssignorError,
    GroupSpec,
    MemberSpec,
    SubscriptionType,
)
from rebalance_audit.replay.java_order import copied_capacity, hash_map_order
from rebalance_audit.replay.partitions import Partitions, Topic, TopicPartition, count, union


def assign(spec: GroupSpec) -> Mapping[str, Partitions]:
    """Target of every member.

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
