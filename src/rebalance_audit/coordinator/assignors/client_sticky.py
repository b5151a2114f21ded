"""The two algorithms of Java's sticky assignors: for members that subscribe to the same topics, and for all others."""

from bisect import insort
from collections.abc import Collection, Mapping, Sequence

from rebalance_audit.coordinator.assignors.client_members import (
    Claim,
    JoinedMember,
    NamedPartition,
    PartitionLists,
)
from rebalance_audit.replay.java_order import hash_map_order, string_rank


def assign_alike(
    owned: Mapping[str, Sequence[NamedPartition]],
    disputed: Collection[NamedPartition],
    topics: Mapping[str, int],
) -> tuple[PartitionLists, frozenset[NamedPartition]]:
    """Every member gets the floor or the ceiling of the average, and keeps as much of what it had as that allows.

    This is the constrained algorithm. Returns the assignment, and those of its partitions that move from one member to
    another.

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


def assign_mixed(
    members: Sequence[JoinedMember],
    owned: PartitionLists,
    claims: Mapping[str, Claim],
    topics: Mapping[str, int],
) -> PartitionLists:
    """Assignment of every member by the general algorithm.

    Members keep what they had, free partitions go to the least loaded subscriber, and then partitions move one by one
    to less loaded subscribers, back to a former owner where that helps, until nothing can be improved. A former owner
    must still subscribe to the topic; the client of release 4.3.1 does not check that.

    `members` are in the Java client's order; `owned`: member id -> partitions that it may keep unless it unsubscribed;
    `claims`: what they said they had; claims of older generations are the second choice.
    """
    return _Assigning(members, owned, claims, topics).run()


class _Assigning:
    """One computation."""

    def __init__(
        self,
        members: Sequence[JoinedMember],
        owned: PartitionLists,
        claims: Mapping[str, Claim],
        topics: Mapping[str, int],
    ) -> None:
        self.topics = topics
        self.wanted = {
            member.member_id: [
                topic for topic in dict.fromkeys(member.subscription.topics) if topic in topics
            ]
            for member in members
        }
        self.subscribers: dict[str, list[str]] = {topic: [] for topic in topics}
        for member_id, of_member in self.wanted.items():
            for topic in of_member:
                self.subscribers[topic].append(member_id)
        self.lists: PartitionLists = {}
        self.unsubscribed = False
        """Whether a member had partitions of a topic that it no longer subscribes to."""
        for member_id, partitions in owned.items():
            kept = [each for each in partitions if each[0] in self.wanted[member_id]]
            self.unsubscribed = self.unsubscribed or len(kept) < len(partitions)
            self.lists[member_id] = kept
        self.owners = {
            partition: member_id
            for member_id, partitions in self.lists.items()
            for partition in partitions
        }
        self.former_owners = _former_owners(claims, self.wanted)
        self.ranks = {member_id: string_rank(member_id) for member_id in self.lists}
        self.by_load = sorted(map(self.load_rank, self.lists))
        self.moves = _PartitionMoves()
        self.balanced: bool | None = None
        """The result; None = not computed since the last move."""

    def load_rank(self, member_id: str) -> tuple[int, bytes, str]:
        return len(self.lists[member_id]), self.ranks[member_id], member_id

    def run(self) -> PartitionLists:
        partitions = [
            (topic, number)
            for topic in sorted(self.topics, key=self.topic_rank)
            for number in range(self.topics[topic])
        ]
        free = [partition for partition in partitions if partition not in self.owners]
        all_new = not self.by_load or not self.by_load[-1][0]
        for partition in free:
            self.hand_out(partition)
        fixed = self.set_aside_fixed_members()
        self.improve(free, partitions, all_new=all_new)
        return {
            member_id: fixed.get(member_id) or self.lists.get(member_id, [])
            for member_id in self.wanted
        }

    def topic_rank(self, topic: str) -> tuple[int, bytes]:
        """Sort key: topics with few subscribers first."""
        return len(self.subscribers[topic]), string_rank(topic)

    def hand_out(self, partition: NamedPartition) -> None:
        """Give a free partition to the least loaded subscriber, if its topic has any."""
        taker = self.least_loaded(partition[0])
        if taker is not None:
            self.by_load.remove(self.load_rank(taker))
            self.lists[taker].append(partition)
            self.owners[partition] = taker
            insort(self.by_load, self.load_rank(taker))

    def least_loaded(self, topic: str) -> str | None:
        return next((each for _, _, each in self.by_load if topic in self.wanted[each]), None)

    def set_aside_fixed_members(self) -> PartitionLists:
        """Take out members that have all they can have, and nothing that another member could have."""
        fixed: PartitionLists = {}
        for member_id, of_member in self.wanted.items():
            had = self.lists[member_id]
            has_all = len(had) == sum(self.topics[topic] for topic in of_member)
            if has_all and all(len(self.subscribers[topic]) < 2 for topic, _ in had):
                self.by_load.remove(self.load_rank(member_id))
                fixed[member_id] = self.lists.pop(member_id)
        return fixed

    def improve(
        self, free: Sequence[NamedPartition], partitions: Sequence[NamedPartition], *, all_new: bool
    ) -> None:
        """Move partitions towards balance, those that were free first; undo the moves if they did not help."""
        before = {member_id: list(had) for member_id, had in self.lists.items()}
        if not self.unsubscribed:
            self.move_for_balance(self.shared(free))
        moved = self.move_for_balance(self.shared(partitions))
        if moved and not all_new and _imbalance(self.lists) >= _imbalance(before):
            self.lists = before

    def shared(self, partitions: Sequence[NamedPartition]) -> list[NamedPartition]:
        """Those that have at least two subscribers."""
        return [each for each in partitions if len(self.subscribers[each[0]]) > 1]

    def move_for_balance(self, partitions: Sequence[NamedPartition]) -> bool:
        """Move partitions to less loaded subscribers until nothing changes; True when any moved."""
        moved_any = False
        moved = True
        while moved:
            moved = False
            for partition in partitions:
                if self.is_balanced():
                    break
                taker = self.better_owner(partition)
                if taker is not None:
                    self.move(partition, taker)
                    moved = True
            moved_any = moved_any or moved
        return moved_any

    def better_owner(self, partition: NamedPartition) -> str | None:
        """A subscriber with at least two partitions fewer than the owner: the former owner, else the least loaded."""
        load = len(self.lists[self.owners[partition]])
        former = self.former_owners.get(partition)
        if former is not None and load > len(self.lists[former]) + 1:
            return former
        topic = partition[0]
        if any(load > len(self.lists[each]) + 1 for each in self.subscribers[topic]):
            return self.least_loaded(topic)
        return None

    def move(self, partition: NamedPartition, taker: str) -> None:
        """Give the partition to another member, or instead one of its topic that came from that member before."""
        partition = self.moves.better_choice(partition, self.owners[partition], taker)
        giver = self.owners[partition]
        self.by_load.remove(self.load_rank(giver))
        if taker != giver:
            self.by_load.remove(self.load_rank(taker))
        self.moves.note(partition, giver, taker)
        self.lists[giver].remove(partition)
        self.lists[taker].append(partition)
        self.owners[partition] = taker
        insort(self.by_load, self.load_rank(taker))
        if taker != giver:
            insort(self.by_load, self.load_rank(giver))
        self.balanced = None

    def is_balanced(self) -> bool:
        """Whether no partition could move to a subscriber with at least two partitions fewer."""
        if self.balanced is None:
            self.balanced = self.judge_balance()
        return self.balanced

    def judge_balance(self) -> bool:
        if not self.by_load or self.by_load[0][0] >= self.by_load[-1][0] - 1:
            return True
        highest: dict[str, int] = {}
        for had in self.lists.values():
            for topic, _ in had:
                highest[topic] = max(highest.get(topic, 0), len(had))
        return all(
            highest.get(topic, 0) <= load + 1
            for load, _, member_id in self.by_load
            for topic in self.wanted[member_id]
        )


def _former_owners(
    claims: Mapping[str, Claim], wanted: Mapping[str, Sequence[str]]
) -> dict[NamedPartition, str]:
    """Partition -> subscriber that claims it from the newest of the generations before the last."""
    last = max((claim.generation for claim in claims.values()), default=-1)
    found: dict[NamedPartition, tuple[int, str]] = {}
    for member_id, (partitions, generation) in claims.items():
        if generation < last:
            for partition in partitions:
                if partition[0] in wanted[member_id] and (
                    partition not in found or generation > found[partition][0]
                ):
                    found[partition] = generation, member_id
    return {partition: member_id for partition, (_, member_id) in found.items()}


def _imbalance(lists: PartitionLists) -> int:
    """Sum of the differences between all pairs of loads."""
    loads = sorted(map(len, lists.values()))
    return sum(load * (2 * index - len(loads) + 1) for index, load in enumerate(loads))


class _PartitionMoves:
    """Tracks moves, so that two members do not trade partitions of one topic with each other."""

    def __init__(self) -> None:
        self._pairs: dict[NamedPartition, tuple[str, str]] = {}
        self._partitions: dict[tuple[str, str, str], dict[NamedPartition, None]] = {}

    def better_choice(self, partition: NamedPartition, giver: str, taker: str) -> NamedPartition:
        """What to move instead of the partition: one of its topic that came from the taker before, else the same."""
        first_owner, _ = self._pairs.get(partition, (giver, taker))
        came_back = self._partitions.get((partition[0], taker, first_owner))
        if not came_back:
            return partition
        return hash_map_order(came_back)[0]

    def note(self, partition: NamedPartition, giver: str, taker: str) -> None:
        """Track a move; a partition that returns to its first owner has not moved."""
        pair = self._pairs.pop(partition, None)
        if pair is None:
            self._add(partition, giver, taker)
            return
        first_owner, _ = pair
        key = (partition[0], *pair)
        del self._partitions[key][partition]
        if not self._partitions[key]:
            del self._partitions[key]
        if first_owner != taker:
            self._add(partition, first_owner, taker)

    def _add(self, partition: NamedPartition, giver: str, taker: str) -> None:
        self._pairs[partition] = (giver, taker)
        self._partitions.setdefault((partition[0], giver, taker), {})[partition] = None
