"""JoinGroup of a member that speaks the classic protocol, in a group that has members of the consumer protocol."""

from typing import NamedTuple

from rebalance_audit.coordinator.classic.live_group import LiveGroup
from rebalance_audit.coordinator.consumer.classic_members import (
    MEMBER_ID_REQUIRED_VERSION,
    described_by_join,
    joining_member,
    owned_in_subscription,
    require_joinable,
    subscription_of,
)
from rebalance_audit.coordinator.consumer.heartbeat import require_room
from rebalance_audit.coordinator.consumer.member_change import note_member, retarget, settle
from rebalance_audit.coordinator.consumer.migration import downgraded, may_downgrade
from rebalance_audit.coordinator.consumer.refusal import RefusedError
from rebalance_audit.coordinator.consumer.targets import target_as_is
from rebalance_audit.coordinator.consumer.work import Work
from rebalance_audit.coordinator.handling import ErrorCode, IdSource, TimerKind
from rebalance_audit.coordinator.requests.classic import (
    UNKNOWN_MEMBER_ID,
    JoinGroupRequest,
    JoinGroupResponse,
)
from rebalance_audit.replay.groups.modern_group import ModernMember
from rebalance_audit.wire.consumer_protocol import PROTOCOL_TYPE


class Joined(NamedTuple):
    """What a JoinGroup did."""

    response: JoinGroupResponse
    bumped: bool = False
    downgraded: LiveGroup | None = None
    """The classic group that it made when it replaced the last member of the consumer protocol."""
    rebalance: bool = False
    """Whether the assignment of the downgraded group is older than its epoch."""


def join(work: Work, request: JoinGroupRequest, ids: IdSource, new_topics_version: int) -> Joined:
    """Admit the member, or take its next step. Raises RefusedError with the error for the response."""
    _require_timeouts(work, request)
    require_joinable(work, request)
    member_id = request.member_id or ids.uuid_text()
    require_room(work, member_id, request.group_instance_id)
    is_unknown = request.member_id == UNKNOWN_MEMBER_ID
    if (
        is_unknown
        and request.group_instance_id is None
        and request.api_version >= MEMBER_ID_REQUIRED_VERSION
    ):
        return Joined(JoinGroupResponse(ErrorCode.MEMBER_ID_REQUIRED, member_id))
    subscription = subscription_of(request)
    holder = work.static_member(request.group_instance_id)
    takes_last_place = (
        holder is not None and holder.classic is None and may_downgrade(work, [holder], holder)
    )
    before = joining_member(work, request, member_id)
    updated = described_by_join(before, request, subscription)
    change = note_member(work, before, updated, new_topics_version)
    owned = owned_in_subscription(work, subscription)
    live: LiveGroup | None = None
    rebalance = False
    after = updated
    if takes_last_place:
        assert holder is not None
        rebalance = work.assignment_epoch < change.group_epoch
        if not rebalance:
            after = settle(
                work,
                updated,
                target_as_is(work, updated),
                owned,
                subscription_changed=change.subscription_changed,
            )
        live = downgraded(work, [], (after, holder))
    else:
        target = retarget(work, change, updated)
        after = settle(
            work, updated, target, owned, subscription_changed=change.subscription_changed
        )
        _follow_join(work, after, request)
    response = JoinGroupResponse(
        ErrorCode.NONE,
        after.member_id,
        after.member_epoch,
        PROTOCOL_TYPE,
        request.protocols[0].name,
    )
    return Joined(response, change.bumped, live, rebalance)


def _require_timeouts(work: Work, request: JoinGroupRequest) -> None:
    config = work.config
    shortest_ms, longest_ms = (
        config.group_min_session_timeout_ms,
        config.group_max_session_timeout_ms,
    )
    if not shortest_ms <= request.session_timeout_ms <= longest_ms:
        raise RefusedError(
            ErrorCode.INVALID_SESSION_TIMEOUT,
            f"The session timeout must be from {shortest_ms} to {longest_ms} ms.",
        )


def _follow_join(work: Work, member: ModernMember, request: JoinGroupRequest) -> None:
    """The member has joined and must sync within its rebalance timeout."""
    member_id = member.member_id
    work.soft.joining.discard(member_id)
    work.cancel(TimerKind.JOIN, member_id)
    work.cancel(TimerKind.REBALANCE, member_id)
    work.arm_session(member)
    work.arm(TimerKind.SYNC, request.rebalance_timeout_ms, member_id)
