"""What a server-side assignor gets about a group, how its assignor is chosen, and how a topic is cut into ranges.

The rules are ConsumerGroup's and TargetAssignmentBuilder's in Kafka.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from rebalance_audit.replay.java_order import hash_map_order, string_rank, timeline_order
from rebalance_audit.replay.modern.preferred_assignor import PreferenceChange, most_preferred
from rebalance_audit.replay.partitions import Partitions, Topic


class SubscriptionType(Enum):
    """Whether all members subscribe to the same topics; assignors take a faster path when they do."""

    HOMOGENEOUS = "homogeneous"
    HETEROGENEOUS = "heterogeneous"


class MemberSpec(NamedTuple):
    """One member as assignors see it."""

    member_id: str
    instance_id: str | None
    subscribed_topics: tuple[Topic, ...]
    """Ids of the existing topics that its names and its regular expression resolve to, each once."""
    previous_target: Partitions
    """Its current target; a static member that returned has that of the member it replaced."""


class AssignorError(Exception):
    """An assignor finds no assignment, as Kafka's PartitionAssignorException."""


class GroupSpec(NamedTuple):
    """A group as assignors see it."""

    members: tuple[MemberSpec, ...]
    """In the order of `member_order`, which breaks ties."""
    partition_counts: Mapping[Topic, int]
    """Topic id -> number of partitions; holds at least every subscribed topic."""
    subscription_type: SubscriptionType

    def partition_count(self, topic: Topic) -> int:
        """Partition count of a subscribed topic. Raises AssignorError if it has none."""
        count = self.partition_counts.get(topic)
        if count is None:
            name = topic if isinstance(topic, str) else topic.hex()
            raise AssignorError(f"topic {name} is subscribed to and has no partition count")
        return count


class Subscribing(NamedTuple):
    """What one member subscribes to."""

    topic_names: Collection[str]
    topic_regex: str
    """Regular expression; empty = none."""


def member_order(
    known: Sequence[str], entries_max: int, joining: Iterable[str] = (), leaving: Iterable[str] = ()
) -> list[str]:
    """Order in which assignors see the members, and in which their target records are written.

    `known` are the group's members in the order they came, `entries_max` as in `timeline_order`; `joining` are members
    that no record names yet. After a reload the order may differ: the log alone does not determine a target.
    """
    already = set(known)
    new = (member_id for member_id in joining if member_id not in already)
    ordered = hash_map_order([*timeline_order(known, entries_max), *new])
    gone = set(leaving)
    return [member_id for member_id in ordered if member_id not in gone]


def subscription_type(members: Collection[Subscribing]) -> SubscriptionType:
    """Judged by what members subscribe to, not by the topics it resolves to, as in ConsumerGroup.subscriptionType.

    Names and regular expressions in one group make it heterogeneous even if they resolve to the same topics.
    """
    names = Counter(name for member in members for name in set(member.topic_names))
    regexes = Counter(member.topic_regex for member in members if member.topic_regex)
    asked = regexes or names
    same = all(count == len(members) for count in asked.values())
    if regexes:
        same = same and len(regexes) == 1 and not names
    return SubscriptionType.HOMOGENEOUS if same else SubscriptionType.HETEROGENEOUS


def effective_assignor(
    recorded: Iterable[str | None],
    configured: Sequence[str],
    change: PreferenceChange | None = None,
) -> str:
    """The assignor that most members name, else the first one that the broker is configured with."""
    return most_preferred(recorded, change) or configured[0]


def static_first(instance_id: str | None, member_id: str) -> tuple[bool, bytes]:
    """Sort key: static members by instance id, then dynamic ones by member id; a restart keeps the position."""
    if instance_id is not None:
        return False, string_rank(instance_id)
    return True, string_rank(member_id)


def ranges(partition_count: int, subscriber_count: int) -> Iterator[range]:
    """The range of each subscriber in turn, the longer ones first; stops after the last range that is not empty."""
    shortest, longer = divmod(partition_count, subscriber_count)
    start = 0
    while start < partition_count:
        end = start + shortest + (longer > 0)
        yield range(start, end)
        start = end
        longer -= 1
