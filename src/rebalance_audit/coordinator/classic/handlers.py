"""The classic group protocol with static membership (KIP-345), as rows of the coordinator's dispatch tables.

Handlers read hard state and never write it; what they keep themselves is soft: phases, parked requests, pending
members. Groups of the consumer protocol that move to this one or from it come and go by `adopt` and `release`.
"""

from collections.abc import Callable

from rebalance_audit.coordinator.classic import joining, membership
from rebalance_audit.coordinator.classic.live_group import LiveGroup
from rebalance_audit.coordinator.classic.rebalance import ClassicWork
from rebalance_audit.coordinator.classic.states import ClassicEvent, ClassicState
from rebalance_audit.coordinator.context import (
    CoordinatorContext,
    ProtocolHandlers,
    ResultDraft,
    Route,
    TimerHandler,
    TimerRoute,
)
from rebalance_audit.coordinator.group_tombstones import group_tombstones
from rebalance_audit.coordinator.handling import (
    NOTHING_TO_DO,
    ErrorCode,
    Prolonged,
    Result,
    Timer,
    TimerKind,
    answered,
    session_of,
)
from rebalance_audit.coordinator.reasons import BumpReason, Trigger
from rebalance_audit.coordinator.requests.classic import (
    UNKNOWN_MEMBER_ID,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from rebalance_audit.replay.groups import ModernGroup


class ClassicHandlers(ProtocolHandlers):
    """Serves the classic protocol for all groups of one coordinator."""

    def __init__(self, context: CoordinatorContext) -> None:
        """Knows no group until `loaded`."""
        self._context = context
        self._groups: dict[str, LiveGroup] = {}
        """Group id -> soft state; made from hard state when first needed."""
        self.requests = {
            Route(JoinGroupRequest): self.join_group,
            Route(SyncGroupRequest): self.sync_group,
            Route(HeartbeatRequest): self.heartbeat,
            Route(LeaveGroupRequest): self.leave_group,
        }
        self.timers = {
            TimerRoute(TimerKind.JOIN): self._on_group(lambda work, _: work.join_time_is_up()),
            TimerRoute(TimerKind.SYNC): self._on_group(lambda work, _: work.sync_time_is_up()),
            TimerRoute(TimerKind.SESSION): self._on_group(_end_session),
            TimerRoute(TimerKind.PENDING_MEMBER): self._on_group(_end_session),
        }

    # --- groups ------------------------------------------------------------------------------------

    def live(self, group_id: str) -> LiveGroup | None:
        """The classic group of that id as it is now; None if the id is free or belongs to another protocol."""
        hard = self._context.group(group_id)
        if isinstance(hard, ModernGroup):
            self._groups.pop(group_id, None)
            return None
        live = self._groups.get(group_id)
        if live is None and hard is not None:
            live = self._groups[group_id] = LiveGroup.from_hard(hard)
        return live

    def current_group(self, group_id: str) -> LiveGroup | ModernGroup | None:
        """The group of that id as it is now, whatever its protocol."""
        group = self._context.group(group_id)
        return group if isinstance(group, ModernGroup) else self.live(group_id)

    def current_groups(self) -> list[LiveGroup | ModernGroup]:
        """All groups of all protocols: recorded ones in the order they appeared, then the others."""
        recorded = [slot.group_id for slot in self._context.shard.groups()]
        others = [each for each in self._groups if self._context.group(each) is None]
        return [group for each in (*recorded, *others) if (group := self.current_group(each))]

    def _work(self, live: LiveGroup, now_ms: int) -> ClassicWork:
        return ClassicWork(self._context, live, now_ms)

    # --- requests ----------------------------------------------------------------------------------

    def join_group(self, request: JoinGroupRequest, token: int, now_ms: int) -> Result:
        """Serve a JoinGroup; a client without a member id also creates the group."""
        error = self._join_error(request)
        if error is not ErrorCode.NONE:
            return answered(token, JoinGroupResponse(error, request.member_id))
        live = self.live(request.group_id)
        created = live is None
        if live is None:
            if request.member_id != UNKNOWN_MEMBER_ID:
                refusal = JoinGroupResponse(ErrorCode.UNKNOWN_MEMBER_ID, request.member_id)
                return answered(token, refusal)
            live = self._groups[request.group_id] = LiveGroup(request.group_id, now_ms)
        work = self._work(live, now_ms)
        joining.join(work, request, token)
        if created:
            self._record_creation(work)
        return work.result()

    def _join_error(self, request: JoinGroupRequest) -> ErrorCode:
        config = self._context.config
        if not request.group_id:
            return ErrorCode.INVALID_GROUP_ID
        shortest_ms = config.group_min_session_timeout_ms
        if not shortest_ms <= request.session_timeout_ms <= config.group_max_session_timeout_ms:
            return ErrorCode.INVALID_SESSION_TIMEOUT
        return ErrorCode.NONE

    def _record_creation(self, work: ClassicWork) -> None:
        """The record of a new group, after the tombstones of an empty group of another protocol that it replaces."""
        replaced = self._context.group(work.live.group_id)
        if isinstance(replaced, ModernGroup):
            work.records += group_tombstones(replaced)
        elif not self._context.config.classic_creation_recorded:
            return
        work.record_creation()

    def sync_group(self, request: SyncGroupRequest, token: int, now_ms: int) -> Result:
        """Serve a SyncGroup."""
        live = self.live(request.group_id)
        if live is None:
            return answered(token, SyncGroupResponse(_unknown(request.group_id)))
        work = self._work(live, now_ms)
        membership.sync(work, request, token)
        return work.result()

    def heartbeat(self, request: HeartbeatRequest, token: int, now_ms: int) -> Result:
        """Serve a Heartbeat."""
        live = self.live(request.group_id)
        if live is None:
            return answered(token, HeartbeatResponse(_unknown(request.group_id)))
        work = self._work(live, now_ms)
        work.reply(token, HeartbeatResponse(membership.answer_heartbeat(work, request)))
        return work.result()

    def prolonged(self, request: HeartbeatRequest, now_ms: int) -> Prolonged | None:
        """What a quiet heartbeat does, without serving it; None for any other."""
        group_id, generation, member_id, instance_id = request
        live = self.live(group_id)
        if (
            live is None
            or live.generation != generation
            or live.member_error(member_id, instance_id) is not ErrorCode.NONE
            or membership.ALIVE_ANSWERS.get(live.state) is not ErrorCode.NONE
        ):
            return None
        deadline_ms = now_ms + live.members[member_id].session_timeout_ms
        return Prolonged(session_of(group_id, member_id), deadline_ms, 0)

    def leave_group(self, request: LeaveGroupRequest, token: int, now_ms: int) -> Result:
        """Serve a LeaveGroup."""
        if not request.group_id:
            return answered(token, LeaveGroupResponse(ErrorCode.INVALID_GROUP_ID))
        live = self.live(request.group_id)
        if live is None:
            unknown = [ErrorCode.UNKNOWN_MEMBER_ID] * len(request.members)
            return answered(token, membership.leave_response(request, unknown))
        work = self._work(live, now_ms)
        work.reply(token, membership.leave(work, request))
        return work.result()

    # --- timers ------------------------------------------------------------------------------------

    def _on_group(self, serve: Callable[[ClassicWork, Timer], None]) -> TimerHandler:
        """A timer of a group that is gone does nothing."""

        def fire(timer: Timer, now_ms: int) -> Result:
            live = self.live(timer.group_id)
            if live is None:
                return NOTHING_TO_DO
            work = self._work(live, now_ms)
            serve(work, timer)
            return work.result()

        return fire

    # --- what others bring -------------------------------------------------------------------------

    def loaded(self, now_ms: int) -> Result:
        """Take the groups as recorded, with every session starting now; a group above the size limit rebalances."""
        outcome = ResultDraft()
        for slot in self._context.shard.groups():
            live = self.live(slot.group_id)
            if live is None:
                continue
            work = self._work(live, now_ms)
            for member in live.members.values():
                work.expect_heartbeat(member)
            if len(live.members) > self._context.config.group_max_size:
                work.start(BumpReason(Trigger.GROUP_OVER_CAPACITY))
            outcome.add(work.result())
        return outcome.result()

    def note_commit(self, group_id: str, member_id: str, now_ms: int) -> Result:
        """A member committed offsets: outside the sync phase that counts as a heartbeat."""
        live = self.live(group_id)
        member = None if live is None else live.members.get(member_id)
        if (
            live is None
            or member is None
            or live.state not in {ClassicState.STABLE, ClassicState.PREPARING_REBALANCE}
        ):
            return NOTHING_TO_DO
        work = self._work(live, now_ms)
        work.expect_heartbeat(member)
        return work.result()

    def release(self, group_id: str, outcome: ResultDraft, now_ms: int) -> None:
        """The group moves to another protocol or is deleted: it is forgotten, and its timers end.

        Parked requests get a retriable error.
        """
        live = self._groups.pop(group_id, None)
        if live is None:
            return
        work = self._work(live, now_ms)
        for member_id in (*live.members, *live.pending_members):
            work.turn_away(member_id, ErrorCode.REBALANCE_IN_PROGRESS, member_id)
            work.expect_nothing(member_id)
        work.cancel(work.join_timer)
        work.cancel(work.sync_timer)
        live.move(ClassicEvent.GROUP_REMOVED, now_ms)
        outcome.add(work.result())

    def adopt(self, live: LiveGroup, outcome: ResultDraft, now_ms: int, *, rebalance: bool) -> None:
        """A consumer group became this classic group, stable with its members' assignments: record it and go on.

        Its record follows the tombstones that the caller has put into the result. `rebalance` asks the members to join
        again, as after a downgrade whose assignment no longer fits.
        """
        self._groups[live.group_id] = live
        live.note_subscribed_topics()
        work = self._work(live, now_ms)
        work.record_generation({each.member_id: each.assignment for each in live.members.values()})
        for member in live.members.values():
            work.expect_heartbeat(member)
        if rebalance:
            gone = [each.reason for each in outcome.departures if each.group_id == live.group_id]
            work.start(BumpReason(Trigger.GROUP_DOWNGRADED), *gone)
        outcome.add(work.result())


def _end_session(work: ClassicWork, timer: Timer) -> None:
    membership.session_ended(work, timer.kind, timer.member_id)


def _unknown(group_id: str) -> ErrorCode:
    return ErrorCode.UNKNOWN_MEMBER_ID if group_id else ErrorCode.INVALID_GROUP_ID
