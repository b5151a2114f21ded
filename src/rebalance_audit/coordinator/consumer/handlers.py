"""The consumer protocol as rows of the coordinator's dispatch tables: requests and timers of consumer groups.

A handler reads the group as replay left it, drafts records and returns them; a refused request leaves no trace. The
steps are in the package's other modules; this one sets their order.
"""

from collections.abc import Collection, Iterable, Mapping

from rebalance_audit.coordinator.classic.handlers import ClassicHandlers
from rebalance_audit.coordinator.classic.states import ClassicState
from rebalance_audit.coordinator.consumer import (
    classic_members,
    client_assignment,
    regexes,
)
from rebalance_audit.coordinator.consumer.departure import leave_for_a_while, remove_members
from rebalance_audit.coordinator.consumer.drafts import Drafts
from rebalance_audit.coordinator.consumer.heartbeat import (
    check_assignment_request,
    check_heartbeat,
    described_by,
    is_quiet,
    may_resolve,
    owned_in_heartbeat,
    require_common_versions,
    require_room,
    response_to,
    sender_of,
)
from rebalance_audit.coordinator.consumer.member_change import note_member, retarget, settle
from rebalance_audit.coordinator.consumer.migration import downgraded, may_downgrade, upgraded
from rebalance_audit.coordinator.consumer.modern import ModernHandlers
from rebalance_audit.coordinator.consumer.release import RELEASES
from rebalance_audit.coordinator.consumer.soft_state import NewTopics, SoftState
from rebalance_audit.coordinator.consumer.work import Work
from rebalance_audit.coordinator.context import (
    CoordinatorContext,
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
    RefusedError,
    Result,
    TimerKind,
    answered,
    session_of,
)
from rebalance_audit.coordinator.reasons import Bump, BumpReason, Trigger
from rebalance_audit.coordinator.requests.classic import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from rebalance_audit.coordinator.requests.consumer import (
    JOIN_EPOCH,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    ConsumerGroupInstallAssignmentRequest,
    ConsumerGroupInstallAssignmentResponse,
    ConsumerGroupPrepareAssignmentRequest,
    ConsumerGroupPrepareAssignmentResponse,
)
from rebalance_audit.replay.changes import Change, GroupType
from rebalance_audit.replay.groups import (
    GroupSlot,
    ModernGroup,
    ModernMember,
)

CONSUMER = GroupType.CONSUMER


class ConsumerHandlers(ModernHandlers[Work]):
    """Serves the consumer protocol for all groups of one coordinator."""

    group_type = CONSUMER
    response = ConsumerGroupHeartbeatResponse

    def __init__(self, context: CoordinatorContext, classic: ClassicHandlers) -> None:
        """Groups that change their protocol come from the classic handlers or go to them."""
        super().__init__(context)
        self._classic = classic
        self._soft = SoftState()
        self._new_topics = NewTopics()
        self.requests: Mapping[Route, RequestHandler] = {
            Route(ConsumerGroupHeartbeatRequest): self.heartbeat,
            Route(ConsumerGroupPrepareAssignmentRequest): self.prepare_assignment,
            Route(ConsumerGroupInstallAssignmentRequest): self.install_assignment,
            Route(JoinGroupRequest, CONSUMER): self.classic_join,
            Route(SyncGroupRequest, CONSUMER): self.classic_sync,
            Route(HeartbeatRequest, CONSUMER): self.classic_heartbeat,
            Route(LeaveGroupRequest, CONSUMER): self.classic_leave,
        }
        self.timers: Mapping[TimerRoute, TimerHandler] = {
            TimerRoute(TimerKind.SESSION, CONSUMER): self._on_member(self._session_is_over),
            TimerRoute(TimerKind.JOIN, CONSUMER): self._on_member(self._rebalance_time_is_up),
            TimerRoute(TimerKind.SYNC, CONSUMER): self._on_member(self._rebalance_time_is_up),
            TimerRoute(TimerKind.REBALANCE): self._on_member(self._revocation_time_is_up),
            TimerRoute(TimerKind.REGEX): self._on_group(lambda work, _: regexes.resolve(work)),
            TimerRoute(TimerKind.CLIENT_ASSIGNOR): self._on_group(client_assignment.time_is_up),
        }

    # --- ConsumerGroupHeartbeat --------------------------------------------------------------------

    def _check(self, request: ConsumerGroupHeartbeatRequest) -> None:
        check_heartbeat(request, self._context.config, RELEASES[self._context.config.dialect])

    def prolonged(self, request: ConsumerGroupHeartbeatRequest, now_ms: int) -> Prolonged | None:
        """What a quiet heartbeat does, without serving it in full; None for any other heartbeat."""
        group_id, member_id, *_ = request
        group = self._context.group(group_id)
        soft = self._soft.known(group_id)
        if not isinstance(group, ModernGroup) or soft is None or not is_quiet(group, soft, request):
            return None
        config = self._context.config
        if soft.expressions and may_resolve(
            group, soft, config, self._new_topics_version(), now_ms
        ):
            return None
        session_timeout_ms = config.of_group(
            group_id, "consumer.session.timeout.ms", config.consumer_session_timeout_ms
        )
        interval_ms = config.of_group(
            group_id, "consumer.heartbeat.interval.ms", config.consumer_heartbeat_interval_ms
        )
        deadline_ms = now_ms + session_timeout_ms
        return Prolonged(session_of(group_id, member_id), deadline_ms, interval_ms)

    def _stay(self, request: ConsumerGroupHeartbeatRequest, token: int, now_ms: int) -> Result:
        work, is_upgrade = self._group_to_heartbeat(request, now_ms)
        require_room(work, request.member_id, request.instance_id)
        member_id = request.member_id or self._context.ids.uuid_text()
        before, base, replaced = sender_of(work, request, member_id)
        updated = described_by(base, request)
        require_common_versions(work, updated)
        change = note_member(work, before, updated, self._new_topics_version())
        target = retarget(work, change, updated, replaced=replaced)
        after = settle(
            work,
            updated,
            target,
            owned_in_heartbeat(request),
            subscription_changed=change.subscription_changed,
        )
        should_compute = client_assignment.should_compute(
            work, change.group_epoch, target.assignment_epoch, after
        )
        if before.classic is not None:
            work.forget_classic_side(member_id)
        work.arm_session(after)
        response = response_to(work, request, before, after, should_compute=should_compute)
        work.outcome.reply(token, response)
        outcome = ResultDraft()
        if is_upgrade:
            # Only now is it certain that the group converts: a refused request must leave the classic group as it is.
            self._classic.release(request.group_id, outcome, now_ms)
            for member in work.group.members.values():
                work.arm_session(member)
        outcome.add(work.outcome.result())
        return outcome.result()

    def _group_to_heartbeat(
        self, request: ConsumerGroupHeartbeatRequest, now_ms: int
    ) -> tuple[Work, bool]:
        """The group, created or converted for a member that joins, and whether this write ends a classic group.

        Raises RefusedError (GROUP_ID_NOT_FOUND).
        """
        context, group_id = self._context, request.group_id
        group = context.group(group_id)
        live = None if isinstance(group, ModernGroup) else self._classic.live(group_id)
        if request.member_epoch != JOIN_EPOCH or isinstance(group, ModernGroup):
            return self._work_on(group_id, now_ms), False
        if live is None or live.state is ClassicState.EMPTY:
            made = ModernGroup(group_id, CONSUMER)
            work = Work(context, made, self._soft.drafted(made), now_ms)
            work.beginning = (BumpReason(Trigger.GROUP_BEGAN),)
            if group is not None:
                work.records.extend(group_tombstones(group))
            return work, live is not None
        drafts = Drafts(group_id, RELEASES[context.config.dialect])
        made, records = upgraded(live, context.config, context.image, drafts)
        work = Work(context, made, self._soft.drafted(made), now_ms)
        work.records.extend(records)
        work.beginning = (BumpReason(Trigger.GROUP_UPGRADED),)
        topics = {
            name: context.image.topic(name)
            for member in made.members.values()
            for name in member.subscribed_topic_names
        }
        work.outcome.bump(Bump(group_id, live.generation, work.beginning, topics))
        return work, True

    # --- members that go ---------------------------------------------------------------------------

    def _leave_for_a_while(self, work: Work, member: ModernMember) -> None:
        leave_for_a_while(work, member)

    def _remove(self, work: Work, member: ModernMember, trigger: Trigger) -> None:
        self._without(work, [member], trigger)

    def _without(self, work: Work, leaving: Collection[ModernMember], trigger: Trigger) -> None:
        """Remove these from the group; if only classic members stay, the group becomes a classic one."""
        if may_downgrade(work, leaving):
            live = downgraded(work, leaving)
            for member in leaving:
                work.departed(member, trigger)
            self._classic.adopt(live, work.outcome, work.now_ms, rebalance=True)
        else:
            remove_members(work, leaving, trigger)

    def _rebalance_time_is_up(self, work: Work, member: ModernMember) -> None:
        """A classic member did not join or sync in time."""
        self._without(work, [member], Trigger.REBALANCE_TIMEOUT)

    def _revocation_time_is_up(self, work: Work, member: ModernMember) -> None:
        """A member did not give partitions up within its rebalance timeout: it is still at the epoch it had then."""
        if member.member_epoch == work.soft.revoking_epochs.get(member.member_id):
            self._without(work, [member], Trigger.REBALANCE_TIMEOUT)

    # --- classic members ---------------------------------------------------------------------------

    def classic_join(self, request: JoinGroupRequest, token: int, now_ms: int) -> Result:
        """Serve a JoinGroup in a group with members of the consumer protocol."""
        work = self._work_on(request.group_id, now_ms)
        try:
            joined = classic_members.join_classic(
                work, request, self._context.ids, self._new_topics_version()
            )
        except RefusedError as refused:
            answer = JoinGroupResponse(refused.error_code, request.member_id)
            return answered(token, answer)
        work.outcome.reply(token, joined.response)
        if joined.downgraded is not None:
            rebalance = joined.rebalance
            self._classic.adopt(joined.downgraded, work.outcome, now_ms, rebalance=rebalance)
        return work.outcome.result()

    def classic_sync(self, request: SyncGroupRequest, token: int, now_ms: int) -> Result:
        """Serve a SyncGroup in a group with members of the consumer protocol."""
        work = self._work_on(request.group_id, now_ms)
        try:
            work.outcome.reply(token, classic_members.sync_classic(work, request))
        except RefusedError as refused:
            work.outcome.reply(token, SyncGroupResponse(refused.error_code))
        return work.outcome.result()

    def classic_heartbeat(self, request: HeartbeatRequest, token: int, now_ms: int) -> Result:
        """Serve a Heartbeat in a group with members of the consumer protocol."""
        work = self._work_on(request.group_id, now_ms)
        try:
            error_code = classic_members.heartbeat(work, request)
        except RefusedError as refused:
            error_code = refused.error_code
        work.outcome.reply(token, HeartbeatResponse(error_code))
        return work.outcome.result()

    def classic_leave(self, request: LeaveGroupRequest, token: int, now_ms: int) -> Result:
        """Serve a LeaveGroup: by classic members, or by an administrator for members of either protocol."""
        work = self._work_on(request.group_id, now_ms)
        leaving: dict[str, ModernMember] = {}
        answers: list[MemberResponse] = []
        for identity in request.members:
            error_code = ErrorCode.NONE
            try:
                member = _leaving_member(work, identity)
                leaving[member.member_id] = member
            except RefusedError as refused:
                error_code = refused.error_code
            answers.append(
                MemberResponse(identity.member_id, identity.group_instance_id, error_code)
            )
        work.outcome.reply(token, LeaveGroupResponse(ErrorCode.NONE, tuple(answers)))
        if leaving:
            self._without(work, leaving.values(), Trigger.MEMBER_LEFT)
        return work.outcome.result()

    # --- client-side assignors ---------------------------------------------------------------------

    def prepare_assignment(
        self, request: ConsumerGroupPrepareAssignmentRequest, token: int, now_ms: int
    ) -> Result:
        """Serve a ConsumerGroupPrepareAssignment."""
        try:
            check_assignment_request(request)
            work = self._work_on(request.group_id, now_ms)
            answer = client_assignment.prepare(work, request)
        except RefusedError as refused:
            answer = ConsumerGroupPrepareAssignmentResponse(refused.error_code, str(refused))
        return answered(token, answer)

    def install_assignment(
        self, request: ConsumerGroupInstallAssignmentRequest, token: int, now_ms: int
    ) -> Result:
        """Serve a ConsumerGroupInstallAssignment."""
        try:
            check_assignment_request(request)
            work = self._work_on(request.group_id, now_ms)
            client_assignment.install(work, request)
        except RefusedError as refused:
            answer = ConsumerGroupInstallAssignmentResponse(refused.error_code, str(refused))
            return answered(token, answer)
        work.outcome.reply(token, ConsumerGroupInstallAssignmentResponse())
        return work.outcome.result()

    # --- what others bring -------------------------------------------------------------------------

    def applied(self, slot: GroupSlot, changes: Iterable[Change]) -> None:
        """Update the soft state to what replay changed."""
        self._soft.applied(slot, changes)

    def image_changed(self, _now_ms: int) -> Result:
        """Note new topics; groups notice changes to their topics with the next heartbeat of any member."""
        self._new_topics.see(self._context.image)
        self._soft.topics_changed(self._changed_topics())
        return NOTHING_TO_DO

    def _new_topics_version(self) -> int:
        return self._new_topics.see(self._context.image)

    def _work(self, group: ModernGroup, now_ms: int) -> Work:
        return Work(self._context, group, self._soft.of(group), now_ms)


def _leaving_member(work: Work, identity: MemberIdentity) -> ModernMember:
    """The member that a LeaveGroup names; an administrator names static members by instance id alone.

    Raises RefusedError (UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID).
    """
    instance_id = identity.group_instance_id
    if instance_id is None or identity.member_id:
        return work.identified(identity.member_id, instance_id)
    member = work.static_member(instance_id)
    if member is None:
        raise RefusedError(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
    return member
