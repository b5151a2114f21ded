"""StreamsGroupHeartbeat (KIP-1071), with the fields and names of the KIP's schema as far as the coordinator uses them.

As in `requests.consumer`, `client_id` and `client_host` come from the request's header and the connection.
"""

from typing import NamedTuple

from rebalance_audit.coordinator.handling import ErrorCode


class TaskIds(NamedTuple):
    """Tasks of one subtopology."""

    subtopology_id: str
    partitions: tuple[int, ...]


class Subtopology(NamedTuple):
    """One part of a topology: it has as many tasks as its largest source topic has partitions."""

    subtopology_id: str
    source_topics: tuple[str, ...]
    state_changelog_topics: tuple[str, ...] = ()
    """Internal topics, which the broker creates on a member's behalf."""
    repartition_source_topics: tuple[str, ...] = ()
    """Internal topics too; each has as many partitions as the largest source topic of the topology."""
    repartition_sink_topics: tuple[str, ...] = ()


class Topology(NamedTuple):
    """What an application processes."""

    epoch: int
    subtopologies: tuple[Subtopology, ...]


class Endpoint(NamedTuple):
    """Where a member answers interactive queries."""

    host: str
    port: int


class StreamsGroupHeartbeatRequest(NamedTuple):
    """Join, stay in, or leave a streams group. Fields unchanged since the last heartbeat may be left out."""

    group_id: str
    member_id: str
    member_epoch: int
    """0 joins, -1 leaves, -2 leaves temporarily (static members); else the epoch of the last response."""
    instance_id: str | None = None
    """From 4.4 on."""
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    topology: Topology | None = None
    active_tasks: tuple[TaskIds, ...] | None = None
    standby_tasks: tuple[TaskIds, ...] | None = None
    warmup_tasks: tuple[TaskIds, ...] | None = None
    process_id: str | None = None
    user_endpoint: Endpoint | None = None
    client_tags: tuple[tuple[str, str], ...] | None = None
    client_id: str = ""
    client_host: str = "/127.0.0.1"


class StreamsGroupHeartbeatResponse(NamedTuple):
    """The member's epoch and, where the member may not know them, its tasks."""

    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    member_id: str | None = None
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0
    active_tasks: tuple[TaskIds, ...] | None = None
    standby_tasks: tuple[TaskIds, ...] | None = None
    warmup_tasks: tuple[TaskIds, ...] | None = None
    missing_internal_topics: tuple[tuple[str, int], ...] = ()
    """Not a field of the message: the topics, with partition counts, that the broker now creates for the group."""
