"""ListGroups, DescribeGroups and DeleteGroups, with the fields and names of Kafka's API schemas."""

from typing import NamedTuple

from rebalance_audit.coordinator.handling import ErrorCode

DESCRIBE_GROUPS_VERSION = 6


class ListGroupsRequest(NamedTuple):
    """List the coordinator's groups. The filters ignore case; an empty one lets all groups pass."""

    states_filter: tuple[str, ...] = ()
    types_filter: tuple[str, ...] = ()


class ListedGroup(NamedTuple):
    """One group of the list, with its state and type in Kafka's spelling."""

    group_id: str
    protocol_type: str
    group_state: str
    group_type: str


class ListGroupsResponse(NamedTuple):
    """The groups, ordered by group id."""

    error_code: ErrorCode
    groups: tuple[ListedGroup, ...] = ()


class DescribeGroupsRequest(NamedTuple):
    """Describe classic groups in full."""

    groups: tuple[str, ...]
    api_version: int = DESCRIBE_GROUPS_VERSION
    """Before version 6 an unknown group is described as Dead instead of GROUP_ID_NOT_FOUND."""


class DescribedGroupMember(NamedTuple):
    """One member of a described group."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    member_metadata: bytes
    """Metadata for the protocol of the generation; empty while the group rebalances, as is the assignment."""
    member_assignment: bytes


class DescribedGroup(NamedTuple):
    """One described group."""

    group_id: str
    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    group_state: str = ""
    protocol_type: str = ""
    protocol_data: str = ""
    """Name of the protocol; empty unless the group is stable."""
    members: tuple[DescribedGroupMember, ...] = ()


class DescribeGroupsResponse(NamedTuple):
    """The groups in the order they were asked for."""

    groups: tuple[DescribedGroup, ...]


class DeleteGroupsRequest(NamedTuple):
    """Delete groups, with their offsets."""

    groups_names: tuple[str, ...]


class DeletableGroupResult(NamedTuple):
    """The result of one deletion."""

    group_id: str
    error_code: ErrorCode


class DeleteGroupsResponse(NamedTuple):
    """Each group with its error, in the order of the request."""

    results: tuple[DeletableGroupResult, ...]
