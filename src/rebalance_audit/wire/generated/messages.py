# fmt: off
"""Keys, values and nested structs of coordinator records. Generated; do not edit.

One class holds all versions and layouts of a message: fields that one of them lacks have a default
and come last. Uuids are 16 raw bytes, arrays are tuples. `make codegen` writes this file from
schemas/records. A field without an explanation means what the last one of its name means.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import Final, NamedTuple, TypeAlias, get_args

ZERO_UUID: Final = bytes(16)


class RecordType(IntEnum):
    """What a record is about: the number that its key begins with."""

    LEGACY_OFFSET_COMMIT = 0
    OFFSET_COMMIT = 1
    GROUP_METADATA = 2
    CONSUMER_GROUP_METADATA = 3
    CONSUMER_GROUP_PARTITION_METADATA = 4
    CONSUMER_GROUP_MEMBER_METADATA = 5
    CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA = 6
    CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER = 7
    CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT = 8
    SHARE_GROUP_PARTITION_METADATA = 9
    SHARE_GROUP_MEMBER_METADATA = 10
    SHARE_GROUP_METADATA = 11
    SHARE_GROUP_TARGET_ASSIGNMENT_METADATA = 12
    SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER = 13
    SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT = 14
    SHARE_GROUP_STATE_PARTITION_METADATA = 15
    CONSUMER_GROUP_REGULAR_EXPRESSION = 16
    STREAMS_GROUP_METADATA = 17
    STREAMS_GROUP_PARTITION_METADATA = 18
    STREAMS_GROUP_MEMBER_METADATA = 19
    STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA = 20
    STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER = 21
    STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT = 22
    STREAMS_GROUP_TOPOLOGY = 23
    STREAMS_GROUP_TARGET_ASSIGNMENT_RESOLVED_TOPIC_IDS = 24


class LegacyOffsetCommitKey(NamedTuple):
    """Key of a committed offset as the first releases wrote it."""

    group: str
    """Id of the group."""
    topic: str
    """Name of the topic."""
    partition: int
    """Partition number."""


class LegacyOffsetCommitValue(NamedTuple):
    """A committed offset under the oldest key type; no release that is still run writes it."""

    offset: int
    """Position from which the group would go on reading."""
    metadata: str
    """Text that the client stored with the commit."""
    commit_timestamp: int
    """Time of the commit, epoch ms."""


class OffsetCommitKey(NamedTuple):
    """Key of a committed offset: one per group and topic partition."""

    group: str
    topic: str
    partition: int


class OffsetCommitValue(NamedTuple):
    """A committed offset. It names neither the member nor the epoch that committed."""

    offset: int
    metadata: str
    """Text that the client stored with the commit; empty when it stored none."""
    commit_timestamp: int
    """Coordinator clock at the commit, epoch ms."""
    leader_epoch: int = -1
    """Leader epoch of the last consumed record; -1 = the client gave none."""
    expire_timestamp: int = -1
    """When the offset expires, epoch ms; -1 = by the retention setting of the broker."""
    topic_id: bytes = ZERO_UUID
    """Id of the topic; all zero when it was not known."""


class GroupMetadataKey(NamedTuple):
    """Key of a classic group."""

    group: str


class GroupMetadataMember(NamedTuple):
    """One member of the generation."""

    member_id: str
    """Id of the member, made by the broker."""
    client_id: str
    """Client id setting of the member."""
    client_host: str
    """Address that the member connected from."""
    session_timeout: int
    """How long the member may stay silent, ms."""
    subscription: bytes
    """Metadata that the member sent for the chosen protocol."""
    assignment: bytes
    """Assignment that the leader made for the member; empty = none."""
    group_instance_id: str | None = None
    """Instance id of a static member; null for a dynamic one."""
    rebalance_timeout: int = -1
    """How long the member may take to rejoin, ms; -1 = not recorded, the session timeout holds."""
    member_version: int = -1
    """Version of the member's own layout, as Redpanda writes it; -1 = none, as in Kafka."""


class GroupMetadataValue(NamedTuple):
    """Snapshot of a classic group: a generation finished or emptied, or a static member back."""

    protocol_type: str
    """Kind of the embedded protocol: "consumer", "connect", or "" for a group that never had
    members."""
    generation: int
    """Generation that the snapshot shows."""
    protocol: str | None
    """Name of the assignor that the members agreed on; null when the group is empty."""
    leader: str | None
    """Member id of the leader; null when the group is empty."""
    members: tuple[GroupMetadataMember, ...]
    """Members of the generation."""
    current_state_timestamp: int = -1
    """When the group entered its state of that moment, epoch ms; -1 = not recorded."""


class ConsumerGroupMetadataKey(NamedTuple):
    """Key of the epoch of a consumer group."""

    group_id: str
    """Id of the group."""


class ConsumerGroupMetadataValue(NamedTuple):
    """Epoch of a consumer group; each bump writes one."""

    epoch: int
    """The group epoch."""
    metadata_hash: int = 0
    """Hash over the subscribed topics that exist, good for equality only; 0 = none of them exists
    or not recorded."""


class ConsumerGroupPartitionMetadataKey(NamedTuple):
    """Key of the topic metadata of a consumer group."""

    group_id: str


class ConsumerGroupPartitionMetadataPartitionMetadata(NamedTuple):
    """Racks of the replicas of one partition."""

    partition: int
    racks: tuple[str, ...]
    """Racks that hold a replica."""


class ConsumerGroupPartitionMetadataTopicMetadata(NamedTuple):
    """What the coordinator knew of one subscribed topic."""

    topic_id: bytes
    """Id of the topic."""
    topic_name: str
    """Name of the topic when the record was written."""
    num_partitions: int
    """Number of partitions of the topic."""
    partition_metadata: tuple[ConsumerGroupPartitionMetadataPartitionMetadata, ...]
    """Racks per partition; empty when no partition has a known rack."""


class ConsumerGroupPartitionMetadataValue(NamedTuple):
    """Topics that a consumer group was subscribed to, with partition counts; gone since 4.1."""

    topics: tuple[ConsumerGroupPartitionMetadataTopicMetadata, ...]
    """The subscribed topics that existed."""
    epoch: int = -1
    """Group epoch of the metadata."""


class ConsumerGroupMemberMetadataKey(NamedTuple):
    """Key of what a consumer group member said about itself."""

    group_id: str
    member_id: str
    """Id of the member: made by the broker (classic) or by the client (KIP-848)."""


class ConsumerGroupMemberMetadataClassicProtocol(NamedTuple):
    """One protocol that a classic member supports."""

    name: str
    """Name of the protocol."""
    metadata: bytes
    """Subscription that the member sent for it."""


class ConsumerGroupMemberMetadataClassicMemberMetadata(NamedTuple):
    """Classic-protocol side of a member of a consumer group."""

    session_timeout_ms: int
    """How long the member may stay silent, ms."""
    supported_protocols: tuple[ConsumerGroupMemberMetadataClassicProtocol, ...]
    """Protocols the member supports, in its order of preference."""


class ConsumerGroupMemberMetadataAssignor(NamedTuple):
    """One client-side assignor that a member offers."""

    name: str
    """Name of the assignor."""
    minimum_version: int
    """Lowest metadata version it reads."""
    maximum_version: int
    """Highest metadata version it reads."""
    reason: int
    """Why the member reported it."""
    version: int
    """Version of the metadata."""
    metadata: bytes
    """Metadata for the assignor."""


class ConsumerGroupMemberMetadataValue(NamedTuple):
    """What a member of a consumer group said about itself: subscription, client, timeouts."""

    instance_id: str | None
    """Instance id of a static member; null for a dynamic one."""
    rack_id: str | None
    """Rack that the member gave; null for none."""
    client_id: str
    client_host: str
    subscribed_topic_names: tuple[str, ...]
    """Topics subscribed by name."""
    subscribed_topic_regex: str | None
    """Subscribed regular expression; null or empty for none."""
    rebalance_timeout_ms: int
    """How long the member may take to give partitions up, ms."""
    server_assignor: str | None
    """Server-side assignor that the member prefers; null for no preference."""
    classic_member_metadata: ConsumerGroupMemberMetadataClassicMemberMetadata | None = None
    """What a member that still speaks the classic protocol reported; null for the consumer
    protocol. An absent tag reads as an empty struct, so the null is written explicitly."""
    assignors: tuple[ConsumerGroupMemberMetadataAssignor, ...] = ()
    """Client-side assignors of the member."""


class ConsumerGroupTargetAssignmentMetadataKey(NamedTuple):
    """Key of the epoch of a target assignment of a consumer group."""

    group_id: str


class ConsumerGroupTargetAssignmentMetadataValue(NamedTuple):
    """Epoch of the installed target assignment; it closes the writing of the targets."""

    assignment_epoch: int
    """Group epoch that the target was computed for."""
    assignment_timestamp: int = 0
    """Coordinator clock when the target assignment was computed, epoch ms; 0 = not recorded."""


class ConsumerGroupTargetAssignmentMemberKey(NamedTuple):
    """Key of one member's target assignment."""

    group_id: str
    member_id: str


class ConsumerGroupTargetAssignmentMemberTopicPartitions(NamedTuple):
    """One topic with some of its partitions."""

    topic_id: bytes
    partitions: tuple[int, ...]
    """Partition numbers of the topic."""


class ConsumerGroupTargetAssignmentMemberValue(NamedTuple):
    """What the assignor wants one member of a consumer group to own."""

    topic_partitions: tuple[ConsumerGroupTargetAssignmentMemberTopicPartitions, ...]
    """The target assignment."""
    error: int = 0
    """Error code of a client-side assignor; 0 = none."""
    metadata_version: int = 0
    """Version of the metadata."""
    metadata_bytes: bytes = b""
    """Metadata that a client-side assignor made for the member."""


class ConsumerGroupCurrentMemberAssignmentKey(NamedTuple):
    """Key of one member's current assignment."""

    group_id: str
    member_id: str


class ConsumerGroupCurrentMemberAssignmentTopicPartitions(NamedTuple):
    """One topic with some of its partitions."""

    topic_id: bytes
    partitions: tuple[int, ...]
    assignment_epochs: tuple[int, ...] | None = ()
    """Epoch at which each partition of the same index was assigned to the member; an absent tag
    reads as an empty list, null is written as an explicit null."""


class ConsumerGroupCurrentMemberAssignmentValue(NamedTuple):
    """Current epoch, state and partitions of one member of a consumer group."""

    member_epoch: int
    """Epoch that the member works at; -2 = a static member that left for a while."""
    previous_member_epoch: int
    """Epoch before the last record of the member; accepted once more if a response was lost."""
    assigned_partitions: tuple[ConsumerGroupCurrentMemberAssignmentTopicPartitions, ...]
    """Partitions that the member may use."""
    partitions_pending_revocation: tuple[ConsumerGroupCurrentMemberAssignmentTopicPartitions, ...]
    """Partitions that the member must give up before its epoch advances."""
    state: int = 127
    """0 stable, 1 waits for itself to revoke, 2 waits for others to release."""
    target_member_epoch: int = -1
    """Epoch that the member moves to."""
    partitions_pending_assignment: tuple[ConsumerGroupCurrentMemberAssignmentTopicPartitions, ...] = ()
    """Partitions that the member gets once others released them."""
    error: int = 0
    metadata_version: int = 0
    metadata_bytes: bytes = b""


class ShareGroupPartitionMetadataKey(NamedTuple):
    """Key of the topic metadata of a share group; removed in 4.1."""

    group_id: str


class ShareGroupPartitionMetadataPartitionMetadata(NamedTuple):
    """Racks of the replicas of one partition."""

    partition: int
    racks: tuple[str, ...]


class ShareGroupPartitionMetadataTopicMetadata(NamedTuple):
    """What the coordinator knew of one subscribed topic."""

    topic_id: bytes
    topic_name: str
    num_partitions: int
    partition_metadata: tuple[ShareGroupPartitionMetadataPartitionMetadata, ...]


class ShareGroupPartitionMetadataTopicPartitionsInfo(NamedTuple):
    """One topic, by id and name, with some of its partitions."""

    topic_id: bytes
    topic_name: str
    partitions: tuple[int, ...]


class ShareGroupPartitionMetadataTopicInfo(NamedTuple):
    """One topic, by id and name."""

    topic_id: bytes
    topic_name: str


class ShareGroupPartitionMetadataValue(NamedTuple):
    """Topics of a share group, in the early access of 3.9 and of 4.0; gone since 4.1."""

    topics: tuple[ShareGroupPartitionMetadataTopicMetadata, ...] = ()
    initialized_topics: tuple[ShareGroupPartitionMetadataTopicPartitionsInfo, ...] = ()
    """Topics whose share state is initialised."""
    deleting_topics: tuple[ShareGroupPartitionMetadataTopicInfo, ...] = ()
    """Topics whose share state is being deleted."""


class ShareGroupMemberMetadataKey(NamedTuple):
    """Key of what a share group member said about itself."""

    group_id: str
    member_id: str


class ShareGroupMemberMetadataValue(NamedTuple):
    """What a member of a share group said about itself."""

    rack_id: str | None
    client_id: str
    client_host: str
    subscribed_topic_names: tuple[str, ...]


class ShareGroupMetadataKey(NamedTuple):
    """Key of the epoch of a share group."""

    group_id: str


class ShareGroupMetadataValue(NamedTuple):
    """Epoch of a share group."""

    epoch: int
    """The group epoch."""
    metadata_hash: int = 0
    """Hash over the subscribed topics that exist, good for equality only."""


class ShareGroupTargetAssignmentMetadataKey(NamedTuple):
    """Key of the epoch of a target assignment of a share group."""

    group_id: str


class ShareGroupTargetAssignmentMetadataValue(NamedTuple):
    """Epoch of the installed target assignment of a share group."""

    assignment_epoch: int
    assignment_timestamp: int = 0


class ShareGroupTargetAssignmentMemberKey(NamedTuple):
    """Key of one share group member's target assignment."""

    group_id: str
    member_id: str


class ShareGroupTargetAssignmentMemberTopicPartitions(NamedTuple):
    """One topic with some of its partitions."""

    topic_id: bytes
    partitions: tuple[int, ...]


class ShareGroupTargetAssignmentMemberValue(NamedTuple):
    """What the assignor wants one member of a share group to read."""

    topic_partitions: tuple[ShareGroupTargetAssignmentMemberTopicPartitions, ...]


class ShareGroupCurrentMemberAssignmentKey(NamedTuple):
    """Key of one share group member's current assignment."""

    group_id: str
    member_id: str


class ShareGroupCurrentMemberAssignmentTopicPartitions(NamedTuple):
    """One topic with some of its partitions."""

    topic_id: bytes
    partitions: tuple[int, ...]


class ShareGroupCurrentMemberAssignmentValue(NamedTuple):
    """Current epoch and assignment of one member of a share group."""

    member_epoch: int
    """Epoch that the member works at."""
    previous_member_epoch: int
    """Epoch before the last record of the member."""
    state: int
    """0 stable; share groups know no other."""
    assigned_partitions: tuple[ShareGroupCurrentMemberAssignmentTopicPartitions, ...]
    """Partitions that the member may read."""


class ShareGroupStatePartitionMetadataKey(NamedTuple):
    """Key of the share partitions of a group that have state."""

    group_id: str


class ShareGroupStatePartitionMetadataTopicPartitionsInfo(NamedTuple):
    """One topic, by id and name, with some of its partitions."""

    topic_id: bytes
    topic_name: str
    partitions: tuple[int, ...]


class ShareGroupStatePartitionMetadataTopicInfo(NamedTuple):
    """One topic, by id and name."""

    topic_id: bytes
    topic_name: str


class ShareGroupStatePartitionMetadataValue(NamedTuple):
    """Which topics of a share group have share state, get it or lose it."""

    initialized_topics: tuple[ShareGroupStatePartitionMetadataTopicPartitionsInfo, ...]
    deleting_topics: tuple[ShareGroupStatePartitionMetadataTopicInfo, ...]
    initializing_topics: tuple[ShareGroupStatePartitionMetadataTopicPartitionsInfo, ...] = ()
    """Topics whose share state is being initialised."""


class ConsumerGroupRegularExpressionKey(NamedTuple):
    """Key of a resolved regular expression of a consumer group."""

    group_id: str
    regular_expression: str
    """The expression as the members sent it."""


class ConsumerGroupRegularExpressionValue(NamedTuple):
    """Topics that a regular expression matched."""

    topics: tuple[str, ...]
    """Names of the matching topics, sorted."""
    version: int
    """Version of the metadata image that was searched."""
    timestamp: int
    """When the search began, epoch ms."""


class StreamsGroupMetadataKey(NamedTuple):
    """Key of the epoch of a streams group."""

    group_id: str


class StreamsGroupMetadataLastAssignmentConfig(NamedTuple):
    """One group setting."""

    key: str
    """Name of the entry."""
    value: str
    """Value of the entry."""


class StreamsGroupMetadataValue(NamedTuple):
    """Epoch of a streams group."""

    epoch: int
    metadata_hash: int
    """Hash over the topics of the topology that exist, good for equality only."""
    validated_topology_epoch: int = -1
    """Topology epoch whose topics were found valid; -1 = none."""
    last_assignment_configs: tuple[StreamsGroupMetadataLastAssignmentConfig, ...] | None = ()
    """Group settings that the last assignment used; an absent tag reads as an empty list."""
    stored_description_topology_epoch: int = -1
    """Topology epoch whose description is stored; -1 = none, -2 = uncertain."""
    failed_description_topology_epoch: int = -1
    """Topology epoch whose description could not be stored; -1 = none."""


class StreamsGroupPartitionMetadataKey(NamedTuple):
    """Key of the topic metadata of a streams group; in no release."""

    group_id: str


class StreamsGroupPartitionMetadataPartitionMetadata(NamedTuple):
    """Racks of the replicas of one partition."""

    partition: int
    racks: tuple[str, ...]


class StreamsGroupPartitionMetadataTopicMetadata(NamedTuple):
    """What the coordinator knew of one subscribed topic."""

    topic_id: bytes
    topic_name: str
    num_partitions: int
    partition_metadata: tuple[StreamsGroupPartitionMetadataPartitionMetadata, ...]


class StreamsGroupPartitionMetadataValue(NamedTuple):
    """Topics of a streams group; builds between 4.0 and 4.1 wrote it, no release did."""

    topics: tuple[StreamsGroupPartitionMetadataTopicMetadata, ...]
    """The topics that existed."""


class StreamsGroupMemberMetadataKey(NamedTuple):
    """Key of what a streams group member said about itself."""

    group_id: str
    member_id: str


class StreamsGroupMemberMetadataEndpoint(NamedTuple):
    """An address that the application listens at."""

    host: str
    """Host name."""
    port: int
    """Port number."""


class StreamsGroupMemberMetadataClientTag(NamedTuple):
    """One tag of a client."""

    key: str
    value: str


class StreamsGroupMemberMetadataValue(NamedTuple):
    """What a member of a streams group said about itself."""

    instance_id: str | None
    rack_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    """How long the member may take to give tasks up, ms."""
    topology_epoch: int
    """Epoch of the topology that the member runs."""
    process_id: str
    """Id of the process; its members share state stores."""
    user_endpoint: StreamsGroupMemberMetadataEndpoint | None
    """Address for interactive queries; null for none."""
    client_tags: tuple[StreamsGroupMemberMetadataClientTag, ...]
    """Tags for the placement of standby tasks."""


class StreamsGroupTargetAssignmentMetadataKey(NamedTuple):
    """Key of the epoch of a target assignment of a streams group."""

    group_id: str


class StreamsGroupTargetAssignmentMetadataValue(NamedTuple):
    """Epoch of the installed target assignment of a streams group."""

    assignment_epoch: int
    assignment_timestamp: int = 0


class StreamsGroupTargetAssignmentMemberKey(NamedTuple):
    """Key of one streams group member's target assignment."""

    group_id: str
    member_id: str


class StreamsGroupTargetAssignmentMemberTaskIds(NamedTuple):
    """One subtopology with some of its tasks."""

    subtopology_id: str
    """Id of the subtopology."""
    partitions: tuple[int, ...]
    """Partition numbers of the tasks."""


class StreamsGroupTargetAssignmentMemberValue(NamedTuple):
    """Tasks that the assignor wants one member to run."""

    active_tasks: tuple[StreamsGroupTargetAssignmentMemberTaskIds, ...]
    """Tasks to process."""
    standby_tasks: tuple[StreamsGroupTargetAssignmentMemberTaskIds, ...]
    """Tasks to shadow."""
    warmup_tasks: tuple[StreamsGroupTargetAssignmentMemberTaskIds, ...]
    """Tasks to prepare for a move."""


class StreamsGroupCurrentMemberAssignmentKey(NamedTuple):
    """Key of one streams group member's current assignment."""

    group_id: str
    member_id: str


class StreamsGroupCurrentMemberAssignmentTaskIds(NamedTuple):
    """One subtopology with some of its tasks."""

    subtopology_id: str
    partitions: tuple[int, ...]
    assignment_epochs: tuple[int, ...] | None = ()
    """Epoch at which each active task of the same index was assigned; an absent tag reads as an
    empty list, null is written as an explicit null."""


class StreamsGroupCurrentMemberAssignmentValue(NamedTuple):
    """Current epoch, state and tasks of one member of a streams group."""

    member_epoch: int
    previous_member_epoch: int
    state: int
    """1 stable, 2 waits for itself to revoke, 3 waits for others to release; other codes than in
    consumer groups."""
    active_tasks: tuple[StreamsGroupCurrentMemberAssignmentTaskIds, ...]
    """Tasks that the member processes."""
    standby_tasks: tuple[StreamsGroupCurrentMemberAssignmentTaskIds, ...]
    """Tasks that the member shadows."""
    warmup_tasks: tuple[StreamsGroupCurrentMemberAssignmentTaskIds, ...]
    """Tasks that the member prepares for a move."""
    active_tasks_pending_revocation: tuple[StreamsGroupCurrentMemberAssignmentTaskIds, ...]
    """Active tasks that the member must give up."""
    standby_tasks_pending_revocation: tuple[StreamsGroupCurrentMemberAssignmentTaskIds, ...]
    """Standby tasks that the member must give up."""
    warmup_tasks_pending_revocation: tuple[StreamsGroupCurrentMemberAssignmentTaskIds, ...]
    """Warm-up tasks that the member must give up."""


class StreamsGroupTopologyKey(NamedTuple):
    """Key of the topology of a streams group."""

    group_id: str


class StreamsGroupTopologyTopicConfig(NamedTuple):
    """One setting of a topic."""

    key: str
    value: str


class StreamsGroupTopologyTopicInfo(NamedTuple):
    """An internal topic that the group needs."""

    name: str
    """Name of the topic."""
    partitions: int
    """Number of partitions; 0 = not prescribed."""
    replication_factor: int
    """Replication factor; 0 = default of the broker."""
    topic_configs: tuple[StreamsGroupTopologyTopicConfig, ...]
    """Settings of the topic."""


class StreamsGroupTopologyCopartitionGroup(NamedTuple):
    """Sources of equal partition counts, as indexes into the lists of the subtopology."""

    source_topics: tuple[int, ...]
    """Indexes of source topics."""
    source_topic_regex: tuple[int, ...]
    """Indexes of regular expressions."""
    repartition_source_topics: tuple[int, ...]
    """Indexes of repartition topics."""


class StreamsGroupTopologySubtopology(NamedTuple):
    """One independent part of the topology."""

    subtopology_id: str
    source_topics: tuple[str, ...]
    """Topics that it reads."""
    source_topic_regex: tuple[str, ...]
    """Regular expressions of topics that it reads."""
    state_changelog_topics: tuple[StreamsGroupTopologyTopicInfo, ...]
    """Changelog topics of its stores."""
    repartition_sink_topics: tuple[str, ...]
    """Repartition topics that it writes."""
    repartition_source_topics: tuple[StreamsGroupTopologyTopicInfo, ...]
    """Repartition topics that it reads."""
    copartition_groups: tuple[StreamsGroupTopologyCopartitionGroup, ...]
    """Sets of its sources that must have equal partition counts."""


class StreamsGroupTopologyValue(NamedTuple):
    """Topology that the members of a streams group run."""

    epoch: int
    """Epoch of the topology."""
    subtopologies: tuple[StreamsGroupTopologySubtopology, ...]
    """Its subtopologies."""


class StreamsGroupTargetAssignmentResolvedTopicIdsKey(NamedTuple):
    """Key of the topic ids of a target assignment of a streams group; in no release."""

    group_id: str


class StreamsGroupTargetAssignmentResolvedTopicIdsResolvedTopicIds(NamedTuple):
    """One subtopology with the ids of its topics."""

    subtopology_id: str
    topic_ids: tuple[bytes, ...]
    """Ids of its topics."""


class StreamsGroupTargetAssignmentResolvedTopicIdsValue(NamedTuple):
    """Topic ids that a target assignment of a streams group was computed with; unreleased."""

    assignment_epoch: int
    resolved_topic_ids_by_subtopology: tuple[StreamsGroupTargetAssignmentResolvedTopicIdsResolvedTopicIds, ...]
    """Topic ids by subtopology."""


class ConnectAssignmentConnector(NamedTuple):
    """One connector and some of its tasks."""

    name: str
    """Name of the connector."""
    tasks: tuple[int, ...]
    """Numbers of tasks; -1 = the connector itself."""


class ConnectAssignment(NamedTuple):
    """What a Connect group's leader assigns to a worker; only changes from version 1 on."""

    error: int
    """0 = none, 1 = the workers had read different configurations."""
    leader: str | None
    """Member id of the leader."""
    leader_url: str | None
    """Address of the leader's REST interface."""
    config_offset: int
    """Offset in the topic of connector configurations that the assignment follows."""
    assigned: tuple[ConnectAssignmentConnector, ...] | None
    """Connectors and tasks to start; all that the worker has in version 0."""
    revoked: tuple[ConnectAssignmentConnector, ...] | None = None
    """Connectors and tasks to stop."""
    scheduled_delay: int = 0
    """When to rejoin, ms from now, because tasks of a lost worker wait for its return; 0 = not at
    all."""


class ConnectWorkerState(NamedTuple):
    """What a Connect worker sends the leader of its group when it joins, after an int16 version."""

    url: str
    """Address of the worker's REST interface."""
    config_offset: int
    """How far the worker has read the topic of connector configurations; -1 = not read yet."""
    allocation: bytes | None = None
    """The connectors and tasks that the worker runs while it joins, as a ConnectAssignment; null
    for none."""


class ConsumerProtocolAssignmentTopicPartition(NamedTuple):
    """One topic, by name, with some of its partitions."""

    topic: str
    partitions: tuple[int, ...]
    """Partition numbers of the topic."""


class ConsumerProtocolAssignment(NamedTuple):
    """What the leader assigns to a classic consumer, after an int16 version."""

    assigned_partitions: tuple[ConsumerProtocolAssignmentTopicPartition, ...]
    """Partitions that the consumer gets."""
    user_data: bytes | None
    """Data of the assignor; null for none."""


class ConsumerProtocolSubscriptionTopicPartition(NamedTuple):
    """One topic, by name, with some of its partitions."""

    topic: str
    partitions: tuple[int, ...]


class ConsumerProtocolSubscription(NamedTuple):
    """Metadata that a classic consumer sends to the leader of its group, after an int16 version."""

    topics: tuple[str, ...]
    """Topics that the consumer subscribes to."""
    user_data: bytes | None
    owned_partitions: tuple[ConsumerProtocolSubscriptionTopicPartition, ...] = ()
    """Partitions that the consumer keeps while it joins; always empty in the eager protocol."""
    generation_id: int = -1
    """Generation that the owned partitions stem from; -1 = the consumer joins as new."""
    rack_id: str | None = None
    """Rack of the consumer; null for none."""


class StreamsAssignmentInfoTaskId(NamedTuple):
    """A task: one partition of one subtopology."""

    subtopology: int
    """Number of the subtopology."""
    partition: int
    named_topology: tuple[int, ...] = ()
    """Name of the topology in UTF-16; empty for the only one."""


class StreamsAssignmentInfoTopicPartition(NamedTuple):
    """One partition of a topic."""

    topic: str
    partition: int


class StreamsAssignmentInfoStandbyTask(NamedTuple):
    """A standby task and the partitions of its changelogs."""

    subtopology: int
    partition: int
    changelogs: tuple[StreamsAssignmentInfoTopicPartition, ...]
    """The partitions that it reads."""
    named_topology: tuple[int, ...] = ()


class StreamsAssignmentInfoHostPartitions(NamedTuple):
    """The partitions of one instance."""

    host: str = ""
    """Host of the instance."""
    port: int = 0
    """Port of the instance."""
    partitions: tuple[StreamsAssignmentInfoTopicPartition, ...] = ()
    """What it has."""


class StreamsAssignmentInfoIndexedTopic(NamedTuple):
    """A topic's name and its number in the fields that follow."""

    topic_index: int = 0
    """Index of the topic's name."""
    topic: str = ""


class StreamsAssignmentInfoIndexedPartition(NamedTuple):
    """One partition of a topic given by its number."""

    topic_index: int = 0
    partition: int = 0


class StreamsAssignmentInfoHostIndexedPartitions(NamedTuple):
    """The partitions of one instance."""

    host: str = ""
    port: int = 0
    partitions: tuple[StreamsAssignmentInfoIndexedPartition, ...] = ()


class StreamsAssignmentInfo(NamedTuple):
    """User data in the assignment of a classic Kafka Streams client."""

    active_tasks: tuple[StreamsAssignmentInfoTaskId, ...]
    """Tasks that the client processes, one for each assigned partition."""
    standby_tasks: tuple[StreamsAssignmentInfoStandbyTask, ...]
    """Tasks whose state the client keeps up to date for another one."""
    commonly_supported_version: int = -1
    """Newest version that all clients understand; -1 = not recorded."""
    partitions_by_host: tuple[StreamsAssignmentInfoHostPartitions, ...] = ()
    """Which instance has which partitions."""
    topics: tuple[StreamsAssignmentInfoIndexedTopic, ...] = ()
    """Names of the topics in the next two fields."""
    active_by_host: tuple[StreamsAssignmentInfoHostIndexedPartitions, ...] = ()
    """Which instance processes which partitions."""
    standby_by_host: tuple[StreamsAssignmentInfoHostIndexedPartitions, ...] = ()
    """Partitions with standby state, by instance."""
    error_code: int = 0
    """0 = none, 1 = incomplete source topic metadata, 2 = version probing, 3 = assignment error, 4
    = shutdown requested."""
    next_rebalance: int = 9223372036854775807
    """When the client must rejoin, epoch ms: 0 = at once, because tasks change their owner; the
    largest value = not at all."""


class StreamsSubscriptionInfoTaskId(NamedTuple):
    """A task: one partition of one subtopology."""

    subtopology: int = 0
    partition: int = 0


class StreamsSubscriptionInfoPartitionOffsetSum(NamedTuple):
    """How far one task has been restored."""

    partition: int = 0
    offset_sum: int = 0
    """Sum of the offsets of the task's changelogs; -2 = the task is active here."""


class StreamsSubscriptionInfoTaskOffsetSum(NamedTuple):
    """How far tasks have been restored."""

    subtopology: int = 0
    partition: int = 0
    offset_sum: int = 0
    named_topology: str | None = None
    """Name of the topology; null for the only one."""
    partition_offset_sums: tuple[StreamsSubscriptionInfoPartitionOffsetSum, ...] = ()
    """The same, by partition."""


class StreamsSubscriptionInfoClientTag(NamedTuple):
    """One tag."""

    key: bytes = b""
    """Name of the tag."""
    value: bytes = b""
    """Value of the tag."""


class StreamsSubscriptionInfo(NamedTuple):
    """User data in the subscription of a classic Kafka Streams client."""

    process_id: bytes
    """Id of the application instance."""
    latest_supported_version: int = -1
    """Newest version that the client understands; -1 = not recorded."""
    previous_tasks: tuple[StreamsSubscriptionInfoTaskId, ...] = ()
    """Active tasks that the client had."""
    standby_tasks: tuple[StreamsSubscriptionInfoTaskId, ...] = ()
    """Tasks that the client has state for."""
    user_end_point: bytes | None = b""
    """Address for interactive queries; empty for none."""
    task_offset_sums: tuple[StreamsSubscriptionInfoTaskOffsetSum, ...] = ()
    """Tasks that the client has state for, with its restore progress."""
    unique_field: int = 0
    """Differs in each join request, so that the coordinator takes it for a change."""
    error_code: int = 0
    """4 = the client asks the whole application to shut down."""
    client_tags: tuple[StreamsSubscriptionInfoClientTag, ...] = ()


Key: TypeAlias = (
    LegacyOffsetCommitKey
    | OffsetCommitKey
    | GroupMetadataKey
    | ConsumerGroupMetadataKey
    | ConsumerGroupPartitionMetadataKey
    | ConsumerGroupMemberMetadataKey
    | ConsumerGroupTargetAssignmentMetadataKey
    | ConsumerGroupTargetAssignmentMemberKey
    | ConsumerGroupCurrentMemberAssignmentKey
    | ShareGroupPartitionMetadataKey
    | ShareGroupMemberMetadataKey
    | ShareGroupMetadataKey
    | ShareGroupTargetAssignmentMetadataKey
    | ShareGroupTargetAssignmentMemberKey
    | ShareGroupCurrentMemberAssignmentKey
    | ShareGroupStatePartitionMetadataKey
    | ConsumerGroupRegularExpressionKey
    | StreamsGroupMetadataKey
    | StreamsGroupPartitionMetadataKey
    | StreamsGroupMemberMetadataKey
    | StreamsGroupTargetAssignmentMetadataKey
    | StreamsGroupTargetAssignmentMemberKey
    | StreamsGroupCurrentMemberAssignmentKey
    | StreamsGroupTopologyKey
    | StreamsGroupTargetAssignmentResolvedTopicIdsKey
)
"""In order of their record types."""
KEY_CLASSES: Final[Mapping[RecordType, type[Key]]] = dict(
    zip(RecordType, get_args(Key), strict=True)
)


Value: TypeAlias = (
    LegacyOffsetCommitValue
    | OffsetCommitValue
    | GroupMetadataValue
    | ConsumerGroupMetadataValue
    | ConsumerGroupPartitionMetadataValue
    | ConsumerGroupMemberMetadataValue
    | ConsumerGroupTargetAssignmentMetadataValue
    | ConsumerGroupTargetAssignmentMemberValue
    | ConsumerGroupCurrentMemberAssignmentValue
    | ShareGroupPartitionMetadataValue
    | ShareGroupMemberMetadataValue
    | ShareGroupMetadataValue
    | ShareGroupTargetAssignmentMetadataValue
    | ShareGroupTargetAssignmentMemberValue
    | ShareGroupCurrentMemberAssignmentValue
    | ShareGroupStatePartitionMetadataValue
    | ConsumerGroupRegularExpressionValue
    | StreamsGroupMetadataValue
    | StreamsGroupPartitionMetadataValue
    | StreamsGroupMemberMetadataValue
    | StreamsGroupTargetAssignmentMetadataValue
    | StreamsGroupTargetAssignmentMemberValue
    | StreamsGroupCurrentMemberAssignmentValue
    | StreamsGroupTopologyValue
    | StreamsGroupTargetAssignmentResolvedTopicIdsValue
)
"""In order of their record types."""
VALUE_CLASSES: Final[Mapping[RecordType, type[Value]]] = dict(
    zip(RecordType, get_args(Value), strict=True)
)
