"""The uniform assignor for groups whose members subscribe to different topics (UniformHeterogeneousAssignmentBuilder).

Members keep their previous targets, free partitions go to the least loaded, and then partitions move from the most to
the least loaded subscribers of a topic until no topic can be improved.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from rebalance_audit.coordinator.assignors.group_spec import GroupSpec
from rebalance_audit.replay.java_order import topic_rank
from rebalance_audit.replay.partitions import Partitions, Topic

_ROUNDS_MAX: Final = 16
"""Most rounds: overlapping subscriptions can take long to settle, and each round about halves the imbalance."""

_UNOWNED: Final = -1


def assign(spec: GroupSpec) -> Mapping[str, Partitions]:
    """Target of every member; members are numbered in the order of the spec."""
    return _Assigning(spec).run()


class _Assigning:
    """One computation: who owns each partition, and how many partitions each member has."""

    def __init__(self, spec: GroupSpec) -> None:
        self.spec = spec
        self.subscribers: dict[Topic, list[int]] = {}
        for index, member in enumerate(spec.members):
            for topic in member.subscribed_topics:
                self.subscribers.setdefault(topic, []).append(index)
        self.owners: dict[Topic, list[int]] = {
            topic: [_UNOWNED] * spec.partition_count(topic) for topic in self.subscribers
        }
        self.loads = [0] * len(spec.members)

    def run(self) -> Mapping[str, Partitions]:
        self.keep_previous_targets()
        topics = sorted(self.subscribers, key=self.rank)
        for topic in topics:
            self.hand_out(topic)
        self.balance([topic for topic in topics if len(self.subscribers[topic]) > 1])
        return self.targets()

    def rank(self, topic: Topic) -> tuple[float, int, tuple[int, int] | bytes]:
        """Sort key: most partitions per subscriber first, then fewest subscribers, then topic id."""
        subscriber_count = len(self.subscribers[topic])
        per_subscriber = len(self.owners[topic]) / subscriber_count
        return -per_subscriber, subscriber_count, topic_rank(topic)

    def keep_previous_targets(self) -> None:
        subscribed = [frozenset(member.subscribed_topics) for member in self.spec.members]
        for index, member in enumerate(self.spec.members):
            for topic, numbers in member.previous_target.items():
                if topic in subscribed[index]:
                    for number in numbers:
                        self.owners[topic][number] = index
                    self.loads[index] += len(numbers)

    def hand_out(self, topic: Topic) -> None:
        """Give the topic's free partitions to its least loaded subscribers."""
        owners = self.owners[topic]
        free = [number for number, owner in enumerate(owners) if owner == _UNOWNED]
        if not free:
            return
        levels = _Levels(self.subscribers[topic], self.loads)
        for number in free:
            receiver = levels.next_receiver()
            owners[number] = receiver
            self.loads[receiver] += 1

    def balance(self, topics: Sequence[Topic]) -> None:
        """Balance topic by topic until a full cycle moves nothing."""
        last_improved: Topic | None = None
        for _ in range(_ROUNDS_MAX):
            for topic in topics:
                if topic == last_improved:
                    return
                if self.balance_topic(topic) or last_improved is None:
                    last_improved = topic

    def balance_topic(self, topic: Topic) -> bool:
        """Move partitions of one topic from its most to its least loaded subscribers; True when any moved."""
        levels = _Levels(self.subscribers[topic], self.loads)
        if levels.spread <= 1:
            return False
        owners = self.owners[topic]
        held: dict[int, list[int]] = {}
        for number, owner in enumerate(owners):
            held.setdefault(owner, []).append(number)
        moved = False
        while not levels.are_close():
            donor = levels.next_donor()
            while donor is not None and not held.get(donor):
                levels.exclude_donor()
                donor = levels.next_donor()
            if donor is None:
                break
            receiver = levels.next_receiver()
            if levels.are_close():
                break
            owners[held[donor].pop()] = receiver
            self.loads[donor] -= 1
            self.loads[receiver] += 1
            moved = True
        return moved

    def targets(self) -> Mapping[str, Partitions]:
        collected: list[dict[Topic, list[int]]] = [{} for _ in self.spec.members]
        for topic, owners in self.owners.items():
            for number, owner in enumerate(owners):
                collected[owner].setdefault(topic, []).append(number)
        return {
            member.member_id: {topic: frozenset(numbers) for topic, numbers in of_member.items()}
            for member, of_member in zip(self.spec.members, collected, strict=True)
        }


class _Levels:
    """Subscribers of one topic by load, with the two ends of that order that take and give partitions.

    Receivers are the first `receivers_end` members, filled to `receivers_level`; donors are those between
    `donors_start` and `donors_end`, taken down to `donors_level`. Both ranges grow towards each other as their level
    reaches the load of the next member.
    """

    def __init__(self, subscribers: Sequence[int], loads: Sequence[int]) -> None:
        self.loads = loads
        self.members = sorted(subscribers, key=lambda index: (loads[index], index))
        lowest, highest = loads[self.members[0]], loads[self.members[-1]]
        self.spread = highest - lowest
        self.receivers_end = 0
        self.receivers_level = lowest - 1
        self.receiver_at = 0
        self.donors_start = self.donors_end = len(self.members)
        self.donors_level = highest + 1
        self.donor_at = len(self.members) - 1

    def next_receiver(self) -> int:
        """The member that gets the next partition: round by round over the least loaded ones."""
        if self.receiver_at >= self.receivers_end:
            self.receivers_level += 1
            while (
                self.receivers_end < len(self.members)
                and self.loads[self.members[self.receivers_end]] == self.receivers_level
            ):
                self.receivers_end += 1
            self.receiver_at = 0
        member = self.members[self.receiver_at]
        self.receiver_at += 1
        return member

    def next_donor(self) -> int | None:
        """The member that gives the next partition: round by round over the most loaded ones; None = no more."""
        if self.donor_at < self.donors_start:
            if self.donors_end <= self.donors_start and self.donors_start > 0:
                # All donors so far were excluded: go on with the next level that has a member.
                self.donors_level = self.loads[self.members[self.donors_start - 1]]
            else:
                self.donors_level -= 1
            while (
                self.donors_start > 0
                and self.loads[self.members[self.donors_start - 1]] == self.donors_level
            ):
                self.donors_start -= 1
            self.donor_at = self.donors_end - 1
        if self.donor_at < 0:
            return None
        member = self.members[self.donor_at]
        self.donor_at -= 1
        return member

    def exclude_donor(self) -> None:
        """Take the last donor out of the range: it has no partition of this topic to give."""
        last, end = self.donor_at + 1, self.donors_end - 1
        self.members[last], self.members[end] = self.members[end], self.members[last]
        self.donors_end = end

    def are_close(self) -> bool:
        """Whether moving another partition would improve nothing."""
        return self.donors_level - self.receivers_level <= 1
