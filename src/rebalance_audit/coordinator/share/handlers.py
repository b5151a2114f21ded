"""The share protocol as rows of the coordinator's dispatch tables (GroupMetadataManager.shareGroupHeartbeat).

Served from release 4.1 on: earlier ones had it in early access, with records that no later release reads.
"""

from collections.abc import Iterable
from dataclasses import replace

from rebalance_audit.coordinator.assignors.share_and_streams import assign_shares
from rebalance_audit.coordinator.consumer.bumps import metadata_hash
from rebalance_audit.coordinator.consumer.heartbeat import response_partitions
from rebalance_audit.coordinator.consumer.modern import ModernHandlers
from rebalance_audit.coordinator.context import CoordinatorContext, ResultDraft, Route, TimerRoute
from rebalance_audit.coordinator.handling import (
    ErrorCode,
    RefusedError,
    Result,
    TimerKind,
)
from rebalance_audit.coordinator.reasons import BumpReason, Trigger
from rebalance_audit.coordinator.requests.consumer import JOIN_EPOCH
from rebalance_audit.coordinator.requests.share import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)
from rebalance_audit.coordinator.share import drafts
from rebalance_audit.coordinator.share.work import ShareWork, SoftShareGroup
from rebalance_audit.replay.changes import GroupType
from rebalance_audit.replay.groups import LEFT_EPOCH, ModernGroup, ModernMember
from rebalance_audit.replay.partitions import NOTHING, Partitions, Topic, each, minus, union


class ShareHandlers(ModernHandlers[ShareWork]):
    """Serves the share protocol for all groups of one coordinator."""

    group_type = GroupType.SHARE
    response = ShareGroupHeartbeatResponse
    leave_epochs = frozenset({LEFT_EPOCH})

    def __init__(self, context: CoordinatorContext) -> None:
        """Soft state is made when a group is first needed."""
        super().__init__(context)
        self._soft: dict[str, SoftShareGroup] = {}
        self.requests = {Route(ShareGroupHeartbeatRequest): self.heartbeat}
        self.timers = {
            TimerRoute(TimerKind.SESSION, GroupType.SHARE): self._on_member(self._session_is_over),
            TimerRoute(TimerKind.SHARE_STATE): self._on_group(self._initialised),
        }

    def _check(self, request: ShareGroupHeartbeatRequest) -> None:
        del request
        self._require_served()

    def _sender(self, work: ShareWork, request: ShareGroupHeartbeatRequest) -> ModernMember:
        return work.member(request.member_id)

    def _remove(self, work: ShareWork, member: ModernMember, trigger: Trigger) -> None:
        work.remove(member, trigger)

    def _stay(self, request: ShareGroupHeartbeatRequest, token: int, now_ms: int) -> Result:
        is_new = (
            self._context.group(request.group_id) is None and request.member_epoch == JOIN_EPOCH
        )
        if is_new:
            self._soft.pop(request.group_id, None)
            work = self._work(ModernGroup(request.group_id, GroupType.SHARE), now_ms)
        else:
            work = self._work_on(request.group_id, now_ms)
        group = work.group
        joins = request.member_epoch == JOIN_EPOCH
        known = group.members.get(request.member_id)
        before = (
            (known or ModernMember(request.member_id)) if joins else work.member(request.member_id)
        )
        _require_epoch(before, request.member_epoch)
        names = request.subscribed_topic_names
        updated = replace(
            before,
            described=True,
            rack_id=before.rack_id if request.rack_id is None else request.rack_id,
            client_id=request.client_id,
            client_host=request.client_host,
            subscribed_topic_names=(
                before.subscribed_topic_names if names is None else tuple(sorted(set(names)))
            ),
        )
        members = {**group.members, updated.member_id: updated}
        if updated != before:
            work.records.append(drafts.share_member(group.group_id, updated))
        bumped_to = _note_member(work, before, updated, members, is_new=is_new)
        epoch = work.group_epoch if bumped_to is None else bumped_to
        target_epoch, target = _retarget(work, epoch, updated, members)
        forced = bumped_to is not None and not work.is_first_release
        after = _settle(work, updated, target_epoch, target, forced=forced)
        work.arm_session(updated)
        sends_assignment = joins or names is not None or after.assigned != before.assigned
        response = ShareGroupHeartbeatResponse(
            member_id=after.member_id,
            member_epoch=after.member_epoch,
            heartbeat_interval_ms=work.heartbeat_interval_ms(),
            assignment=response_partitions(after.assigned) if sends_assignment else None,
        )
        work.outcome.reply(token, response)
        _initialise(work, work.topic_names(members))
        return work.outcome.result()

    def _initialised(self, work: ShareWork, _member_id: str) -> None:
        """The share coordinator has initialised what this coordinator asked for; drafts [15]."""
        initializing = work.initializing()
        done = {topic: initializing[topic] for topic in initializing if topic in work.soft.asked}
        work.soft.asked.clear()
        if done:
            _record_state(work, minus(initializing, done), union(work.initialized(), done))

    def image_changed(self, now_ms: int) -> Result:
        """Have groups compare topics that changed, and forget the state of deleted ones; drafts [15]."""
        changed = self._changed_topics()
        outcome = ResultDraft()
        for group in self._groups():
            work = self._work(group, now_ms)
            if not changed.isdisjoint(work.topic_names(group.members)):
                work.soft.topics_are_checked = False
            initializing, initialized = work.initializing(), work.initialized()
            kept = [_existing(work, state) for state in (initializing, initialized)]
            if kept != [initializing, initialized]:
                _record_state(work, *kept)
                outcome.add(work.outcome.result())
        return outcome.result()

    def _work(self, group: ModernGroup, now_ms: int) -> ShareWork:
        soft = self._soft.setdefault(group.group_id, SoftShareGroup())
        return ShareWork(self._context, group, soft, now_ms)


def _require_epoch(member: ModernMember, received: int) -> None:
    """Raises RefusedError (FENCED_MEMBER_EPOCH); the previous epoch is accepted, since an answer may have been lost."""
    if received in {JOIN_EPOCH, member.member_epoch, member.previous_member_epoch}:
        return
    raise RefusedError(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"The share group member has epoch {received}, the coordinator knows {member.member_epoch}.",
    )


def _note_member(
    work: ShareWork,
    before: ModernMember,
    updated: ModernMember,
    members: dict[str, ModernMember],
    *,
    is_new: bool,
) -> int | None:
    """Step 1: the new group epoch, where the subscription, the topics or initialised partitions ask for one."""
    reasons: list[BumpReason] = []
    if updated.subscribed_topic_names != before.subscribed_topic_names:
        trigger = Trigger.NAMES_CHANGED if before.described else Trigger.MEMBER_JOINED
        reasons.append(BumpReason(trigger, updated.member_id))
    no_target_waits = work.assignment_epoch >= work.group_epoch
    if (work.is_first_release or no_target_waits) and _assignment_pending(work):
        reasons.append(BumpReason(Trigger.SHARE_PARTITIONS_PENDING))
    if not reasons and work.soft.topics_are_checked:
        return None
    work.soft.topics_are_checked = True
    names = work.topic_names(members)
    if metadata_hash(names, work.image) != work.group.metadata_hash:
        reasons.append(BumpReason(Trigger.TOPICS_DIFFER))
    if not reasons:
        return None
    if is_new:
        reasons.insert(0, BumpReason(Trigger.GROUP_BEGAN))
    return work.bump(names, reasons)


def _assignment_pending(work: ShareWork) -> bool:
    """Whether the targets lack initialised partitions of the subscribed topics (initializedAssignmentPending)."""
    group = work.group
    names = work.topic_names(group.members)
    if not names:
        return False
    assigned: Partitions = NOTHING
    for target in group.targets.values():
        assigned = union(assigned, target)
    return any(
        each.topic_name in names
        and frozenset(each.partitions) != assigned.get(each.topic_id, frozenset())
        for each in work.state().initialized_topics
    )


def _retarget(
    work: ShareWork, epoch: int, updated: ModernMember, members: dict[str, ModernMember]
) -> tuple[int, Partitions]:
    """Step 2: the target that holds now and its epoch; drafts [13]* [12] when one is computed."""
    group = work.group
    if work.assignment_epoch >= epoch or not work.may_compute():
        return work.assignment_epoch, group.target_of(updated.member_id)
    subscribers = {
        member_id: _topic_ids(work, member.subscribed_topic_names)
        for member_id, member in members.items()
    }
    assigned = assign_shares(subscribers, tuple(each(_existing(work, work.initialized()))))
    for member_id, share in assigned.items():
        if group.targets.get(member_id) != share:
            work.records.append(drafts.share_target(group.group_id, member_id, share))
    kept_ms = work.now_ms if work.release.assignment_interval else 0
    work.records.append(drafts.share_target_epoch(group.group_id, epoch, kept_ms))
    return epoch, assigned[updated.member_id]


def _settle(
    work: ShareWork, member: ModernMember, target_epoch: int, target: Partitions, *, forced: bool
) -> ModernMember:
    """Step 3: the member takes its target at once; drafts [14]."""
    if member.member_epoch == target_epoch and not forced:
        return member
    topics = _topic_ids(work, member.subscribed_topic_names)
    moved = replace(member, assigned={each: target[each] for each in target if each in topics})
    if member.member_epoch != target_epoch:
        moved = replace(moved, member_epoch=target_epoch, previous_member_epoch=member.member_epoch)
    if moved == member:
        return member
    work.records.append(drafts.share_current(work.group_id, moved))
    return moved


def _initialise(work: ShareWork, names: set[str]) -> None:
    """Ask for the initialisation of subscribed partitions, again where no answer came in time; drafts [15]."""
    initialized, initializing = work.initialized(), work.initializing()
    retry_ms = work.config.share_retry_interval_ms
    wanted: dict[Topic, frozenset[int]] = {}
    for name in sorted(names):
        topic = work.image.topic(name)
        if topic is None:
            continue
        topic_id = topic.topic_id
        known = initialized.get(topic_id, frozenset())
        under_way = initializing.get(topic_id, frozenset())
        since_ms = work.soft.since_ms.setdefault(topic_id, work.now_ms)
        if work.now_ms - since_ms < retry_ms:
            known |= under_way
        missing = frozenset(range(len(topic.partition_racks))) - known
        if missing:
            wanted[topic_id] = missing
            work.soft.asked.add(topic_id)
            work.soft.since_ms[topic_id] = work.now_ms
    if wanted:
        _record_state(work, union(initializing, wanted), initialized)
        work.arm(TimerKind.SHARE_STATE, work.config.share_initialisation_ms)


def _record_state(work: ShareWork, initializing: Partitions, initialized: Partitions) -> None:
    names = {
        each.topic_id: each.topic_name
        for each in (*work.state().initialized_topics, *work.state().initializing_topics)
    }
    for topic_id in (*initializing, *initialized):
        assert isinstance(topic_id, bytes)
        topic = work.image.topic_by_id(topic_id)
        if topic is not None:
            names[topic_id] = topic.name
    work.records.append(drafts.share_state(work.group_id, initializing, initialized, names))


def _existing(work: ShareWork, partitions: Partitions) -> Partitions:
    return {
        topic: numbers
        for topic, numbers in partitions.items()
        if isinstance(topic, bytes) and work.image.topic_by_id(topic) is not None
    }


def _topic_ids(work: ShareWork, names: Iterable[str]) -> frozenset[bytes]:
    found = (work.image.topic(name) for name in names)
    return frozenset(topic.topic_id for topic in found if topic is not None)
