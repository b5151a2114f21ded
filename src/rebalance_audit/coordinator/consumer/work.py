"""One request or timer on one consumer group: what it reads, and what it has decided so far."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from rebalance_audit.coordinator.consumer.drafts import Drafts
from rebalance_audit.coordinator.consumer.modern_work import ModernWork
from rebalance_audit.coordinator.consumer.release import RELEASES
from rebalance_audit.coordinator.consumer.soft_state import SoftGroup
from rebalance_audit.coordinator.context import CoordinatorContext, ResultDraft
from rebalance_audit.coordinator.handling import (
    CoordinatorConfig,
    ErrorCode,
    RecordDraft,
    RefusedError,
    Timer,
    TimerKind,
    TopicImage,
)
from rebalance_audit.coordinator.reasons import BumpReason, Departure, Trigger
from rebalance_audit.replay.changes import GroupType
from rebalance_audit.replay.groups import ModernGroup, ModernMember
from rebalance_audit.replay.partitions import Topic

MEMBER_TIMERS = (TimerKind.SESSION, TimerKind.REBALANCE, TimerKind.JOIN, TimerKind.SYNC)


class MemberTimes(NamedTuple):
    """Times in milliseconds of members that speak the consumer protocol; the group's settings, else the broker's."""

    session_timeout_ms: int
    """How long a member may stay silent."""
    heartbeat_interval_ms: int
    """Its heartbeat interval."""


def member_times(config: CoordinatorConfig, group_id: str) -> MemberTimes:
    """The times of a group."""
    own = config.group_overrides.get(group_id, {})
    return MemberTimes(
        own.get("consumer.session.timeout.ms", config.consumer_session_timeout_ms),
        own.get("consumer.heartbeat.interval.ms", config.consumer_heartbeat_interval_ms),
    )


class Work(ModernWork):
    """A group as replay left it (or as the records drafted so far would leave it), and the result in the making."""

    __slots__ = (
        *("beginning", "config", "drafts", "image"),
        *("now_ms", "outcome", "soft"),
    )

    def __init__(
        self, context: CoordinatorContext, group: ModernGroup, soft: SoftGroup, now_ms: int
    ) -> None:
        """Nothing is decided yet."""
        self.config: CoordinatorConfig = context.config
        self.image: TopicImage = context.image
        self.release = RELEASES[context.config.dialect]
        self.group = group
        self.soft = soft
        self.now_ms = now_ms
        self.drafts = Drafts(group.group_id, self.release)
        self.outcome = ResultDraft()
        self.beginning: tuple[BumpReason, ...] = ()
        """The group that this request made, where it made one."""

    @property
    def records(self) -> list[RecordDraft]:
        """The records drafted so far."""
        return self.outcome.records

    def departed(self, member: ModernMember, trigger: Trigger) -> None:
        """Note why a member leaves."""
        reason = BumpReason(trigger, member.member_id, member.instance_id)
        self.outcome.depart(Departure(self.group.group_id, self.group_epoch + 1, reason))

    def is_free(self, topic: Topic, number: int) -> bool:
        """Whether no member has the partition."""
        return (topic, number) not in self.group.owners

    def timer(self, kind: TimerKind, member_id: str = "") -> Timer:
        """A timer of the group or of a member."""
        return Timer(kind, self.group.group_id, member_id)

    def arm(self, kind: TimerKind, delay_ms: int, member_id: str = "") -> None:
        """Arm a timer, or move its deadline, `delay_ms` milliseconds from now."""
        self.outcome.arm(self.timer(kind, member_id), self.now_ms + delay_ms)

    def cancel(self, kind: TimerKind, member_id: str = "") -> None:
        """Disarm a timer."""
        self.outcome.cancel(self.timer(kind, member_id))

    def cancel_all(self, member_id: str) -> None:
        """Disarm every timer of a member that is gone."""
        for kind in MEMBER_TIMERS:
            self.cancel(kind, member_id)

    def forget_classic_side(self, member_id: str) -> None:
        """The member speaks the consumer protocol now: it need no longer join or sync."""
        self.soft.joining.discard(member_id)
        self.cancel(TimerKind.JOIN, member_id)
        self.cancel(TimerKind.SYNC, member_id)

    def setting(self, name: str, default: int) -> int:
        """A setting of this group: its dynamic configuration, else the broker's."""
        return self.config.group_overrides.get(self.group.group_id, {}).get(name, default)

    def session_timeout_ms(self) -> int:
        """How long a member may stay silent."""
        return member_times(self.config, self.group.group_id).session_timeout_ms

    def heartbeat_interval_ms(self) -> int:
        """The heartbeat interval of members."""
        return member_times(self.config, self.group.group_id).heartbeat_interval_ms

    def assignment_interval_ms(self) -> int:
        """Least time between two computations of the target."""
        if not self.release.assignment_interval:
            return 0
        default = self.config.consumer_assignment_interval_ms
        return self.setting("consumer.assignment.interval.ms", default)

    def arm_session(self, member: ModernMember) -> None:
        """The member was heard from: its session runs from now, with its own timeout if it is a classic member."""
        classic = member.classic
        timeout_ms = self.session_timeout_ms() if classic is None else classic.session_timeout_ms
        self.arm(TimerKind.SESSION, timeout_ms, member.member_id)

    def static_member(self, instance_id: str | None) -> ModernMember | None:
        """The member that holds an instance id, if there is one."""
        if instance_id is None:
            return None
        member_id = self.group.static_members.get(instance_id)
        return None if member_id is None else self.group.members[member_id]

    def instance_holder(self, instance_id: str, member_id: str) -> ModernMember:
        """The member that holds an instance id; it must have this member id.

        Raises RefusedError (UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID).
        """
        member = self.static_member(instance_id)
        if member is None:
            raise RefusedError(
                ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown."
            )
        if member.member_id != member_id:
            raise RefusedError(
                ErrorCode.FENCED_INSTANCE_ID,
                f"Static member {member_id} with instance id {instance_id} was fenced by member "
                f"{member.member_id}.",
            )
        return member

    def identified(self, member_id: str, instance_id: str | None) -> ModernMember:
        """The current member of these ids. Raises RefusedError as the two above do."""
        if instance_id is None:
            return self.member(member_id)
        return self.instance_holder(instance_id, member_id)

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


def consumer_group(context: CoordinatorContext, group_id: str) -> ModernGroup:
    """The consumer group of that id. Raises RefusedError (GROUP_ID_NOT_FOUND)."""
    group = context.group(group_id)
    if group is None:
        raise RefusedError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
    if not isinstance(group, ModernGroup) or group.group_type is not GroupType.CONSUMER:
        raise RefusedError(
            ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a consumer group."
        )
    return group
