"""ConsumerGroupHeartbeat: what it must look like, who sent it, whether its epoch is right, what it reports, its answer.

Most heartbeats only keep a session alive, and a look at the member is enough to recognise them.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from rebalance_audit.coordinator.assignors.server_assignors import SERVER_ASSIGNORS
from rebalance_audit.coordinator.client_side.choice import overlap
from rebalance_audit.coordinator.consumer.departure import replace_member
from rebalance_audit.coordinator.consumer.drafts import topics_in_order
from rebalance_audit.coordinator.consumer.member_change import NO_TARGET_EPOCH
from rebalance_audit.coordinator.consumer.release import Release
from rebalance_audit.coordinator.consumer.soft_state import SoftGroup
from rebalance_audit.coordinator.consumer.work import Work
from rebalance_audit.coordinator.group_tombstones import member_tombstones
from rebalance_audit.coordinator.handling import CoordinatorConfig, ErrorCode, RefusedError
from rebalance_audit.coordinator.reasons import Trigger
from rebalance_audit.coordinator.requests.consumer import (
    CLIENT_MADE_IDS_VERSION,
    JOIN_EPOCH,
    ClientAssignor,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    ConsumerGroupInstallAssignmentRequest,
    ConsumerGroupPrepareAssignmentRequest,
    HeartbeatAssignment,
    TopicIdPartitions,
)
from rebalance_audit.replay.changes import GroupType
from rebalance_audit.replay.groups import (
    LEFT_EPOCH,
    STABLE,
    STATIC_LEAVE_EPOCH,
    ModernGroup,
    ModernMember,
)
from rebalance_audit.replay.partitions import Partitions, minus, partitions_of
from rebalance_audit.wire.generated.messages import ConsumerGroupMemberMetadataAssignor


class _Rule(NamedTuple):
    """One thing that a request must not contain."""

    broken: Callable[[ConsumerGroupHeartbeatRequest, Release], bool]
    message: str


def _joins(request: ConsumerGroupHeartbeatRequest) -> bool:
    return request.member_epoch == JOIN_EPOCH


def _needs_member_id(request: ConsumerGroupHeartbeatRequest) -> bool:
    return (
        request.api_version >= CLIENT_MADE_IDS_VERSION
        or request.member_epoch > JOIN_EPOCH
        or request.member_epoch == LEFT_EPOCH
    )


def _bad_range(assignor: ClientAssignor) -> bool:
    return (
        assignor.minimum_version < -1
        or assignor.maximum_version < 0
        or assignor.maximum_version < assignor.minimum_version
        or not assignor.minimum_version <= assignor.metadata_version <= assignor.maximum_version
    )


_RULES: Final[Sequence[_Rule]] = (
    _Rule(lambda r, _: not r.member_id and _needs_member_id(r), "MemberId can't be empty."),
    _Rule(lambda r, _: not r.group_id, "GroupId can't be empty."),
    _Rule(lambda r, _: r.instance_id == "", "InstanceId can't be empty."),
    _Rule(lambda r, _: r.rack_id == "", "RackId can't be empty."),
    _Rule(
        lambda r, _: _joins(r) and r.rebalance_timeout_ms <= 0,
        "RebalanceTimeoutMs must be provided in first request.",
    ),
    _Rule(
        lambda r, _: _joins(r) and r.topic_partitions != (),
        "TopicPartitions must be empty when (re-)joining.",
    ),
    _Rule(
        lambda r, _: (
            _joins(r) and r.subscribed_topic_names is None and r.subscribed_topic_regex is None
        ),
        "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.",
    ),
    _Rule(
        lambda r, release: (
            _joins(r) and not release.empty_subscriptions and not r.subscribed_topic_names
        ),
        "SubscribedTopicNames must be set in first request.",
    ),
    _Rule(
        lambda r, _: r.member_epoch == STATIC_LEAVE_EPOCH and r.instance_id is None,
        "InstanceId can't be null.",
    ),
    _Rule(lambda r, _: r.member_epoch < STATIC_LEAVE_EPOCH, "MemberEpoch is invalid."),
    _Rule(
        lambda r, release: not release.regexes and bool(r.subscribed_topic_regex),
        "SubscribedTopicRegex is not supported.",
    ),
    _Rule(
        lambda r, _: r.server_assignor is not None and bool(r.client_assignors),
        "ServerAssignor and ClientAssignors cannot be used together.",
    ),
    _Rule(
        lambda r, _: any(not assignor.name for assignor in r.client_assignors or ()),
        "The name of a client-side assignor can't be empty.",
    ),
    _Rule(
        lambda r, _: any(_bad_range(assignor) for assignor in r.client_assignors or ()),
        "The versions of a client-side assignor are invalid.",
    ),
)
"""Checked in this order; the first broken rule is reported."""


def check_heartbeat(
    request: ConsumerGroupHeartbeatRequest, config: CoordinatorConfig, release: Release
) -> None:
    """Raises RefusedError (INVALID_REQUEST, UNSUPPORTED_ASSIGNOR)."""
    for rule in _RULES:
        if rule.broken(request, release):
            raise RefusedError(ErrorCode.INVALID_REQUEST, rule.message)
    supported = [name for name in config.server_assignors if name in SERVER_ASSIGNORS]
    if request.server_assignor is not None and request.server_assignor not in supported:
        raise RefusedError(
            ErrorCode.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {request.server_assignor} is not supported. Supported assignors: "
            f"{', '.join(supported)}.",
        )
    if request.client_assignors and not release.early_access:
        raise RefusedError(
            ErrorCode.UNSUPPORTED_ASSIGNOR, "Client-side assignors are not supported."
        )


def check_assignment_request(
    request: ConsumerGroupPrepareAssignmentRequest | ConsumerGroupInstallAssignmentRequest,
) -> None:
    """Raises RefusedError (INVALID_REQUEST)."""
    if not request.group_id:
        raise RefusedError(ErrorCode.INVALID_REQUEST, "GroupId can't be empty.")
    if not request.member_id:
        raise RefusedError(ErrorCode.INVALID_REQUEST, "MemberId can't be empty.")
    if request.member_epoch < 0:
        raise RefusedError(ErrorCode.INVALID_REQUEST, "MemberEpoch is invalid.")


class Sender(NamedTuple):
    """Who sent a heartbeat."""

    before: ModernMember
    """What its description is compared with: the member as it is, a new one, or the one that it replaces."""
    base: ModernMember
    """What the request is applied to; the same as `before` except in one release."""
    replaced: bool = False
    """Whether a static member came back under another id, so that its target has to follow (3.7)."""


def require_room(work: Work, member_id: str, instance_id: str | None) -> None:
    """Raises RefusedError (GROUP_MAX_SIZE_REACHED) where a new member would exceed the group's maximum size."""
    group = work.group
    if work.release.static_passes_full_group and instance_id in group.static_members:
        return
    if len(group.members) >= work.config.consumer_max_size and member_id not in group.members:
        raise RefusedError(
            ErrorCode.GROUP_MAX_SIZE_REACHED,
            "The consumer group has reached its maximum capacity of "
            f"{work.config.consumer_max_size} members.",
        )


def sender_of(work: Work, request: ConsumerGroupHeartbeatRequest, member_id: str) -> Sender:
    """Find, create or replace the member; drafts the records of a replacement.

    Raises RefusedError (UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH, FENCED_INSTANCE_ID, UNRELEASED_INSTANCE_ID).
    """
    joins = request.member_epoch == JOIN_EPOCH
    instance_id = request.instance_id
    if instance_id is None:
        member = new_or_known(work, member_id) if joins else work.member(member_id)
        _require_epoch(work, member, request)
        return Sender(member, member)
    if not joins:
        member = work.instance_holder(instance_id, member_id)
        _require_epoch(work, member, request)
        return Sender(member, member)
    holder = work.static_member(instance_id)
    if holder is None:
        member = new_or_known(work, member_id)
        return Sender(member, member)
    if holder.member_id == member_id and _waits_for_first_target(holder):
        # The member has not joined anew: the instance is its own (KIP-848), not another's.
        return Sender(holder, holder)
    if holder.classic is None and holder.member_epoch != STATIC_LEAVE_EPOCH:
        raise RefusedError(
            ErrorCode.UNRELEASED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} cannot join the group because "
            f"the instance id is owned by member {holder.member_id}.",
        )
    if work.release.copies_replaced_member:
        copied = replace_member(work, holder, member_id)
        return Sender(copied, copied)
    work.records.extend(member_tombstones(work.group, holder.member_id))
    work.cancel_all(holder.member_id)
    if holder.member_id != member_id:
        work.departed(holder, Trigger.STATIC_MEMBER_REPLACED)
    return Sender(holder, ModernMember(member_id, assigned=holder.assigned), replaced=True)


def _waits_for_first_target(member: ModernMember) -> bool:
    """Whether the member is at epoch 0 because no client-side assignor has answered yet."""
    return (
        member.member_epoch == JOIN_EPOCH and not member.assigned and not member.pending_revocation
    )


def new_or_known(work: Work, member_id: str) -> ModernMember:
    """The member of that id; a blank one where there is none."""
    return work.group.members.get(member_id) or ModernMember(member_id)


def _require_epoch(
    work: Work, member: ModernMember, request: ConsumerGroupHeartbeatRequest
) -> None:
    """Fence a member whose epoch is not the one it should have.

    The previous epoch is accepted from a member that owns nothing beyond its assignment: the response that carried the
    new epoch may have been lost.
    """
    received, known = request.member_epoch, member.member_epoch
    if received == known or (received == JOIN_EPOCH and work.release.zero_epoch_rejoins):
        return
    owned = owned_in_heartbeat(request)
    if (
        received < known
        and received == member.previous_member_epoch
        and owned is not None
        and not minus(owned, member.assigned)
    ):
        return
    relation = "greater" if received > known else "smaller"
    raise RefusedError(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"The consumer group member has a {relation} member epoch ({received}) than the one known by "
        f"the group coordinator ({known}). The member must abandon all its partitions and rejoin.",
    )


def owned_in_heartbeat(request: ConsumerGroupHeartbeatRequest) -> Partitions | None:
    """What the member says it owns; None where it does not say."""
    reported = request.topic_partitions
    return None if reported is None else partitions_of(reported)


def described_by(base: ModernMember, request: ConsumerGroupHeartbeatRequest) -> ModernMember:
    """The member as the request describes it; fields left out stay as they are."""

    def latest(value: str | None, known: str | None) -> str | None:
        return known if value is None else value

    names, regex = request.subscribed_topic_names, request.subscribed_topic_regex
    timeout_ms, assignors = request.rebalance_timeout_ms, request.client_assignors
    return replace(
        base,
        described=True,
        instance_id=latest(request.instance_id, base.instance_id),
        rack_id=latest(request.rack_id, base.rack_id),
        client_id=request.client_id,
        client_host=request.client_host,
        subscribed_topic_names=(
            base.subscribed_topic_names if names is None else tuple(sorted(set(names)))
        ),
        subscribed_topic_regex=base.subscribed_topic_regex if regex is None else regex,
        rebalance_timeout_ms=base.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
        server_assignor=latest(request.server_assignor, base.server_assignor),
        classic=None,
        client_assignors=(
            base.client_assignors
            if assignors is None
            else tuple(
                ConsumerGroupMemberMetadataAssignor(
                    assignor.name,
                    assignor.minimum_version,
                    assignor.maximum_version,
                    assignor.reason,
                    assignor.metadata_version,
                    assignor.metadata_bytes,
                )
                for assignor in assignors
            )
        ),
    )


def require_common_versions(work: Work, updated: ModernMember) -> None:
    """Raises RefusedError (UNSUPPORTED_ASSIGNOR) for versions that share nothing with those of another member."""
    if not updated.client_assignors:
        return
    others = dict(work.members_with(updated))
    del others[updated.member_id]
    if not overlap(updated.client_assignors, others.values()):
        raise RefusedError(
            ErrorCode.UNSUPPORTED_ASSIGNOR,
            "The version range of a client-side assignor does not overlap with the group's.",
        )


def response_to(
    work: Work,
    request: ConsumerGroupHeartbeatRequest,
    before: ModernMember,
    after: ModernMember,
    *,
    should_compute: bool,
) -> ConsumerGroupHeartbeatResponse:
    """The member's epoch, and its assignment where that changed or where the member may not know it."""
    is_full = (
        request.rebalance_timeout_ms != -1
        and (
            request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None
        )
        and request.topic_partitions is not None
    )
    sends_assignment = (
        request.member_epoch == JOIN_EPOCH
        or is_full
        or after.assigned != before.assigned
        or (work.release.answers_owned and request.topic_partitions is not None)
    )
    return ConsumerGroupHeartbeatResponse(
        member_id=after.member_id,
        member_epoch=after.member_epoch,
        heartbeat_interval_ms=work.heartbeat_interval_ms(),
        assignment=assignment_of(after) if sends_assignment else None,
        should_compute_assignment=should_compute,
    )


def assignment_of(member: ModernMember) -> HeartbeatAssignment:
    """What the member may use and, in the early access release, what it waits for."""
    result = member.client_assignor_result
    assignment = HeartbeatAssignment(
        response_partitions(member.assigned), response_partitions(member.pending_assignment)
    )
    return assignment if result is None else assignment._replace(**result._asdict())


def response_partitions(partitions: Partitions) -> tuple[TopicIdPartitions, ...]:
    """Partitions as responses give them, topics by id."""
    return tuple(TopicIdPartitions(*each) for each in topics_in_order(partitions))


_UNCHANGED: Final = ConsumerGroupHeartbeatRequest("", "", 0)[4:11]
"""The fields between the member's identity and the connection's, all left out."""


def is_quiet(
    group: ModernGroup,
    soft: SoftGroup,
    request: ConsumerGroupHeartbeatRequest,
) -> bool:
    """Whether the heartbeat's member and its group have reached their target and the topics are unchanged.

    Regular expressions may still be due to be resolved: see `may_resolve`.
    """
    member_epoch = request.member_epoch
    member = group.members.get(request.member_id)
    return (
        member is not None
        and 0 < member_epoch == member.member_epoch == group.assignment_epoch == group.group_epoch
        and member.member_state == STABLE
        and member.target_member_epoch in {member_epoch, NO_TARGET_EPOCH}
        and request[4:11] == _UNCHANGED
        and _is_the_same(member, request)
        and soft.group is group
        and not soft.is_draft
        and soft.client_run is None
        and soft.topics_are_checked
        and group.has_epoch_record
        and group.has_assignment_record
        and group.group_type is GroupType.CONSUMER
    )


def _is_the_same(member: ModernMember, request: ConsumerGroupHeartbeatRequest) -> bool:
    return (
        member.described
        and member.classic is None
        and member.instance_id == request.instance_id
        and member.client_id == request.client_id
        and member.client_host == request.client_host
    )


def may_resolve(
    group: ModernGroup,
    soft: SoftGroup,
    config: CoordinatorConfig,
    new_topics_version: int,
    now_ms: int,
) -> bool:
    """Whether the group's regular expressions may have to be resolved; the handlers decide."""
    last = next(iter(group.regex_resolutions.values()), None)
    return (
        last is None
        or len(soft.expressions) != len(group.regex_resolutions)
        or last.metadata_version < new_topics_version
        or now_ms > last.resolved_at_ms + config.consumer_regex_refresh_interval_ms
    )
