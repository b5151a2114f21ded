"""The APIs of the consumer protocol, with the fields and names of KIP-848's schemas and what Kafka has added since.

`api_version`, `client_id` and `client_host` are not fields of the messages: they come from the request's header and
the connection. ConsumerGroupPrepareAssignment and ConsumerGroupInstallAssignment are the KIP's alone, as are the
fields that client-side assignors need: no Kafka release has them.
"""

from typing import NamedTuple

from rebalance_audit.coordinator.handling import ErrorCode

JOIN_EPOCH = 0
"""Member epoch of a request that joins, or joins again."""

HEARTBEAT_VERSION = 1
CLIENT_MADE_IDS_VERSION = 1
"""From this version of ConsumerGroupHeartbeat on clients generate their member id themselves (KIP-1082)."""


class TopicIdPartitions(NamedTuple):
    """One topic with some of its partitions."""

    topic_id: bytes
    partitions: tuple[int, ...]


class ClientAssignor(NamedTuple):
    """A client-side assignor that a member supports."""

    name: str
    minimum_version: int
    """-1: the assignor also reads what classic members sent, which has no version of its own."""
    maximum_version: int
    reason: int = 0
    """Other than 0: the member asks for a new assignment."""
    metadata_version: int = 0
    metadata_bytes: bytes = b""


class ConsumerGroupHeartbeatRequest(NamedTuple):
    """Join, stay in, or leave a group. Fields unchanged since the last heartbeat may be left out."""

    group_id: str
    member_id: str
    member_epoch: int
    """0 joins, -1 leaves, -2 leaves temporarily (static members); else the epoch of the last response."""
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    subscribed_topic_names: tuple[str, ...] | None = None
    subscribed_topic_regex: str | None = None
    """"" ends a subscription by expression."""
    server_assignor: str | None = None
    topic_partitions: tuple[TopicIdPartitions, ...] | None = None
    """Partitions that the member holds."""
    client_assignors: tuple[ClientAssignor, ...] | None = None
    """The most preferred one first."""
    client_id: str = ""
    client_host: str = "/127.0.0.1"
    api_version: int = HEARTBEAT_VERSION


class HeartbeatAssignment(NamedTuple):
    """A member's assignment. All but the first field belong to client-side assignors."""

    topic_partitions: tuple[TopicIdPartitions, ...]
    """Partitions that the member may use at once."""
    pending_topic_partitions: tuple[TopicIdPartitions, ...] = ()
    """Partitions that it gets when their owners have released them."""
    error: int = 0
    metadata_version: int = 0
    metadata_bytes: bytes = b""


class ConsumerGroupHeartbeatResponse(NamedTuple):
    """The member's epoch and, where the member may not know it, its assignment."""

    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    member_id: str | None = None
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0
    assignment: HeartbeatAssignment | None = None
    should_compute_assignment: bool = False
    """Whether the member must run its assignor, beginning with ConsumerGroupPrepareAssignment."""


class ConsumerGroupPrepareAssignmentRequest(NamedTuple):
    """Ask for the input of a client-side assignor."""

    group_id: str
    member_id: str
    member_epoch: int


class PreparedAssignor(NamedTuple):
    """What one member sent for the chosen assignor."""

    reason: int
    metadata_version: int
    """-1: the bytes are a classic member's user data."""
    metadata_bytes: bytes


class PreparedMember(NamedTuple):
    """One member as the assignor sees it."""

    member_id: str
    member_epoch: int
    instance_id: str | None
    rack_id: str | None
    subscribed_topic_ids: tuple[bytes, ...]
    assignor: PreparedAssignor
    topic_partitions: tuple[TopicIdPartitions, ...]
    """Its current target."""


class PreparedTopic(NamedTuple):
    """One subscribed topic."""

    topic_id: bytes
    topic_name: str
    num_partitions: int


class ConsumerGroupPrepareAssignmentResponse(NamedTuple):
    """The group at `group_epoch`."""

    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    group_epoch: int = -1
    assignor_name: str = ""
    members: tuple[PreparedMember, ...] = ()
    topics: tuple[PreparedTopic, ...] = ()


class InstalledMember(NamedTuple):
    """What the assignor gives one member."""

    member_id: str
    topic_partitions: tuple[TopicIdPartitions, ...]
    metadata_version: int = 0
    metadata_bytes: bytes = b""


class ConsumerGroupInstallAssignmentRequest(NamedTuple):
    """Deliver the result of a client-side assignor."""

    group_id: str
    member_id: str
    member_epoch: int
    group_epoch: int
    """The group epoch that ConsumerGroupPrepareAssignment returned."""
    error: int = 0
    """Other than 0: the assignor failed."""
    members: tuple[InstalledMember, ...] = ()


class ConsumerGroupInstallAssignmentResponse(NamedTuple):
    """Whether the assignment was installed."""

    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
