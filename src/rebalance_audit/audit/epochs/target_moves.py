"""What a new target assignment moves."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from rebalance_audit.audit.members.stint import MemberWatch
from rebalance_audit.replay.partitions import NOTHING, Partitions, Topic, TopicPartition, minus


class Moves(NamedTuple):
    """Differences of a target from the one installed before, by owner identity."""

    partitions: int
    moved: Mapping[TopicPartition, str]
    """Partition -> its previous owner."""
    added: frozenset[TopicPartition]
    dropped: frozenset[TopicPartition]


_UNOWNED: Mapping[int, str] = {}


@dataclass(slots=True)
class TargetMoves:
    """Follows the target owner of every partition; the cost grows with the changes, not with the target's size.

    An owner is an *identity*: the instance id of a static member, else the member id, so that a static member under a
    new member id moves nothing.
    """

    owners: dict[Topic, dict[int, str]] = field(default_factory=dict)
    """Topic -> owner by partition number; a topic without any owned partition is absent."""
    _before: dict[TopicPartition, str | None] = field(default_factory=dict)
    """Owner at the last installation of every partition changed since."""
    _last: dict[TopicPartition, str] = field(default_factory=dict)
    """Last owner of each partition that a cooperative generation took away, until it has an owner again."""

    def retarget(self, identity: str, old: Partitions | None, new: Partitions | None) -> None:
        """A member's target changed from `old` to `new`."""
        self.shift(
            identity, minus(old or NOTHING, new or NOTHING), minus(new or NOTHING, old or NOTHING)
        )

    def shift(self, identity: str, lost: Partitions, gained: Partitions) -> None:
        """A member's target changed by the partitions `lost` and `gained`."""
        owners, before = self.owners, self._before
        for topic, numbers in lost.items():
            held = owners.get(topic, {})
            for number in numbers:
                if held.get(number) == identity:
                    before.setdefault((topic, number), identity)
                    del held[number]
            if not held:
                owners.pop(topic, None)
        for topic, numbers in gained.items():
            held = owners.setdefault(topic, {})
            for number in numbers:
                before.setdefault((topic, number), held.get(number))
                held[number] = identity

    def rename(self, old: str, new: str, partitions: Partitions) -> None:
        """An owner has another identity: a compacted log can have its target before the record with its instance id."""
        if old == new:
            return
        for topic, numbers in partitions.items():
            held = self.owners.get(topic, {})
            for number in numbers:
                if held.get(number) == old:
                    held[number] = new
                if self._before.get((topic, number)) == old:
                    self._before[topic, number] = new

    def owner_of(self, partition: TopicPartition) -> str | None:
        """The partition's target owner, or None."""
        held = self.owners.get(partition[0])
        return None if held is None else held.get(partition[1])

    def has_owner(self, partition: TopicPartition) -> bool:
        """Whether the target assigns the partition to a member."""
        return self.owner_of(partition) is not None

    def had_owner(self, partition: TopicPartition) -> bool:
        """Whether the target that was installed last assigned the partition to a member that has lost it since."""
        return self._before.get(partition) is not None

    def is_certainly_wanted(
        self,
        topic_of: Callable[[TopicPartition], tuple[str | None, str | None]],
        watches: Iterable[MemberWatch],
    ) -> Callable[[TopicPartition], bool]:
        """Returns whether a member subscribes to a partition that exists: that the target has or had it shows this."""

        def is_wanted(partition: TopicPartition) -> bool:
            if self.has_owner(partition):
                return True
            topic = topic_of(partition)[1] if self.had_owner(partition) else None
            return topic is not None and any(
                topic in watch.stint.identity.subscribed_topics for watch in watches
            )

        return is_wanted

    def install(self, *, takes_away: bool = False) -> Moves:
        """The target is complete; returns what it moved since the last one.

        A partition that a `takes_away` target leaves without an owner counts as moved once another member has it.
        """
        moved: dict[TopicPartition, str] = {}
        added, dropped = set(), set()
        owners: Mapping[Topic, Mapping[int, str]] = self.owners
        for partition, before in self._before.items():
            now = owners.get(partition[0], _UNOWNED).get(partition[1])
            if before is None:
                if now is not None:
                    added.add(partition)
                    last = self._last.pop(partition, now)
                    if last != now:
                        moved[partition] = last
            elif now is None:
                dropped.add(partition)
                if takes_away:
                    self._last[partition] = before
            elif now != before:
                moved[partition] = before
        self._before.clear()
        return Moves(
            sum(map(len, self.owners.values())), moved, frozenset(added), frozenset(dropped)
        )

    def clear(self) -> None:
        """Drop the state: the group is gone."""
        self.owners.clear()
        self._before.clear()
        self._last.clear()
