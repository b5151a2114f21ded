"""Sticky assignment for members that all subscribe to the same topics (the constrained algorithm of the Java client).

Every member gets the floor or the ceiling of the average; it keeps as much of what it had as that allows.
"""

from collections.abc import Collection, Mapping, Sequence

from rebalance_audit.coordinator.assignors.client_members import NamedPartition, PartitionLists
from rebalance_audit.replay.java_order import string_rank


def assign(
    owned: Mapping[str, Sequence[NamedPartition]],
    disputed: Collection[NamedPartition],
    topics: Mapping[str, int],
) -> tuple[PartitionLists, frozenset[NamedPartition]]:
    """The assignment, and those of its partitions that move from one member to another.

    `owned`: member id -> partitions that it may keep, in the Java client's order of members. `disputed`: partitions
    that several members claim, so that each claimant must give them up.
    """
    keeping = _Keeping(owned, disputed, topics)
    held = {partition for partitions in keeping.lists.values() for partition in partitions}
    free = [
        (topic, number)
        for topic in sorted(topics, key=string_rank)
        for number in range(topics[topic])
        if (topic, number) not in held
    ]
    moving = set()
    for partition, member_id in zip(free, keeping.takers(len(free)), strict=True):
        keeping.lists[member_id].append(partition)
        if partition in disputed or keeping.given_up.get(partition, member_id) != member_id:
            moving.add(partition)
    return keeping.lists, frozenset(moving)


class _Keeping:
    """What members keep, and which of them have room."""

    def __init__(
        self,
        owned: Mapping[str, Sequence[NamedPartition]],
        disputed: Collection[NamedPartition],
        topics: Mapping[str, int],
    ) -> None:
        self.shortest, self.longer = divmod(sum(topics.values()), len(owned) or 1)
        self.lists: PartitionLists = {}
        self.given_up: dict[NamedPartition, str] = {}
        """Partition -> the member that had it and has too many to keep it."""
        below: list[str] = []
        level: list[str] = []
        longer_left = self.longer
        for member_id, partitions in owned.items():
            had = sorted((each for each in partitions if each not in disputed), key=_rank)
            quota = self.shortest
            if len(had) < quota:
                below.append(member_id)
            elif len(had) > quota and longer_left:
                quota += 1
                longer_left -= 1
            elif longer_left:
                level.append(member_id)
            self.lists[member_id] = had[:quota]
            self.given_up.update(dict.fromkeys(had[quota:], member_id))
        self.below = sorted(below, key=string_rank)
        """Members that have less than the shortest share."""
        self.level = sorted(level, key=string_rank) if longer_left else []
        """Members that have the shortest share and may get one more."""

    def takers(self, free_count: int) -> list[str]:
        """Who gets the free partitions in turn: round by round up to the shortest share, then one more for some."""
        missing = {
            member_id: self.shortest - len(self.lists[member_id]) for member_id in self.below
        }
        rounds: list[str] = []
        filled: list[str] = []
        while missing:
            rounds += missing
            missing = {member_id: count - 1 for member_id, count in missing.items()}
            filled += [member_id for member_id, count in missing.items() if not count]
            missing = {member_id: count for member_id, count in missing.items() if count}
        return (rounds + self.level + filled)[:free_count]


def _rank(partition: NamedPartition) -> tuple[int, bytes]:
    topic, number = partition
    return number, string_rank(topic)
