"""Answers of a broker that cannot serve a request now: the same error in each API's own response."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from rebalance_audit.coordinator.handling import ErrorCode
from rebalance_audit.coordinator.offset_commits import refused_topic
from rebalance_audit.coordinator.requests import classic, consumer, offsets, share, streams

_RESPONSES: Final[Mapping[type, Callable[[ErrorCode], tuple[object, ...]]]] = {
    classic.SyncGroupRequest: classic.SyncGroupResponse,
    classic.HeartbeatRequest: classic.HeartbeatResponse,
    classic.LeaveGroupRequest: classic.LeaveGroupResponse,
    consumer.ConsumerGroupHeartbeatRequest: consumer.ConsumerGroupHeartbeatResponse,
    consumer.ConsumerGroupPrepareAssignmentRequest: consumer.ConsumerGroupPrepareAssignmentResponse,
    consumer.ConsumerGroupInstallAssignmentRequest: consumer.ConsumerGroupInstallAssignmentResponse,
    share.ShareGroupHeartbeatRequest: share.ShareGroupHeartbeatResponse,
    streams.StreamsGroupHeartbeatRequest: streams.StreamsGroupHeartbeatResponse,
    offsets.OffsetDeleteRequest: offsets.OffsetDeleteResponse,
    offsets.WriteTxnMarkerRequest: offsets.WriteTxnMarkerResponse,
}
"""Request -> its response, where the error is the first field and all it has to say."""


def refusal(request: Any, error: ErrorCode) -> tuple[object, ...]:
    """The response to the request with nothing but this error."""
    match request:
        case classic.JoinGroupRequest():
            return classic.JoinGroupResponse(error, request.member_id)
        case offsets.OffsetCommitRequest():
            return offsets.OffsetCommitResponse(
                tuple(refused_topic(topic, error) for topic in request.topics)
            )
        case offsets.TxnOffsetCommitRequest():
            return offsets.TxnOffsetCommitResponse(
                tuple(refused_topic(topic, error) for topic in request.topics)
            )
        case offsets.OffsetFetchRequest():
            groups = (
                offsets.OffsetFetchResponseGroup(group.group_id, (), error)
                for group in request.groups
            )
            return offsets.OffsetFetchResponse(tuple(groups))
        case offsets.DeleteGroupsRequest():
            return offsets.DeleteGroupsResponse(())
    return _RESPONSES[type(request)](error)
