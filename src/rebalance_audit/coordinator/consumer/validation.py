"""What a request must look like, checked before its group is read."""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from rebalance_audit.coordinator.assignors.server_assignors import SERVER_ASSIGNORS
from rebalance_audit.coordinator.consumer.refusal import RefusedError
from rebalance_audit.coordinator.consumer.release import Release
from rebalance_audit.coordinator.handling import CoordinatorConfig, ErrorCode
from rebalance_audit.coordinator.requests.consumer import (
    CLIENT_MADE_IDS_VERSION,
    JOIN_EPOCH,
    ClientAssignor,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupInstallAssignmentRequest,
    ConsumerGroupPrepareAssignmentRequest,
)
from rebalance_audit.replay.groups.modern_group import LEFT_EPOCH, STATIC_LEAVE_EPOCH


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
