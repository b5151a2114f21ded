"""SyncGroup, Heartbeat, LeaveGroup and the end of a session: what members do between two joins."""

from collections.abc import Mapping
from typing import Final

from rebalance_audit.coordinator.classic.live_group import NO_ASSIGNMENT, LiveGroup
from rebalance_audit.coordinator.classic.rebalance import ClassicWork
from rebalance_audit.coordinator.classic.states import ClassicEvent, ClassicState
from rebalance_audit.coordinator.handling import ErrorCode, TimerKind
from rebalance_audit.coordinator.reasons import BumpReason, Trigger
from rebalance_audit.coordinator.requests.classic import (
    UNKNOWN_MEMBER_ID,
    HeartbeatRequest,
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)

ALIVE_ANSWERS: Final[Mapping[ClassicState, ErrorCode]] = {
    ClassicState.PREPARING_REBALANCE: ErrorCode.REBALANCE_IN_PROGRESS,
    ClassicState.COMPLETING_REBALANCE: ErrorCode.NONE,
    ClassicState.STABLE: ErrorCode.NONE,
}
"""State -> the answer to a member's heartbeat. An empty group has no members that could send one."""

BATCH_FROM_VERSION: Final = 3
"""LeaveGroup: before this version one member leaves, and its error is the response's own."""


# --- SyncGroup ------------------------------------------------------------------------------------


def sync(work: ClassicWork, request: SyncGroupRequest, token: int) -> None:
    """Serve a SyncGroup: park it, answer it, or, from the leader, end the rebalance."""
    live, member_id = work.live, request.member_id
    error = _sync_error(live, request)
    if error is not ErrorCode.NONE:
        work.reply(token, SyncGroupResponse(error))
        return
    work.synced(member_id)
    if live.state is ClassicState.STABLE:
        work.reply(token, _assignment(live, member_id))
        return
    live.parked_syncs[member_id] = token
    if live.is_leader(member_id):
        _complete(work, {each.member_id: each.assignment for each in request.assignments})


def _complete(work: ClassicWork, assignments: Mapping[str, bytes]) -> None:
    """Store the leader's assignment, and answer every member that waits with its part."""
    work.record_generation(assignments)
    work.live.move(ClassicEvent.LEADER_SYNCED, work.now_ms)
    for member in work.live.in_order():
        member.assignment = assignments.get(member.member_id, NO_ASSIGNMENT)
        if work.answer_sync(member.member_id, _assignment(work.live, member.member_id)):
            work.expect_heartbeat(member)


def _sync_error(live: LiveGroup, request: SyncGroupRequest) -> ErrorCode:
    error = live.member_error(request.member_id, request.group_instance_id)
    if error is not ErrorCode.NONE:
        return error
    if request.generation_id != live.generation:
        return ErrorCode.ILLEGAL_GENERATION
    if request.protocol_type not in {None, live.protocol_type} or request.protocol_name not in {
        None,
        live.protocol_name,
    }:
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    if live.state is ClassicState.PREPARING_REBALANCE:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return ErrorCode.NONE


def _assignment(live: LiveGroup, member_id: str) -> SyncGroupResponse:
    assignment = live.members[member_id].assignment
    return SyncGroupResponse(ErrorCode.NONE, live.protocol_type, live.protocol_name, assignment)


# --- Heartbeat ------------------------------------------------------------------------------------


def answer_heartbeat(work: ClassicWork, request: HeartbeatRequest) -> ErrorCode:
    """Serve a heartbeat: restart the session, and report a rebalance in progress."""
    live = work.live
    error = live.member_error(request.member_id, request.group_instance_id)
    if error is not ErrorCode.NONE:
        return error
    if request.generation_id != live.generation:
        return ErrorCode.ILLEGAL_GENERATION
    work.expect_heartbeat(live.members[request.member_id])
    return ALIVE_ANSWERS[live.state]


# --- LeaveGroup -----------------------------------------------------------------------------------


def leave(work: ClassicWork, request: LeaveGroupRequest) -> LeaveGroupResponse:
    """Serve a LeaveGroup: all its members are dropped at once, and one rebalance follows."""
    reasons: list[BumpReason] = []
    errors = [_leave_one(work, identity, reasons) for identity in request.members]
    if reasons and work.live.state is not ClassicState.EMPTY:
        work.needed(*reasons)
    return leave_response(request, errors)


def _leave_one(work: ClassicWork, identity: MemberIdentity, reasons: list[BumpReason]) -> ErrorCode:
    """Drop one member, or one that has not joined yet; reports the reason if it existed."""
    live, member_id = work.live, identity.member_id
    if member_id == UNKNOWN_MEMBER_ID:
        # An administrator knows the instance id only.
        held = live.static_members.get(identity.group_instance_id or "")
        if held is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        member_id = held
    elif member_id in live.pending_members:
        work.expect_nothing(member_id)
        live.remove(member_id)
        reasons.append(BumpReason(Trigger.MEMBER_LEFT, member_id, identity.group_instance_id))
        return ErrorCode.NONE
    else:
        error = live.member_error(member_id, identity.group_instance_id)
        if error is not ErrorCode.NONE:
            return error
    reasons.append(work.member_gone(member_id, Trigger.MEMBER_LEFT))
    return ErrorCode.NONE


def leave_response(request: LeaveGroupRequest, errors: list[ErrorCode]) -> LeaveGroupResponse:
    """The answer to a LeaveGroup with these errors of its members."""
    if request.api_version < BATCH_FROM_VERSION:
        return LeaveGroupResponse(errors[0])
    return LeaveGroupResponse(
        ErrorCode.NONE,
        tuple(
            MemberResponse(identity.member_id, identity.group_instance_id, error)
            for identity, error in zip(request.members, errors, strict=True)
        ),
    )


# --- sessions -------------------------------------------------------------------------------------


def session_ended(work: ClassicWork, kind: TimerKind, member_id: str) -> None:
    """A member was silent for its session timeout, or a pending one never came."""
    live = work.live
    reasons: list[BumpReason] = []
    if kind is TimerKind.PENDING_MEMBER:
        if member_id not in live.pending_members:
            return
        live.remove(member_id)
        if live.state is ClassicState.PREPARING_REBALANCE:
            work.happens([BumpReason(Trigger.PENDING_MEMBER_EXPIRED, member_id)])
    else:
        member = live.members.get(member_id)
        waits = member_id in live.parked_joins or member_id in live.parked_syncs
        if member is None or (waits and not member.is_new):
            # A member that waits for us cannot send heartbeats; its session restarts with the answer.
            return
        gone = work.member_gone(member_id, Trigger.SESSION_ENDED)
        if live.state in {ClassicState.STABLE, ClassicState.COMPLETING_REBALANCE}:
            work.start(gone)
            return
        reasons.append(gone)
    if live.state is ClassicState.PREPARING_REBALANCE and live.all_joined():
        work.end_join_phase(*reasons)
