"""Members of a consumer group that still speak the classic protocol: JoinGroup, SyncGroup and Heartbeat for one member.

There is no join barrier: members rebalance independently. JoinGroup updates the group and takes the member's next step,
SyncGroup returns the assignment, and Heartbeat asks the member to join again when it has a next step to take.
"""

from dataclasses import replace
from typing import NamedTuple

from rebalance_audit.coordinator.classic.live_group import LiveGroup
from rebalance_audit.coordinator.consumer.departure import replace_member
from rebalance_audit.coordinator.consumer.heartbeat import new_or_known, require_room
from rebalance_audit.coordinator.consumer.member_change import note_member, retarget, settle
from rebalance_audit.coordinator.consumer.migration import (
    downgraded,
    may_downgrade,
    partitions_by_id,
    partitions_by_name,
)
from rebalance_audit.coordinator.consumer.targets import target_as_is
from rebalance_audit.coordinator.consumer.work import Work
from rebalance_audit.coordinator.handling import (
    ErrorCode,
    IdSource,
    MigrationPolicy,
    RefusedError,
    TimerKind,
)
from rebalance_audit.coordinator.requests.classic import (
    UNKNOWN_MEMBER_ID,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from rebalance_audit.replay.groups import (
    UNRELEASED,
    UNREVOKED,
    ClassicMembership,
    ModernMember,
)
from rebalance_audit.replay.partitions import Partitions, each
from rebalance_audit.wire.consumer_protocol import (
    NEWEST_VERSION,
    PROTOCOL_TYPE,
    Assignment,
    Subscription,
    decode_subscription,
    encode_assignment,
)

MEMBER_ID_REQUIRED_VERSION = 4
"""From this version of JoinGroup on a dynamic member first gets a member id to join with."""


def require_joinable(work: Work, request: JoinGroupRequest) -> None:
    """Raises RefusedError (INCONSISTENT_GROUP_PROTOCOL) where classic members, or these protocols, are not admitted.

    At least one of the protocols must be supported by all classic members of the group.
    """
    config = work.config
    if not work.release.online_migration or config.migration_policy is MigrationPolicy.DISABLED:
        raise RefusedError(
            ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
            f"Cannot join the consumer group {work.group.group_id} with the classic protocol because "
            "the group migration is disabled.",
        )
    classic = [member.classic for member in work.group.members.values() if member.classic]
    common = {protocol.name for protocol in request.protocols}
    for membership in classic:
        common &= {name for name, _ in membership.supported_protocols}
    if request.protocol_type != PROTOCOL_TYPE or not common:
        raise RefusedError(
            ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
            f"Member {request.member_id}'s protocols are not supported.",
        )


def subscription_of(request: JoinGroupRequest) -> Subscription:
    """What the member subscribes to. Raises RefusedError (INCONSISTENT_GROUP_PROTOCOL) for malformed bytes."""
    subscription = decode_subscription(request.protocols[0].metadata)
    if subscription is None:
        raise RefusedError(
            ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
            "Malformed embedded consumer protocol in subscription deserialization.",
        )
    return subscription


def joining_member(work: Work, request: JoinGroupRequest, member_id: str) -> ModernMember:
    """The member that joins; drafts the records that replace a static one, which need not have left first.

    Raises RefusedError (UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID).
    """
    instance_id = request.group_instance_id
    if instance_id is None:
        return new_or_known(work, member_id)
    if request.member_id != UNKNOWN_MEMBER_ID:
        return work.instance_holder(instance_id, member_id)
    holder = work.static_member(instance_id)
    if holder is None:
        return new_or_known(work, member_id)
    return replace_member(work, holder, member_id)


def described_by_join(
    member: ModernMember, request: JoinGroupRequest, subscription: Subscription
) -> ModernMember:
    """The member as its JoinGroup describes it; it has no regular expression."""
    timeout_ms = request.rebalance_timeout_ms
    return replace(
        member,
        described=True,
        instance_id=request.group_instance_id or member.instance_id,
        rack_id=subscription.rack_id or member.rack_id,
        client_id=request.client_id,
        client_host=request.client_host,
        subscribed_topic_names=tuple(sorted(set(subscription.topics))),
        subscribed_topic_regex="",
        rebalance_timeout_ms=member.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
        classic=ClassicMembership(
            request.session_timeout_ms,
            tuple((protocol.name, protocol.metadata) for protocol in request.protocols),
        ),
    )


def owned_in_subscription(work: Work, subscription: Subscription) -> Partitions:
    """What the member says it owns; an eager member owns nothing when it joins."""
    return partitions_by_id(subscription.owned_partitions, work.image)


def sync_classic(work: Work, request: SyncGroupRequest) -> SyncGroupResponse:
    """Return the member's assignment.

    Raises RefusedError (UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION, INCONSISTENT_GROUP_PROTOCOL,
    REBALANCE_IN_PROGRESS).
    """
    member = work.identified(request.member_id, request.group_instance_id)
    classic = _classic_side(member, request.generation_id)
    protocol_name, metadata = classic.supported_protocols[0]
    if (request.protocol_type or PROTOCOL_TYPE) != PROTOCOL_TYPE or (
        request.protocol_name or protocol_name
    ) != protocol_name:
        raise RefusedError(
            ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
            f"The group protocol is {PROTOCOL_TYPE}, {protocol_name}.",
        )
    # A member that must revoke has already joined again: it first gets the assignment that it keeps.
    if work.assignment_epoch > member.member_epoch and member.member_state != UNREVOKED:
        _expect_join(work, member)
        raise RefusedError(
            ErrorCode.REBALANCE_IN_PROGRESS,
            f"A new rebalance is triggered and member {member.member_id} should rejoin to catch up.",
        )
    work.cancel(TimerKind.SYNC, member.member_id)
    work.arm_session(member)
    subscription = decode_subscription(metadata)
    version = 0 if subscription is None else min(subscription.protocol_version, NEWEST_VERSION)
    held = Assignment(partitions_by_name(member.assigned, work.image), None, version)
    return SyncGroupResponse(
        ErrorCode.NONE, request.protocol_type, request.protocol_name, encode_assignment(held)
    )


def heartbeat(work: Work, request: HeartbeatRequest) -> ErrorCode:
    """NONE, or REBALANCE_IN_PROGRESS where the member has a step to take.

    Raises RefusedError (UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION).
    """
    member = work.identified(request.member_id, request.group_instance_id)
    _classic_side(member, request.generation_id)
    work.arm_session(member)
    if (
        member.member_epoch < work.assignment_epoch
        or member.member_state == UNREVOKED
        or (member.member_state == UNRELEASED and not _waits_for_others(work, member))
    ):
        _expect_join(work, member)
        return ErrorCode.REBALANCE_IN_PROGRESS
    return ErrorCode.NONE


def _classic_side(member: ModernMember, generation_id: int) -> ClassicMembership:
    if member.classic is None:
        raise RefusedError(
            ErrorCode.UNKNOWN_MEMBER_ID,
            f"Member {member.member_id} does not use the classic protocol.",
        )
    if member.member_epoch != generation_id:
        raise RefusedError(
            ErrorCode.ILLEGAL_GENERATION,
            f"The request generation id {generation_id} is not equal to the member epoch "
            f"{member.member_epoch} of member {member.member_id}.",
        )
    return member.classic


def _waits_for_others(work: Work, member: ModernMember) -> bool:
    """Whether some partition of its target is still with another member."""
    return any(
        number not in member.assigned.get(topic, ()) and not work.is_free(topic, number)
        for topic, number in each(work.group.target_of(member.member_id))
    )


def _expect_join(work: Work, member: ModernMember) -> None:
    """The member was asked to rejoin: its time to do so runs from the first request."""
    if member.member_id not in work.soft.joining:
        work.soft.joining.add(member.member_id)
        work.arm(TimerKind.JOIN, member.rebalance_timeout_ms, member.member_id)


class Joined(NamedTuple):
    """What a JoinGroup did."""

    response: JoinGroupResponse
    downgraded: LiveGroup | None = None
    """The classic group that it made when it replaced the last member of the consumer protocol."""
    rebalance: bool = False
    """Whether the assignment of the downgraded group is older than its epoch."""


def join_classic(
    work: Work, request: JoinGroupRequest, ids: IdSource, new_topics_version: int
) -> Joined:
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
    return Joined(response, live, rebalance)


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
