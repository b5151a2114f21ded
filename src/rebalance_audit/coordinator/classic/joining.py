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

from rebalance_audit.coordinator.classic.draft import ClassicDraft, membership
from rebalance_audit.coordinator.classic.live_group import LiveGroup, LiveMember
from rebalance_audit.coordinator.classic.rebalance import RebalancePhases
from rebalance_audit.coordinator.classic.records import generation_record
from rebalance_audit.coordinator.classic.states import ClassicState
from rebalance_audit.coordinator.handling import CoordinatorConfig, ErrorCode, IdSource
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

Refusal: TypeAlias = JoinGroupResponse | None
RejoinRule: TypeAlias = Callable[[LiveGroup, LiveMember, JoinGroupRequest], bool]


class Joining:
    """Serves JoinGroup, for all groups of one coordinator."""

    def __init__(
        self, config: CoordinatorConfig, ids: IdSource, rebalance: RebalancePhases
    ) -> None:
        """Uses the size limit, a source of member ids, and the phases."""
        self._config = config
        self._ids = ids
        self._rebalance = rebalance

    def join(
        self, live: LiveGroup, request: JoinGroupRequest, token: int, draft: ClassicDraft
    ) -> None:
        """Serve a JoinGroup for an existing group, or one just created for it."""
        refusal = self._refusal(live, request)
        if refusal is not None:
            draft.reply(token, refusal)
        elif request.member_id != UNKNOWN_MEMBER_ID:
            self._join_with_id(live, request, token, draft)
        elif request.group_instance_id is not None:
            self._join_static(live, request, request.group_instance_id, token, draft)
        else:
            self._join_dynamic(live, request, token, draft)

    def _refusal(self, live: LiveGroup, request: JoinGroupRequest) -> Refusal:
        if not self._has_room(live, request.member_id):
            live.remove(request.member_id)
            return JoinGroupResponse(ErrorCode.GROUP_MAX_SIZE_REACHED, UNKNOWN_MEMBER_ID)
        if not live.supports(request.protocol_type, request.protocols):
            return JoinGroupResponse(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, request.member_id)
        return None

    def _has_room(self, live: LiveGroup, member_id: str) -> bool:
        """Whether the size limit lets this member in.

        In the join phase only members that have joined count, so a group above the limit loses the last to come.
        """
        size_max = self._config.group_max_size
        match live.state:
            case ClassicState.PREPARING_REBALANCE:
                return member_id in live.parked_joins or len(live.parked_joins) < size_max
            case ClassicState.COMPLETING_REBALANCE | ClassicState.STABLE:
                return member_id in live.members or len(live.members) < size_max
        return True

    # --- empty member id ---------------------------------------------------------------------------

    def _join_dynamic(
        self, live: LiveGroup, request: JoinGroupRequest, token: int, draft: ClassicDraft
    ) -> None:
        member_id = f"{request.client_id}-{self._ids.uuid_text()}"
        if request.api_version < MEMBER_ID_REQUIRED_FROM_VERSION:
            self._add(live, request, member_id, token, draft)
            return
        live.pending_members[member_id] = None
        # A pending member has the session timeout to come back; it has no session yet.
        draft.expect_pending(live, member_id, request.session_timeout_ms)
        draft.reply(token, JoinGroupResponse(ErrorCode.MEMBER_ID_REQUIRED, member_id))

    def _join_static(
        self,
        live: LiveGroup,
        request: JoinGroupRequest,
        instance_id: str,
        token: int,
        draft: ClassicDraft,
    ) -> None:
        member_id = f"{instance_id}-{self._ids.uuid_text()}"
        holder = live.static_members.get(instance_id)
        if holder is None:
            self._add(live, request, member_id, token, draft)
        else:
            self._replace(live, request, holder, member_id, token, draft)

    def _add(
        self,
        live: LiveGroup,
        request: JoinGroupRequest,
        member_id: str,
        token: int,
        draft: ClassicDraft,
    ) -> None:
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
            draft.expect_nothing(live, member_id)
        live.add(member)
        live.parked_joins[member_id] = token
        draft.expect_heartbeat(live, member, NEW_MEMBER_JOIN_TIMEOUT_MS)
        joined = BumpReason(Trigger.MEMBER_JOINED, member_id, member.instance_id)
        self._rebalance.needed(live, draft, joined)

    def _replace(
        self,
        live: LiveGroup,
        request: JoinGroupRequest,
        old_member_id: str,
        new_member_id: str,
        token: int,
        draft: ClassicDraft,
    ) -> None:
        """A static member is back under a new id; whoever still waits under the old one is fenced."""
        old_leader = live.leader_member_id or UNKNOWN_MEMBER_ID
        draft.turn_away(live, old_member_id, ErrorCode.FENCED_INSTANCE_ID, old_member_id)
        draft.expect_nothing(live, old_member_id)
        member = live.replace_static(old_member_id, new_member_id)
        held = BumpReason(Trigger.STATIC_MEMBER_REPLACED, old_member_id, member.instance_id)
        draft.departed(live, held)
        # Until its first heartbeat the member keeps its previous session timeout.
        draft.expect_heartbeat(live, member)
        _update(live, member, request, token)
        match live.state:
            case ClassicState.STABLE if live.vote() == live.protocol_name:
                self._give_back(live, request, member, old_leader, draft)
            case ClassicState.STABLE | ClassicState.COMPLETING_REBALANCE:
                # The leader may be assigning to the old id right now, or with another protocol.
                reasons = [held._replace(member_id=new_member_id)]
                if live.vote() != live.protocol_name:
                    reasons.append(reasons[0]._replace(trigger=Trigger.PROTOCOL_CHANGED))
                self._rebalance.start(live, draft, *reasons)
            case _:
                self._rebalance.end_join_phase_if_complete(live, draft)

    def _give_back(
        self,
        live: LiveGroup,
        request: JoinGroupRequest,
        member: LiveMember,
        old_leader: str,
        draft: ClassicDraft,
    ) -> None:
        """The static member keeps its assignment in the same generation, without a rebalance.

        The leader must not assign again. From version 9 on the response says so; an older client gets the previous
        leader's id, so that it does not take itself for the leader.
        """
        draft.records.append(
            generation_record(live, {each.member_id: each.assignment for each in live.in_order()})
        )
        member_id = member.member_id
        if request.api_version >= SKIP_ASSIGNMENT_FROM_VERSION:
            leads = live.is_leader(member_id)
            response = membership(live, member_id, with_members=leads)
            draft.answer_join(live, member_id, response._replace(skip_assignment=leads))
        else:
            response = membership(live, member_id, with_members=False)
            draft.answer_join(live, member_id, response._replace(leader=old_leader))

    # --- member id given ---------------------------------------------------------------------------

    def _join_with_id(
        self, live: LiveGroup, request: JoinGroupRequest, token: int, draft: ClassicDraft
    ) -> None:
        member_id = request.member_id
        if member_id in live.pending_members and request.group_instance_id is None:
            self._add(live, request, member_id, token, draft)
            return
        error = live.member_error(member_id, request.group_instance_id)
        if error is not ErrorCode.NONE:
            draft.reply(token, JoinGroupResponse(error, member_id))
            return
        member = live.members[member_id]
        counts = _REJOIN_COUNTS[live.state]
        if counts(live, member, request):
            reasons = _rejoin_reasons(live, member, request)
            _update(live, member, request, token)
            self._rebalance.needed(live, draft, *reasons)
            return
        # It missed the answer, or just asks again: SyncGroup will give it its assignment.
        leads = live.is_leader(member_id)
        draft.reply(token, membership(live, member_id, with_members=leads))


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
