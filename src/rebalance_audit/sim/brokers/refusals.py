"""Answers of a broker that cannot serve a request now: the same error in each API's own response."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from rebalance_audit.coordinator.handling import ErrorCode
from rebalance_audit.coordinator.requests.admin import DeleteGroupsRequest, DeleteGroupsResponse
from rebalance_audit.coordinator.requests.classic import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from rebalance_audit.coordinator.requests.consumer import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    ConsumerGroupInstallAssignmentRequest,
    ConsumerGroupInstallAssignmentResponse,
    ConsumerGroupPrepareAssignmentRequest,
    ConsumerGroupPrepareAssignmentResponse,
)
from rebalance_audit.coordinator.requests.offsets import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    WriteTxnMarkerRequest,
    WriteTxnMarkerResponse,
)
from rebalance_audit.coordinator.requests.share import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)
from rebalance_audit.coordinator.requests.streams import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
)

Request = tuple[object, ...]


def _commit_topics(
    request: OffsetCommitRequest | TxnOffsetCommitRequest, error: ErrorCode
) -> tuple[OffsetCommitResponseTopic, ...]:
    return tuple(
        OffsetCommitResponseTopic(
            topic.name,
            tuple(
                OffsetCommitResponsePartition(partition.partition_index, error)
                for partition in topic.partitions
            ),
            topic.topic_id,
        )
        for topic in request.topics
    )


_REFUSALS: Final[Mapping[type, Callable[[Any, ErrorCode], tuple[object, ...]]]] = {
    JoinGroupRequest: lambda request, error: JoinGroupResponse(error, request.member_id),
    SyncGroupRequest: lambda _, error: SyncGroupResponse(error),
    HeartbeatRequest: lambda _, error: HeartbeatResponse(error),
    LeaveGroupRequest: lambda _, error: LeaveGroupResponse(error),
    ConsumerGroupHeartbeatRequest: lambda _, error: ConsumerGroupHeartbeatResponse(error),
    ConsumerGroupPrepareAssignmentRequest: lambda _, error: ConsumerGroupPrepareAssignmentResponse(
        error
    ),
    ConsumerGroupInstallAssignmentRequest: lambda _, error: ConsumerGroupInstallAssignmentResponse(
        error
    ),
    ShareGroupHeartbeatRequest: lambda _, error: ShareGroupHeartbeatResponse(error),
    StreamsGroupHeartbeatRequest: lambda _, error: StreamsGroupHeartbeatResponse(error),
    OffsetCommitRequest: lambda request, error: OffsetCommitResponse(
        _commit_topics(request, error)
    ),
    TxnOffsetCommitRequest: lambda request, error: TxnOffsetCommitResponse(
        _commit_topics(request, error)
    ),
    OffsetFetchRequest: lambda request, error: OffsetFetchResponse(
        tuple(OffsetFetchResponseGroup(group.group_id, (), error) for group in request.groups)
    ),
    OffsetDeleteRequest: lambda _, error: OffsetDeleteResponse(error),
    WriteTxnMarkerRequest: lambda _, error: WriteTxnMarkerResponse(error),
    DeleteGroupsRequest: lambda _, __: DeleteGroupsResponse(()),
}


def refusal(request: Request, error: ErrorCode) -> tuple[object, ...]:
    """The response to the request with nothing but this error."""
    return _REFUSALS[type(request)](request, error)
