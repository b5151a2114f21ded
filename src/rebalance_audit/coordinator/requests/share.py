"""ShareGroupHeartbeat (KIP-932), with the fields and names of the KIP's schema.

As in `requests.consumer`, `client_id` and `client_host` come from the request's header and the connection.
"""

from typing import NamedTuple

from rebalance_audit.coordinator.handling import ErrorCode
from rebalance_audit.coordinator.requests.consumer import TopicIdPartitions


class ShareGroupHeartbeatRequest(NamedTuple):
    """Join, stay in, or leave a share group. Fields unchanged since the last heartbeat may be left out."""

    group_id: str
    member_id: str
    member_epoch: int
    """0 joins, -1 leaves; else the epoch of the last response."""
    rack_id: str | None = None
    subscribed_topic_names: tuple[str, ...] | None = None
    client_id: str = ""
    client_host: str = "/127.0.0.1"


class ShareGroupHeartbeatResponse(NamedTuple):
    """The member's epoch and, where the member may not know it, its assignment."""

    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    member_id: str | None = None
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0
    assignment: tuple[TopicIdPartitions, ...] | None = None
