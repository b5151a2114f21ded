"""What a heartbeat changes in its streams group, in Kafka's steps: member, topology, epoch, target, reconciliation."""

from dataclasses import replace
from typing import NamedTuple

from rebalance_audit.coordinator.assignors.share_and_streams import (
    StreamsMember,
    assign_active,
    assign_standby,
)
from rebalance_audit.coordinator.group_tombstones import member_tombstones
from rebalance_audit.coordinator.handling import ErrorCode, RefusedError
from rebalance_audit.coordinator.reasons import BumpReason, Trigger
from rebalance_audit.coordinator.requests.consumer import JOIN_EPOCH
from rebalance_audit.coordinator.requests.streams import StreamsGroupHeartbeatRequest, Topology
from rebalance_audit.coordinator.streams import drafts
from rebalance_audit.coordinator.streams.reconciliation import (
    TaskStep,
    TaskSurroundings,
    reconcile_tasks,
)
from rebalance_audit.coordinator.streams.tasks import HeldTasks, Tasks, owned_in
from rebalance_audit.coordinator.streams.topology import Configured, configure_topology
from rebalance_audit.coordinator.streams.work import STANDBY_REPLICAS, StreamsWork
from rebalance_audit.replay.groups import (
    NOT_VALIDATED,
    STATIC_LEAVE_EPOCH,
    ModernMember,
)
from rebalance_audit.replay.partitions import TopicPartition, partitions_of


class StreamsSender(NamedTuple):
    """Who sent a heartbeat, as it was before."""

    member: ModernMember
    held: HeldTasks
    replaces: str | None = None
    """The member id of the instance until now, where it came back under another."""


class StreamsChange(NamedTuple):
    """What step 1 found."""

    updated: ModernMember
    group_epoch: int
    configured: Configured


# --- the member ------------------------------------------------------------------------------------


def member_of(work: StreamsWork, request: StreamsGroupHeartbeatRequest) -> StreamsSender:
    """Find, create or replace the member; drafts the records of a replacement.

    Raises RefusedError (UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH, FENCED_INSTANCE_ID, UNRELEASED_INSTANCE_ID).
    """
    joins = request.member_epoch == JOIN_EPOCH
    member_id, instance_id = request.member_id, request.instance_id
    known = work.group.members.get(member_id)
    if not joins:
        known = work.identified(member_id, instance_id)
    else:
        holder = work.static_member(instance_id)
        if holder is not None:
            return _replaced(work, holder, member_id)
    if known is None:
        return StreamsSender(ModernMember(member_id), HeldTasks())
    _require_epoch(work, known, request)
    return StreamsSender(known, work.held(member_id))


def _replaced(work: StreamsWork, old: ModernMember, member_id: str) -> StreamsSender:
    """A static member came back; drafts [22t][21t][19t] [19][21][22]."""
    if old.member_epoch != STATIC_LEAVE_EPOCH:
        raise RefusedError(
            ErrorCode.UNRELEASED_INSTANCE_ID,
            f"Static member {member_id} with instance id {old.instance_id} cannot join the group because "
            f"the instance id is owned by member {old.member_id}.",
        )
    group_id, records = work.group_id, work.records
    target, held = work.target(old.member_id), work.held(old.member_id)
    records += member_tombstones(work.group, old.member_id)
    if old.member_id != member_id:
        work.departed(old, Trigger.STATIC_MEMBER_REPLACED)
    new = replace(old, member_id=member_id, member_epoch=0, previous_member_epoch=0)
    records.append(drafts.streams_member(group_id, new))
    records.append(drafts.streams_target(group_id, member_id, target))
    step = TaskStep(0, new.member_state, held)
    records.append(drafts.streams_current(group_id, member_id, step, 0, epochs=True))
    return StreamsSender(new, held, old.member_id)


def _require_epoch(
    work: StreamsWork, member: ModernMember, request: StreamsGroupHeartbeatRequest
) -> None:
    """The previous epoch is accepted from a member that owns nothing beyond its tasks: an answer may have been lost."""
    received, known = request.member_epoch, member.member_epoch
    if received in {JOIN_EPOCH, known}:
        return
    owned = owned_in(request)
    if (
        received == member.previous_member_epoch
        and received < known
        and owned is not None
        and not owned.less(work.held(member.member_id).assigned)
    ):
        return
    raise RefusedError(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"The streams group member has epoch {received}, the coordinator knows {known}. The member must "
        "abandon all its partitions and rejoin.",
    )


def _described_by(base: ModernMember, request: StreamsGroupHeartbeatRequest) -> ModernMember:
    """The member as the request describes it; fields left out stay as they are."""
    endpoint, tags = request.user_endpoint, request.client_tags
    timeout_ms, topology = request.rebalance_timeout_ms, request.topology
    return replace(
        base,
        described=True,
        instance_id=request.instance_id,
        rack_id=base.rack_id if request.rack_id is None else request.rack_id,
        client_id=request.client_id,
        client_host=request.client_host,
        rebalance_timeout_ms=base.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
        topology_epoch=base.topology_epoch if topology is None else topology.epoch,
        process_id=base.process_id if request.process_id is None else request.process_id,
        user_endpoint=base.user_endpoint if endpoint is None else (endpoint.host, endpoint.port),
        client_tags=base.client_tags if tags is None else tuple(sorted(tags)),
    )


def _bumps(before: ModernMember, updated: ModernMember) -> bool:
    """Whether what differs bumps the epoch: anything of a dynamic member, some of a static one (4.4)."""
    if updated.instance_id is None:
        return updated != before
    return (before.topology_epoch, before.rack_id, before.client_tags, before.process_id) != (
        updated.topology_epoch,
        updated.rack_id,
        updated.client_tags,
        updated.process_id,
    )


# --- the group -------------------------------------------------------------------------------------


def note_streams_member(
    work: StreamsWork, sender: StreamsSender, request: StreamsGroupHeartbeatRequest, *, is_new: bool
) -> StreamsChange:
    """Note the member, the topology and its topics; drafts [19]? [23]? [17]?. Raises RefusedError (INVALID_REQUEST)."""
    before, group = sender.member, work.group
    updated = _described_by(before, request)
    topology, is_in_request = _topology(work, request)
    if updated != before:
        work.records.append(drafts.streams_member(group.group_id, updated))
    if is_in_request:
        work.records.append(drafts.streams_topology(group.group_id, topology))
    reasons: list[BumpReason] = []
    if _bumps(before, updated):
        trigger = Trigger.MEMBER_METADATA_CHANGED if before.described else Trigger.MEMBER_JOINED
        reasons.append(BumpReason(trigger, updated.member_id, updated.instance_id))
    metadata_hash = _check_topics(work, topology, reasons, is_in_request=is_in_request)
    found = work.soft.configured
    assert found is not None
    validated = topology.epoch if found.is_ready else NOT_VALIDATED
    _check_validation(work, validated, reasons)
    configs = work.configs
    if not work.is_first_release and not reasons and configs != work.last_configs:
        reasons.append(BumpReason(Trigger.ASSIGNMENT_CONFIGS_CHANGED))
    if not reasons:
        return StreamsChange(updated, work.group_epoch, found)
    if is_new:
        reasons.insert(0, BumpReason(Trigger.GROUP_BEGAN))
    epoch = work.bump(topology, metadata_hash, validated, configs, reasons)
    return StreamsChange(updated, epoch, found)


def _topology(work: StreamsWork, request: StreamsGroupHeartbeatRequest) -> tuple[Topology, bool]:
    """The group's topology, and whether this request brings it."""
    known, reported = work.topology, request.topology
    if known is None:
        if reported is None:
            raise RefusedError(ErrorCode.INVALID_REQUEST, "The group has no topology yet.")
        return reported, True
    if reported is not None and reported.epoch >= known.epoch and reported != known:
        raise RefusedError(ErrorCode.INVALID_REQUEST, "Topology updates are not supported yet.")
    return known, False


def _check_topics(
    work: StreamsWork, topology: Topology, reasons: list[BumpReason], *, is_in_request: bool
) -> int:
    """Compare the topics with the hash on record, where that is due, and configure the topology. Returns the hash."""
    soft, kept = work.soft, work.group.metadata_hash
    if not is_in_request and soft.configured is not None and soft.topics_are_checked:
        return kept
    soft.topics_are_checked = True
    found = work.hash_of(topology)
    if found != kept:
        reasons.append(BumpReason(Trigger.TOPICS_DIFFER))
    if is_in_request or found != kept or soft.configured is None:
        soft.configured = configure_topology(topology, work.image)
    return found


def _check_validation(work: StreamsWork, validated: int, reasons: list[BumpReason]) -> None:
    """A topology that can be assigned now, or no longer can. Topics that came or went are the reason for that."""
    last = work.last_epoch
    if work.is_first_release or last is None or last.validated_topology_epoch == validated:
        return
    if all(each.trigger is not Trigger.TOPICS_DIFFER for each in reasons):
        reasons.append(BumpReason(Trigger.TOPOLOGY_VALIDATED))


# --- target and reconciliation ---------------------------------------------------------------------


def retarget_tasks(
    work: StreamsWork, change: StreamsChange | None, sender: StreamsSender | None
) -> tuple[int, Tasks]:
    """The epoch of the target that holds now, and the sender's share of it; drafts [21]* [20] when one is computed."""
    group = work.group
    epoch = work.group_epoch if change is None else change.group_epoch
    member_id = "" if change is None else change.updated.member_id
    if work.soft.is_delayed:
        return work.assignment_epoch, Tasks()
    as_it_was = work.target(member_id)
    if sender is not None and sender.replaces is not None:
        as_it_was = work.target(sender.replaces)
    if work.assignment_epoch >= epoch or not work.may_compute():
        return work.assignment_epoch, as_it_was
    members = dict(group.members)
    before = {each: work.target(each) for each in members}
    known = set(group.targets)
    if change is not None:
        if sender is not None and sender.replaces is not None:
            members.pop(sender.replaces, None)
            known.discard(sender.replaces)
            known.add(member_id)
        members[member_id] = change.updated
        before[member_id] = as_it_was
    targets = _targets(work, members, before)
    for each, tasks in targets.items():
        if each not in known or before[each] != tasks:
            work.records.append(drafts.streams_target(group.group_id, each, tasks))
    kept_ms = work.now_ms if work.release.assignment_interval else 0
    work.records.append(drafts.streams_target_epoch(group.group_id, epoch, kept_ms))
    return epoch, targets.get(member_id, Tasks())


def _targets(
    work: StreamsWork, members: dict[str, ModernMember], before: dict[str, Tasks]
) -> dict[str, Tasks]:
    found = work.soft.configured
    assert found is not None
    if not found.is_ready:
        return dict.fromkeys(sorted(members), Tasks())
    tasks: list[TopicPartition] = [
        (name, number) for name, count in found.task_counts for number in range(count)
    ]
    specs = {
        member_id: StreamsMember(member.process_id, before[member_id].active)
        for member_id, member in members.items()
    }
    active = assign_active(specs, tasks)
    replicas = int(work.configs[STANDBY_REPLICAS])
    standby = assign_standby(specs, active, frozenset(found.stateful), replicas)
    return {
        member_id: Tasks(_grouped(active[member_id]), _grouped(standby[member_id]))
        for member_id in active
    }


def _grouped(tasks: list[TopicPartition]) -> dict[str | bytes, frozenset[int]]:
    return dict(partitions_of((topic, (number,)) for topic, number in tasks))


def settle_tasks(
    work: StreamsWork,
    updated: ModernMember,
    sender: StreamsSender,
    target_epoch: int,
    target: Tasks,
    owned: Tasks | None,
) -> TaskStep:
    """The member's own step towards its target; drafts [22]? and moves its rebalance timer."""
    now = TaskStep(sender.member.member_epoch, sender.member.member_state, sender.held)
    holders, process_id = work.holders(), updated.process_id

    def with_process(task: TopicPartition, active_too: bool) -> bool:
        mine = process_id in holders["other"].get(task, ())
        return mine or (active_too and process_id in holders["active"].get(task, ()))

    epochs = work.release.assignment_epochs
    around = TaskSurroundings(owned, lambda task: task in holders["active"], with_process, epochs)
    moved = reconcile_tasks(now, target_epoch, target, around)
    if moved is now or (moved == now and now.member_epoch == sender.member.previous_member_epoch):
        return now
    group_id, member_id = work.group_id, updated.member_id
    work.records.append(
        drafts.streams_current(group_id, member_id, moved, now.member_epoch, epochs=epochs)
    )
    work.watch_revocation(replace(updated, member_state=moved.member_state))
    return moved
