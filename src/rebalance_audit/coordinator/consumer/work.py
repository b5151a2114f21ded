"""One request or timer on one consumer group: what it reads, and what it has decided so far."""

from collections import Counter
from collections.abc import Iterable, Mapping

from rebalance_audit.coordinator.consumer.drafts import Drafts
from rebalance_audit.coordinator.consumer.modern import ModernWork
from rebalance_audit.coordinator.consumer.soft_state import SoftGroup
from rebalance_audit.coordinator.context import CoordinatorContext
from rebalance_audit.coordinator.handling import TimerKind
from rebalance_audit.coordinator.reasons import BumpReason
from rebalance_audit.replay.groups import UNREVOKED, ModernGroup, ModernMember
from rebalance_audit.replay.partitions import Topic


class Work(ModernWork[SoftGroup]):
    """Work on a consumer group."""

    __slots__ = ("beginning", "drafts")

    beginning: tuple[BumpReason, ...]
    """The group that this request made, where it made one."""
    member_timers = (TimerKind.SESSION, TimerKind.REBALANCE, TimerKind.JOIN, TimerKind.SYNC)

    def __init__(
        self, context: CoordinatorContext, group: ModernGroup, soft: SoftGroup, now_ms: int
    ) -> None:
        """Nothing is decided yet."""
        super().__init__(context, group, soft, now_ms)
        self.drafts = Drafts(group.group_id, self.release)
        self.beginning = ()

    def is_free(self, topic: Topic, number: int) -> bool:
        """Whether no member has the partition."""
        return (topic, number) not in self.group.owners

    def forget_classic_side(self, member_id: str) -> None:
        """The member speaks the consumer protocol now: it need no longer join or sync."""
        self.soft.joining.discard(member_id)
        self.cancel(TimerKind.JOIN, member_id)
        self.cancel(TimerKind.SYNC, member_id)

    def watch_revocation(self, member: ModernMember) -> None:
        """Also note the epoch that the member is expected to leave."""
        if member.member_state == UNREVOKED:
            self.soft.revoking_epochs[member.member_id] = member.member_epoch
        else:
            self.soft.revoking_epochs.pop(member.member_id, None)
        super().watch_revocation(member)

    def members_with(
        self, updated: ModernMember | None = None, without: Iterable[str] = ()
    ) -> Mapping[str, ModernMember]:
        """The members as they will be: one of them updated, joined or returned, some gone."""
        members = dict(self.group.members)
        for member_id in without:
            members.pop(member_id, None)
        if updated is not None:
            held_by = self.static_member(updated.instance_id)
            if held_by is not None and held_by.member_id != updated.member_id:
                members.pop(held_by.member_id, None)
            members[updated.member_id] = updated
        return members

    def topic_names_with(
        self, updated: ModernMember | None = None, without: Iterable[str] = ()
    ) -> set[str]:
        """Topic names in the subscriptions of `members_with`, without iterating over all members."""
        soft = self.soft
        gone = set(without)
        if updated is not None:
            gone.add(updated.member_id)
            held_by = self.static_member(updated.instance_id)
            if held_by is not None:
                gone.add(held_by.member_id)
        less = Counter(
            name for member_id in gone for name in soft.topic_names_of.get(member_id, ())
        )
        names = {name for name, count in soft.topic_names.items() if count > less[name]}
        return names if updated is None else names.union(updated.subscribed_topic_names)
