"""OffsetCommit, TxnOffsetCommit, OffsetFetch, OffsetDelete and DeleteGroups, with the fields and names of Kafka's APIs.

Two more are not sent by clients: the end of a transaction, from the transaction coordinator, and the deletion of
topics, from the metadata log.
"""

from typing import NamedTuple

from rebalance_audit.coordinator.handling import ErrorCode
from rebalance_audit.coordinator.requests.classic import UNKNOWN_GENERATION, UNKNOWN_MEMBER_ID
from rebalance_audit.wire.generated.messages import ZERO_UUID

OFFSET_COMMIT_VERSION = 10
OFFSET_FETCH_VERSION = 10
TXN_OFFSET_COMMIT_VERSION = 6

NO_OFFSET = -1
"""Returned as committed offset of a partition that has none."""


class OffsetCommitRequestPartition(NamedTuple):
    """One offset to commit."""

    partition_index: int
    committed_offset: int
    committed_leader_epoch: int = -1
    committed_metadata: str | None = None


class OffsetCommitRequestTopic(NamedTuple):
    """Offsets of one topic. From version 10 on a client names it by id, and the name is empty."""

    name: str
    partitions: tuple[OffsetCommitRequestPartition, ...]
    topic_id: bytes = ZERO_UUID


class OffsetCommitRequest(NamedTuple):
    """Commit offsets, as a member (generation or member epoch >= 0) or as no member (-1, "")."""

    group_id: str
    topics: tuple[OffsetCommitRequestTopic, ...]
    generation_id_or_member_epoch: int = UNKNOWN_GENERATION
    member_id: str = UNKNOWN_MEMBER_ID
    group_instance_id: str | None = None
    retention_time_ms: int = -1
    """Versions 2 to 4: how long to keep the offsets; -1 = by the broker's setting."""
    api_version: int = OFFSET_COMMIT_VERSION


class OffsetCommitResponsePartition(NamedTuple):
    """The result of one commit."""

    partition_index: int
    error_code: ErrorCode


class OffsetCommitResponseTopic(NamedTuple):
    """The results of the commits of one topic."""

    name: str
    partitions: tuple[OffsetCommitResponsePartition, ...]
    topic_id: bytes = ZERO_UUID


class OffsetCommitResponse(NamedTuple):
    """Each partition with its error; an error that concerns the whole request is set on every partition."""

    topics: tuple[OffsetCommitResponseTopic, ...]


class TxnOffsetCommitRequest(NamedTuple):
    """Commit offsets as part of a producer's transaction."""

    transactional_id: str
    group_id: str
    producer_id: int
    producer_epoch: int
    topics: tuple[OffsetCommitRequestTopic, ...]
    generation_id: int = UNKNOWN_GENERATION
    member_id: str = UNKNOWN_MEMBER_ID
    group_instance_id: str | None = None
    api_version: int = TXN_OFFSET_COMMIT_VERSION
    """Before version 6 an unknown group or a stale member epoch is answered with ILLEGAL_GENERATION."""


class TxnOffsetCommitResponse(NamedTuple):
    """As OffsetCommitResponse."""

    topics: tuple[OffsetCommitResponseTopic, ...]


class WriteTxnMarkerRequest(NamedTuple):
    """A producer's transaction ended: write its marker to the group partition."""

    producer_id: int
    producer_epoch: int
    committed: bool
    coordinator_epoch: int = 0
    """Epoch of the transaction coordinator."""


class WriteTxnMarkerResponse(NamedTuple):
    """Whether the marker was written."""

    error_code: ErrorCode


class OffsetFetchRequestTopic(NamedTuple):
    """Partitions of one topic."""

    name: str
    partition_indexes: tuple[int, ...]
    topic_id: bytes = ZERO_UUID


class OffsetFetchRequestGroup(NamedTuple):
    """The offsets of one group to fetch."""

    group_id: str
    topics: tuple[OffsetFetchRequestTopic, ...] | None = None
    """None = every partition that has an offset."""
    member_id: str | None = None
    """From version 9 on; None where the client is not a member of a consumer group."""
    member_epoch: int = -1


class OffsetFetchRequest(NamedTuple):
    """Ask for committed offsets."""

    groups: tuple[OffsetFetchRequestGroup, ...]
    require_stable: bool = False
    """Answer UNSTABLE_OFFSET_COMMIT for a partition with an offset pending in an open transaction."""
    api_version: int = OFFSET_FETCH_VERSION


class OffsetFetchResponsePartition(NamedTuple):
    """One partition's committed offset; `NO_OFFSET` where it has none."""

    partition_index: int
    committed_offset: int
    committed_leader_epoch: int = -1
    metadata: str = ""
    error_code: ErrorCode = ErrorCode.NONE


class OffsetFetchResponseTopic(NamedTuple):
    """Offsets of one topic."""

    name: str
    partitions: tuple[OffsetFetchResponsePartition, ...]
    topic_id: bytes = ZERO_UUID


class OffsetFetchResponseGroup(NamedTuple):
    """Offsets of one group."""

    group_id: str
    topics: tuple[OffsetFetchResponseTopic, ...] = ()
    error_code: ErrorCode = ErrorCode.NONE


class OffsetFetchResponse(NamedTuple):
    """Offsets of each group asked for, in the order they were asked for."""

    groups: tuple[OffsetFetchResponseGroup, ...]


class OffsetDeleteRequestTopic(NamedTuple):
    """Partitions of one topic."""

    name: str
    partition_indexes: tuple[int, ...]


class OffsetDeleteRequest(NamedTuple):
    """An administrator deletes committed offsets."""

    group_id: str
    topics: tuple[OffsetDeleteRequestTopic, ...]


class OffsetDeleteResponseTopic(NamedTuple):
    """The results of the deletions of one topic."""

    name: str
    partitions: tuple[OffsetCommitResponsePartition, ...]


class OffsetDeleteResponse(NamedTuple):
    """`error_code` is the group's; with NONE each partition has its own."""

    error_code: ErrorCode
    topics: tuple[OffsetDeleteResponseTopic, ...] = ()


class DeletedTopic(NamedTuple):
    """A topic that is gone."""

    topic_id: bytes
    name: str


class TopicsDeleted(NamedTuple):
    """The metadata log says that topics were deleted: their offsets are deleted too. There is no response."""

    topics: tuple[DeletedTopic, ...]


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
