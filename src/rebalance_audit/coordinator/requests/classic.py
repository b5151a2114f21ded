"""JoinGroup, SyncGroup, Heartbeat and LeaveGroup, with the fields and names of Kafka's API schemas.

`api_version`, `client_id` and `client_host` are not fields of the messages: they come from the request's header and
the connection. A request built without an `api_version` has the newest version.
"""

from typing import NamedTuple

from rebalance_audit.coordinator.handling import ErrorCode

UNKNOWN_MEMBER_ID = ""
"""The member id that a client sends when it has none yet."""

UNKNOWN_GENERATION = -1
"""In responses: no generation. In offset commits: the committer is not a member."""

JOIN_GROUP_VERSION = 9
LEAVE_GROUP_VERSION = 5


class JoinGroupProtocol(NamedTuple):
    """One protocol that a member supports; its request lists the most preferred first."""

    name: str
    metadata: bytes
    """A subscription, where the protocol type is `consumer`."""


class JoinGroupRequest(NamedTuple):
    """Become a member, or take part in the next generation."""

    group_id: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    """-1 (version 0 has no such field): the session timeout is used instead."""
    member_id: str
    protocol_type: str
    protocols: tuple[JoinGroupProtocol, ...]
    group_instance_id: str | None = None
    reason: str | None = None
    client_id: str = ""
    client_host: str = "/127.0.0.1"
    api_version: int = JOIN_GROUP_VERSION
    """From version 4 on a new member first gets its id; from 9 on the response can ask a leader to skip the
    assignment."""


class JoinGroupResponseMember(NamedTuple):
    """A member as the leader sees it."""

    member_id: str
    group_instance_id: str | None
    metadata: bytes
    """What the member sent for the chosen protocol."""


class JoinGroupResponse(NamedTuple):
    """The generation that the member is part of; its members go to the leader only."""

    error_code: ErrorCode
    member_id: str
    generation_id: int = UNKNOWN_GENERATION
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader: str = ""
    skip_assignment: bool = False
    members: tuple[JoinGroupResponseMember, ...] = ()


class SyncGroupAssignment(NamedTuple):
    """What the leader assigned to one member."""

    member_id: str
    assignment: bytes


class SyncGroupRequest(NamedTuple):
    """Ask for the member's assignment; the leader's request carries all assignments."""

    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None = None
    protocol_type: str | None = None
    """None before version 5, like the name; it is then not compared."""
    protocol_name: str | None = None
    assignments: tuple[SyncGroupAssignment, ...] = ()


class SyncGroupResponse(NamedTuple):
    """The member's assignment; empty bytes where the leader gave it none."""

    error_code: ErrorCode
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignment: bytes = b""


class HeartbeatRequest(NamedTuple):
    """A heartbeat of a member."""

    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None = None


class HeartbeatResponse(NamedTuple):
    """REBALANCE_IN_PROGRESS asks the member to join again."""

    error_code: ErrorCode


class MemberIdentity(NamedTuple):
    """A member that leaves, by member id, by instance id, or by both."""

    member_id: str = UNKNOWN_MEMBER_ID
    group_instance_id: str | None = None
    reason: str | None = None


class LeaveGroupRequest(NamedTuple):
    """Remove members; an administrator may remove several. Before version 3 it is exactly one, by member id."""

    group_id: str
    members: tuple[MemberIdentity, ...]
    api_version: int = LEAVE_GROUP_VERSION


class MemberResponse(NamedTuple):
    """The result of one member's leave."""

    member_id: str
    group_instance_id: str | None
    error_code: ErrorCode


class LeaveGroupResponse(NamedTuple):
    """The result of each leave. Before version 3 the error of the one member is the response's own."""

    error_code: ErrorCode
    members: tuple[MemberResponse, ...] = ()
