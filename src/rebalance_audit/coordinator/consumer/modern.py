"""What consumer, share and streams groups have in common: work on one group, and the handlers of one group type."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Final, Generic, TypeVar

from rebalance_audit.coordinator.consumer.release import RELEASES
from rebalance_audit.coordinator.context import (
    CoordinatorContext,
    ProtocolHandlers,
    ResultDraft,
    TimerHandler,
)
from rebalance_audit.coordinator.handling import (
    NOTHING_TO_DO,
    Dialect,
    ErrorCode,
    RecordDraft,
    RefusedError,
    Result,
    Timer,
    TimerKind,
    answered,
)
from rebalance_audit.coordinator.reasons import Bump, BumpReason, Departure, Trigger
from rebalance_audit.replay.changes import GroupType
from rebalance_audit.replay.groups import (
    LEFT_EPOCH,
    STATIC_LEAVE_EPOCH,
    UNREVOKED,
    ModernGroup,
    ModernMember,
)

SHARE_AND_STREAMS_FROM: Final = frozenset({Dialect.R4_1, Dialect.R4_3, Dialect.R4_4})

Soft = TypeVar("Soft")


class ModernWork(Generic[Soft]):
    """One request or timer on one group, seen with the eyes of one release, and the result in the making."""

    __slots__ = (
        *("config", "group", "group_id", "image", "now_ms"),
        *("outcome", "release", "shard", "soft"),
    )

    member_timers: ClassVar[tuple[TimerKind, ...]] = (TimerKind.SESSION, TimerKind.REBALANCE)

    def __init__(
        self, context: CoordinatorContext, group: ModernGroup, soft: Soft, now_ms: int
    ) -> None:
        """Nothing is decided yet; the group is as replay left it, or as the records drafted so far would leave it."""
        self.config = context.config
        self.image = context.image
        self.shard = context.shard
        self.release = RELEASES[context.config.dialect]
        self.group = group
        self.group_id = group.group_id
        self.soft = soft
        self.now_ms = now_ms
        self.outcome = ResultDraft()

    @property
    def records(self) -> list[RecordDraft]:
        """The records drafted so far."""
        return self.outcome.records

    @property
    def is_first_release(self) -> bool:
        """Whether this is the first release that serves share and streams groups."""
        return self.config.dialect is Dialect.R4_1

    # --- epochs and members ------------------------------------------------------------------------

    @property
    def group_epoch(self) -> int:
        """The group's epoch; the release's first one where no record has it."""
        group = self.group
        if group.has_epoch_record:
            return group.group_epoch
        return max(group.group_epoch, self.release.first_epoch)

    @property
    def assignment_epoch(self) -> int:
        """Epoch of the targets; the release's first one where no record has it."""
        group = self.group
        if group.has_assignment_record:
            return group.assignment_epoch
        return max(group.assignment_epoch, self.release.first_epoch)

    def begin_epoch(self, names: Iterable[str], reasons: Iterable[BumpReason]) -> int:
        """Note why the group goes on to another epoch, with the topics of these names. Returns the epoch."""
        epoch = self.group_epoch + 1
        topics = {name: self.image.topic(name) for name in sorted(names)}
        self.outcome.bump(Bump(self.group_id, epoch, tuple(reasons), topics))
        return epoch

    def departed(self, member: ModernMember, trigger: Trigger) -> BumpReason:
        """Note why a member leaves; its timers end."""
        self.cancel_all(member.member_id)
        reason = BumpReason(trigger, member.member_id, member.instance_id)
        self.outcome.depart(Departure(self.group_id, self.group_epoch + 1, reason))
        return reason

    def member(self, member_id: str) -> ModernMember:
        """A current member. Raises RefusedError (UNKNOWN_MEMBER_ID)."""
        member = self.group.members.get(member_id)
        if member is None:
            raise RefusedError(
                ErrorCode.UNKNOWN_MEMBER_ID,
                f"Member {member_id} is not a member of group {self.group_id}.",
            )
        return member

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

    # --- settings and timers -----------------------------------------------------------------------

    def setting(self, name: str, default: int) -> int:
        """A setting of this group: its dynamic configuration, else the broker's."""
        return self.config.of_group(self.group_id, f"{self.group.group_type}.{name}", default)

    def session_timeout_ms(self) -> int:
        """How long a member may stay silent."""
        return self.setting("session.timeout.ms", self.config.consumer_session_timeout_ms)

    def heartbeat_interval_ms(self) -> int:
        """The heartbeat interval of members."""
        return self.setting("heartbeat.interval.ms", self.config.consumer_heartbeat_interval_ms)

    def may_compute(self) -> bool:
        """Whether the assignment interval has passed since the target was computed, or that time is unknown."""
        computed_at_ms = self.group.assignment_timestamp_ms
        if computed_at_ms == 0 or not self.release.assignment_interval:
            return True
        default_ms = self.config.consumer_assignment_interval_ms
        return self.now_ms >= computed_at_ms + self.setting("assignment.interval.ms", default_ms)

    def arm(self, kind: TimerKind, delay_ms: int, member_id: str = "") -> None:
        """Arm a timer of the group or of a member, or move its deadline, `delay_ms` milliseconds from now."""
        self.outcome.arm(Timer(kind, self.group_id, member_id), self.now_ms + delay_ms)

    def cancel(self, kind: TimerKind, member_id: str = "") -> None:
        """Disarm a timer."""
        self.outcome.cancel(Timer(kind, self.group_id, member_id))

    def cancel_all(self, member_id: str) -> None:
        """Disarm every timer of a member that is gone."""
        for kind in self.member_timers:
            self.cancel(kind, member_id)

    def arm_session(self, member: ModernMember) -> None:
        """The member was heard from: its session runs from now, with its own timeout if it is a classic member."""
        classic = member.classic
        timeout_ms = self.session_timeout_ms() if classic is None else classic.session_timeout_ms
        self.arm(TimerKind.SESSION, timeout_ms, member.member_id)

    def watch_revocation(self, member: ModernMember) -> None:
        """A member that must give something up has its rebalance timeout for that, from the record that asks for it."""
        if member.member_state == UNREVOKED:
            self.arm(TimerKind.REBALANCE, member.rebalance_timeout_ms, member.member_id)
        else:
            self.cancel(TimerKind.REBALANCE, member.member_id)


WorkT = TypeVar("WorkT", bound=ModernWork[Any])


class ModernHandlers(ProtocolHandlers, ABC, Generic[WorkT]):
    """Handlers of one group type, for all its groups of one coordinator."""

    group_type: ClassVar[GroupType]
    response: ClassVar[Callable[..., tuple[object, ...]]]
    """Of its heartbeat."""
    leave_epochs: ClassVar[frozenset[int]] = frozenset({LEFT_EPOCH, STATIC_LEAVE_EPOCH})

    def __init__(self, context: CoordinatorContext) -> None:
        """Soft state is made when a group is first needed."""
        self._context = context
        self._image = context.image

    @abstractmethod
    def _work(self, group: ModernGroup, now_ms: int) -> WorkT:
        """Work on a group, with its soft state."""

    @abstractmethod
    def _check(self, request: Any) -> None:
        """Raises RefusedError for a heartbeat that the release does not serve or whose fields are invalid."""

    @abstractmethod
    def _stay(self, request: Any, token: int, now_ms: int) -> Result:
        """Serve the heartbeat of a member that joins or stays. Raises RefusedError."""

    @abstractmethod
    def _remove(self, work: WorkT, member: ModernMember, trigger: Trigger) -> None:
        """Draft the records that remove a member."""

    def _leave_for_a_while(self, work: WorkT, member: ModernMember) -> None:
        """Draft the record of a static member that will come back."""

    # --- heartbeats --------------------------------------------------------------------------------

    def heartbeat(self, request: Any, token: int, now_ms: int) -> Result:
        """Serve a heartbeat: join, stay, leave, or leave for a while."""
        try:
            self._check(request)
            if request.member_epoch in self.leave_epochs:
                return self._leave(request, token, now_ms)
            return self._stay(request, token, now_ms)
        except RefusedError as refused:
            return answered(token, type(self).response(refused.error_code, str(refused)))

    def _require_served(self) -> None:
        """Raises RefusedError (UNSUPPORTED_VERSION) before the release that brought share and streams groups."""
        if self._context.config.dialect not in SHARE_AND_STREAMS_FROM:
            message = f"{self.group_type.capitalize()} groups are not enabled."
            raise RefusedError(ErrorCode.UNSUPPORTED_VERSION, message)

    def _leave(self, request: Any, token: int, now_ms: int) -> Result:
        work = self._work_on(request.group_id, now_ms)
        member = self._sender(work, request)
        member_id, member_epoch = member.member_id, request.member_epoch
        answer = type(self).response(member_id=member_id, member_epoch=member_epoch)
        work.outcome.reply(token, answer)
        if member_epoch == STATIC_LEAVE_EPOCH and request.instance_id is not None:
            self._leave_for_a_while(work, member)
        else:
            self._remove(work, member, Trigger.MEMBER_LEFT)
        return work.outcome.result()

    def _sender(self, work: WorkT, request: Any) -> ModernMember:
        return work.identified(request.member_id, request.instance_id)

    # --- timers ------------------------------------------------------------------------------------

    def _on_group(self, serve: Callable[[WorkT, str], object]) -> TimerHandler:
        """A timer of a group that is gone does nothing."""

        def fire(timer: Timer, now_ms: int) -> Result:
            try:
                work = self._work_on(timer.group_id, now_ms)
            except RefusedError:
                return NOTHING_TO_DO
            serve(work, timer.member_id)
            return work.outcome.result()

        return fire

    def _on_member(self, serve: Callable[[WorkT, ModernMember], object]) -> TimerHandler:
        """As `_on_group`; nor does a timer of a member that is gone do anything."""

        def found(work: WorkT, member_id: str) -> None:
            member = work.group.members.get(member_id)
            if member is not None:
                serve(work, member)

        return self._on_group(found)

    def _session_is_over(self, work: WorkT, member: ModernMember) -> None:
        """A member was silent for its session timeout, or did not come back within it."""
        was_away = member.member_epoch == STATIC_LEAVE_EPOCH
        trigger = Trigger.STATIC_MEMBER_EXPIRED if was_away else Trigger.SESSION_ENDED
        self._remove(work, member, trigger)

    # --- groups ------------------------------------------------------------------------------------

    def _work_on(self, group_id: str, now_ms: int) -> WorkT:
        """Work on the group of that id. Raises RefusedError (GROUP_ID_NOT_FOUND)."""
        return self._work(group_of_type(self._context, group_id, self.group_type), now_ms)

    def _groups(self) -> Iterable[ModernGroup]:
        for slot in self._context.shard.groups():
            group = slot.group
            if isinstance(group, ModernGroup) and group.group_type is self.group_type:
                yield group

    def _changed_topics(self) -> set[str]:
        """Names of topics that differ from those of the last call."""
        image, before = self._context.image, self._image
        self._image = image
        names = {*before.names(), *image.names()}
        return {name for name in names if before.topic(name) != image.topic(name)}

    def loaded(self, now_ms: int) -> Result:
        """Restart all sessions; members that had to give something up get their rebalance timeout for that again."""
        outcome = ResultDraft()
        for group in self._groups():
            work = self._work(group, now_ms)
            for member in group.members.values():
                # This includes classic members: until their next request they have the group's session timeout.
                work.arm(TimerKind.SESSION, work.session_timeout_ms(), member.member_id)
                if member.member_state == UNREVOKED:
                    work.watch_revocation(member)
            outcome.add(work.outcome.result())
        return outcome.result()


def group_of_type(context: CoordinatorContext, group_id: str, group_type: GroupType) -> ModernGroup:
    """The group of that id. Raises RefusedError (GROUP_ID_NOT_FOUND) unless it has that type."""
    group = context.group(group_id)
    if group is None:
        raise RefusedError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
    if not isinstance(group, ModernGroup) or group.group_type is not group_type:
        message = f"Group {group_id} is not a {group_type} group."
        raise RefusedError(ErrorCode.GROUP_ID_NOT_FOUND, message)
    return group
