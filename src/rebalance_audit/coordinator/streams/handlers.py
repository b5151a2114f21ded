"""The streams protocol as rows of the coordinator's dispatch tables (GroupMetadataManager.streamsGroupHeartbeat).

Served from release 4.1 on. Warm-up tasks (4.4) are not: groups have `num.warmup.replicas` 0.
"""

from typing import Final

from rebalance_audit.coordinator.consumer.modern_handlers import SERVED_FROM, ModernHandlers
from rebalance_audit.coordinator.context import CoordinatorContext, Route, TimerRoute
from rebalance_audit.coordinator.group_tombstones import group_tombstones
from rebalance_audit.coordinator.handling import (
    NOTHING_TO_DO,
    Dialect,
    ErrorCode,
    RefusedError,
    Reply,
    Result,
    Timer,
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
    LEFT_EPOCH,
    STATIC_LEAVE_EPOCH,
    UNREVOKED,
    ClassicGroup,
    ModernGroup,
)
from rebalance_audit.replay.partitions import NOTHING, Partitions

STATIC_FROM: Final = frozenset({Dialect.R4_4})


class StreamsHandlers(ModernHandlers[StreamsWork]):
    """Serves the streams protocol for all groups of one coordinator."""

    group_type = GroupType.STREAMS

    def __init__(self, context: CoordinatorContext) -> None:
        """Soft state is made when a group is first needed."""
        super().__init__(context)
        self._soft: dict[str, SoftStreamsGroup] = {}
        self.requests = {Route(StreamsGroupHeartbeatRequest): self.heartbeat}
        self.timers = {
            TimerRoute(TimerKind.SESSION, GroupType.STREAMS): self._session_is_over,
            TimerRoute(TimerKind.REBALANCE, GroupType.STREAMS): self._revocation_time_is_up,
            TimerRoute(TimerKind.INITIAL_DELAY): self._delay_is_over,
        }

    def heartbeat(self, request: StreamsGroupHeartbeatRequest, token: int, now_ms: int) -> Result:
        """Serve a StreamsGroupHeartbeat: join, stay, leave, or leave for a while."""
        dialect = self._context.config.dialect
        try:
            _require_served(dialect, request.instance_id)
            if request.member_epoch in {LEFT_EPOCH, STATIC_LEAVE_EPOCH}:
                return self._leave(request, token, now_ms)
            return self._stay(request, token, now_ms)
        except RefusedError as refused:
            answer = StreamsGroupHeartbeatResponse(refused.error_code, str(refused))
            return Result(replies=(Reply(token, answer),))

    def _stay(self, request: StreamsGroupHeartbeatRequest, token: int, now_ms: int) -> Result:
        work, is_new = self._group(request, now_ms)
        sender = member_of(work, request)
        change = note_streams_member(work, sender, request, is_new=is_new)
        if not work.group.members and not work.is_first_release:
            self._delay(work)
        target_epoch, target = retarget_tasks(work, change, sender)
        after = settle_tasks(work, change.updated, sender, target_epoch, target, owned_in(request))
        member_id = change.updated.member_id
        work.outcome.arm(
            Timer(TimerKind.SESSION, work.group_id, member_id),
            now_ms + work.config.consumer_session_timeout_ms,
        )
        sends_assignment = (
            request.member_epoch == JOIN_EPOCH or after.held.assigned != sender.held.assigned
        )
        response = StreamsGroupHeartbeatResponse(
            member_id=member_id,
            member_epoch=after.member_epoch,
            heartbeat_interval_ms=work.config.consumer_heartbeat_interval_ms,
            missing_internal_topics=change.configured.missing_internal_topics,
        )
        if sends_assignment:
            active, standby, warmup = map(_response_tasks, after.held.assigned)
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
            return self._work(self._known(group_id), now_ms), False
        self._soft.pop(group_id, None)
        work = self._work(ModernGroup(group_id, GroupType.STREAMS), now_ms)
        if group is not None:
            work.outcome.records += group_tombstones(group)
        return work, True

    def _delay(self, work: StreamsWork) -> None:
        """The first member of an empty group has its target wait for others."""
        delay_ms = work.config.streams_initial_delay_ms
        if delay_ms and not work.soft.is_delayed:
            work.soft.is_delayed = True
            work.outcome.arm(Timer(TimerKind.INITIAL_DELAY, work.group_id), work.now_ms + delay_ms)

    def _leave(self, request: StreamsGroupHeartbeatRequest, token: int, now_ms: int) -> Result:
        work = self._work(self._known(request.group_id), now_ms)
        member_id, instance_id = request.member_id, request.instance_id
        member = work.identified(member_id, instance_id)
        answer = StreamsGroupHeartbeatResponse(
            member_id=member_id, member_epoch=request.member_epoch
        )
        work.outcome.reply(token, answer)
        if instance_id is not None and request.member_epoch == STATIC_LEAVE_EPOCH:
            held = HeldTasks(work.held(member_id).assigned)
            step = TaskStep(STATIC_LEAVE_EPOCH, member.member_state, held)
            work.outcome.records.append(
                drafts.streams_current(
                    work.group_id, member_id, step, member.previous_member_epoch, epochs=True
                )
            )
        else:
            work.remove(member, Trigger.MEMBER_LEFT)
        return work.outcome.result()

    # --- timers ------------------------------------------------------------------------------------

    def _session_is_over(self, timer: Timer, now_ms: int) -> Result:
        """A member was silent for its session timeout, or did not come back within it."""
        found = self._member_of(timer, now_ms)
        if found is None:
            return NOTHING_TO_DO
        work, member = found
        was_away = member.member_epoch == STATIC_LEAVE_EPOCH
        work.remove(member, Trigger.STATIC_MEMBER_EXPIRED if was_away else Trigger.SESSION_ENDED)
        return work.outcome.result()

    def _revocation_time_is_up(self, timer: Timer, now_ms: int) -> Result:
        """A member did not give tasks up within its rebalance timeout."""
        found = self._member_of(timer, now_ms)
        if found is None or found[1].member_state != UNREVOKED:
            return NOTHING_TO_DO
        work, member = found
        work.remove(member, Trigger.REBALANCE_TIMEOUT)
        return work.outcome.result()

    def _delay_is_over(self, timer: Timer, now_ms: int) -> Result:
        """Compute the first target of a group that waited for members; drafts [21]* [20]."""
        work = self._work_of(timer, now_ms)
        if work is None:
            return NOTHING_TO_DO
        work.soft.is_delayed = False
        if work.group.members and work.soft.configured and work.group_epoch > work.assignment_epoch:
            retarget_tasks(work, None, None)
        return work.outcome.result()

    # --- what others bring -------------------------------------------------------------------------

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


def _require_served(dialect: Dialect, instance_id: str | None) -> None:
    if dialect not in SERVED_FROM:
        raise RefusedError(ErrorCode.UNSUPPORTED_VERSION, "Streams groups are not enabled.")
    if instance_id is not None and dialect not in STATIC_FROM:
        raise RefusedError(ErrorCode.UNSUPPORTED_VERSION, "Static members are not supported yet.")


def _response_tasks(kind: Partitions) -> tuple[TaskIds, ...]:
    return tuple(
        TaskIds(str(topic), tuple(sorted(numbers)))
        for topic, numbers in sorted((kind or NOTHING).items(), key=lambda each: str(each[0]))
    )
