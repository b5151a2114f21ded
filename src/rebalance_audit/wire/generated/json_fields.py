# fmt: off
# ruff: noqa: D103, E501
"""Fields of keys and values as Kafka's own JSON converters name them. Generated; do not edit.

Names are lowerCamelCase in schema order. A field that the version lacks is absent, and so is a
tagged one that has its default. Messages that are shown alike share a function, named after their
fields. `make codegen` writes this file from schemas/records.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from rebalance_audit.wire.generated.messages import (
    ZERO_UUID,
    ConnectAssignment,
    ConnectWorkerState,
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentTopicPartitions,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataClassicMemberMetadata,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupPartitionMetadataValue,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    GroupMetadataKey,
    GroupMetadataValue,
    LegacyOffsetCommitKey,
    LegacyOffsetCommitValue,
    OffsetCommitKey,
    OffsetCommitValue,
    RecordType,
    ShareGroupCurrentMemberAssignmentKey,
    ShareGroupCurrentMemberAssignmentValue,
    ShareGroupMemberMetadataKey,
    ShareGroupMemberMetadataValue,
    ShareGroupMetadataKey,
    ShareGroupMetadataValue,
    ShareGroupPartitionMetadataKey,
    ShareGroupPartitionMetadataValue,
    ShareGroupStatePartitionMetadataKey,
    ShareGroupStatePartitionMetadataValue,
    ShareGroupTargetAssignmentMemberKey,
    ShareGroupTargetAssignmentMemberValue,
    ShareGroupTargetAssignmentMetadataKey,
    ShareGroupTargetAssignmentMetadataValue,
    StreamsAssignmentInfo,
    StreamsGroupCurrentMemberAssignmentKey,
    StreamsGroupCurrentMemberAssignmentTaskIds,
    StreamsGroupCurrentMemberAssignmentValue,
    StreamsGroupMemberMetadataKey,
    StreamsGroupMemberMetadataValue,
    StreamsGroupMetadataKey,
    StreamsGroupMetadataValue,
    StreamsGroupPartitionMetadataKey,
    StreamsGroupPartitionMetadataValue,
    StreamsGroupTargetAssignmentMemberKey,
    StreamsGroupTargetAssignmentMemberValue,
    StreamsGroupTargetAssignmentMetadataKey,
    StreamsGroupTargetAssignmentMetadataValue,
    StreamsGroupTargetAssignmentResolvedTopicIdsKey,
    StreamsGroupTargetAssignmentResolvedTopicIdsValue,
    StreamsGroupTopologyKey,
    StreamsGroupTopologyValue,
    StreamsSubscriptionInfo,
)
from rebalance_audit.wire.text_forms import base64_text, uuid_text

Fields: TypeAlias = dict[str, Any]
FieldsOf: TypeAlias = Callable[[Any], Fields]

DEFAULT_0: Final = ConsumerGroupMemberMetadataClassicMemberMetadata(session_timeout_ms=0, supported_protocols=())


def fields_group_topic_partition(v: LegacyOffsetCommitKey | OffsetCommitKey) -> Fields:
    return {"group": v.group, "topic": v.topic, "partition": v.partition}


def fields_offset_metadata_commit_timestamp(v: LegacyOffsetCommitValue | OffsetCommitValue) -> Fields:
    return {"offset": v.offset, "metadata": v.metadata, "commitTimestamp": v.commit_timestamp}


def offset_commit_value_v1(v: OffsetCommitValue) -> Fields:
    return {"offset": v.offset, "metadata": v.metadata, "commitTimestamp": v.commit_timestamp, "expireTimestamp": v.expire_timestamp}


def offset_commit_value_v3(v: OffsetCommitValue) -> Fields:
    return {"offset": v.offset, "leaderEpoch": v.leader_epoch, "metadata": v.metadata, "commitTimestamp": v.commit_timestamp}


def offset_commit_value_v4(v: OffsetCommitValue) -> Fields:
    fields: Fields = {"offset": v.offset, "leaderEpoch": v.leader_epoch, "metadata": v.metadata, "commitTimestamp": v.commit_timestamp}
    if v.topic_id != ZERO_UUID:
        fields["topicId"] = uuid_text(v.topic_id)
    return fields


def group_metadata_key_v0(v: GroupMetadataKey) -> Fields:
    return {"group": v.group}


def group_metadata_value_v0(v: GroupMetadataValue) -> Fields:
    return {"protocolType": v.protocol_type, "generation": v.generation, "protocol": v.protocol, "leader": v.leader, "members": [{"memberId": x0.member_id, "clientId": x0.client_id, "clientHost": x0.client_host, "sessionTimeout": x0.session_timeout, "subscription": base64_text(x0.subscription), "assignment": base64_text(x0.assignment)} for x0 in v.members]}


def group_metadata_value_v0_of_redpanda(v: GroupMetadataValue) -> Fields:
    return {"protocolType": v.protocol_type, "generation": v.generation, "protocol": v.protocol, "leader": v.leader, "members": [{"memberVersion": x0.member_version, "memberId": x0.member_id, "clientId": x0.client_id, "clientHost": x0.client_host, "sessionTimeout": x0.session_timeout, "subscription": base64_text(x0.subscription), "assignment": base64_text(x0.assignment)} for x0 in v.members]}


def group_metadata_value_v1(v: GroupMetadataValue) -> Fields:
    return {"protocolType": v.protocol_type, "generation": v.generation, "protocol": v.protocol, "leader": v.leader, "members": [{"memberId": x0.member_id, "clientId": x0.client_id, "clientHost": x0.client_host, "rebalanceTimeout": x0.rebalance_timeout, "sessionTimeout": x0.session_timeout, "subscription": base64_text(x0.subscription), "assignment": base64_text(x0.assignment)} for x0 in v.members]}


def group_metadata_value_v1_of_redpanda(v: GroupMetadataValue) -> Fields:
    return {"protocolType": v.protocol_type, "generation": v.generation, "protocol": v.protocol, "leader": v.leader, "members": [{"memberVersion": x0.member_version, "memberId": x0.member_id, "clientId": x0.client_id, "clientHost": x0.client_host, "rebalanceTimeout": x0.rebalance_timeout, "sessionTimeout": x0.session_timeout, "subscription": base64_text(x0.subscription), "assignment": base64_text(x0.assignment)} for x0 in v.members]}


def group_metadata_value_v2(v: GroupMetadataValue) -> Fields:
    return {"protocolType": v.protocol_type, "generation": v.generation, "protocol": v.protocol, "leader": v.leader, "currentStateTimestamp": v.current_state_timestamp, "members": [{"memberId": x0.member_id, "clientId": x0.client_id, "clientHost": x0.client_host, "rebalanceTimeout": x0.rebalance_timeout, "sessionTimeout": x0.session_timeout, "subscription": base64_text(x0.subscription), "assignment": base64_text(x0.assignment)} for x0 in v.members]}


def group_metadata_value_v2_of_redpanda(v: GroupMetadataValue) -> Fields:
    return {"protocolType": v.protocol_type, "generation": v.generation, "protocol": v.protocol, "leader": v.leader, "currentStateTimestamp": v.current_state_timestamp, "members": [{"memberVersion": x0.member_version, "memberId": x0.member_id, "clientId": x0.client_id, "clientHost": x0.client_host, "rebalanceTimeout": x0.rebalance_timeout, "sessionTimeout": x0.session_timeout, "subscription": base64_text(x0.subscription), "assignment": base64_text(x0.assignment)} for x0 in v.members]}


def group_metadata_value_v3_v4(v: GroupMetadataValue) -> Fields:
    return {"protocolType": v.protocol_type, "generation": v.generation, "protocol": v.protocol, "leader": v.leader, "currentStateTimestamp": v.current_state_timestamp, "members": [{"memberId": x0.member_id, "groupInstanceId": x0.group_instance_id, "clientId": x0.client_id, "clientHost": x0.client_host, "rebalanceTimeout": x0.rebalance_timeout, "sessionTimeout": x0.session_timeout, "subscription": base64_text(x0.subscription), "assignment": base64_text(x0.assignment)} for x0 in v.members]}


def group_metadata_value_v3_of_redpanda(v: GroupMetadataValue) -> Fields:
    return {"protocolType": v.protocol_type, "generation": v.generation, "protocol": v.protocol, "leader": v.leader, "currentStateTimestamp": v.current_state_timestamp, "members": [{"memberVersion": x0.member_version, "memberId": x0.member_id, "groupInstanceId": x0.group_instance_id, "clientId": x0.client_id, "clientHost": x0.client_host, "rebalanceTimeout": x0.rebalance_timeout, "sessionTimeout": x0.session_timeout, "subscription": base64_text(x0.subscription), "assignment": base64_text(x0.assignment)} for x0 in v.members]}


def fields_group_id(v: ConsumerGroupMetadataKey | ConsumerGroupPartitionMetadataKey | ConsumerGroupTargetAssignmentMetadataKey | ShareGroupPartitionMetadataKey | ShareGroupMetadataKey | ShareGroupTargetAssignmentMetadataKey | ShareGroupStatePartitionMetadataKey | StreamsGroupMetadataKey | StreamsGroupPartitionMetadataKey | StreamsGroupTargetAssignmentMetadataKey | StreamsGroupTopologyKey | StreamsGroupTargetAssignmentResolvedTopicIdsKey) -> Fields:
    return {"groupId": v.group_id}


def consumer_group_metadata_value_v0(v: ConsumerGroupMetadataValue) -> Fields:
    fields: Fields = {"epoch": v.epoch}
    if v.metadata_hash != 0:
        fields["metadataHash"] = v.metadata_hash
    return fields


def fields_topics(v: ConsumerGroupPartitionMetadataValue | ShareGroupPartitionMetadataValue | StreamsGroupPartitionMetadataValue) -> Fields:
    return {"topics": [{"topicId": uuid_text(x0.topic_id), "topicName": x0.topic_name, "numPartitions": x0.num_partitions, "partitionMetadata": [{"partition": x1.partition, "racks": list(x1.racks)} for x1 in x0.partition_metadata]} for x0 in v.topics]}


def consumer_group_partition_metadata_value_v0_of_3_7(v: ConsumerGroupPartitionMetadataValue) -> Fields:
    return {"epoch": v.epoch, "topics": [{"topicId": uuid_text(x0.topic_id), "topicName": x0.topic_name, "numPartitions": x0.num_partitions, "partitionMetadata": [{"partition": x1.partition, "racks": list(x1.racks)} for x1 in x0.partition_metadata]} for x0 in v.topics]}


def fields_group_id_member_id(v: ConsumerGroupMemberMetadataKey | ConsumerGroupTargetAssignmentMemberKey | ConsumerGroupCurrentMemberAssignmentKey | ShareGroupMemberMetadataKey | ShareGroupTargetAssignmentMemberKey | ShareGroupCurrentMemberAssignmentKey | StreamsGroupMemberMetadataKey | StreamsGroupTargetAssignmentMemberKey | StreamsGroupCurrentMemberAssignmentKey) -> Fields:
    return {"groupId": v.group_id, "memberId": v.member_id}


def consumer_group_member_metadata_value_v0(v: ConsumerGroupMemberMetadataValue) -> Fields:
    fields: Fields = {"instanceId": v.instance_id, "rackId": v.rack_id, "clientId": v.client_id, "clientHost": v.client_host, "subscribedTopicNames": list(v.subscribed_topic_names), "subscribedTopicRegex": v.subscribed_topic_regex, "rebalanceTimeoutMs": v.rebalance_timeout_ms, "serverAssignor": v.server_assignor}
    if v.classic_member_metadata != DEFAULT_0:
        fields["classicMemberMetadata"] = None if v.classic_member_metadata is None else {"sessionTimeoutMs": v.classic_member_metadata.session_timeout_ms, "supportedProtocols": [{"name": x1.name, "metadata": base64_text(x1.metadata)} for x1 in v.classic_member_metadata.supported_protocols]}
    return fields


def consumer_group_member_metadata_value_v0_of_3_7(v: ConsumerGroupMemberMetadataValue) -> Fields:
    return {"instanceId": v.instance_id, "rackId": v.rack_id, "clientId": v.client_id, "clientHost": v.client_host, "subscribedTopicNames": list(v.subscribed_topic_names), "subscribedTopicRegex": v.subscribed_topic_regex, "rebalanceTimeoutMs": v.rebalance_timeout_ms, "serverAssignor": v.server_assignor, "assignors": [{"name": x0.name, "minimumVersion": x0.minimum_version, "maximumVersion": x0.maximum_version, "reason": x0.reason, "version": x0.version, "metadata": base64_text(x0.metadata)} for x0 in v.assignors]}


def fields_assignment_epoch_assignment_timestamp(v: ConsumerGroupTargetAssignmentMetadataValue | ShareGroupTargetAssignmentMetadataValue | StreamsGroupTargetAssignmentMetadataValue) -> Fields:
    fields: Fields = {"assignmentEpoch": v.assignment_epoch}
    if v.assignment_timestamp != 0:
        fields["assignmentTimestamp"] = v.assignment_timestamp
    return fields


def fields_topic_partitions(v: ConsumerGroupTargetAssignmentMemberValue | ShareGroupTargetAssignmentMemberValue) -> Fields:
    return {"topicPartitions": [{"topicId": uuid_text(x0.topic_id), "partitions": list(x0.partitions)} for x0 in v.topic_partitions]}


def consumer_group_target_assignment_member_value_v0_of_3_7(v: ConsumerGroupTargetAssignmentMemberValue) -> Fields:
    return {"error": v.error, "topicPartitions": [{"topicId": uuid_text(x0.topic_id), "partitions": list(x0.partitions)} for x0 in v.topic_partitions], "metadataVersion": v.metadata_version, "metadataBytes": base64_text(v.metadata_bytes)}


def _consumer_group_current_member_assignment_value_v0_topic_partitions(v: ConsumerGroupCurrentMemberAssignmentTopicPartitions) -> Fields:
    fields: Fields = {"topicId": uuid_text(v.topic_id), "partitions": list(v.partitions)}
    if v.assignment_epochs != ():
        fields["assignmentEpochs"] = None if v.assignment_epochs is None else list(v.assignment_epochs)
    return fields


def consumer_group_current_member_assignment_value_v0(v: ConsumerGroupCurrentMemberAssignmentValue) -> Fields:
    return {"memberEpoch": v.member_epoch, "previousMemberEpoch": v.previous_member_epoch, "state": v.state, "assignedPartitions": [_consumer_group_current_member_assignment_value_v0_topic_partitions(x0) for x0 in v.assigned_partitions], "partitionsPendingRevocation": [_consumer_group_current_member_assignment_value_v0_topic_partitions(x0) for x0 in v.partitions_pending_revocation]}


def consumer_group_current_member_assignment_value_v0_of_3_7(v: ConsumerGroupCurrentMemberAssignmentValue) -> Fields:
    return {"memberEpoch": v.member_epoch, "previousMemberEpoch": v.previous_member_epoch, "targetMemberEpoch": v.target_member_epoch, "assignedPartitions": [{"topicId": uuid_text(x0.topic_id), "partitions": list(x0.partitions)} for x0 in v.assigned_partitions], "partitionsPendingRevocation": [{"topicId": uuid_text(x0.topic_id), "partitions": list(x0.partitions)} for x0 in v.partitions_pending_revocation], "partitionsPendingAssignment": [{"topicId": uuid_text(x0.topic_id), "partitions": list(x0.partitions)} for x0 in v.partitions_pending_assignment], "error": v.error, "metadataVersion": v.metadata_version, "metadataBytes": base64_text(v.metadata_bytes)}


def fields_initialized_topics_deleting_topics(v: ShareGroupPartitionMetadataValue | ShareGroupStatePartitionMetadataValue) -> Fields:
    return {"initializedTopics": [{"topicId": uuid_text(x0.topic_id), "topicName": x0.topic_name, "partitions": list(x0.partitions)} for x0 in v.initialized_topics], "deletingTopics": [{"topicId": uuid_text(x0.topic_id), "topicName": x0.topic_name} for x0 in v.deleting_topics]}


def share_group_member_metadata_value_v0(v: ShareGroupMemberMetadataValue) -> Fields:
    return {"rackId": v.rack_id, "clientId": v.client_id, "clientHost": v.client_host, "subscribedTopicNames": list(v.subscribed_topic_names)}


def share_group_metadata_value_v0(v: ShareGroupMetadataValue) -> Fields:
    return {"epoch": v.epoch, "metadataHash": v.metadata_hash}


def share_group_metadata_value_v0_of_4_0(v: ShareGroupMetadataValue) -> Fields:
    return {"epoch": v.epoch}


def share_group_current_member_assignment_value_v0(v: ShareGroupCurrentMemberAssignmentValue) -> Fields:
    return {"memberEpoch": v.member_epoch, "previousMemberEpoch": v.previous_member_epoch, "state": v.state, "assignedPartitions": [{"topicId": uuid_text(x0.topic_id), "partitions": list(x0.partitions)} for x0 in v.assigned_partitions]}


def share_group_state_partition_metadata_value_v0(v: ShareGroupStatePartitionMetadataValue) -> Fields:
    return {"initializingTopics": [{"topicId": uuid_text(x0.topic_id), "topicName": x0.topic_name, "partitions": list(x0.partitions)} for x0 in v.initializing_topics], "initializedTopics": [{"topicId": uuid_text(x0.topic_id), "topicName": x0.topic_name, "partitions": list(x0.partitions)} for x0 in v.initialized_topics], "deletingTopics": [{"topicId": uuid_text(x0.topic_id), "topicName": x0.topic_name} for x0 in v.deleting_topics]}


def consumer_group_regular_expression_key_v0(v: ConsumerGroupRegularExpressionKey) -> Fields:
    return {"groupId": v.group_id, "regularExpression": v.regular_expression}


def consumer_group_regular_expression_value_v0(v: ConsumerGroupRegularExpressionValue) -> Fields:
    return {"topics": list(v.topics), "version": v.version, "timestamp": v.timestamp}


def streams_group_metadata_value_v0(v: StreamsGroupMetadataValue) -> Fields:
    fields: Fields = {"epoch": v.epoch, "metadataHash": v.metadata_hash}
    if v.validated_topology_epoch != -1:
        fields["validatedTopologyEpoch"] = v.validated_topology_epoch
    if v.last_assignment_configs != ():
        fields["lastAssignmentConfigs"] = None if v.last_assignment_configs is None else [{"key": x0.key, "value": x0.value} for x0 in v.last_assignment_configs]
    if v.stored_description_topology_epoch != -1:
        fields["storedDescriptionTopologyEpoch"] = v.stored_description_topology_epoch
    if v.failed_description_topology_epoch != -1:
        fields["failedDescriptionTopologyEpoch"] = v.failed_description_topology_epoch
    return fields


def streams_group_member_metadata_value_v0(v: StreamsGroupMemberMetadataValue) -> Fields:
    return {"instanceId": v.instance_id, "rackId": v.rack_id, "clientId": v.client_id, "clientHost": v.client_host, "rebalanceTimeoutMs": v.rebalance_timeout_ms, "topologyEpoch": v.topology_epoch, "processId": v.process_id, "userEndpoint": None if v.user_endpoint is None else {"host": v.user_endpoint.host, "port": v.user_endpoint.port}, "clientTags": [{"key": x0.key, "value": x0.value} for x0 in v.client_tags]}


def streams_group_target_assignment_member_value_v0(v: StreamsGroupTargetAssignmentMemberValue) -> Fields:
    return {"activeTasks": [{"subtopologyId": x0.subtopology_id, "partitions": list(x0.partitions)} for x0 in v.active_tasks], "standbyTasks": [{"subtopologyId": x0.subtopology_id, "partitions": list(x0.partitions)} for x0 in v.standby_tasks], "warmupTasks": [{"subtopologyId": x0.subtopology_id, "partitions": list(x0.partitions)} for x0 in v.warmup_tasks]}


def _streams_group_current_member_assignment_value_v0_task_ids(v: StreamsGroupCurrentMemberAssignmentTaskIds) -> Fields:
    fields: Fields = {"subtopologyId": v.subtopology_id, "partitions": list(v.partitions)}
    if v.assignment_epochs != ():
        fields["assignmentEpochs"] = None if v.assignment_epochs is None else list(v.assignment_epochs)
    return fields


def streams_group_current_member_assignment_value_v0(v: StreamsGroupCurrentMemberAssignmentValue) -> Fields:
    return {"memberEpoch": v.member_epoch, "previousMemberEpoch": v.previous_member_epoch, "state": v.state, "activeTasks": [_streams_group_current_member_assignment_value_v0_task_ids(x0) for x0 in v.active_tasks], "standbyTasks": [_streams_group_current_member_assignment_value_v0_task_ids(x0) for x0 in v.standby_tasks], "warmupTasks": [_streams_group_current_member_assignment_value_v0_task_ids(x0) for x0 in v.warmup_tasks], "activeTasksPendingRevocation": [_streams_group_current_member_assignment_value_v0_task_ids(x0) for x0 in v.active_tasks_pending_revocation], "standbyTasksPendingRevocation": [_streams_group_current_member_assignment_value_v0_task_ids(x0) for x0 in v.standby_tasks_pending_revocation], "warmupTasksPendingRevocation": [_streams_group_current_member_assignment_value_v0_task_ids(x0) for x0 in v.warmup_tasks_pending_revocation]}


def streams_group_topology_value_v0(v: StreamsGroupTopologyValue) -> Fields:
    return {"epoch": v.epoch, "subtopologies": [{"subtopologyId": x0.subtopology_id, "sourceTopics": list(x0.source_topics), "sourceTopicRegex": list(x0.source_topic_regex), "stateChangelogTopics": [{"name": x1.name, "partitions": x1.partitions, "replicationFactor": x1.replication_factor, "topicConfigs": [{"key": x2.key, "value": x2.value} for x2 in x1.topic_configs]} for x1 in x0.state_changelog_topics], "repartitionSinkTopics": list(x0.repartition_sink_topics), "repartitionSourceTopics": [{"name": x1.name, "partitions": x1.partitions, "replicationFactor": x1.replication_factor, "topicConfigs": [{"key": x2.key, "value": x2.value} for x2 in x1.topic_configs]} for x1 in x0.repartition_source_topics], "copartitionGroups": [{"sourceTopics": list(x1.source_topics), "sourceTopicRegex": list(x1.source_topic_regex), "repartitionSourceTopics": list(x1.repartition_source_topics)} for x1 in x0.copartition_groups]} for x0 in v.subtopologies]}


def streams_group_target_assignment_resolved_topic_ids_value_v0(v: StreamsGroupTargetAssignmentResolvedTopicIdsValue) -> Fields:
    return {"assignmentEpoch": v.assignment_epoch, "resolvedTopicIdsBySubtopology": [{"subtopologyId": x0.subtopology_id, "topicIds": [uuid_text(x1) for x1 in x0.topic_ids]} for x0 in v.resolved_topic_ids_by_subtopology]}


def connect_assignment_v0(v: ConnectAssignment) -> Fields:
    return {"error": v.error, "leader": v.leader, "leaderUrl": v.leader_url, "configOffset": v.config_offset, "assigned": None if v.assigned is None else [{"name": x0.name, "tasks": list(x0.tasks)} for x0 in v.assigned]}


def connect_assignment_v1_v2(v: ConnectAssignment) -> Fields:
    return {"error": v.error, "leader": v.leader, "leaderUrl": v.leader_url, "configOffset": v.config_offset, "assigned": None if v.assigned is None else [{"name": x0.name, "tasks": list(x0.tasks)} for x0 in v.assigned], "revoked": None if v.revoked is None else [{"name": x0.name, "tasks": list(x0.tasks)} for x0 in v.revoked], "scheduledDelay": v.scheduled_delay}


def connect_worker_state_v0(v: ConnectWorkerState) -> Fields:
    return {"url": v.url, "configOffset": v.config_offset}


def connect_worker_state_v1_v2(v: ConnectWorkerState) -> Fields:
    return {"url": v.url, "configOffset": v.config_offset, "allocation": None if v.allocation is None else base64_text(v.allocation)}


def consumer_protocol_assignment_v0_to_v3(v: ConsumerProtocolAssignment) -> Fields:
    return {"assignedPartitions": [{"topic": x0.topic, "partitions": list(x0.partitions)} for x0 in v.assigned_partitions], "userData": None if v.user_data is None else base64_text(v.user_data)}


def consumer_protocol_subscription_v0(v: ConsumerProtocolSubscription) -> Fields:
    return {"topics": list(v.topics), "userData": None if v.user_data is None else base64_text(v.user_data)}


def consumer_protocol_subscription_v1(v: ConsumerProtocolSubscription) -> Fields:
    return {"topics": list(v.topics), "userData": None if v.user_data is None else base64_text(v.user_data), "ownedPartitions": [{"topic": x0.topic, "partitions": list(x0.partitions)} for x0 in v.owned_partitions]}


def consumer_protocol_subscription_v2(v: ConsumerProtocolSubscription) -> Fields:
    return {"topics": list(v.topics), "userData": None if v.user_data is None else base64_text(v.user_data), "ownedPartitions": [{"topic": x0.topic, "partitions": list(x0.partitions)} for x0 in v.owned_partitions], "generationId": v.generation_id}


def consumer_protocol_subscription_v3(v: ConsumerProtocolSubscription) -> Fields:
    return {"topics": list(v.topics), "userData": None if v.user_data is None else base64_text(v.user_data), "ownedPartitions": [{"topic": x0.topic, "partitions": list(x0.partitions)} for x0 in v.owned_partitions], "generationId": v.generation_id, "rackId": v.rack_id}


def streams_assignment_info_v1(v: StreamsAssignmentInfo) -> Fields:
    return {"activeTasks": [{"subtopology": x0.subtopology, "partition": x0.partition} for x0 in v.active_tasks], "standbyTasks": [{"subtopology": x0.subtopology, "partition": x0.partition, "changelogs": [{"topic": x1.topic, "partition": x1.partition} for x1 in x0.changelogs]} for x0 in v.standby_tasks]}


def streams_assignment_info_v2(v: StreamsAssignmentInfo) -> Fields:
    return {"activeTasks": [{"subtopology": x0.subtopology, "partition": x0.partition} for x0 in v.active_tasks], "standbyTasks": [{"subtopology": x0.subtopology, "partition": x0.partition, "changelogs": [{"topic": x1.topic, "partition": x1.partition} for x1 in x0.changelogs]} for x0 in v.standby_tasks], "partitionsByHost": [{"host": x0.host, "port": x0.port, "partitions": [{"topic": x1.topic, "partition": x1.partition} for x1 in x0.partitions]} for x0 in v.partitions_by_host]}


def streams_assignment_info_v3(v: StreamsAssignmentInfo) -> Fields:
    return {"commonlySupportedVersion": v.commonly_supported_version, "activeTasks": [{"subtopology": x0.subtopology, "partition": x0.partition} for x0 in v.active_tasks], "standbyTasks": [{"subtopology": x0.subtopology, "partition": x0.partition, "changelogs": [{"topic": x1.topic, "partition": x1.partition} for x1 in x0.changelogs]} for x0 in v.standby_tasks], "partitionsByHost": [{"host": x0.host, "port": x0.port, "partitions": [{"topic": x1.topic, "partition": x1.partition} for x1 in x0.partitions]} for x0 in v.partitions_by_host]}


def streams_assignment_info_v4(v: StreamsAssignmentInfo) -> Fields:
    return {"commonlySupportedVersion": v.commonly_supported_version, "activeTasks": [{"subtopology": x0.subtopology, "partition": x0.partition} for x0 in v.active_tasks], "standbyTasks": [{"subtopology": x0.subtopology, "partition": x0.partition, "changelogs": [{"topic": x1.topic, "partition": x1.partition} for x1 in x0.changelogs]} for x0 in v.standby_tasks], "partitionsByHost": [{"host": x0.host, "port": x0.port, "partitions": [{"topic": x1.topic, "partition": x1.partition} for x1 in x0.partitions]} for x0 in v.partitions_by_host], "errorCode": v.error_code}


def streams_assignment_info_v5(v: StreamsAssignmentInfo) -> Fields:
    return {"commonlySupportedVersion": v.commonly_supported_version, "activeTasks": [{"subtopology": x0.subtopology, "partition": x0.partition} for x0 in v.active_tasks], "standbyTasks": [{"subtopology": x0.subtopology, "partition": x0.partition, "changelogs": [{"topic": x1.topic, "partition": x1.partition} for x1 in x0.changelogs]} for x0 in v.standby_tasks], "topics": [{"topicIndex": x0.topic_index, "topic": x0.topic} for x0 in v.topics], "activeByHost": [{"host": x0.host, "port": x0.port, "partitions": [{"topicIndex": x1.topic_index, "partition": x1.partition} for x1 in x0.partitions]} for x0 in v.active_by_host], "errorCode": v.error_code}


def streams_assignment_info_v6(v: StreamsAssignmentInfo) -> Fields:
    return {"commonlySupportedVersion": v.commonly_supported_version, "activeTasks": [{"subtopology": x0.subtopology, "partition": x0.partition} for x0 in v.active_tasks], "standbyTasks": [{"subtopology": x0.subtopology, "partition": x0.partition, "changelogs": [{"topic": x1.topic, "partition": x1.partition} for x1 in x0.changelogs]} for x0 in v.standby_tasks], "topics": [{"topicIndex": x0.topic_index, "topic": x0.topic} for x0 in v.topics], "activeByHost": [{"host": x0.host, "port": x0.port, "partitions": [{"topicIndex": x1.topic_index, "partition": x1.partition} for x1 in x0.partitions]} for x0 in v.active_by_host], "standbyByHost": [{"host": x0.host, "port": x0.port, "partitions": [{"topicIndex": x1.topic_index, "partition": x1.partition} for x1 in x0.partitions]} for x0 in v.standby_by_host], "errorCode": v.error_code}


def streams_assignment_info_v7_to_v9(v: StreamsAssignmentInfo) -> Fields:
    return {"commonlySupportedVersion": v.commonly_supported_version, "activeTasks": [{"subtopology": x0.subtopology, "partition": x0.partition} for x0 in v.active_tasks], "standbyTasks": [{"subtopology": x0.subtopology, "partition": x0.partition, "changelogs": [{"topic": x1.topic, "partition": x1.partition} for x1 in x0.changelogs]} for x0 in v.standby_tasks], "topics": [{"topicIndex": x0.topic_index, "topic": x0.topic} for x0 in v.topics], "activeByHost": [{"host": x0.host, "port": x0.port, "partitions": [{"topicIndex": x1.topic_index, "partition": x1.partition} for x1 in x0.partitions]} for x0 in v.active_by_host], "standbyByHost": [{"host": x0.host, "port": x0.port, "partitions": [{"topicIndex": x1.topic_index, "partition": x1.partition} for x1 in x0.partitions]} for x0 in v.standby_by_host], "errorCode": v.error_code, "nextRebalance": v.next_rebalance}


def streams_assignment_info_v10_v11(v: StreamsAssignmentInfo) -> Fields:
    return {"commonlySupportedVersion": v.commonly_supported_version, "activeTasks": [{"subtopology": x0.subtopology, "partition": x0.partition, "namedTopology": list(x0.named_topology)} for x0 in v.active_tasks], "standbyTasks": [{"subtopology": x0.subtopology, "partition": x0.partition, "namedTopology": list(x0.named_topology), "changelogs": [{"topic": x1.topic, "partition": x1.partition} for x1 in x0.changelogs]} for x0 in v.standby_tasks], "topics": [{"topicIndex": x0.topic_index, "topic": x0.topic} for x0 in v.topics], "activeByHost": [{"host": x0.host, "port": x0.port, "partitions": [{"topicIndex": x1.topic_index, "partition": x1.partition} for x1 in x0.partitions]} for x0 in v.active_by_host], "standbyByHost": [{"host": x0.host, "port": x0.port, "partitions": [{"topicIndex": x1.topic_index, "partition": x1.partition} for x1 in x0.partitions]} for x0 in v.standby_by_host], "errorCode": v.error_code, "nextRebalance": v.next_rebalance}


def streams_subscription_info_v1(v: StreamsSubscriptionInfo) -> Fields:
    return {"processId": uuid_text(v.process_id), "previousTasks": [{"subtopology": x0.subtopology, "partition": x0.partition} for x0 in v.previous_tasks], "standbyTasks": [{"subtopology": x0.subtopology, "partition": x0.partition} for x0 in v.standby_tasks]}


def streams_subscription_info_v2(v: StreamsSubscriptionInfo) -> Fields:
    return {"processId": uuid_text(v.process_id), "previousTasks": [{"subtopology": x0.subtopology, "partition": x0.partition} for x0 in v.previous_tasks], "standbyTasks": [{"subtopology": x0.subtopology, "partition": x0.partition} for x0 in v.standby_tasks], "userEndPoint": None if v.user_end_point is None else base64_text(v.user_end_point)}


def streams_subscription_info_v3_to_v6(v: StreamsSubscriptionInfo) -> Fields:
    return {"latestSupportedVersion": v.latest_supported_version, "processId": uuid_text(v.process_id), "previousTasks": [{"subtopology": x0.subtopology, "partition": x0.partition} for x0 in v.previous_tasks], "standbyTasks": [{"subtopology": x0.subtopology, "partition": x0.partition} for x0 in v.standby_tasks], "userEndPoint": None if v.user_end_point is None else base64_text(v.user_end_point)}


def streams_subscription_info_v7(v: StreamsSubscriptionInfo) -> Fields:
    return {"latestSupportedVersion": v.latest_supported_version, "processId": uuid_text(v.process_id), "userEndPoint": None if v.user_end_point is None else base64_text(v.user_end_point), "taskOffsetSums": [{"subtopology": x0.subtopology, "partitionOffsetSums": [{"partition": x1.partition, "offsetSum": x1.offset_sum} for x1 in x0.partition_offset_sums]} for x0 in v.task_offset_sums]}


def streams_subscription_info_v8(v: StreamsSubscriptionInfo) -> Fields:
    return {"latestSupportedVersion": v.latest_supported_version, "processId": uuid_text(v.process_id), "userEndPoint": None if v.user_end_point is None else base64_text(v.user_end_point), "taskOffsetSums": [{"subtopology": x0.subtopology, "partitionOffsetSums": [{"partition": x1.partition, "offsetSum": x1.offset_sum} for x1 in x0.partition_offset_sums]} for x0 in v.task_offset_sums], "uniqueField": v.unique_field}


def streams_subscription_info_v9(v: StreamsSubscriptionInfo) -> Fields:
    return {"latestSupportedVersion": v.latest_supported_version, "processId": uuid_text(v.process_id), "userEndPoint": None if v.user_end_point is None else base64_text(v.user_end_point), "taskOffsetSums": [{"subtopology": x0.subtopology, "partitionOffsetSums": [{"partition": x1.partition, "offsetSum": x1.offset_sum} for x1 in x0.partition_offset_sums]} for x0 in v.task_offset_sums], "uniqueField": v.unique_field, "errorCode": v.error_code}


def streams_subscription_info_v10(v: StreamsSubscriptionInfo) -> Fields:
    return {"latestSupportedVersion": v.latest_supported_version, "processId": uuid_text(v.process_id), "userEndPoint": None if v.user_end_point is None else base64_text(v.user_end_point), "taskOffsetSums": [{"subtopology": x0.subtopology, "partition": x0.partition, "offsetSum": x0.offset_sum, "namedTopology": x0.named_topology} for x0 in v.task_offset_sums], "uniqueField": v.unique_field, "errorCode": v.error_code}


def streams_subscription_info_v11(v: StreamsSubscriptionInfo) -> Fields:
    return {"latestSupportedVersion": v.latest_supported_version, "processId": uuid_text(v.process_id), "userEndPoint": None if v.user_end_point is None else base64_text(v.user_end_point), "taskOffsetSums": [{"subtopology": x0.subtopology, "partition": x0.partition, "offsetSum": x0.offset_sum, "namedTopology": x0.named_topology} for x0 in v.task_offset_sums], "uniqueField": v.unique_field, "errorCode": v.error_code, "clientTags": [{"key": base64_text(x0.key), "value": base64_text(x0.value)} for x0 in v.client_tags]}


KEY_FIELDS: Final[Mapping[RecordType, FieldsOf]] = {
    RecordType.LEGACY_OFFSET_COMMIT: fields_group_topic_partition,
    RecordType.OFFSET_COMMIT: fields_group_topic_partition,
    RecordType.GROUP_METADATA: group_metadata_key_v0,
    RecordType.CONSUMER_GROUP_METADATA: fields_group_id,
    RecordType.CONSUMER_GROUP_PARTITION_METADATA: fields_group_id,
    RecordType.CONSUMER_GROUP_MEMBER_METADATA: fields_group_id_member_id,
    RecordType.CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA: fields_group_id,
    RecordType.CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER: fields_group_id_member_id,
    RecordType.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT: fields_group_id_member_id,
    RecordType.SHARE_GROUP_PARTITION_METADATA: fields_group_id,
    RecordType.SHARE_GROUP_MEMBER_METADATA: fields_group_id_member_id,
    RecordType.SHARE_GROUP_METADATA: fields_group_id,
    RecordType.SHARE_GROUP_TARGET_ASSIGNMENT_METADATA: fields_group_id,
    RecordType.SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER: fields_group_id_member_id,
    RecordType.SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT: fields_group_id_member_id,
    RecordType.SHARE_GROUP_STATE_PARTITION_METADATA: fields_group_id,
    RecordType.CONSUMER_GROUP_REGULAR_EXPRESSION: consumer_group_regular_expression_key_v0,
    RecordType.STREAMS_GROUP_METADATA: fields_group_id,
    RecordType.STREAMS_GROUP_PARTITION_METADATA: fields_group_id,
    RecordType.STREAMS_GROUP_MEMBER_METADATA: fields_group_id_member_id,
    RecordType.STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA: fields_group_id,
    RecordType.STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER: fields_group_id_member_id,
    RecordType.STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT: fields_group_id_member_id,
    RecordType.STREAMS_GROUP_TOPOLOGY: fields_group_id,
    RecordType.STREAMS_GROUP_TARGET_ASSIGNMENT_RESOLVED_TOPIC_IDS: fields_group_id,
}

VALUE_FIELDS: Final[Mapping[tuple[RecordType, int, str], FieldsOf]] = {
    (RecordType.LEGACY_OFFSET_COMMIT, 0, ""): fields_offset_metadata_commit_timestamp,
    (RecordType.OFFSET_COMMIT, 0, ""): fields_offset_metadata_commit_timestamp,
    (RecordType.OFFSET_COMMIT, 1, ""): offset_commit_value_v1,
    (RecordType.OFFSET_COMMIT, 2, ""): fields_offset_metadata_commit_timestamp,
    (RecordType.OFFSET_COMMIT, 3, ""): offset_commit_value_v3,
    (RecordType.OFFSET_COMMIT, 4, ""): offset_commit_value_v4,
    (RecordType.GROUP_METADATA, 0, ""): group_metadata_value_v0,
    (RecordType.GROUP_METADATA, 0, "redpanda"): group_metadata_value_v0_of_redpanda,
    (RecordType.GROUP_METADATA, 1, ""): group_metadata_value_v1,
    (RecordType.GROUP_METADATA, 1, "redpanda"): group_metadata_value_v1_of_redpanda,
    (RecordType.GROUP_METADATA, 2, ""): group_metadata_value_v2,
    (RecordType.GROUP_METADATA, 2, "redpanda"): group_metadata_value_v2_of_redpanda,
    (RecordType.GROUP_METADATA, 3, ""): group_metadata_value_v3_v4,
    (RecordType.GROUP_METADATA, 3, "redpanda"): group_metadata_value_v3_of_redpanda,
    (RecordType.GROUP_METADATA, 4, ""): group_metadata_value_v3_v4,
    (RecordType.CONSUMER_GROUP_METADATA, 0, ""): consumer_group_metadata_value_v0,
    (RecordType.CONSUMER_GROUP_PARTITION_METADATA, 0, ""): fields_topics,
    (RecordType.CONSUMER_GROUP_PARTITION_METADATA, 0, "3.7"): consumer_group_partition_metadata_value_v0_of_3_7,
    (RecordType.CONSUMER_GROUP_MEMBER_METADATA, 0, ""): consumer_group_member_metadata_value_v0,
    (RecordType.CONSUMER_GROUP_MEMBER_METADATA, 0, "3.7"): consumer_group_member_metadata_value_v0_of_3_7,
    (RecordType.CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA, 0, ""): fields_assignment_epoch_assignment_timestamp,
    (RecordType.CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER, 0, ""): fields_topic_partitions,
    (RecordType.CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER, 0, "3.7"): consumer_group_target_assignment_member_value_v0_of_3_7,
    (RecordType.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT, 0, ""): consumer_group_current_member_assignment_value_v0,
    (RecordType.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT, 0, "3.7"): consumer_group_current_member_assignment_value_v0_of_3_7,
    (RecordType.SHARE_GROUP_PARTITION_METADATA, 0, "4.0"): fields_topics,
    (RecordType.SHARE_GROUP_PARTITION_METADATA, 0, "3.9"): fields_initialized_topics_deleting_topics,
    (RecordType.SHARE_GROUP_MEMBER_METADATA, 0, ""): share_group_member_metadata_value_v0,
    (RecordType.SHARE_GROUP_METADATA, 0, ""): share_group_metadata_value_v0,
    (RecordType.SHARE_GROUP_METADATA, 0, "4.0"): share_group_metadata_value_v0_of_4_0,
    (RecordType.SHARE_GROUP_TARGET_ASSIGNMENT_METADATA, 0, ""): fields_assignment_epoch_assignment_timestamp,
    (RecordType.SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER, 0, ""): fields_topic_partitions,
    (RecordType.SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT, 0, ""): share_group_current_member_assignment_value_v0,
    (RecordType.SHARE_GROUP_STATE_PARTITION_METADATA, 0, ""): share_group_state_partition_metadata_value_v0,
    (RecordType.SHARE_GROUP_STATE_PARTITION_METADATA, 0, "4.0"): fields_initialized_topics_deleting_topics,
    (RecordType.CONSUMER_GROUP_REGULAR_EXPRESSION, 0, ""): consumer_group_regular_expression_value_v0,
    (RecordType.STREAMS_GROUP_METADATA, 0, ""): streams_group_metadata_value_v0,
    (RecordType.STREAMS_GROUP_PARTITION_METADATA, 0, ""): fields_topics,
    (RecordType.STREAMS_GROUP_MEMBER_METADATA, 0, ""): streams_group_member_metadata_value_v0,
    (RecordType.STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA, 0, ""): fields_assignment_epoch_assignment_timestamp,
    (RecordType.STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER, 0, ""): streams_group_target_assignment_member_value_v0,
    (RecordType.STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT, 0, ""): streams_group_current_member_assignment_value_v0,
    (RecordType.STREAMS_GROUP_TOPOLOGY, 0, ""): streams_group_topology_value_v0,
    (RecordType.STREAMS_GROUP_TARGET_ASSIGNMENT_RESOLVED_TOPIC_IDS, 0, ""): streams_group_target_assignment_resolved_topic_ids_value_v0,
}
"""By record type, value version and layout."""

EMBEDDED_FIELDS: Final[Mapping[str, Mapping[int, FieldsOf]]] = {
    "ConnectAssignment": {
        0: connect_assignment_v0,
        1: connect_assignment_v1_v2,
        2: connect_assignment_v1_v2,
    },
    "ConnectWorkerState": {
        0: connect_worker_state_v0,
        1: connect_worker_state_v1_v2,
        2: connect_worker_state_v1_v2,
    },
    "ConsumerProtocolAssignment": {
        0: consumer_protocol_assignment_v0_to_v3,
        1: consumer_protocol_assignment_v0_to_v3,
        2: consumer_protocol_assignment_v0_to_v3,
        3: consumer_protocol_assignment_v0_to_v3,
    },
    "ConsumerProtocolSubscription": {
        0: consumer_protocol_subscription_v0,
        1: consumer_protocol_subscription_v1,
        2: consumer_protocol_subscription_v2,
        3: consumer_protocol_subscription_v3,
    },
    "StreamsAssignmentInfo": {
        1: streams_assignment_info_v1,
        2: streams_assignment_info_v2,
        3: streams_assignment_info_v3,
        4: streams_assignment_info_v4,
        5: streams_assignment_info_v5,
        6: streams_assignment_info_v6,
        7: streams_assignment_info_v7_to_v9,
        8: streams_assignment_info_v7_to_v9,
        9: streams_assignment_info_v7_to_v9,
        10: streams_assignment_info_v10_v11,
        11: streams_assignment_info_v10_v11,
    },
    "StreamsSubscriptionInfo": {
        1: streams_subscription_info_v1,
        2: streams_subscription_info_v2,
        3: streams_subscription_info_v3_to_v6,
        4: streams_subscription_info_v3_to_v6,
        5: streams_subscription_info_v3_to_v6,
        6: streams_subscription_info_v3_to_v6,
        7: streams_subscription_info_v7,
        8: streams_subscription_info_v8,
        9: streams_subscription_info_v9,
        10: streams_subscription_info_v10,
        11: streams_subscription_info_v11,
    },
}
"""By message and version: the function."""
