"""The streams protocol as rows of the coordinator's dispatch tables (GroupMetadataManager.streamsGroupHeartbeat).

Served from release 4.1 on. Warm-up tasks (4.4) are not: groups have `num.warmup.replicas` 0.
"""

from typing import Final

from rebalance_audit.coordinator.consumer.modern import ModernHandlers
from rebalance_audit.coordinator.context import CoordinatorContext, Route, TimerRoute
from rebalance_audit.coordinator.group_tombstones import group_tombstones
from rebalance_audit.coordinator.handling import (
    NOTHING_TO_DO,
    Dialect,
    ErrorCode,
    RefusedError,
    Result,
    TimerKind,
)
from rebalance_audit.coordinator.reasons import Trigger
from rebalance_audit.coordinator.requests.consumer import JOIN_EPOCH
from rebalance_audit.coordinator.requests.streams import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    TaskIds,
)
from rebalance_audit.coordinator.streams import drafts
from rebalance_audit.coordinator.streams.member_change import (
    member_of,
    note_streams_member,
    retarget_tasks,
    settle_tasks,
)
from rebalance_audit.coordinator.streams.reconciliation import TaskStep
from rebalance_audit.coordinator.streams.tasks import HeldTasks, owned_in
from rebalance_audit.coordinator.streams.topology import required_topics
from rebalance_audit.coordinator.streams.work import SoftStreamsGroup, StreamsWork
from rebalance_audit.replay.changes import GroupType
from rebalance_audit.replay.groups import (
    STATIC_LEAVE_EPOCH,
    UNREVOKED,
    ClassicGroup,
    ModernGroup,
    ModernMember,
)

STATIC_FROM: Final = frozenset({Dialect.R4_4})


class StreamsHandlers(ModernHandlers[StreamsWork]):
    """Serves the streams protocol for all groups of one coordinator."""

    group_type = GroupType.STREAMS
    response = StreamsGroupHeartbeatResponse

    def __init__(self, context: CoordinatorContext) -> None:
        """Soft state is made when a group is first needed."""
        super().__init__(context)
        self._soft: dict[str, SoftStreamsGroup] = {}
        self.requests = {Route(StreamsGroupHeartbeatRequest): self.heartbeat}
        self.timers = {
            TimerRoute(TimerKind.SESSION, GroupType.STREAMS): self._on_member(
                self._session_is_over
            ),
            TimerRoute(TimerKind.REBALANCE, GroupType.STREAMS): self._on_member(
                self._revocation_time_is_up
            ),
            TimerRoute(TimerKind.INITIAL_DELAY): self._on_group(self._delay_is_over),
        }

    def _check(self, request: StreamsGroupHeartbeatRequest) -> None:
        self._require_served()
        if request.instance_id is not None and self._context.config.dialect not in STATIC_FROM:
            raise RefusedError(
                ErrorCode.UNSUPPORTED_VERSION, "Static members are not supported yet."
            )

    def _stay(self, request: StreamsGroupHeartbeatRequest, token: int, now_ms: int) -> Result:
        work, is_new = self._group(request, now_ms)
        sender = member_of(work, request)
        change = note_streams_member(work, sender, request, is_new=is_new)
        if not work.group.members and not work.is_first_release:
            self._delay(work)
        target_epoch, target = retarget_tasks(work, change, sender)
        after = settle_tasks(work, change.updated, sender, target_epoch, target, owned_in(request))
        member_id = change.updated.member_id
        work.arm_session(change.updated)
        sends_assignment = (
            request.member_epoch == JOIN_EPOCH or after.held.assigned != sender.held.assigned
        )
        response = StreamsGroupHeartbeatResponse(
            member_id=member_id,
            member_epoch=after.member_epoch,
            heartbeat_interval_ms=work.heartbeat_interval_ms(),
            missing_internal_topics=change.configured.missing_internal_topics,
        )
        if sends_assignment:
            active, standby, warmup = (
                tuple(TaskIds(*each) for each in drafts.tasks_in_order(kind))
                for kind in after.held.assigned
            )
            response = response._replace(
                active_tasks=active, standby_tasks=standby, warmup_tasks=warmup
            )
        work.outcome.reply(token, response)
        return work.outcome.result()

    def _group(
        self, request: StreamsGroupHeartbeatRequest, now_ms: int
    ) -> tuple[StreamsWork, bool]:
        """The group, and whether this request makes it. Raises RefusedError (GROUP_ID_NOT_FOUND)."""
        context, group_id = self._context, request.group_id
        group = context.group(group_id)
        is_free = group is None or (isinstance(group, ClassicGroup) and not group.members)
        if not is_free or request.member_epoch != JOIN_EPOCH:
            return self._work_on(group_id, now_ms), False
        self._soft.pop(group_id, None)
        work = self._work(ModernGroup(group_id, GroupType.STREAMS), now_ms)
        if group is not None:
            work.records.extend(group_tombstones(group))
        return work, True

    def _delay(self, work: StreamsWork) -> None:
        """The first member of an empty group has its target wait for others."""
        delay_ms = work.config.streams_initial_delay_ms
        if delay_ms and not work.soft.is_delayed:
            work.soft.is_delayed = True
            work.arm(TimerKind.INITIAL_DELAY, delay_ms)

    def _leave_for_a_while(self, work: StreamsWork, member: ModernMember) -> None:
        member_id = member.member_id
        held = HeldTasks(work.held(member_id).assigned)
        step = TaskStep(STATIC_LEAVE_EPOCH, member.member_state, held)
        epoch = member.previous_member_epoch
        work.records.append(
            drafts.streams_current(work.group_id, member_id, step, epoch, epochs=True)
        )

    def _remove(self, work: StreamsWork, member: ModernMember, trigger: Trigger) -> None:
        work.remove(member, trigger)

    def _revocation_time_is_up(self, work: StreamsWork, member: ModernMember) -> None:
        """A member did not give tasks up within its rebalance timeout."""
        if member.member_state == UNREVOKED:
            work.remove(member, Trigger.REBALANCE_TIMEOUT)

    def _delay_is_over(self, work: StreamsWork, _member_id: str) -> None:
        """Compute the first target of a group that waited for members; drafts [21]* [20]."""
        work.soft.is_delayed = False
        if work.group.members and work.soft.configured and work.group_epoch > work.assignment_epoch:
            retarget_tasks(work, None, None)

    def image_changed(self, now_ms: int) -> Result:
        """Have groups compare topics that changed with the hash on record."""
        changed = self._changed_topics()
        for group in self._groups():
            work = self._work(group, now_ms)
            topology = work.topology
            if topology is not None and not changed.isdisjoint(required_topics(topology)):
                work.soft.topics_are_checked = False
        return NOTHING_TO_DO

    def _work(self, group: ModernGroup, now_ms: int) -> StreamsWork:
        soft = self._soft.setdefault(group.group_id, SoftStreamsGroup())
        return StreamsWork(self._context, group, soft, now_ms)
