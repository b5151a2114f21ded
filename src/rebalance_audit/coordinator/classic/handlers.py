"""The classic group protocol with static membership (KIP-345), as rows of the coordinator's dispatch tables.

Handlers read hard state through `LiveGroups` and never write it; what they keep themselves is soft: phases, parked
requests, pending members. Groups of the consumer protocol that move to this one or from it come and go by `adopt` and
`release`.
"""

from collections.abc import Callable, Mapping

from rebalance_audit.coordinator.classic.draft import ClassicDraft
from rebalance_audit.coordinator.classic.joining import Joining
from rebalance_audit.coordinator.classic.live_group import LiveGroup
from rebalance_audit.coordinator.classic.live_groups import LiveGroups
from rebalance_audit.coordinator.classic.membership import ALIVE_ANSWERS, Membership, leave_response
from rebalance_audit.coordinator.classic.rebalance import RebalancePhases
from rebalance_audit.coordinator.classic.records import generation_record, new_group_record
from rebalance_audit.coordinator.classic.states import ClassicState
from rebalance_audit.coordinator.context import (
    CoordinatorContext,
    ProtocolHandlers,
    RequestHandler,
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
        self.groups = LiveGroups(context)
        self._rebalance = RebalancePhases(context.config)
        self._joining = Joining(context.config, context.ids, self._rebalance)
        self._membership = Membership(self._rebalance)
        self.requests: Mapping[Route, RequestHandler] = {
            Route(JoinGroupRequest): self.join_group,
            Route(SyncGroupRequest): self.sync_group,
            Route(HeartbeatRequest): self.heartbeat,
            Route(LeaveGroupRequest): self.leave_group,
        }
        self.timers: Mapping[TimerRoute, TimerHandler] = {
            TimerRoute(TimerKind.JOIN): self._on_group(self._rebalance.join_time_is_up),
            TimerRoute(TimerKind.SYNC): self._on_group(self._rebalance.sync_time_is_up),
            TimerRoute(TimerKind.SESSION): self._end_session,
            TimerRoute(TimerKind.PENDING_MEMBER): self._end_session,
        }

    # --- requests ----------------------------------------------------------------------------------

    def join_group(self, request: JoinGroupRequest, token: int, now_ms: int) -> Result:
        """Serve a JoinGroup; a client without a member id also creates the group."""
        draft = ClassicDraft(now_ms)
        error = self._join_error(request)
        if error is not ErrorCode.NONE:
            draft.reply(token, JoinGroupResponse(error, request.member_id))
            return draft.result()
        live = self.groups.get(request.group_id)
        created = live is None
        if live is None:
            if request.member_id != UNKNOWN_MEMBER_ID:
                refusal = JoinGroupResponse(ErrorCode.UNKNOWN_MEMBER_ID, request.member_id)
                draft.reply(token, refusal)
                return draft.result()
            live = self.groups.create(request.group_id, now_ms)
        self._joining.join(live, request, token, draft)
        if created:
            self._record_creation(live, draft)
        return draft.result()

    def _join_error(self, request: JoinGroupRequest) -> ErrorCode:
        config = self._context.config
        if not request.group_id:
            return ErrorCode.INVALID_GROUP_ID
        shortest_ms = config.group_min_session_timeout_ms
        if not shortest_ms <= request.session_timeout_ms <= config.group_max_session_timeout_ms:
            return ErrorCode.INVALID_SESSION_TIMEOUT
        return ErrorCode.NONE

    def sync_group(self, request: SyncGroupRequest, token: int, now_ms: int) -> Result:
        """Serve a SyncGroup."""
        draft = ClassicDraft(now_ms)
        live = self.groups.get(request.group_id)
        if live is None:
            draft.reply(token, SyncGroupResponse(_unknown(request.group_id)))
        else:
            self._membership.sync(live, request, token, draft)
        return draft.result()

    def heartbeat(self, request: HeartbeatRequest, token: int, now_ms: int) -> Result:
        """Serve a Heartbeat."""
        draft = ClassicDraft(now_ms)
        live = self.groups.get(request.group_id)
        error = _unknown(request.group_id)
        if live is not None:
            error = self._membership.heartbeat(live, request, draft)
        draft.reply(token, HeartbeatResponse(error))
        return draft.result()

    def prolonged(self, request: HeartbeatRequest, now_ms: int) -> Prolonged | None:
        """What a quiet heartbeat does, without serving it; None for any other."""
        group_id, generation, member_id, instance_id = request
        live = self.groups.get(group_id)
        if (
            live is None
            or live.generation != generation
            or live.member_error(member_id, instance_id) is not ErrorCode.NONE
            or ALIVE_ANSWERS.get(live.state) is not ErrorCode.NONE
        ):
            return None
        deadline_ms = now_ms + live.members[member_id].session_timeout_ms
        return Prolonged(session_of(group_id, member_id), deadline_ms, 0)

    def leave_group(self, request: LeaveGroupRequest, token: int, now_ms: int) -> Result:
        """Serve a LeaveGroup."""
        draft = ClassicDraft(now_ms)
        live = self.groups.get(request.group_id)
        if not request.group_id:
            response = LeaveGroupResponse(ErrorCode.INVALID_GROUP_ID)
        elif live is None:
            unknown = [ErrorCode.UNKNOWN_MEMBER_ID] * len(request.members)
            response = leave_response(request, unknown)
        else:
            response = self._membership.leave(live, request, draft)
        draft.reply(token, response)
        return draft.result()

    # --- timers ------------------------------------------------------------------------------------

    def _on_group(self, serve: Callable[[LiveGroup, ClassicDraft], None]) -> TimerHandler:
        def fire(timer: Timer, now_ms: int) -> Result:
            live = self.groups.get(timer.group_id)
            if live is None:
                return NOTHING_TO_DO
            draft = ClassicDraft(now_ms)
            serve(live, draft)
            return draft.result()

        return fire

    def _end_session(self, timer: Timer, now_ms: int) -> Result:
        live = self.groups.get(timer.group_id)
        if live is None:
            return NOTHING_TO_DO
        draft = ClassicDraft(now_ms)
        self._membership.session_ended(live, timer.kind, timer.member_id, draft)
        return draft.result()

    # --- what others bring -------------------------------------------------------------------------

    def loaded(self, now_ms: int) -> Result:
        """Take the groups as recorded, with every session starting now; a group above the size limit rebalances."""
        draft = ClassicDraft(now_ms)
        for slot in self._context.shard.groups():
            live = self.groups.get(slot.group_id)
            if live is None:
                continue
            for member in live.members.values():
                draft.expect_heartbeat(live, member)
            if len(live.members) > self._context.config.group_max_size:
                self._rebalance.start(live, draft, BumpReason(Trigger.GROUP_OVER_CAPACITY))
        return draft.result()

    def current_group(self, group_id: str) -> LiveGroup | ModernGroup | None:
        """The group of that id as it is now, whatever its protocol."""
        group = self._context.group(group_id)
        return group if isinstance(group, ModernGroup) else self.groups.get(group_id)

    def group_ids(self) -> list[str]:
        """Ids of all groups of all protocols: recorded ones in the order they appeared, then the others."""
        recorded = [slot.group_id for slot in self._context.shard.groups()]
        return [*recorded, *self.groups.unrecorded()]

    def note_commit(self, group_id: str, member_id: str, now_ms: int) -> Result:
        """A member committed offsets: outside the sync phase that counts as a heartbeat."""
        live = self.groups.get(group_id)
        member = None if live is None else live.members.get(member_id)
        if (
            live is None
            or member is None
            or live.state not in {ClassicState.STABLE, ClassicState.PREPARING_REBALANCE}
        ):
            return NOTHING_TO_DO
        draft = ClassicDraft(now_ms)
        draft.expect_heartbeat(live, member)
        return draft.result()

    def release(self, group_id: str, outcome: ResultDraft, now_ms: int) -> None:
        """The group moves to another protocol or is deleted: answer parked requests, end timers, forget it."""
        draft = ClassicDraft(now_ms)
        self.groups.forget(group_id, draft)
        outcome.add(draft.result())

    def adopt(self, live: LiveGroup, outcome: ResultDraft, now_ms: int, *, rebalance: bool) -> None:
        """A consumer group became this classic group, stable with its members' assignments: record it and go on.

        Its record follows the tombstones that the caller has put into the result. `rebalance` asks the members to join
        again, as after a downgrade whose assignment no longer fits.
        """
        draft = ClassicDraft(now_ms)
        self.groups.put(live)
        live.note_subscribed_topics()
        assignments = {member.member_id: member.assignment for member in live.members.values()}
        draft.records.append(generation_record(live, assignments))
        for member in live.members.values():
            draft.expect_heartbeat(live, member)
        if rebalance:
            gone = [each.reason for each in outcome.departures if each.group_id == live.group_id]
            self._rebalance.start(live, draft, BumpReason(Trigger.GROUP_DOWNGRADED), *gone)
        outcome.add(draft.result())

    def _record_creation(self, live: LiveGroup, draft: ClassicDraft) -> None:
        """The record of a new group, after the tombstones of an empty group of another protocol that it replaces."""
        replaced = self._context.group(live.group_id)
        if isinstance(replaced, ModernGroup):
            draft.records += group_tombstones(replaced)
        elif not self._context.config.classic_creation_recorded:
            return
        draft.records.append(new_group_record(live))


def _unknown(group_id: str) -> ErrorCode:
    return ErrorCode.UNKNOWN_MEMBER_ID if group_id else ErrorCode.INVALID_GROUP_ID
