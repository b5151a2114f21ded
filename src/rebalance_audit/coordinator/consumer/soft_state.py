"""What the coordinator remembers about consumer groups beyond their records; a fail-over loses it."""

from collections import Counter
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from rebalance_audit.coordinator.client_side.choice import ClientRun
from rebalance_audit.coordinator.handling import TopicImage
from rebalance_audit.replay.changes import (
    Change,
    GroupType,
    MemberAssigned,
    MemberSubscribed,
    MemberUnsubscribed,
)
from rebalance_audit.replay.groups import GroupSlot, ModernGroup


@dataclass(slots=True)
class SoftGroup:
    """Soft state of one consumer group."""

    group: ModernGroup
    """The group it belongs to: a group created again under the same id starts with new soft state."""
    topics_are_checked: bool = False
    """Whether the subscribed topics were compared with those on record, and none of them has changed since."""
    expressions: Counter[str] = field(default_factory=Counter)
    """Regular expression -> members that subscribe to it."""
    expression_of: dict[str, str] = field(default_factory=dict)
    """Member id -> its expression, where it has one."""
    topic_names: Counter[str] = field(default_factory=Counter)
    """Topic name -> members that subscribe to it by name."""
    topic_names_of: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Member id -> the topics that it names."""
    resolving: frozenset[str] | None = None
    """Expressions that are being resolved; None when no resolution is under way."""
    revoking_epochs: dict[str, int] = field(default_factory=dict)
    """Member id -> epoch that its rebalance timer expects it to leave."""
    joining: set[str] = field(default_factory=set)
    """Classic members that were asked to rejoin and have a timer for it."""
    client_run: ClientRun | None = None
    table_entries_max: int = 0
    """What the order of Kafka's member table depends on; see `java_order.timeline_order`."""
    is_draft: bool = False
    """Whether the group's first records are drafted and not yet replayed."""

    @classmethod
    def of(cls, group: ModernGroup) -> "SoftGroup":
        """The soft state that a coordinator has after it loads the group."""
        soft = cls(group)
        soft.belong_to(group)
        return soft

    def belong_to(self, group: ModernGroup) -> None:
        """Belong to this group, which replay made of the draft."""
        self.group = group
        self.is_draft = False
        self.table_entries_max = max(self.table_entries_max, len(group.members) + 1)
        self.expressions.clear()
        self.expression_of.clear()
        self.topic_names.clear()
        self.topic_names_of.clear()
        for member_id in group.members:
            self.follow_member(member_id)

    def follow_member(self, member_id: str) -> None:
        """Bring the indexes of topics and expressions up to date with one member."""
        member = self.group.members.get(member_id)
        old_names = self.topic_names_of.pop(member_id, ())
        names = () if member is None else member.subscribed_topic_names
        if names:
            self.topic_names_of[member_id] = names
        if names != old_names:
            self.topic_names.subtract(old_names)
            self.topic_names.update(names)
        old = self.expression_of.pop(member_id, "")
        new = "" if member is None else member.subscribed_topic_regex
        if new:
            self.expression_of[member_id] = new
        if old == new:
            return
        if old:
            self.expressions[old] -= 1
            if not self.expressions[old]:
                del self.expressions[old]
        if new:
            self.expressions[new] += 1


class NewTopics:
    """Remembers which version of the topic image last brought a topic that was not there before."""

    def __init__(self) -> None:
        """The first image is taken as it is: its topics count as new at its version."""
        self._seen_version: int | None = None
        self._topic_ids: frozenset[bytes] = frozenset()
        self._version = -1

    def see(self, image: TopicImage) -> int:
        """Look at the image; returns the version that last brought a new topic."""
        if image.metadata_version != self._seen_version:
            topics = map(image.topic, image.names())
            topic_ids = frozenset(topic.topic_id for topic in topics if topic is not None)
            if self._seen_version is None or not topic_ids <= self._topic_ids:
                self._version = image.metadata_version
            self._seen_version = image.metadata_version
            self._topic_ids = topic_ids
        return self._version


class SoftState:
    """Soft state of all consumer groups of one coordinator."""

    def __init__(self) -> None:
        """Nothing is known; a group's soft state is made when it is first needed."""
        self._groups: dict[str, SoftGroup] = {}

    def of(self, group: ModernGroup) -> SoftGroup:
        """The group's soft state, made where there is none for this very group."""
        soft = self._groups.get(group.group_id)
        if soft is None or (soft.group is not group and not soft.is_draft):
            soft = self._groups[group.group_id] = SoftGroup.of(group)
        elif soft.is_draft:
            soft.belong_to(group)
        return soft

    def known(self, group_id: str) -> SoftGroup | None:
        """The group's soft state as it is, if there is any."""
        return self._groups.get(group_id)

    def topics_changed(self, topic_names: AbstractSet[str]) -> None:
        """These topics were created, deleted or changed: groups that subscribe to one of them compare again."""
        for soft in self._groups.values():
            named = {name for name, count in soft.topic_names.items() if count}
            subscribed = named.union(*soft.group.regexes.values())
            if not subscribed.isdisjoint(topic_names):
                soft.topics_are_checked = False

    def drafted(self, group: ModernGroup) -> SoftGroup:
        """Soft state for a group that the records of the current request will make."""
        soft = self._groups[group.group_id] = SoftGroup.of(group)
        soft.is_draft = True
        return soft

    def applied(self, slot: GroupSlot, changes: Iterable[Change]) -> None:
        """Follow what replay did."""
        group = slot.group
        if not isinstance(group, ModernGroup) or group.group_type is not GroupType.CONSUMER:
            self._groups.pop(slot.group_id, None)
            return
        soft = self.of(group)
        for change in changes:
            match change:
                case MemberSubscribed(member_id=member_id, joined=joined):
                    soft.follow_member(member_id)
                    found = len(group.members) - joined
                    soft.table_entries_max = max(soft.table_entries_max, found + 1)
                case MemberUnsubscribed(member_id=member_id):
                    soft.follow_member(member_id)
                    soft.revoking_epochs.pop(member_id, None)
                    soft.joining.discard(member_id)
                case MemberAssigned(released=False):
                    found = len(group.members)
                    soft.table_entries_max = max(soft.table_entries_max, found + 1)
                case _:
                    pass
