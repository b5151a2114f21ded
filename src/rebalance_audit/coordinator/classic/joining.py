"""JoinGroup: who may become or stay a member, and whether that means a rebalance.

With the member id known (K), unknown (U) or empty (E) and with or without an instance id there are six cases:

    id  instance  what happens
    K   none      the member takes part again; a rebalance unless a follower brings nothing new to a stable group
    U   none      UNKNOWN_MEMBER_ID
    E   none      MEMBER_ID_REQUIRED with a fresh id, which must join within the session timeout (KIP-394)
    K   given     FENCED_INSTANCE_ID unless the instance id is held under this member id; then as K without instance
    U   given     UNKNOWN_MEMBER_ID if no member holds the instance id, else FENCED_INSTANCE_ID
    E   given     instance id held: the holder is replaced, in a stable group without a rebalance; else a new member
"""

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from rebalance_audit.coordinator.classic.live_group import LiveGroup, LiveMember
from rebalance_audit.coordinator.classic.rebalance import ClassicWork
from rebalance_audit.coordinator.classic.states import ClassicState
from rebalance_audit.coordinator.handling import ErrorCode
from rebalance_audit.coordinator.reasons import BumpReason, Trigger
from rebalance_audit.coordinator.requests.classic import (
    UNKNOWN_MEMBER_ID,
    JoinGroupRequest,
    JoinGroupResponse,
)

NEW_MEMBER_JOIN_TIMEOUT_MS: Final = 300_000
"""How long a new member's JoinGroup may stay parked: until then it sends no heartbeats, so its end goes unseen."""

MEMBER_ID_REQUIRED_FROM_VERSION: Final = 4
SKIP_ASSIGNMENT_FROM_VERSION: Final = 9

RejoinRule: TypeAlias = Callable[[LiveGroup, LiveMember, JoinGroupRequest], bool]


def join(work: ClassicWork, request: JoinGroupRequest, token: int) -> None:
    """Serve a JoinGroup for an existing group, or one just created for it."""
    instance_id = request.group_instance_id
    refusal = _refusal(work, request)
    if refusal is not None:
        work.reply(token, refusal)
    elif request.member_id != UNKNOWN_MEMBER_ID:
        _join_with_id(work, request, token)
    elif instance_id is None:
        _join_dynamic(work, request, token)
    else:
        member_id = f"{instance_id}-{work.ids.uuid_text()}"
        holder = work.live.static_members.get(instance_id)
        if holder is None:
            _add(work, request, member_id, token)
        else:
            _replace(work, request, holder, member_id, token)


def _refusal(work: ClassicWork, request: JoinGroupRequest) -> JoinGroupResponse | None:
    live = work.live
    if not _has_room(live, request.member_id, work.config.group_max_size):
        live.remove(request.member_id)
        return JoinGroupResponse(ErrorCode.GROUP_MAX_SIZE_REACHED, UNKNOWN_MEMBER_ID)
    if not live.supports(request.protocol_type, request.protocols):
        return JoinGroupResponse(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, request.member_id)
    return None


def _has_room(live: LiveGroup, member_id: str, size_max: int) -> bool:
    """Whether the size limit lets this member in.

    In the join phase only members that have joined count, so a group above the limit loses the last to come.
    """
    match live.state:
        case ClassicState.PREPARING_REBALANCE:
            return member_id in live.parked_joins or len(live.parked_joins) < size_max
        case ClassicState.COMPLETING_REBALANCE | ClassicState.STABLE:
            return member_id in live.members or len(live.members) < size_max
    return True


# --- empty member id ------------------------------------------------------------------------------


def _join_dynamic(work: ClassicWork, request: JoinGroupRequest, token: int) -> None:
    member_id = f"{request.client_id}-{work.ids.uuid_text()}"
    if request.api_version < MEMBER_ID_REQUIRED_FROM_VERSION:
        _add(work, request, member_id, token)
        return
    work.live.pending_members[member_id] = None
    # A pending member has the session timeout to come back; it has no session yet.
    work.expect_within(member_id, request.session_timeout_ms)
    work.reply(token, JoinGroupResponse(ErrorCode.MEMBER_ID_REQUIRED, member_id))


def _add(work: ClassicWork, request: JoinGroupRequest, member_id: str, token: int) -> None:
    live = work.live
    if not live.members:
        live.protocol_type = request.protocol_type
    member = LiveMember(
        member_id,
        request.group_instance_id,
        request.client_id,
        request.client_host,
        _rebalance_timeout_ms(request),
        request.session_timeout_ms,
        request.protocols,
        is_new=True,
    )
    if live.is_initial_rebalance():
        live.new_member_added = True
    if member_id in live.pending_members:
        work.expect_nothing(member_id)
    live.add(member)
    live.parked_joins[member_id] = token
    work.expect_within(member_id, NEW_MEMBER_JOIN_TIMEOUT_MS)
    work.needed(BumpReason(Trigger.MEMBER_JOINED, member_id, member.instance_id))


def _replace(
    work: ClassicWork,
    request: JoinGroupRequest,
    old_member_id: str,
    new_member_id: str,
    token: int,
) -> None:
    """A static member is back under a new id; whoever still waits under the old one is fenced."""
    live = work.live
    old_leader = live.leader_member_id or UNKNOWN_MEMBER_ID
    work.turn_away(old_member_id, ErrorCode.FENCED_INSTANCE_ID, old_member_id)
    work.expect_nothing(old_member_id)
    member = live.replace_static(old_member_id, new_member_id)
    held = BumpReason(Trigger.STATIC_MEMBER_REPLACED, old_member_id, member.instance_id)
    work.departed(held)
    # Until its first heartbeat the member keeps its previous session timeout.
    work.expect_heartbeat(member)
    _update(live, member, request, token)
    match live.state:
        case ClassicState.STABLE if live.vote() == live.protocol_name:
            _give_back(work, request, new_member_id, old_leader)
        case ClassicState.STABLE | ClassicState.COMPLETING_REBALANCE:
            # The leader may be assigning to the old id right now, or with another protocol.
            reasons = [held._replace(member_id=new_member_id)]
            if live.vote() != live.protocol_name:
                reasons.append(reasons[0]._replace(trigger=Trigger.PROTOCOL_CHANGED))
            work.start(*reasons)
        case _:
            work.end_join_phase_if_complete()


def _give_back(
    work: ClassicWork, request: JoinGroupRequest, member_id: str, old_leader: str
) -> None:
    """The static member keeps its assignment in the same generation, without a rebalance.

    The leader must not assign again. From version 9 on the response says so; an older client gets the previous
    leader's id, so that it does not take itself for the leader.
    """
    live = work.live
    work.record_generation({each.member_id: each.assignment for each in live.members.values()})
    response = live.membership(member_id)
    if request.api_version >= SKIP_ASSIGNMENT_FROM_VERSION:
        response = response._replace(skip_assignment=live.is_leader(member_id))
    else:
        response = response._replace(leader=old_leader, members=())
    work.answer_join(member_id, response)


# --- member id given ------------------------------------------------------------------------------


def _join_with_id(work: ClassicWork, request: JoinGroupRequest, token: int) -> None:
    live, member_id = work.live, request.member_id
    if member_id in live.pending_members and request.group_instance_id is None:
        _add(work, request, member_id, token)
        return
    error = live.member_error(member_id, request.group_instance_id)
    if error is not ErrorCode.NONE:
        work.reply(token, JoinGroupResponse(error, member_id))
        return
    member = live.members[member_id]
    if _REJOIN_COUNTS[live.state](live, member, request):
        reasons = _rejoin_reasons(live, member, request)
        _update(live, member, request, token)
        work.needed(*reasons)
    else:
        # It missed the answer, or just asks again: SyncGroup will give it its assignment.
        work.reply(token, live.membership(member_id))


def _is_changed(_live: LiveGroup, member: LiveMember, request: JoinGroupRequest) -> bool:
    return member.protocols != request.protocols


def _leads_or_is_changed(live: LiveGroup, member: LiveMember, request: JoinGroupRequest) -> bool:
    # A leader may have seen new topics, so its JoinGroup always means a rebalance.
    return live.is_leader(member.member_id) or _is_changed(live, member, request)


def _rejoin_reasons(
    live: LiveGroup, member: LiveMember, request: JoinGroupRequest
) -> list[BumpReason]:
    """Why its JoinGroup counts where no join phase is under way."""
    triggers = {
        Trigger.METADATA_CHANGED: _is_changed(live, member, request),
        Trigger.LEADER_REJOINED: (
            live.state is ClassicState.STABLE and live.is_leader(member.member_id)
        ),
    }
    return [
        BumpReason(trigger, member.member_id, member.instance_id)
        for trigger, holds in triggers.items()
        if holds
    ]


_REJOIN_COUNTS: Final[Mapping[ClassicState, RejoinRule]] = {
    ClassicState.PREPARING_REBALANCE: lambda *_: True,
    ClassicState.COMPLETING_REBALANCE: _is_changed,
    ClassicState.STABLE: _leads_or_is_changed,
}
"""State -> whether the JoinGroup of a member counts; else the member gets the current generation."""


def _update(live: LiveGroup, member: LiveMember, request: JoinGroupRequest, token: int) -> None:
    live.set_protocols(member, request.protocols)
    member.rebalance_timeout_ms = _rebalance_timeout_ms(request)
    member.session_timeout_ms = request.session_timeout_ms
    live.parked_joins[member.member_id] = token


def _rebalance_timeout_ms(request: JoinGroupRequest) -> int:
    if request.rebalance_timeout_ms < 0:
        return request.session_timeout_ms
    return request.rebalance_timeout_ms
