"""The coordinator's assignors for share groups (simple) and for streams groups (sticky).

Which member gets which partition or new task is not Kafka's choice: its SimpleAssignor also keeps what members had, its
StickyTaskAssignor also weighs clients and standbys. No rule of the audit depends on that.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rebalance_audit.replay.partitions import Partitions, Topic, TopicPartition, partitions_of


def assign_shares(
    subscribers: Mapping[str, frozenset[bytes]], partitions: Sequence[TopicPartition]
) -> dict[str, Partitions]:
    """Target of every member; `subscribers`: member id -> ids of the topics that it subscribes to."""
    dealt: dict[str, dict[bytes, set[int]]] = {member_id: {} for member_id in subscribers}
    by_topic: dict[bytes, list[int]] = defaultdict(list)
    for topic, number in partitions:
        assert isinstance(topic, bytes)
        by_topic[topic].append(number)
    for topic in sorted(by_topic):
        numbers = sorted(by_topic[topic])
        takers = sorted(member_id for member_id, topics in subscribers.items() if topic in topics)
        for place in range(max(len(takers), len(numbers)) if takers else 0):
            taken = dealt[takers[place % len(takers)]].setdefault(topic, set())
            taken.add(numbers[place % len(numbers)])
    return {member_id: partitions_of(tuple(topics.items())) for member_id, topics in dealt.items()}


class StreamsMember(NamedTuple):
    """One member as the assignor sees it."""

    process_id: str
    previous: Partitions
    """Active tasks of its last target."""


def assign_active(
    members: Mapping[str, StreamsMember], tasks: Sequence[TopicPartition]
) -> dict[str, list[TopicPartition]]:
    """Active tasks of every member: as before where that is balanced."""
    dealt: dict[str, list[TopicPartition]] = {member_id: [] for member_id in sorted(members)}
    if not dealt:
        return dealt
    shortest, longer = divmod(len(tasks), len(dealt))
    waiting = set(tasks)
    for member_id, mine in dealt.items():
        quota = shortest + (longer > 0)
        for task in tasks:
            if len(mine) < quota and task in waiting and _has(members[member_id].previous, task):
                mine.append(task)
                waiting.discard(task)
        longer -= len(mine) > shortest
    for task in tasks:
        if task in waiting:
            dealt[min(dealt, key=lambda member_id: (len(dealt[member_id]), member_id))].append(task)
    return dealt


def assign_standby(
    members: Mapping[str, StreamsMember],
    active: Mapping[str, Sequence[TopicPartition]],
    stateful: frozenset[Topic],
    replicas: int,
) -> dict[str, list[TopicPartition]]:
    """Standbys of every member: so many for each stateful task, as far as there are other processes."""
    dealt: dict[str, list[TopicPartition]] = {member_id: [] for member_id in sorted(members)}
    for owner, tasks in active.items():
        for task in tasks:
            taken = {members[owner].process_id}
            for _ in range(replicas if task[0] in stateful else 0):
                free = [each for each in dealt if members[each].process_id not in taken]
                if not free:
                    break
                chosen = min(free, key=lambda member_id: (len(dealt[member_id]), member_id))
                dealt[chosen].append(task)
                taken.add(members[chosen].process_id)
    return dealt


def _has(partitions: Partitions, task: TopicPartition) -> bool:
    topic, number = task
    return number in partitions.get(topic, ())
