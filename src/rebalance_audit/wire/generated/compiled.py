# fmt: off
# ruff: noqa: COM819, D103, E501
"""Decoders of coordinator records, by message, version and layout. Generated; do not edit.

Versions and layouts that are read alike share a decoder, which has them all in its name. A decoder
reads the clean form of its message, to the last byte, and raises `decoder_runtime.FAILURES` at anything
else; only an embedded message may be followed by more bytes. `make codegen` writes this file from
schemas/records.
"""

import struct
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from rebalance_audit.wire.generated.messages import (
    ZERO_UUID,
    ConnectAssignment,
    ConnectAssignmentConnector,
    ConnectWorkerState,
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentTopicPartitions,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataAssignor,
    ConsumerGroupMemberMetadataClassicMemberMetadata,
    ConsumerGroupMemberMetadataClassicProtocol,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupPartitionMetadataPartitionMetadata,
    ConsumerGroupPartitionMetadataTopicMetadata,
    ConsumerGroupPartitionMetadataValue,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberTopicPartitions,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
    ConsumerProtocolAssignment,
    ConsumerProtocolAssignmentTopicPartition,
    ConsumerProtocolSubscription,
    ConsumerProtocolSubscriptionTopicPartition,
    GroupMetadataKey,
    GroupMetadataMember,
    GroupMetadataValue,
    Key,
    LegacyOffsetCommitKey,
    LegacyOffsetCommitValue,
    OffsetCommitKey,
    OffsetCommitValue,
    RecordType,
    ShareGroupCurrentMemberAssignmentKey,
    ShareGroupCurrentMemberAssignmentTopicPartitions,
    ShareGroupCurrentMemberAssignmentValue,
    ShareGroupMemberMetadataKey,
    ShareGroupMemberMetadataValue,
    ShareGroupMetadataKey,
    ShareGroupMetadataValue,
    ShareGroupPartitionMetadataKey,
    ShareGroupPartitionMetadataPartitionMetadata,
    ShareGroupPartitionMetadataTopicInfo,
    ShareGroupPartitionMetadataTopicMetadata,
    ShareGroupPartitionMetadataTopicPartitionsInfo,
    ShareGroupPartitionMetadataValue,
    ShareGroupStatePartitionMetadataKey,
    ShareGroupStatePartitionMetadataTopicInfo,
    ShareGroupStatePartitionMetadataTopicPartitionsInfo,
    ShareGroupStatePartitionMetadataValue,
    ShareGroupTargetAssignmentMemberKey,
    ShareGroupTargetAssignmentMemberTopicPartitions,
    ShareGroupTargetAssignmentMemberValue,
    ShareGroupTargetAssignmentMetadataKey,
    ShareGroupTargetAssignmentMetadataValue,
    StreamsAssignmentInfo,
    StreamsAssignmentInfoHostIndexedPartitions,
    StreamsAssignmentInfoHostPartitions,
    StreamsAssignmentInfoIndexedPartition,
    StreamsAssignmentInfoIndexedTopic,
    StreamsAssignmentInfoStandbyTask,
    StreamsAssignmentInfoTaskId,
    StreamsAssignmentInfoTopicPartition,
    StreamsGroupCurrentMemberAssignmentKey,
    StreamsGroupCurrentMemberAssignmentTaskIds,
    StreamsGroupCurrentMemberAssignmentValue,
    StreamsGroupMemberMetadataClientTag,
    StreamsGroupMemberMetadataEndpoint,
    StreamsGroupMemberMetadataKey,
    StreamsGroupMemberMetadataValue,
    StreamsGroupMetadataKey,
    StreamsGroupMetadataLastAssignmentConfig,
    StreamsGroupMetadataValue,
    StreamsGroupPartitionMetadataKey,
    StreamsGroupPartitionMetadataPartitionMetadata,
    StreamsGroupPartitionMetadataTopicMetadata,
    StreamsGroupPartitionMetadataValue,
    StreamsGroupTargetAssignmentMemberKey,
    StreamsGroupTargetAssignmentMemberTaskIds,
    StreamsGroupTargetAssignmentMemberValue,
    StreamsGroupTargetAssignmentMetadataKey,
    StreamsGroupTargetAssignmentMetadataValue,
    StreamsGroupTargetAssignmentResolvedTopicIdsKey,
    StreamsGroupTargetAssignmentResolvedTopicIdsResolvedTopicIds,
    StreamsGroupTargetAssignmentResolvedTopicIdsValue,
    StreamsGroupTopologyCopartitionGroup,
    StreamsGroupTopologyKey,
    StreamsGroupTopologySubtopology,
    StreamsGroupTopologyTopicConfig,
    StreamsGroupTopologyTopicInfo,
    StreamsGroupTopologyValue,
    StreamsSubscriptionInfo,
    StreamsSubscriptionInfoClientTag,
    StreamsSubscriptionInfoPartitionOffsetSum,
    StreamsSubscriptionInfoTaskId,
    StreamsSubscriptionInfoTaskOffsetSum,
    Value,
)
from rebalance_audit.wire.primitives import read_uvarint
from rebalance_audit.wire.decoder_runtime import (
    INT16S,
    INT32S,
    UnfitError,
    int16s,
    int32s,
    long_length,
    long_string,
    uuids,
)

new = tuple.__new__

unpack_i1 = struct.Struct(">b").unpack_from
unpack_i1_i2_u1 = struct.Struct(">bhB").unpack_from
unpack_i1_i4 = struct.Struct(">bi").unpack_from
unpack_i1_i4_i4 = struct.Struct(">bii").unpack_from
unpack_i1_u1 = struct.Struct(">bB").unpack_from
unpack_i2 = struct.Struct(">h").unpack_from
unpack_i2_i2 = struct.Struct(">hh").unpack_from
unpack_i2_i2_i1_i2_u1 = struct.Struct(">hhbhB").unpack_from
unpack_i2_u1 = struct.Struct(">hB").unpack_from
unpack_i4 = struct.Struct(">i").unpack_from
unpack_i4_i2 = struct.Struct(">ih").unpack_from
unpack_i4_i2_u1 = struct.Struct(">ihB").unpack_from
unpack_i4_i4 = struct.Struct(">ii").unpack_from
unpack_i4_i4_i1_u1 = struct.Struct(">iibB").unpack_from
unpack_i4_i4_i4 = struct.Struct(">iii").unpack_from
unpack_i4_i4_i4_u1 = struct.Struct(">iiiB").unpack_from
unpack_i4_i4_i8_i2 = struct.Struct(">iiqh").unpack_from
unpack_i4_i4_u1 = struct.Struct(">iiB").unpack_from
unpack_i4_i8 = struct.Struct(">iq").unpack_from
unpack_i4_i8_u1 = struct.Struct(">iqB").unpack_from
unpack_i4_id_i4 = struct.Struct(">i16si").unpack_from
unpack_i4_u1 = struct.Struct(">iB").unpack_from
unpack_i8 = struct.Struct(">q").unpack_from
unpack_i8_i2 = struct.Struct(">qh").unpack_from
unpack_i8_i4 = struct.Struct(">qi").unpack_from
unpack_i8_i4_i2 = struct.Struct(">qih").unpack_from
unpack_i8_i4_u1 = struct.Struct(">qiB").unpack_from
unpack_i8_i8 = struct.Struct(">qq").unpack_from
unpack_i8_i8_u1 = struct.Struct(">qqB").unpack_from
unpack_i8_u1 = struct.Struct(">qB").unpack_from
unpack_id_i4 = struct.Struct(">16si").unpack_from
unpack_id_u1 = struct.Struct(">16sB").unpack_from
unpack_u2_u1 = struct.Struct(">HB").unpack_from

DEFAULT_0: Final = ConsumerGroupMemberMetadataClassicMemberMetadata(session_timeout_ms=0, supported_protocols=())


def legacy_offset_commit_key_v0(data: bytes) -> LegacyOffsetCommitKey:
    p = 0
    n, = unpack_i2(data, p + 2)
    if n < 0:
        raise UnfitError
    e = p + 4 + n
    group = data[p + 4 : e].decode()
    p = e
    n, = unpack_i2(data, p)
    if n < 0:
        raise UnfitError
    e = p + 2 + n
    topic = data[p + 2 : e].decode()
    p = e
    partition, = unpack_i4(data, p)
    if p + 4 != len(data):
        raise UnfitError
    return new(LegacyOffsetCommitKey, (group, topic, partition))


def legacy_offset_commit_value_v0(data: bytes) -> LegacyOffsetCommitValue:
    p = 0
    offset, n = unpack_i8_i2(data, p + 2)
    if n < 0:
        raise UnfitError
    e = p + 12 + n
    metadata = data[p + 12 : e].decode()
    p = e
    commit_timestamp, = unpack_i8(data, p)
    if p + 8 != len(data):
        raise UnfitError
    return new(LegacyOffsetCommitValue, (offset, metadata, commit_timestamp))


def offset_commit_key_v0(data: bytes) -> OffsetCommitKey:
    p = 0
    n, = unpack_i2(data, p + 2)
    if n < 0:
        raise UnfitError
    e = p + 4 + n
    group = data[p + 4 : e].decode()
    p = e
    n, = unpack_i2(data, p)
    if n < 0:
        raise UnfitError
    e = p + 2 + n
    topic = data[p + 2 : e].decode()
    p = e
    partition, = unpack_i4(data, p)
    if p + 4 != len(data):
        raise UnfitError
    return new(OffsetCommitKey, (group, topic, partition))


def offset_commit_value_v0_v2(data: bytes) -> OffsetCommitValue:
    p = 0
    offset, n = unpack_i8_i2(data, p + 2)
    if n < 0:
        raise UnfitError
    e = p + 12 + n
    metadata = data[p + 12 : e].decode()
    p = e
    commit_timestamp, = unpack_i8(data, p)
    if p + 8 != len(data):
        raise UnfitError
    return new(OffsetCommitValue, (offset, metadata, commit_timestamp, -1, -1, ZERO_UUID))


def offset_commit_value_v1(data: bytes) -> OffsetCommitValue:
    p = 0
    offset, n = unpack_i8_i2(data, p + 2)
    if n < 0:
        raise UnfitError
    e = p + 12 + n
    metadata = data[p + 12 : e].decode()
    p = e
    commit_timestamp, expire_timestamp = unpack_i8_i8(data, p)
    if p + 16 != len(data):
        raise UnfitError
    return new(OffsetCommitValue, (offset, metadata, commit_timestamp, -1, expire_timestamp, ZERO_UUID))


def offset_commit_value_v3(data: bytes) -> OffsetCommitValue:
    p = 0
    offset, leader_epoch, n = unpack_i8_i4_i2(data, p + 2)
    if n < 0:
        raise UnfitError
    e = p + 16 + n
    metadata = data[p + 16 : e].decode()
    p = e
    commit_timestamp, = unpack_i8(data, p)
    if p + 8 != len(data):
        raise UnfitError
    return new(OffsetCommitValue, (offset, metadata, commit_timestamp, leader_epoch, -1, ZERO_UUID))


def offset_commit_value_v4(data: bytes) -> OffsetCommitValue:
    p = 0
    offset, leader_epoch, n = unpack_i8_i4_u1(data, p + 2)
    if not 0 < n < 128:
        n, p = long_string(data, p + 14, 15)
    e = p + 14 + n
    metadata = data[p + 15 : e].decode()
    p = e
    commit_timestamp, n = unpack_i8_u1(data, p)
    p += 9
    topic_id: bytes = ZERO_UUID
    if n:
        if n != 1 or data[p] != 0:
            raise UnfitError
        p += 1
        end = p + 1 + data[p]
        p += 1
        if end - p > 127:
            end, p = read_uvarint(data, p - 1)
            end += p
        topic_id = data[p : p + 16]
        p += 16
        if p != end:
            raise UnfitError
    if p != len(data):
        raise UnfitError
    return new(OffsetCommitValue, (offset, metadata, commit_timestamp, leader_epoch, -1, topic_id))


def group_metadata_key_v0(data: bytes) -> GroupMetadataKey:
    p = 0
    n, = unpack_i2(data, p + 2)
    if n < 0:
        raise UnfitError
    e = p + 4 + n
    group = data[p + 4 : e].decode()
    p = e
    if p != len(data):
        raise UnfitError
    return new(GroupMetadataKey, (group,))


def _group_metadata_value_v0_member_array(data: bytes, p: int, count: int) -> tuple[tuple[GroupMetadataMember, ...], int]:
    items: list[GroupMetadataMember] = []
    add = items.append
    for _ in range(count):
        n, = unpack_i2(data, p)
        if n < 0:
            raise UnfitError
        e = p + 2 + n
        member_id = data[p + 2 : e].decode()
        p = e
        n, = unpack_i2(data, p)
        if n < 0:
            raise UnfitError
        e = p + 2 + n
        client_id = data[p + 2 : e].decode()
        p = e
        n, = unpack_i2(data, p)
        if n < 0:
            raise UnfitError
        e = p + 2 + n
        client_host = data[p + 2 : e].decode()
        p = e
        session_timeout, n = unpack_i4_i4(data, p)
        if n < 0:
            raise UnfitError
        e = p + 8 + n
        subscription = data[p + 8 : e]
        p = e
        n, = unpack_i4(data, p)
        if n < 0:
            raise UnfitError
        e = p + 4 + n
        assignment = data[p + 4 : e]
        p = e
        add(new(GroupMetadataMember, (member_id, client_id, client_host, session_timeout, subscription, assignment, None, -1, -1)))
    return tuple(items), p


def group_metadata_value_v0(data: bytes) -> GroupMetadataValue:
    p = 0
    n, = unpack_i2(data, p + 2)
    if n < 0:
        raise UnfitError
    e = p + 4 + n
    protocol_type = data[p + 4 : e].decode()
    p = e
    generation, n = unpack_i4_i2(data, p)
    if n == -1:
        protocol = None
        p += 6
    else:
        if n < 0:
            raise UnfitError
        e = p + 6 + n
        protocol = data[p + 6 : e].decode()
        p = e
    n, = unpack_i2(data, p)
    if n == -1:
        leader = None
        p += 2
    else:
        if n < 0:
            raise UnfitError
        e = p + 2 + n
        leader = data[p + 2 : e].decode()
        p = e
    n, = unpack_i4(data, p)
    if n < 0:
        raise UnfitError
    members, p = _group_metadata_value_v0_member_array(data, p + 4, n) if n else ((), p + 4)
    if p != len(data):
        raise UnfitError
    return new(GroupMetadataValue, (protocol_type, generation, protocol, leader, members, -1))


def _group_metadata_value_v0_of_redpanda_member_array(data: bytes, p: int, count: int) -> tuple[tuple[GroupMetadataMember, ...], int]:
    items: list[GroupMetadataMember] = []
    add = items.append
    for _ in range(count):
        member_version, n = unpack_i2_i2(data, p)
        if n < 0:
            raise UnfitError
        e = p + 4 + n
        member_id = data[p + 4 : e].decode()
        p = e
        n, = unpack_i2(data, p)
        if n < 0:
            raise UnfitError
        e = p + 2 + n
        client_id = data[p + 2 : e].decode()
        p = e
        n, = unpack_i2(data, p)
        if n < 0:
            raise UnfitError
        e = p + 2 + n
        client_host = data[p + 2 : e].decode()
        p = e
        session_timeout, n = unpack_i4_i4(data, p)
        if n < 0:
            raise UnfitError
        e = p + 8 + n
        subscription = data[p + 8 : e]
        p = e
        n, = unpack_i4(data, p)
        if n < 0:
            raise UnfitError
        e = p + 4 + n
        assignment = data[p + 4 : e]
        p = e
        add(new(GroupMetadataMember, (member_id, client_id, client_host, session_timeout, subscription, assignment, None, -1, member_version)))
    return tuple(items), p


def group_metadata_value_v0_of_redpanda(data: bytes) -> GroupMetadataValue:
    p = 0
    n, = unpack_i2(data, p + 2)
    if n < 0:
        raise UnfitError
    e = p + 4 + n
    protocol_type = data[p + 4 : e].decode()
    p = e
    generation, n = unpack_i4_i2(data, p)
    if n == -1:
        protocol = None
        p += 6
    else:
        if n < 0:
            raise UnfitError
        e = p + 6 + n
        protocol = data[p + 6 : e].decode()
        p = e
    n, = unpack_i2(data, p)
    if n == -1:
        leader = None
        p += 2
    else:
        if n < 0:
            raise UnfitError
        e = p + 2 + n
        leader = data[p + 2 : e].decode()
        p = e
    n, = unpack_i4(data, p)
    if n < 0:
        raise UnfitError
    members, p = _group_metadata_value_v0_of_redpanda_member_array(data, p + 4, n) if n else ((), p + 4)
    if p != len(data):
        raise UnfitError
    return new(GroupMetadataValue, (protocol_type, generation, protocol, leader, members, -1))


def _group_metadata_value_v1_v2_member_array(data: bytes, p: int, count: int) -> tuple[tuple[GroupMetadataMember, ...], int]:
    items: list[GroupMetadataMember] = []
    add = items.append
    for _ in range(count):
        n, = unpack_i2(data, p)
        if n < 0:
            raise UnfitError
        e = p + 2 + n
        member_id = data[p + 2 : e].decode()
        p = e
        n, = unpack_i2(data, p)
        if n < 0:
            raise UnfitError
        e = p + 2 + n
        client_id = data[p + 2 : e].decode()
        p = e
        n, = unpack_i2(data, p)
        if n < 0:
            raise UnfitError
        e = p + 2 + n
        client_host = data[p + 2 : e].decode()
        p = e
        rebalance_timeout, session_timeout, n = unpack_i4_i4_i4(data, p)
        if n < 0:
            raise UnfitError
        e = p + 12 + n
        subscription = data[p + 12 : e]
        p = e
        n, = unpack_i4(data, p)
        if n < 0:
            raise UnfitError
        e = p + 4 + n
        assignment = data[p + 4 : e]
        p = e
        add(new(GroupMetadataMember, (member_id, client_id, client_host, session_timeout, subscription, assignment, None, rebalance_timeout, -1)))
    return tuple(items), p


def group_metadata_value_v1(data: bytes) -> GroupMetadataValue:
    p = 0
    n, = unpack_i2(data, p + 2)
    if n < 0:
        raise UnfitError
    e = p + 4 + n
    protocol_type = data[p + 4 : e].decode()
    p = e
    generation, n = unpack_i4_i2(data, p)
    if n == -1:
        protocol = None
        p += 6
    else:
        if n < 0:
            raise UnfitError
        e = p + 6 + n
        protocol = data[p + 6 : e].decode()
        p = e
    n, = unpack_i2(data, p)
    if n == -1:
        leader = None
        p += 2
    else:
        if n < 0:
            raise UnfitError
        e = p + 2 + n
        leader = data[p + 2 : e].decode()
        p = e
    n, = unpack_i4(data, p)
    if n < 0:
        raise UnfitError
    members, p = _group_metadata_value_v1_v2_member_array(data, p + 4, n) if n else ((), p + 4)
    if p != len(data):
        raise UnfitError
    return new(GroupMetadataValue, (protocol_type, generation, protocol, leader, members, -1))


def _group_metadata_value_v1_of_redpanda_v2_of_redpanda_member_array(data: bytes, p: int, count: int) -> tuple[tuple[GroupMetadataMember, ...], int]:
    items: list[GroupMetadataMember] = []
    add = items.append
    for _ in range(count):
        member_version, n = unpack_i2_i2(data, p)
        if n < 0:
            raise UnfitError
        e = p + 4 + n
        member_id = data[p + 4 : e].decode()
        p = e
        n, = unpack_i2(data, p)
        if n < 0:
            raise UnfitError
        e = p + 2 + n
        client_id = data[p + 2 : e].decode()
        p = e
        n, = unpack_i2(data, p)
        if n < 0:
            raise UnfitError
        e = p + 2 + n
        client_host = data[p + 2 : e].decode()
        p = e
        rebalance_timeout, session_timeout, n = unpack_i4_i4_i4(data, p)
        if n < 0:
            raise UnfitError
        e = p + 12 + n
        subscription = data[p + 12 : e]
        p = e
        n, = unpack_i4(data, p)
        if n < 0:
            raise UnfitError
        e = p + 4 + n
        assignment = data[p + 4 : e]
        p = e
        add(new(GroupMetadataMember, (member_id, client_id, client_host, session_timeout, subscription, assignment, None, rebalance_timeout, member_version)))
    return tuple(items), p


def group_metadata_value_v1_of_redpanda(data: bytes) -> GroupMetadataValue:
    p = 0
    n, = unpack_i2(data, p + 2)
    if n < 0:
        raise UnfitError
    e = p + 4 + n
    protocol_type = data[p + 4 : e].decode()
    p = e
    generation, n = unpack_i4_i2(data, p)
    if n == -1:
        protocol = None
        p += 6
    else:
        if n < 0:
            raise UnfitError
        e = p + 6 + n
        protocol = data[p + 6 : e].decode()
        p = e
    n, = unpack_i2(data, p)
    if n == -1:
        leader = None
        p += 2
    else:
        if n < 0:
            raise UnfitError
        e = p + 2 + n
        leader = data[p + 2 : e].decode()
        p = e
    n, = unpack_i4(data, p)
    if n < 0:
        raise UnfitError
    members, p = _group_metadata_value_v1_of_redpanda_v2_of_redpanda_member_array(data, p + 4, n) if n else ((), p + 4)
    if p != len(data):
        raise UnfitError
    return new(GroupMetadataValue, (protocol_type, generation, protocol, leader, members, -1))


def group_metadata_value_v2(data: bytes) -> GroupMetadataValue:
    p = 0
    n, = unpack_i2(data, p + 2)
    if n < 0:
        raise UnfitError
    e = p + 4 + n
    protocol_type = data[p + 4 : e].decode()
    p = e
    generation, n = unpack_i4_i2(data, p)
    if n == -1:
        protocol = None
        p += 6
    else:
        if n < 0:
            raise UnfitError
        e = p + 6 + n
        protocol = data[p + 6 : e].decode()
        p = e
    n, = unpack_i2(data, p)
    if n == -1:
        leader = None
        p += 2
    else:
        if n < 0:
            raise UnfitError
        e = p + 2 + n
        leader = data[p + 2 : e].decode()
        p = e
    current_state_timestamp, n = unpack_i8_i4(data, p)
    if n < 0:
        raise UnfitError
    members, p = _group_metadata_value_v1_v2_member_array(data, p + 12, n) if n else ((), p + 12)
    if p != len(data):
        raise UnfitError
    return new(GroupMetadataValue, (protocol_type, generation, protocol, leader, members, current_state_timestamp))


def group_metadata_value_v2_of_redpanda(data: bytes) -> GroupMetadataValue:
    p = 0
    n, = unpack_i2(data, p + 2)
    if n < 0:
        raise UnfitError
    e = p + 4 + n
    protocol_type = data[p + 4 : e].decode()
    p = e
    generation, n = unpack_i4_i2(data, p)
    if n == -1:
        protocol = None
        p += 6
    else:
        if n < 0:
            raise UnfitError
        e = p + 6 + n
        protocol = data[p + 6 : e].decode()
        p = e
    n, = unpack_i2(data, p)
    if n == -1:
        leader = None
        p += 2
    else:
        if n < 0:
            raise UnfitError
        e = p + 2 + n
        leader = data[p + 2 : e].decode()
        p = e
    current_state_timestamp, n = unpack_i8_i4(data, p)
    if n < 0:
        raise UnfitError
    members, p = _group_metadata_value_v1_of_redpanda_v2_of_redpanda_member_array(data, p + 12, n) if n else ((), p + 12)
    if p != len(data):
        raise UnfitError
    return new(GroupMetadataValue, (protocol_type, generation, protocol, leader, members, current_state_timestamp))


def _group_metadata_value_v3_member_array(data: bytes, p: int, count: int) -> tuple[tuple[GroupMetadataMember, ...], int]:
    items: list[GroupMetadataMember] = []
    add = items.append
    for _ in range(count):
        n, = unpack_i2(data, p)
        if n < 0:
            raise UnfitError
        e = p + 2 + n
        member_id = data[p + 2 : e].decode()
        p = e
        n, = unpack_i2(data, p)
        if n == -1:
            group_instance_id = None
            p += 2
        else:
            if n < 0:
                raise UnfitError
            e = p + 2 + n
            group_instance_id = data[p + 2 : e].decode()
            p = e
        n, = unpack_i2(data, p)
        if n < 0:
            raise UnfitError
        e = p + 2 + n
        client_id = data[p + 2 : e].decode()
        p = e
        n, = unpack_i2(data, p)
        if n < 0:
            raise UnfitError
        e = p + 2 + n
        client_host = data[p + 2 : e].decode()
        p = e
        rebalance_timeout, session_timeout, n = unpack_i4_i4_i4(data, p)
        if n < 0:
            raise UnfitError
        e = p + 12 + n
        subscription = data[p + 12 : e]
        p = e
        n, = unpack_i4(data, p)
        if n < 0:
            raise UnfitError
        e = p + 4 + n
        assignment = data[p + 4 : e]
        p = e
        add(new(GroupMetadataMember, (member_id, client_id, client_host, session_timeout, subscription, assignment, group_instance_id, rebalance_timeout, -1)))
    return tuple(items), p


def group_metadata_value_v3(data: bytes) -> GroupMetadataValue:
    p = 0
    n, = unpack_i2(data, p + 2)
    if n < 0:
        raise UnfitError
    e = p + 4 + n
    protocol_type = data[p + 4 : e].decode()
    p = e
    generation, n = unpack_i4_i2(data, p)
    if n == -1:
        protocol = None
        p += 6
    else:
        if n < 0:
            raise UnfitError
        e = p + 6 + n
        protocol = data[p + 6 : e].decode()
        p = e
    n, = unpack_i2(data, p)
    if n == -1:
        leader = None
        p += 2
    else:
        if n < 0:
            raise UnfitError
        e = p + 2 + n
        leader = data[p + 2 : e].decode()
        p = e
    current_state_timestamp, n = unpack_i8_i4(data, p)
    if n < 0:
        raise UnfitError
    members, p = _group_metadata_value_v3_member_array(data, p + 12, n) if n else ((), p + 12)
    if p != len(data):
        raise UnfitError
    return new(GroupMetadataValue, (protocol_type, generation, protocol, leader, members, current_state_timestamp))


def _group_metadata_value_v3_of_redpanda_member_array(data: bytes, p: int, count: int) -> tuple[tuple[GroupMetadataMember, ...], int]:
    items: list[GroupMetadataMember] = []
    add = items.append
    for _ in range(count):
        member_version, n = unpack_i2_i2(data, p)
        if n < 0:
            raise UnfitError
        e = p + 4 + n
        member_id = data[p + 4 : e].decode()
        p = e
        n, = unpack_i2(data, p)
        if n == -1:
            group_instance_id = None
            p += 2
        else:
            if n < 0:
                raise UnfitError
            e = p + 2 + n
            group_instance_id = data[p + 2 : e].decode()
            p = e
        n, = unpack_i2(data, p)
        if n < 0:
            raise UnfitError
        e = p + 2 + n
        client_id = data[p + 2 : e].decode()
        p = e
        n, = unpack_i2(data, p)
        if n < 0:
            raise UnfitError
        e = p + 2 + n
        client_host = data[p + 2 : e].decode()
        p = e
        rebalance_timeout, session_timeout, n = unpack_i4_i4_i4(data, p)
        if n < 0:
            raise UnfitError
        e = p + 12 + n
        subscription = data[p + 12 : e]
        p = e
        n, = unpack_i4(data, p)
        if n < 0:
            raise UnfitError
        e = p + 4 + n
        assignment = data[p + 4 : e]
        p = e
        add(new(GroupMetadataMember, (member_id, client_id, client_host, session_timeout, subscription, assignment, group_instance_id, rebalance_timeout, member_version)))
    return tuple(items), p


def group_metadata_value_v3_of_redpanda(data: bytes) -> GroupMetadataValue:
    p = 0
    n, = unpack_i2(data, p + 2)
    if n < 0:
        raise UnfitError
    e = p + 4 + n
    protocol_type = data[p + 4 : e].decode()
    p = e
    generation, n = unpack_i4_i2(data, p)
    if n == -1:
        protocol = None
        p += 6
    else:
        if n < 0:
            raise UnfitError
        e = p + 6 + n
        protocol = data[p + 6 : e].decode()
        p = e
    n, = unpack_i2(data, p)
    if n == -1:
        leader = None
        p += 2
    else:
        if n < 0:
            raise UnfitError
        e = p + 2 + n
        leader = data[p + 2 : e].decode()
        p = e
    current_state_timestamp, n = unpack_i8_i4(data, p)
    if n < 0:
        raise UnfitError
    members, p = _group_metadata_value_v3_of_redpanda_member_array(data, p + 12, n) if n else ((), p + 12)
    if p != len(data):
        raise UnfitError
    return new(GroupMetadataValue, (protocol_type, generation, protocol, leader, members, current_state_timestamp))


def _group_metadata_value_v4_member_array(data: bytes, p: int, count: int) -> tuple[tuple[GroupMetadataMember, ...], int]:
    items: list[GroupMetadataMember] = []
    add = items.append
    for _ in range(count):
        n = data[p]
        if not 0 < n < 128:
            n, p = long_string(data, p, 1)
        e = p + n
        member_id = data[p + 1 : e].decode()
        p = e
        n = data[p]
        if n == 0:
            group_instance_id = None
            p += 1
        else:
            if n > 127:
                n, p = long_string(data, p, 1)
            e = p + n
            group_instance_id = data[p + 1 : e].decode()
            p = e
        n = data[p]
        if not 0 < n < 128:
            n, p = long_string(data, p, 1)
        e = p + n
        client_id = data[p + 1 : e].decode()
        p = e
        n = data[p]
        if not 0 < n < 128:
            n, p = long_string(data, p, 1)
        e = p + n
        client_host = data[p + 1 : e].decode()
        p = e
        rebalance_timeout, session_timeout, n = unpack_i4_i4_u1(data, p)
        if not 0 < n < 128:
            n, p = long_length(data, p + 8, 9)
        e = p + 8 + n
        subscription = data[p + 9 : e]
        p = e
        n = data[p]
        if not 0 < n < 128:
            n, p = long_length(data, p, 1)
        e = p + n
        assignment = data[p + 1 : e]
        p = e
        n = data[p]
        if n:
            raise UnfitError
        p += 1
        add(new(GroupMetadataMember, (member_id, client_id, client_host, session_timeout, subscription, assignment, group_instance_id, rebalance_timeout, -1)))
    return tuple(items), p


def group_metadata_value_v4(data: bytes) -> GroupMetadataValue:
    p = 0
    n = data[p + 2]
    if not 0 < n < 128:
        n, p = long_string(data, p + 2, 3)
    e = p + 2 + n
    protocol_type = data[p + 3 : e].decode()
    p = e
    generation, n = unpack_i4_u1(data, p)
    if n == 0:
        protocol = None
        p += 5
    else:
        if n > 127:
            n, p = long_string(data, p + 4, 5)
        e = p + 4 + n
        protocol = data[p + 5 : e].decode()
        p = e
    n = data[p]
    if n == 0:
        leader = None
        p += 1
    else:
        if n > 127:
            n, p = long_string(data, p, 1)
        e = p + n
        leader = data[p + 1 : e].decode()
        p = e
    current_state_timestamp, n = unpack_i8_u1(data, p)
    if not 0 < n < 128:
        n, p = long_length(data, p + 8, 9)
    members, p = _group_metadata_value_v4_member_array(data, p + 9, n - 1) if n > 1 else ((), p + 9)
    n = data[p]
    if n:
        raise UnfitError
    if p + 1 != len(data):
        raise UnfitError
    return new(GroupMetadataValue, (protocol_type, generation, protocol, leader, members, current_state_timestamp))


def consumer_group_metadata_key_v0(data: bytes) -> ConsumerGroupMetadataKey:
    p = 0
    n, = unpack_i2(data, p + 2)
    if n < 0:
        raise UnfitError
    e = p + 4 + n
    group_id = data[p + 4 : e].decode()
    p = e
    if p != len(data):
        raise UnfitError
    return new(ConsumerGroupMetadataKey, (group_id,))


def consumer_group_metadata_value_v0(data: bytes) -> ConsumerGroupMetadataValue:
    p = 0
    epoch, n = unpack_i4_u1(data, p + 2)
    p += 7
    metadata_hash: int = 0
    if n:
        if n != 1 or data[p] != 0:
            raise UnfitError
        p += 1
        end = p + 1 + data[p]
        p += 1
        if end - p > 127:
            end, p = read_uvarint(data, p - 1)
            end += p
        metadata_hash, = unpack_i8(data, p)
        p += 8
        if p != end:
            raise UnfitError
    if p != len(data):
        raise UnfitError
    return new(ConsumerGroupMetadataValue, (epoch, metadata_hash))


def consumer_group_partition_metadata_key_v0(data: bytes) -> ConsumerGroupPartitionMetadataKey:
    p = 0
    n, = unpack_i2(data, p + 2)
    if n < 0:
        raise UnfitError
    e = p + 4 + n
    group_id = data[p + 4 : e].decode()
    p = e
    if p != len(data):
        raise UnfitError
    return new(ConsumerGroupPartitionMetadataKey, (group_id,))


def _consumer_group_partition_metadata_value_v0_v0_of_3_7_partition_metadata_array(data: bytes, p: int, count: int) -> tuple[tuple[ConsumerGroupPartitionMetadataPartitionMetadata, ...], int]:
    items: list[ConsumerGroupPartitionMetadataPartitionMetadata] = []
    add = items.append
    for _ in range(count):
        partition, n = unpack_i4_u1(data, p)
        if not 0 < n < 128:
            n, p = long_length(data, p + 4, 5)
        p += 5
        texts: list[str] = []
        for _ in range(n - 1):
            n = data[p]
            if not 0 < n < 128:
                n, p = long_string(data, p, 1)
            e = p + n
            text = data[p + 1 : e].decode()
            p = e
            texts.append(text)
        racks = tuple(texts)
        n = data[p]
        if n:
            raise UnfitError
        p += 1
        add(new(ConsumerGroupPartitionMetadataPartitionMetadata, (partition, racks)))
    return tuple(items), p


def _consumer_group_partition_metadata_value_v0_v0_of_3_7_topic_metadata_array(data: bytes, p: int, count: int) -> tuple[tuple[ConsumerGroupPartitionMetadataTopicMetadata, ...], int]:
    items: list[ConsumerGroupPartitionMetadataTopicMetadata] = []
    add = items.append
    for _ in range(count):
        topic_id, n = unpack_id_u1(data, p)
        if not 0 < n < 128:
            n, p = long_string(data, p + 16, 17)
        e = p + 16 + n
        topic_name = data[p + 17 : e].decode()
        p = e
        num_partitions, n = unpack_i4_u1(data, p)
        if not 0 < n < 128:
            n, p = long_length(data, p + 4, 5)
        partition_metadata, p = _consumer_group_partition_metadata_value_v0_v0_of_3_7_partition_metadata_array(data, p + 5, n - 1) if n > 1 else ((), p + 5)
        n = data[p]
        if n:
            raise UnfitError
        p += 1
        add(new(ConsumerGroupPartitionMetadataTopicMetadata, (topic_id, topic_name, num_partitions, partition_metadata)))
    return tuple(items), p


def consumer_group_partition_metadata_value_v0(data: bytes) -> ConsumerGroupPartitionMetadataValue:
    p = 0
    n = data[p + 2]
    if not 0 < n < 128:
        n, p = long_length(data, p + 2, 3)
    topics, p = _consumer_group_partition_metadata_value_v0_v0_of_3_7_topic_metadata_array(data, p + 3, n - 1) if n > 1 else ((), p + 3)
    n = data[p]
    if n:
        raise UnfitError
    if p + 1 != len(data):
        raise UnfitError
    return new(ConsumerGroupPartitionMetadataValue, (topics, -1))


def consumer_group_partition_metadata_value_v0_of_3_7(data: bytes) -> ConsumerGroupPartitionMetadataValue:
    p = 0
    epoch, n = unpack_i4_u1(data, p + 2)
    if not 0 < n < 128:
        n, p = long_length(data, p + 6, 7)
    topics, p = _consumer_group_partition_metadata_value_v0_v0_of_3_7_topic_metadata_array(data, p + 7, n - 1) if n > 1 else ((), p + 7)
    n = data[p]
    if n:
        raise UnfitError
    if p + 1 != len(data):
        raise UnfitError
    return new(ConsumerGroupPartitionMetadataValue, (topics, epoch))


def consumer_group_member_metadata_key_v0(data: bytes) -> ConsumerGroupMemberMetadataKey:
    p = 0
    n, = unpack_i2(data, p + 2)
    if n < 0:
        raise UnfitError
    e = p + 4 + n
    group_id = data[p + 4 : e].decode()
    p = e
    n, = unpack_i2(data, p)
    if n < 0:
        raise UnfitError
    e = p + 2 + n
    member_id = data[p + 2 : e].decode()
    p = e
    if p != len(data):
        raise UnfitError
    return new(ConsumerGroupMemberMetadataKey, (group_id, member_id))


def _consumer_group_member_metadata_value_v0_classic_protocol_array(data: bytes, p: int, count: int) -> tuple[tuple[ConsumerGroupMemberMetadataClassicProtocol, ...], int]:
    items: list[ConsumerGroupMemberMetadataClassicProtocol] = []
    add = items.append
    for _ in range(count):
        n = data[p]
        if not 0 < n < 128:
            n, p = long_string(data, p, 1)
        e = p + n
        name = data[p + 1 : e].decode()
        p = e
        n = data[p]
        if not 0 < n < 128:
            n, p = long_length(data, p, 1)
        e = p + n
        metadata = data[p + 1 : e]
        p = e
        n = data[p]
        if n:
            raise UnfitError
        p += 1
        add(new(ConsumerGroupMemberMetadataClassicProtocol, (name, metadata)))
    return tuple(items), p


def consumer_group_member_metadata_value_v0(data: bytes) -> ConsumerGroupMemberMetadataValue:
    p = 0
    n = data[p + 2]
    if n == 0:
        instance_id = None
        p += 3
    else:
        if n > 127:
            n, p = long_string(data, p + 2, 3)
        e = p + 2 + n
        instance_id = data[p + 3 : e].decode()
        p = e
    n = data[p]
    if n == 0:
        rack_id = None
        p += 1
    else:
        if n > 127:
            n, p = long_string(data, p, 1)
        e = p + n
        rack_id = data[p + 1 : e].decode()
        p = e
    n = data[p]
    if not 0 < n < 128:
        n, p = long_string(data, p, 1)
    e = p + n
    client_id = data[p + 1 : e].decode()
    p = e
    n = data[p]
    if not 0 < n < 128:
        n, p = long_string(data, p, 1)
    e = p + n
    client_host = data[p + 1 : e].decode()
    p = e
    n = data[p]
    if not 0 < n < 128:
        n, p = long_length(data, p, 1)
    p += 1
    texts: list[str] = []
    for _ in range(n - 1):
        n = data[p]
        if not 0 < n < 128:
            n, p = long_string(data, p, 1)
        e = p + n
        text = data[p + 1 : e].decode()
        p = e
        texts.append(text)
    subscribed_topic_names = tuple(texts)
    n = data[p]
    if n == 0:
        subscribed_topic_regex = None
        p += 1
    else:
        if n > 127:
            n, p = long_string(data, p, 1)
        e = p + n
        subscribed_topic_regex = data[p + 1 : e].decode()
        p = e
    rebalance_timeout_ms, n = unpack_i4_u1(data, p)
    if n == 0:
        server_assignor = None
        p += 5
    else:
        if n > 127:
            n, p = long_string(data, p + 4, 5)
        e = p + 4 + n
        server_assignor = data[p + 5 : e].decode()
        p = e
    n = data[p]
    p += 1
    classic_member_metadata: ConsumerGroupMemberMetadataClassicMemberMetadata | None = DEFAULT_0
    if n:
        if n != 1 or data[p] != 0:
            raise UnfitError
        p += 1
        end = p + 1 + data[p]
        p += 1
        if end - p > 127:
            end, p = read_uvarint(data, p - 1)
            end += p
        n = data[p]
        p += 1
        if n == 0:
            classic_member_metadata = None
        elif n == 1:
            session_timeout_ms, n = unpack_i4_u1(data, p)
            if not 0 < n < 128:
                n, p = long_length(data, p + 4, 5)
            supported_protocols, p = _consumer_group_member_metadata_value_v0_classic_protocol_array(data, p + 5, n - 1) if n > 1 else ((), p + 5)
            n = data[p]
            if n:
                raise UnfitError
            p += 1
            classic_member_metadata = new(ConsumerGroupMemberMetadataClassicMemberMetadata, (session_timeout_ms, supported_protocols))
        else:
            raise UnfitError
        if p != end:
            raise UnfitError
    if p != len(data):
        raise UnfitError
    return new(ConsumerGroupMemberMetadataValue, (instance_id, rack_id, client_id, client_host, subscribed_topic_names, subscribed_topic_regex, rebalance_timeout_ms, server_assignor, classic_member_metadata, ()))


def _consumer_group_member_metadata_value_v0_of_3_7_assignor_array(data: bytes, p: int, count: int) -> tuple[tuple[ConsumerGroupMemberMetadataAssignor, ...], int]:
    items: list[ConsumerGroupMemberMetadataAssignor] = []
    add = items.append
    for _ in range(count):
        n = data[p]
        if not 0 < n < 128:
            n, p = long_string(data, p, 1)
        e = p + n
        name = data[p + 1 : e].decode()
        p = e
        minimum_version, maximum_version, reason, version, n = unpack_i2_i2_i1_i2_u1(data, p)
        if not 0 < n < 128:
            n, p = long_length(data, p + 7, 8)
        e = p + 7 + n
        metadata = data[p + 8 : e]
        p = e
        n = data[p]
        if n:
            raise UnfitError
        p += 1
        add(new(ConsumerGroupMemberMetadataAssignor, (name, minimum_version, maximum_version, reason, version, metadata)))
    return tuple(items), p


def consumer_group_member_metadata_value_v0_of_3_7(data: bytes) -> ConsumerGroupMemberMetadataValue:
    p = 0
    n = data[p + 2]
    if n == 0:
        instance_id = None
        p += 3
    else:
        if n > 127:
            n, p = long_string(data, p + 2, 3)
        e = p + 2 + n
        instance_id = data[p + 3 : e].decode()
        p = e
    n = data[p]
    if n == 0:
        rack_id = None
        p += 1
    else:
        if n > 127:
            n, p = long_string(data, p, 1)
        e = p + n
        rack_id = data[p + 1 : e].decode()
        p = e
    n = data[p]
    if not 0 < n < 128:
        n, p = long_string(data, p, 1)
    e = p + n
    client_id = data[p + 1 : e].decode()
    p = e
    n = data[p]
    if not 0 < n < 128:
        n, p = long_string(data, p, 1)
    e = p + n
    client_host = data[p + 1 : e].decode()
    p = e
    n = data[p]
    if not 0 < n < 128:
        n, p = long_length(data, p, 1)
    p += 1
    texts: list[str] = []
    for _ in range(n - 1):
        n = data[p]
        if not 0 < n < 128:
            n, p = long_string(data, p, 1)
        e = p + n
        text = data[p + 1 : e].decode()
        p = e
        texts.append(text)
    subscribed_topic_names = tuple(texts)
    n = data[p]
    if n == 0:
        subscribed_topic_regex = None
        p += 1
    else:
        if n > 127:
            n, p = long_string(data, p, 1)
        e = p + n
        subscribed_topic_regex = data[p + 1 : e].decode()
        p = e
    rebalance_timeout_ms, n = unpack_i4_u1(data, p)
    if n == 0:
        server_assignor = None
        p += 5
    else:
        if n > 127:
            n, p = long_string(data, p + 4, 5)
        e = p + 4 + n
        server_assignor = data[p + 5 : e].decode()
        p = e
    n = data[p]
    if not 0 < n < 128:
        n, p = long_length(data, p, 1)
    assignors, p = _consumer_group_member_metadata_value_v0_of_3_7_assignor_array(data, p + 1, n - 1) if n > 1 else ((), p + 1)
    n = data[p]
    if n:
        raise UnfitError
    if p + 1 != len(data):
        raise UnfitError
    return new(ConsumerGroupMemberMetadataValue, (instance_id, rack_id, client_id, client_host, subscribed_topic_names, subscribed_topic_regex, rebalance_timeout_ms, server_assignor, None, assignors))


def consumer_group_target_assignment_metadata_key_v0(data: bytes) -> ConsumerGroupTargetAssignmentMetadataKey:
    p = 0
    n, = unpack_i2(data, p + 2)
    if n < 0:
        raise UnfitError
    e = p + 4 + n
    group_id = data[p + 4 : e].decode()
    p = e
    if p != len(data):
        raise UnfitError
    return new(ConsumerGroupTargetAssignmentMetadataKey, (group_id,))


def consumer_group_target_assignment_metadata_value_v0(data: bytes) -> ConsumerGroupTargetAssignmentMetadataValue:
    p = 0
    assignment_epoch, n = unpack_i4_u1(data, p + 2)
    p += 7
    assignment_timestamp: int = 0
    if n:
        if n != 1 or data[p] != 0:
            raise UnfitError
        p += 1
        end = p + 1 + data[p]
        p += 1
        if end - p > 127:
            end, p = read_uvarint(data, p - 1)
            end += p
        assignment_timestamp, = unpack_i8(data, p)
        p += 8
        if p != end:
            raise UnfitError
    if p != len(data):
        raise UnfitError
    return new(ConsumerGroupTargetAssignmentMetadataValue, (assignment_epoch, assignment_timestamp))


def consumer_group_target_assignment_member_key_v0(data: bytes) -> ConsumerGroupTargetAssignmentMemberKey:
    p = 0
    n, = unpack_i2(data, p + 2)
    if n < 0:
        raise UnfitError
    e = p + 4 + n
    group_id = data[p + 4 : e].decode()
    p = e
    n, = unpack_i2(data, p)
    if n < 0:
        raise UnfitError
    e = p + 2 + n
    member_id = data[p + 2 : e].decode()
    p = e
    if p != len(data):
        raise UnfitError
    return new(ConsumerGroupTargetAssignmentMemberKey, (group_id, member_id))


def _consumer_group_target_assignment_member_value_v0_v0_of_3_7_topic_partitions_array(data: bytes, p: int, count: int) -> tuple[tuple[ConsumerGroupTargetAssignmentMemberTopicPartitions, ...], int]:
    items: list[ConsumerGroupTargetAssignmentMemberTopicPartitions] = []
    add = items.append
    for _ in range(count):
        topic_id, n = unpack_id_u1(data, p)
        if not 0 < n < 128:
            n, p = long_length(data, p + 16, 17)
        partitions = INT32S[n - 1](data, p + 17) if n < 65 else int32s(data, p + 17, n - 1)
        p += 4 * n + 13
        n = data[p]
        if n:
            raise UnfitError
        p += 1
        add(new(ConsumerGroupTargetAssignmentMemberTopicPartitions, (topic_id, partitions)))
    return tuple(items), p


def consumer_group_target_assignment_member_value_v0(data: bytes) -> ConsumerGroupTargetAssignmentMemberValue:
    p = 0
    n = data[p + 2]
    if not 0 < n < 128:
        n, p = long_length(data, p + 2, 3)
    topic_partitions, p = _consumer_group_target_assignment_member_value_v0_v0_of_3_7_topic_partitions_array(data, p + 3, n - 1) if n > 1 else ((), p + 3)
    n = data[p]
    if n:
        raise UnfitError
    if p + 1 != len(data):
        raise UnfitError
    return new(ConsumerGroupTargetAssignmentMemberValue, (topic_partitions, 0, 0, b""))


def consumer_group_target_assignment_member_value_v0_of_3_7(data: bytes) -> ConsumerGroupTargetAssignmentMemberValue:
    p = 0
    error, n = unpack_i1_u1(data, p + 2)
    if not 0 < n < 128:
        n, p = long_length(data, p + 3, 4)
    topic_partitions, p = _consumer_group_target_assignment_member_value_v0_v0_of_3_7_topic_partitions_array(data, p + 4, n - 1) if n > 1 else ((), p + 4)
    metadata_version, n = unpack_i2_u1(data, p)
    if not 0 < n < 128:
        n, p = long_length(data, p + 2, 3)
    e = p + 2 + n
    metadata_bytes = data[p + 3 : e]
    p = e
    n = data[p]
    if n:
        raise UnfitError
    if p + 1 != len(data):
        raise UnfitError
    return new(ConsumerGroupTargetAssignmentMemberValue, (topic_partitions, error, metadata_version, metadata_bytes))


def consumer_group_current_member_assignment_key_v0(data: bytes) -> ConsumerGroupCurrentMemberAssignmentKey:
    p = 0
    n, = unpack_i2(data, p + 2)
    if n < 0:
        raise UnfitError
    e = p + 4 + n
    group_id = data[p + 4 : e].decode()
    p = e
    n, = unpack_i2(data, p)
    if n < 0:
        raise UnfitError
    e = p + 2 + n
    member_id = data[p + 2 : e].decode()
    p = e
    if p != len(data):
        raise UnfitError
    return new(ConsumerGroupCurrentMemberAssignmentKey, (group_id, member_id))


def _consumer_group_current_member_assignment_value_v0_topic_partitions_array(data: bytes, p: int, count: int) -> tuple[tuple[ConsumerGroupCurrentMemberAssignmentTopicPartitions, ...], int]:
    items: list[ConsumerGroupCurrentMemberAssignmentTopicPartitions] = []
    add = items.append
    for _ in range(count):
        topic_id, n = unpack_id_u1(data, p)
        if not 0 < n < 128:
            n, p = long_length(data, p + 16, 17)
        partitions = INT32S[n - 1](data, p + 17) if n < 65 else int32s(data, p + 17, n - 1)
        p += 4 * n + 13
        n = data[p]
        p += 1
        assignment_epochs: tuple[int, ...] | None = ()
        if n:
            if n != 1 or data[p] != 0:
                raise UnfitError
            p += 1
            end = p + 1 + data[p]
            p += 1
            if end - p > 127:
                end, p = read_uvarint(data, p - 1)
                end += p
            n = data[p]
            if n == 0:
                assignment_epochs = None
                p += 1
            else:
                if n > 127:
                    n, p = long_length(data, p, 1)
                assignment_epochs = INT32S[n - 1](data, p + 1) if n < 65 else int32s(data, p + 1, n - 1)
                p += 4 * n - 3
            if p != end:
                raise UnfitError
        add(new(ConsumerGroupCurrentMemberAssignmentTopicPartitions, (topic_id, partitions, assignment_epochs)))
    return tuple(items), p


def consumer_group_current_member_assignment_value_v0(data: bytes) -> ConsumerGroupCurrentMemberAssignmentValue:
    p = 0
    member_epoch, previous_member_epoch, state, n = unpack_i4_i4_i1_u1(data, p + 2)
    if state not in (0, 1, 2):
        raise UnfitError
    if not 0 < n < 128:
        n, p = long_length(data, p + 11, 12)
    assigned_partitions, p = _consumer_group_current_member_assignment_value_v0_topic_partitions_array(data, p + 12, n - 1) if n > 1 else ((), p + 12)
    n = data[p]
    if not 0 < n < 128:
        n, p = long_length(data, p, 1)
    partitions_pending_revocation, p = _consumer_group_current_member_assignment_value_v0_topic_partitions_array(data, p + 1, n - 1) if n > 1 else ((), p + 1)
    n = data[p]
    if n:
        raise UnfitError
    if p + 1 != len(data):
        raise UnfitError
    return new(ConsumerGroupCurrentMemberAssignmentValue, (member_epoch, previous_member_epoch, assigned_partitions, partitions_pending_revocation, state, -1, (), 0, 0, b""))


def _consumer_group_current_member_assignment_value_v0_of_3_7_topic_partitions_array(data: bytes, p: int, count: int) -> tuple[tuple[ConsumerGroupCurrentMemberAssignmentTopicPartitions, ...], int]:
    items: list[ConsumerGroupCurrentMemberAssignmentTopicPartitions] = []
    add = items.append
    for _ in range(count):
        topic_id, n = unpack_id_u1(data, p)
        if not 0 < n < 128:
            n, p = long_length(data, p + 16, 17)
        partitions = INT32S[n - 1](data, p + 17) if n < 65 else int32s(data, p + 17, n - 1)
        p += 4 * n + 13
        n = data[p]
        if n:
            raise UnfitError
        p += 1
        add(new(ConsumerGroupCurrentMemberAssignmentTopicPartitions, (topic_id, partitions, ())))
    return tuple(items), p


def consumer_group_current_member_assignment_value_v0_of_3_7(data: bytes) -> ConsumerGroupCurrentMemberAssignmentValue:
    p = 0
    member_epoch, previous_member_epoch, target_member_epoch, n = unpack_i4_i4_i4_u1(data, p + 2)
    if not 0 < n < 128:
        n, p = long_length(data, p + 14, 15)
    assigned_partitions, p = _consumer_group_current_member_assignment_value_v0_of_3_7_topic_partitions_array(data, p + 15, n - 1) if n > 1 else ((), p + 15)
    n = data[p]
    if not 0 < n < 128:
        n, p = long_length(data, p, 1)
    partitions_pending_revocation, p = _consumer_group_current_member_assignment_value_v0_of_3_7_topic_partitions_array(data, p + 1, n - 1) if n > 1 else ((), p + 1)
    n = data[p]
    if not 0 < n < 128:
        n, p = long_length(data, p, 1)
    partitions_pending_assignment, p = _consumer_group_current_member_assignment_value_v0_of_3_7_topic_partitions_array(data, p + 1, n - 1) if n > 1 else ((), p + 1)
    error, metadata_version, n = unpack_i1_i2_u1(data, p)
    if not 0 < n < 128:
        n, p = long_length(data, p + 3, 4)
    e = p + 3 + n
    metadata_bytes = data[p + 4 : e]
    p = e
    n = data[p]
    if n:
        raise UnfitError
    if p + 1 != len(data):
        raise UnfitError
    return new(ConsumerGroupCurrentMemberAssignmentValue, (member_epoch, previous_member_epoch, assigned_partitions, partitions_pending_revocation, 127, target_member_epoch, partitions_pending_assignment, error, metadata_version, metadata_bytes))


def share_group_partition_metadata_key_v0(data: bytes) -> ShareGroupPartitionMetadataKey:
    p = 0
    n, = unpack_i2(data, p + 2)
    if n < 0:
        raise UnfitError
    e = p + 4 + n
    group_id = data[p + 4 : e].decode()
    p = e
    if p != len(data):
        raise UnfitError
    return new(ShareGroupPartitionMetadataKey, (group_id,))


def _share_group_partition_metadata_value_v0_of_4_0_partition_metadata_array(data: bytes, p: int, count: int) -> tuple[tuple[ShareGroupPartitionMetadataPartitionMetadata, ...], int]:
    items: list[ShareGroupPartitionMetadataPartitionMetadata] = []
    add = items.append
    for _ in range(count):
        partition, n = unpack_i4_u1(data, p)
        if not 0 < n < 128:
            n, p = long_length(data, p + 4, 5)
        p += 5
        texts: list[str] = []
        for _ in range(n - 1):
            n = data[p]
            if not 0 < n < 128:
                n, p = long_string(data, p, 1)
            e = p + n
            text = data[p + 1 : e].decode()
            p = e
            texts.append(text)
        racks = tuple(texts)
        n = data[p]
        if n:
            raise UnfitError
        p += 1
        add(new(ShareGroupPartitionMetadataPartitionMetadata, (partition, racks)))
    return tuple(items), p


def _share_group_partition_metadata_value_v0_of_4_0_topic_metadata_array(data: bytes, p: int, count: int) -> tuple[tuple[ShareGroupPartitionMetadataTopicMetadata, ...], int]:
    items: list[ShareGroupPartitionMetadataTopicMetadata] = []
    add = items.append
    for _ in range(count):
        topic_id, n = unpack_id_u1(data, p)
        if not 0 < n < 128:
            n, p = long_string(data, p + 16, 17)
        e = p + 16 + n
        topic_name = data[p + 17 : e].decode()
        p = e
        num_partitions, n = unpack_i4_u1(data, p)
        if not 0 < n < 128:
            n, p = long_length(data, p + 4, 5)
        partition_metadata, p = _share_group_partition_metadata_value_v0_of_4_0_partition_metadata_array(data, p + 5, n - 1) if n > 1 else ((), p + 5)
        n = data[p]
        if n:
            raise UnfitError
        p += 1
        add(new(ShareGroupPartitionMetadataTopicMetadata, (topic_id, topic_name, num_partitions, partition_metadata)))
    return tuple(items), p


def share_group_partition_metadata_value_v0_of_4_0(data: bytes) -> ShareGroupPartitionMetadataValue:
    p = 0
    n = data[p + 2]
    if not 0 < n < 128:
        n, p = long_length(data, p + 2, 3)
    topics, p = _share_group_partition_metadata_value_v0_of_4_0_topic_metadata_array(data, p + 3, n - 1) if n > 1 else ((), p + 3)
    n = data[p]
    if n:
        raise UnfitError
    if p + 1 != len(data):
        raise UnfitError
    return new(ShareGroupPartitionMetadataValue, (topics, (), ()))


def _share_group_partition_metadata_value_v0_of_3_9_topic_partitions_info_array(data: bytes, p: int, count: int) -> tuple[tuple[ShareGroupPartitionMetadataTopicPartitionsInfo, ...], int]:
    items: list[ShareGroupPartitionMetadataTopicPartitionsInfo] = []
    add = items.append
    for _ in range(count):
        topic_id, n = unpack_id_u1(data, p)
        if not 0 < n < 128:
            n, p = long_string(data, p + 16, 17)
        e = p + 16 + n
        topic_name = data[p + 17 : e].decode()
        p = e
        n = data[p]
        if not 0 < n < 128:
            n, p = long_length(data, p, 1)
        partitions = INT32S[n - 1](data, p + 1) if n < 65 else int32s(data, p + 1, n - 1)
        p += 4 * n - 3
        n = data[p]
        if n:
            raise UnfitError
        p += 1
        add(new(ShareGroupPartitionMetadataTopicPartitionsInfo, (topic_id, topic_name, partitions)))
    return tuple(items), p


def _share_group_partition_metadata_value_v0_of_3_9_topic_info_array(data: bytes, p: int, count: int) -> tuple[tuple[ShareGroupPartitionMetadataTopicInfo, ...], int]:
    items: list[ShareGroupPartitionMetadataTopicInfo] = []
    add = items.append
    for _ in range(count):
        topic_id, n = unpack_id_u1(data, p)
        if not 0 < n < 128:
            n, p = long_string(data, p + 16, 17)
        e = p + 16 + n
        topic_name = data[p + 17 : e].decode()
        p = e
        n = data[p]
        if n:
            raise UnfitError
        p += 1
        add(new(ShareGroupPartitionMetadataTopicInfo, (topic_id, topic_name)))
    return tuple(items), p


def share_group_partition_metadata_value_v0_of_3_9(data: bytes) -> ShareGroupPartitionMetadataValue:
    p = 0
    n = data[p + 2]
    if not 0 < n < 128:
        n, p = long_length(data, p + 2, 3)
    initialized_topics, p = _share_group_partition_metadata_value_v0_of_3_9_topic_partitions_info_array(data, p + 3, n - 1) if n > 1 else ((), p + 3)
    n = data[p]
    if not 0 < n < 128:
        n, p = long_length(data, p, 1)
    deleting_topics, p = _share_group_partition_metadata_value_v0_of_3_9_topic_info_array(data, p + 1, n - 1) if n > 1 else ((), p + 1)
    n = data[p]
    if n:
        raise UnfitError
    if p + 1 != len(data):
        raise UnfitError
    return new(ShareGroupPartitionMetadataValue, ((), initialized_topics, deleting_topics))


def share_group_member_metadata_key_v0(data: bytes) -> ShareGroupMemberMetadataKey:
    p = 0
    n, = unpack_i2(data, p + 2)
    if n < 0:
        raise UnfitError
    e = p + 4 + n
    group_id = data[p + 4 : e].decode()
    p = e
    n, = unpack_i2(data, p)
    if n < 0:
        raise UnfitError
    e = p + 2 + n
    member_id = data[p + 2 : e].decode()
    p = e
    if p != len(data):
        raise UnfitError
    return new(ShareGroupMemberMetadataKey, (group_id, member_id))


def share_group_member_metadata_value_v0(data: bytes) -> ShareGroupMemberMetadataValue:
    p = 0
    n = data[p + 2]
    if n == 0:
        rack_id = None
        p += 3
    else:
        if n > 127:
            n, p = long_string(data, p + 2, 3)
        e = p + 2 + n
        rack_id = data[p + 3 : e].decode()
        p = e
    n = data[p]
    if not 0 < n < 128:
        n, p = long_string(data, p, 1)
    e = p + n
    client_id = data[p + 1 : e].decode()
    p = e
    n = data[p]
    if not 0 < n < 128:
        n, p = long_string(data, p, 1)
    e = p + n
    client_host = data[p + 1 : e].decode()
    p = e
    n = data[p]
    if not 0 < n < 128:
        n, p = long_length(data, p, 1)
    p += 1
    texts: list[str] = []
    for _ in range(n - 1):
        n = data[p]
        if not 0 < n < 128:
            n, p = long_string(data, p, 1)
        e = p + n
        text = data[p + 1 : e].decode()
        p = e
        texts.append(text)
    subscribed_topic_names = tuple(texts)
    n = data[p]
    if n:
        raise UnfitError
    if p + 1 != len(data):
        raise UnfitError
    return new(ShareGroupMemberMetadataValue, (rack_id, client_id, client_host, subscribed_topic_names))


def share_group_metadata_key_v0(data: bytes) -> ShareGroupMetadataKey:
    p = 0
    n, = unpack_i2(data, p + 2)
    if n < 0:
        raise UnfitError
    e = p + 4 + n
    group_id = data[p + 4 : e].decode()
    p = e
    if p != len(data):
        raise UnfitError
    return new(ShareGroupMetadataKey, (group_id,))


def share_group_metadata_value_v0(data: bytes) -> ShareGroupMetadataValue:
    p = 0
    epoch, metadata_hash, n = unpack_i4_i8_u1(data, p + 2)
    if n:
        raise UnfitError
    if p + 15 != len(data):
        raise UnfitError
    return new(ShareGroupMetadataValue, (epoch, metadata_hash))


def share_group_metadata_value_v0_of_4_0(data: bytes) -> ShareGroupMetadataValue:
    p = 0
    epoch, n = unpack_i4_u1(data, p + 2)
    if n:
        raise UnfitError
    if p + 7 != len(data):
        raise UnfitError
    return new(ShareGroupMetadataValue, (epoch, 0))


def share_group_target_assignment_metadata_key_v0(data: bytes) -> ShareGroupTargetAssignmentMetadataKey:
    p = 0
    n, = unpack_i2(data, p + 2)
    if n < 0:
        raise UnfitError
    e = p + 4 + n
    group_id = data[p + 4 : e].decode()
    p = e
    if p != len(data):
        raise UnfitError
    return new(ShareGroupTargetAssignmentMetadataKey, (group_id,))


def share_group_target_assignment_metadata_value_v0(data: bytes) -> ShareGroupTargetAssignmentMetadataValue:
    p = 0
    assignment_epoch, n = unpack_i4_u1(data, p + 2)
    p += 7
    assignment_timestamp: int = 0
    if n:
        if n != 1 or data[p] != 0:
            raise UnfitError
        p += 1
        end = p + 1 + data[p]
        p += 1
        if end - p > 127:
            end, p = read_uvarint(data, p - 1)
            end += p
        assignment_timestamp, = unpack_i8(data, p)
        p += 8
        if p != end:
            raise UnfitError
    if p != len(data):
        raise UnfitError
    return new(ShareGroupTargetAssignmentMetadataValue, (assignment_epoch, assignment_timestamp))


def share_group_target_assignment_member_key_v0(data: bytes) -> ShareGroupTargetAssignmentMemberKey:
    p = 0
    n, = unpack_i2(data, p + 2)
    if n < 0:
        raise UnfitError
    e = p + 4 + n
    group_id = data[p + 4 : e].decode()
    p = e
    n, = unpack_i2(data, p)
    if n < 0:
        raise UnfitError
    e = p + 2 + n
    member_id = data[p + 2 : e].decode()
    p = e
    if p != len(data):
        raise UnfitError
    return new(ShareGroupTargetAssignmentMemberKey, (group_id, member_id))


def _share_group_target_assignment_member_value_v0_topic_partitions_array(data: bytes, p: int, count: int) -> tuple[tuple[ShareGroupTargetAssignmentMemberTopicPartitions, ...], int]:
    items: list[ShareGroupTargetAssignmentMemberTopicPartitions] = []
    add = items.append
    for _ in range(count):
        topic_id, n = unpack_id_u1(data, p)
        if not 0 < n < 128:
            n, p = long_length(data, p + 16, 17)
        partitions = INT32S[n - 1](data, p + 17) if n < 65 else int32s(data, p + 17, n - 1)
        p += 4 * n + 13
        n = data[p]
        if n:
            raise UnfitError
        p += 1
        add(new(ShareGroupTargetAssignmentMemberTopicPartitions, (topic_id, partitions)))
    return tuple(items), p


def share_group_target_assignment_member_value_v0(data: bytes) -> ShareGroupTargetAssignmentMemberValue:
    p = 0
    n = data[p + 2]
    if not 0 < n < 128:
        n, p = long_length(data, p + 2, 3)
    topic_partitions, p = _share_group_target_assignment_member_value_v0_topic_partitions_array(data, p + 3, n - 1) if n > 1 else ((), p + 3)
    n = data[p]
    if n:
        raise UnfitError
    if p + 1 != len(data):
        raise UnfitError
    return new(ShareGroupTargetAssignmentMemberValue, (topic_partitions,))


def share_group_current_member_assignment_key_v0(data: bytes) -> ShareGroupCurrentMemberAssignmentKey:
    p = 0
    n, = unpack_i2(data, p + 2)
    if n < 0:
        raise UnfitError
    e = p + 4 + n
    group_id = data[p + 4 : e].decode()
    p = e
    n, = unpack_i2(data, p)
    if n < 0:
        raise UnfitError
    e = p + 2 + n
    member_id = data[p + 2 : e].decode()
    p = e
    if p != len(data):
        raise UnfitError
    return new(ShareGroupCurrentMemberAssignmentKey, (group_id, member_id))


def _share_group_current_member_assignment_value_v0_topic_partitions_array(data: bytes, p: int, count: int) -> tuple[tuple[ShareGroupCurrentMemberAssignmentTopicPartitions, ...], int]:
    items: list[ShareGroupCurrentMemberAssignmentTopicPartitions] = []
    add = items.append
    for _ in range(count):
        topic_id, n = unpack_id_u1(data, p)
        if not 0 < n < 128:
            n, p = long_length(data, p + 16, 17)
        partitions = INT32S[n - 1](data, p + 17) if n < 65 else int32s(data, p + 17, n - 1)
        p += 4 * n + 13
        n = data[p]
        if n:
            raise UnfitError
        p += 1
        add(new(ShareGroupCurrentMemberAssignmentTopicPartitions, (topic_id, partitions)))
    return tuple(items), p


def share_group_current_member_assignment_value_v0(data: bytes) -> ShareGroupCurrentMemberAssignmentValue:
    p = 0
    member_epoch, previous_member_epoch, state, n = unpack_i4_i4_i1_u1(data, p + 2)
    if not 0 < n < 128:
        n, p = long_length(data, p + 11, 12)
    assigned_partitions, p = _share_group_current_member_assignment_value_v0_topic_partitions_array(data, p + 12, n - 1) if n > 1 else ((), p + 12)
    n = data[p]
    if n:
        raise UnfitError
    if p + 1 != len(data):
        raise UnfitError
    return new(ShareGroupCurrentMemberAssignmentValue, (member_epoch, previous_member_epoch, state, assigned_partitions))


def share_group_state_partition_metadata_key_v0(data: bytes) -> ShareGroupStatePartitionMetadataKey:
    p = 0
    n, = unpack_i2(data, p + 2)
    if n < 0:
        raise UnfitError
    e = p + 4 + n
    group_id = data[p + 4 : e].decode()
    p = e
    if p != len(data):
        raise UnfitError
    return new(ShareGroupStatePartitionMetadataKey, (group_id,))


def _share_group_state_partition_metadata_value_v0_v0_of_4_0_topic_partitions_info_array(data: bytes, p: int, count: int) -> tuple[tuple[ShareGroupStatePartitionMetadataTopicPartitionsInfo, ...], int]:
    items: list[ShareGroupStatePartitionMetadataTopicPartitionsInfo] = []
    add = items.append
    for _ in range(count):
        topic_id, n = unpack_id_u1(data, p)
        if not 0 < n < 128:
            n, p = long_string(data, p + 16, 17)
        e = p + 16 + n
        topic_name = data[p + 17 : e].decode()
        p = e
        n = data[p]
        if not 0 < n < 128:
            n, p = long_length(data, p, 1)
        partitions = INT32S[n - 1](data, p + 1) if n < 65 else int32s(data, p + 1, n - 1)
        p += 4 * n - 3
        n = data[p]
        if n:
            raise UnfitError
        p += 1
        add(new(ShareGroupStatePartitionMetadataTopicPartitionsInfo, (topic_id, topic_name, partitions)))
    return tuple(items), p


def _share_group_state_partition_metadata_value_v0_v0_of_4_0_topic_info_array(data: bytes, p: int, count: int) -> tuple[tuple[ShareGroupStatePartitionMetadataTopicInfo, ...], int]:
    items: list[ShareGroupStatePartitionMetadataTopicInfo] = []
    add = items.append
    for _ in range(count):
        topic_id, n = unpack_id_u1(data, p)
        if not 0 < n < 128:
            n, p = long_string(data, p + 16, 17)
        e = p + 16 + n
        topic_name = data[p + 17 : e].decode()
        p = e
        n = data[p]
        if n:
            raise UnfitError
        p += 1
        add(new(ShareGroupStatePartitionMetadataTopicInfo, (topic_id, topic_name)))
    return tuple(items), p


def share_group_state_partition_metadata_value_v0(data: bytes) -> ShareGroupStatePartitionMetadataValue:
    p = 0
    n = data[p + 2]
    if not 0 < n < 128:
        n, p = long_length(data, p + 2, 3)
    initializing_topics, p = _share_group_state_partition_metadata_value_v0_v0_of_4_0_topic_partitions_info_array(data, p + 3, n - 1) if n > 1 else ((), p + 3)
    n = data[p]
    if not 0 < n < 128:
        n, p = long_length(data, p, 1)
    initialized_topics, p = _share_group_state_partition_metadata_value_v0_v0_of_4_0_topic_partitions_info_array(data, p + 1, n - 1) if n > 1 else ((), p + 1)
    n = data[p]
    if not 0 < n < 128:
        n, p = long_length(data, p, 1)
    deleting_topics, p = _share_group_state_partition_metadata_value_v0_v0_of_4_0_topic_info_array(data, p + 1, n - 1) if n > 1 else ((), p + 1)
    n = data[p]
    if n:
        raise UnfitError
    if p + 1 != len(data):
        raise UnfitError
    return new(ShareGroupStatePartitionMetadataValue, (initialized_topics, deleting_topics, initializing_topics))


def share_group_state_partition_metadata_value_v0_of_4_0(data: bytes) -> ShareGroupStatePartitionMetadataValue:
    p = 0
    n = data[p + 2]
    if not 0 < n < 128:
        n, p = long_length(data, p + 2, 3)
    initialized_topics, p = _share_group_state_partition_metadata_value_v0_v0_of_4_0_topic_partitions_info_array(data, p + 3, n - 1) if n > 1 else ((), p + 3)
    n = data[p]
    if not 0 < n < 128:
        n, p = long_length(data, p, 1)
    deleting_topics, p = _share_group_state_partition_metadata_value_v0_v0_of_4_0_topic_info_array(data, p + 1, n - 1) if n > 1 else ((), p + 1)
    n = data[p]
    if n:
        raise UnfitError
    if p + 1 != len(data):
        raise UnfitError
    return new(ShareGroupStatePartitionMetadataValue, (initialized_topics, deleting_topics, ()))


def consumer_group_regular_expression_key_v0(data: bytes) -> ConsumerGroupRegularExpressionKey:
    p = 0
    n, = unpack_i2(data, p + 2)
    if n < 0:
        raise UnfitError
    e = p + 4 + n
    group_id = data[p + 4 : e].decode()
    p = e
    n, = unpack_i2(data, p)
    if n < 0:
        raise UnfitError
    e = p + 2 + n
    regular_expression = data[p + 2 : e].decode()
    p = e
    if p != len(data):
        raise UnfitError
    return new(ConsumerGroupRegularExpressionKey, (group_id, regular_expression))


def consumer_group_regular_expression_value_v0(data: bytes) -> ConsumerGroupRegularExpressionValue:
    p = 0
    n = data[p + 2]
    if not 0 < n < 128:
        n, p = long_length(data, p + 2, 3)
    p += 3
    texts: list[str] = []
    for _ in range(n - 1):
        n = data[p]
        if not 0 < n < 128:
            n, p = long_string(data, p, 1)
        e = p + n
        text = data[p + 1 : e].decode()
        p = e
        texts.append(text)
    topics = tuple(texts)
    version, timestamp, n = unpack_i8_i8_u1(data, p)
    if n:
        raise UnfitError
    if p + 17 != len(data):
        raise UnfitError
    return new(ConsumerGroupRegularExpressionValue, (topics, version, timestamp))


def streams_group_metadata_key_v0(data: bytes) -> StreamsGroupMetadataKey:
    p = 0
    n, = unpack_i2(data, p + 2)
    if n < 0:
        raise UnfitError
    e = p + 4 + n
    group_id = data[p + 4 : e].decode()
    p = e
    if p != len(data):
        raise UnfitError
    return new(StreamsGroupMetadataKey, (group_id,))


def _streams_group_metadata_value_v0_last_assignment_config_array(data: bytes, p: int, count: int) -> tuple[tuple[StreamsGroupMetadataLastAssignmentConfig, ...], int]:
    items: list[StreamsGroupMetadataLastAssignmentConfig] = []
    add = items.append
    for _ in range(count):
        n = data[p]
        if not 0 < n < 128:
            n, p = long_string(data, p, 1)
        e = p + n
        key = data[p + 1 : e].decode()
        p = e
        n = data[p]
        if not 0 < n < 128:
            n, p = long_string(data, p, 1)
        e = p + n
        value = data[p + 1 : e].decode()
        p = e
        n = data[p]
        if n:
            raise UnfitError
        p += 1
        add(new(StreamsGroupMetadataLastAssignmentConfig, (key, value)))
    return tuple(items), p


def streams_group_metadata_value_v0(data: bytes) -> StreamsGroupMetadataValue:
    p = 0
    epoch, metadata_hash, n = unpack_i4_i8_u1(data, p + 2)
    p += 15
    validated_topology_epoch: int = -1
    last_assignment_configs: tuple[StreamsGroupMetadataLastAssignmentConfig, ...] | None = ()
    stored_description_topology_epoch: int = -1
    failed_description_topology_epoch: int = -1
    previous_tag = -1
    for _ in range(n):
        tag = data[p]
        if tag <= previous_tag:
            raise UnfitError
        previous_tag = tag
        p += 1
        if tag == 0:
            end = p + 1 + data[p]
            p += 1
            if end - p > 127:
                end, p = read_uvarint(data, p - 1)
                end += p
            validated_topology_epoch, = unpack_i4(data, p)
            p += 4
            if p != end:
                raise UnfitError
        elif tag == 1:
            end_2 = p + 1 + data[p]
            p += 1
            if end_2 - p > 127:
                end_2, p = read_uvarint(data, p - 1)
                end_2 += p
            n = data[p]
            if n == 0:
                last_assignment_configs = None
                p += 1
            else:
                if n > 127:
                    n, p = long_length(data, p, 1)
                last_assignment_configs, p = _streams_group_metadata_value_v0_last_assignment_config_array(data, p + 1, n - 1) if n > 1 else ((), p + 1)
            if p != end_2:
                raise UnfitError
        elif tag == 2:
            end_3 = p + 1 + data[p]
            p += 1
            if end_3 - p > 127:
                end_3, p = read_uvarint(data, p - 1)
                end_3 += p
            stored_description_topology_epoch, = unpack_i4(data, p)
            p += 4
            if p != end_3:
                raise UnfitError
        elif tag == 3:
            end_4 = p + 1 + data[p]
            p += 1
            if end_4 - p > 127:
                end_4, p = read_uvarint(data, p - 1)
                end_4 += p
            failed_description_topology_epoch, = unpack_i4(data, p)
            p += 4
            if p != end_4:
                raise UnfitError
        else:
            raise UnfitError
    if p != len(data):
        raise UnfitError
    return new(StreamsGroupMetadataValue, (epoch, metadata_hash, validated_topology_epoch, last_assignment_configs, stored_description_topology_epoch, failed_description_topology_epoch))


def streams_group_partition_metadata_key_v0(data: bytes) -> StreamsGroupPartitionMetadataKey:
    p = 0
    n, = unpack_i2(data, p + 2)
    if n < 0:
        raise UnfitError
    e = p + 4 + n
    group_id = data[p + 4 : e].decode()
    p = e
    if p != len(data):
        raise UnfitError
    return new(StreamsGroupPartitionMetadataKey, (group_id,))


def _streams_group_partition_metadata_value_v0_partition_metadata_array(data: bytes, p: int, count: int) -> tuple[tuple[StreamsGroupPartitionMetadataPartitionMetadata, ...], int]:
    items: list[StreamsGroupPartitionMetadataPartitionMetadata] = []
    add = items.append
    for _ in range(count):
        partition, n = unpack_i4_u1(data, p)
        if not 0 < n < 128:
            n, p = long_length(data, p + 4, 5)
        p += 5
        texts: list[str] = []
        for _ in range(n - 1):
            n = data[p]
            if not 0 < n < 128:
                n, p = long_string(data, p, 1)
            e = p + n
            text = data[p + 1 : e].decode()
            p = e
            texts.append(text)
        racks = tuple(texts)
        n = data[p]
        if n:
            raise UnfitError
        p += 1
        add(new(StreamsGroupPartitionMetadataPartitionMetadata, (partition, racks)))
    return tuple(items), p


def _streams_group_partition_metadata_value_v0_topic_metadata_array(data: bytes, p: int, count: int) -> tuple[tuple[StreamsGroupPartitionMetadataTopicMetadata, ...], int]:
    items: list[StreamsGroupPartitionMetadataTopicMetadata] = []
    add = items.append
    for _ in range(count):
        topic_id, n = unpack_id_u1(data, p)
        if not 0 < n < 128:
            n, p = long_string(data, p + 16, 17)
        e = p + 16 + n
        topic_name = data[p + 17 : e].decode()
        p = e
        num_partitions, n = unpack_i4_u1(data, p)
        if not 0 < n < 128:
            n, p = long_length(data, p + 4, 5)
        partition_metadata, p = _streams_group_partition_metadata_value_v0_partition_metadata_array(data, p + 5, n - 1) if n > 1 else ((), p + 5)
        n = data[p]
        if n:
            raise UnfitError
        p += 1
        add(new(StreamsGroupPartitionMetadataTopicMetadata, (topic_id, topic_name, num_partitions, partition_metadata)))
    return tuple(items), p


def streams_group_partition_metadata_value_v0(data: bytes) -> StreamsGroupPartitionMetadataValue:
    p = 0
    n = data[p + 2]
    if not 0 < n < 128:
        n, p = long_length(data, p + 2, 3)
    topics, p = _streams_group_partition_metadata_value_v0_topic_metadata_array(data, p + 3, n - 1) if n > 1 else ((), p + 3)
    n = data[p]
    if n:
        raise UnfitError
    if p + 1 != len(data):
        raise UnfitError
    return new(StreamsGroupPartitionMetadataValue, (topics,))


def streams_group_member_metadata_key_v0(data: bytes) -> StreamsGroupMemberMetadataKey:
    p = 0
    n, = unpack_i2(data, p + 2)
    if n < 0:
        raise UnfitError
    e = p + 4 + n
    group_id = data[p + 4 : e].decode()
    p = e
    n, = unpack_i2(data, p)
    if n < 0:
        raise UnfitError
    e = p + 2 + n
    member_id = data[p + 2 : e].decode()
    p = e
    if p != len(data):
        raise UnfitError
    return new(StreamsGroupMemberMetadataKey, (group_id, member_id))


def _streams_group_member_metadata_value_v0_client_tag_array(data: bytes, p: int, count: int) -> tuple[tuple[StreamsGroupMemberMetadataClientTag, ...], int]:
    items: list[StreamsGroupMemberMetadataClientTag] = []
    add = items.append
    for _ in range(count):
        n = data[p]
        if not 0 < n < 128:
            n, p = long_string(data, p, 1)
        e = p + n
        key = data[p + 1 : e].decode()
        p = e
        n = data[p]
        if not 0 < n < 128:
            n, p = long_string(data, p, 1)
        e = p + n
        value = data[p + 1 : e].decode()
        p = e
        n = data[p]
        if n:
            raise UnfitError
        p += 1
        add(new(StreamsGroupMemberMetadataClientTag, (key, value)))
    return tuple(items), p


def streams_group_member_metadata_value_v0(data: bytes) -> StreamsGroupMemberMetadataValue:
    p = 0
    n = data[p + 2]
    if n == 0:
        instance_id = None
        p += 3
    else:
        if n > 127:
            n, p = long_string(data, p + 2, 3)
        e = p + 2 + n
        instance_id = data[p + 3 : e].decode()
        p = e
    n = data[p]
    if n == 0:
        rack_id = None
        p += 1
    else:
        if n > 127:
            n, p = long_string(data, p, 1)
        e = p + n
        rack_id = data[p + 1 : e].decode()
        p = e
    n = data[p]
    if not 0 < n < 128:
        n, p = long_string(data, p, 1)
    e = p + n
    client_id = data[p + 1 : e].decode()
    p = e
    n = data[p]
    if not 0 < n < 128:
        n, p = long_string(data, p, 1)
    e = p + n
    client_host = data[p + 1 : e].decode()
    p = e
    rebalance_timeout_ms, topology_epoch, n = unpack_i4_i4_u1(data, p)
    if not 0 < n < 128:
        n, p = long_string(data, p + 8, 9)
    e = p + 8 + n
    process_id = data[p + 9 : e].decode()
    p = e
    n, = unpack_i1(data, p)
    p += 1
    if n == -1:
        user_endpoint = None
    elif n == 1:
        n = data[p]
        if not 0 < n < 128:
            n, p = long_string(data, p, 1)
        e = p + n
        host = data[p + 1 : e].decode()
        p = e
        port, n = unpack_u2_u1(data, p)
        if n:
            raise UnfitError
        p += 3
        user_endpoint = new(StreamsGroupMemberMetadataEndpoint, (host, port))
    else:
        raise UnfitError
    n = data[p]
    if not 0 < n < 128:
        n, p = long_length(data, p, 1)
    client_tags, p = _streams_group_member_metadata_value_v0_client_tag_array(data, p + 1, n - 1) if n > 1 else ((), p + 1)
    n = data[p]
    if n:
        raise UnfitError
    if p + 1 != len(data):
        raise UnfitError
    return new(StreamsGroupMemberMetadataValue, (instance_id, rack_id, client_id, client_host, rebalance_timeout_ms, topology_epoch, process_id, user_endpoint, client_tags))


def streams_group_target_assignment_metadata_key_v0(data: bytes) -> StreamsGroupTargetAssignmentMetadataKey:
    p = 0
    n, = unpack_i2(data, p + 2)
    if n < 0:
        raise UnfitError
    e = p + 4 + n
    group_id = data[p + 4 : e].decode()
    p = e
    if p != len(data):
        raise UnfitError
    return new(StreamsGroupTargetAssignmentMetadataKey, (group_id,))


def streams_group_target_assignment_metadata_value_v0(data: bytes) -> StreamsGroupTargetAssignmentMetadataValue:
    p = 0
    assignment_epoch, n = unpack_i4_u1(data, p + 2)
    p += 7
    assignment_timestamp: int = 0
    if n:
        if n != 1 or data[p] != 0:
            raise UnfitError
        p += 1
        end = p + 1 + data[p]
        p += 1
        if end - p > 127:
            end, p = read_uvarint(data, p - 1)
            end += p
        assignment_timestamp, = unpack_i8(data, p)
        p += 8
        if p != end:
            raise UnfitError
    if p != len(data):
        raise UnfitError
    return new(StreamsGroupTargetAssignmentMetadataValue, (assignment_epoch, assignment_timestamp))


def streams_group_target_assignment_member_key_v0(data: bytes) -> StreamsGroupTargetAssignmentMemberKey:
    p = 0
    n, = unpack_i2(data, p + 2)
    if n < 0:
        raise UnfitError
    e = p + 4 + n
    group_id = data[p + 4 : e].decode()
    p = e
    n, = unpack_i2(data, p)
    if n < 0:
        raise UnfitError
    e = p + 2 + n
    member_id = data[p + 2 : e].decode()
    p = e
    if p != len(data):
        raise UnfitError
    return new(StreamsGroupTargetAssignmentMemberKey, (group_id, member_id))


def _streams_group_target_assignment_member_value_v0_task_ids_array(data: bytes, p: int, count: int) -> tuple[tuple[StreamsGroupTargetAssignmentMemberTaskIds, ...], int]:
    items: list[StreamsGroupTargetAssignmentMemberTaskIds] = []
    add = items.append
    for _ in range(count):
        n = data[p]
        if not 0 < n < 128:
            n, p = long_string(data, p, 1)
        e = p + n
        subtopology_id = data[p + 1 : e].decode()
        p = e
        n = data[p]
        if not 0 < n < 128:
            n, p = long_length(data, p, 1)
        partitions = INT32S[n - 1](data, p + 1) if n < 65 else int32s(data, p + 1, n - 1)
        p += 4 * n - 3
        n = data[p]
        if n:
            raise UnfitError
        p += 1
        add(new(StreamsGroupTargetAssignmentMemberTaskIds, (subtopology_id, partitions)))
    return tuple(items), p


def streams_group_target_assignment_member_value_v0(data: bytes) -> StreamsGroupTargetAssignmentMemberValue:
    p = 0
    n = data[p + 2]
    if not 0 < n < 128:
        n, p = long_length(data, p + 2, 3)
    active_tasks, p = _streams_group_target_assignment_member_value_v0_task_ids_array(data, p + 3, n - 1) if n > 1 else ((), p + 3)
    n = data[p]
    if not 0 < n < 128:
        n, p = long_length(data, p, 1)
    standby_tasks, p = _streams_group_target_assignment_member_value_v0_task_ids_array(data, p + 1, n - 1) if n > 1 else ((), p + 1)
    n = data[p]
    if not 0 < n < 128:
        n, p = long_length(data, p, 1)
    warmup_tasks, p = _streams_group_target_assignment_member_value_v0_task_ids_array(data, p + 1, n - 1) if n > 1 else ((), p + 1)
    n = data[p]
    if n:
        raise UnfitError
    if p + 1 != len(data):
        raise UnfitError
    return new(StreamsGroupTargetAssignmentMemberValue, (active_tasks, standby_tasks, warmup_tasks))


def streams_group_current_member_assignment_key_v0(data: bytes) -> StreamsGroupCurrentMemberAssignmentKey:
    p = 0
    n, = unpack_i2(data, p + 2)
    if n < 0:
        raise UnfitError
    e = p + 4 + n
    group_id = data[p + 4 : e].decode()
    p = e
    n, = unpack_i2(data, p)
    if n < 0:
        raise UnfitError
    e = p + 2 + n
    member_id = data[p + 2 : e].decode()
    p = e
    if p != len(data):
        raise UnfitError
    return new(StreamsGroupCurrentMemberAssignmentKey, (group_id, member_id))


def _streams_group_current_member_assignment_value_v0_task_ids_array(data: bytes, p: int, count: int) -> tuple[tuple[StreamsGroupCurrentMemberAssignmentTaskIds, ...], int]:
    items: list[StreamsGroupCurrentMemberAssignmentTaskIds] = []
    add = items.append
    for _ in range(count):
        n = data[p]
        if not 0 < n < 128:
            n, p = long_string(data, p, 1)
        e = p + n
        subtopology_id = data[p + 1 : e].decode()
        p = e
        n = data[p]
        if not 0 < n < 128:
            n, p = long_length(data, p, 1)
        partitions = INT32S[n - 1](data, p + 1) if n < 65 else int32s(data, p + 1, n - 1)
        p += 4 * n - 3
        n = data[p]
        p += 1
        assignment_epochs: tuple[int, ...] | None = ()
        if n:
            if n != 1 or data[p] != 0:
                raise UnfitError
            p += 1
            end = p + 1 + data[p]
            p += 1
            if end - p > 127:
                end, p = read_uvarint(data, p - 1)
                end += p
            n = data[p]
            if n == 0:
                assignment_epochs = None
                p += 1
            else:
                if n > 127:
                    n, p = long_length(data, p, 1)
                assignment_epochs = INT32S[n - 1](data, p + 1) if n < 65 else int32s(data, p + 1, n - 1)
                p += 4 * n - 3
            if p != end:
                raise UnfitError
        add(new(StreamsGroupCurrentMemberAssignmentTaskIds, (subtopology_id, partitions, assignment_epochs)))
    return tuple(items), p


def streams_group_current_member_assignment_value_v0(data: bytes) -> StreamsGroupCurrentMemberAssignmentValue:
    p = 0
    member_epoch, previous_member_epoch, state, n = unpack_i4_i4_i1_u1(data, p + 2)
    if not 0 < n < 128:
        n, p = long_length(data, p + 11, 12)
    active_tasks, p = _streams_group_current_member_assignment_value_v0_task_ids_array(data, p + 12, n - 1) if n > 1 else ((), p + 12)
    n = data[p]
    if not 0 < n < 128:
        n, p = long_length(data, p, 1)
    standby_tasks, p = _streams_group_current_member_assignment_value_v0_task_ids_array(data, p + 1, n - 1) if n > 1 else ((), p + 1)
    n = data[p]
    if not 0 < n < 128:
        n, p = long_length(data, p, 1)
    warmup_tasks, p = _streams_group_current_member_assignment_value_v0_task_ids_array(data, p + 1, n - 1) if n > 1 else ((), p + 1)
    n = data[p]
    if not 0 < n < 128:
        n, p = long_length(data, p, 1)
    active_tasks_pending_revocation, p = _streams_group_current_member_assignment_value_v0_task_ids_array(data, p + 1, n - 1) if n > 1 else ((), p + 1)
    n = data[p]
    if not 0 < n < 128:
        n, p = long_length(data, p, 1)
    standby_tasks_pending_revocation, p = _streams_group_current_member_assignment_value_v0_task_ids_array(data, p + 1, n - 1) if n > 1 else ((), p + 1)
    n = data[p]
    if not 0 < n < 128:
        n, p = long_length(data, p, 1)
    warmup_tasks_pending_revocation, p = _streams_group_current_member_assignment_value_v0_task_ids_array(data, p + 1, n - 1) if n > 1 else ((), p + 1)
    n = data[p]
    if n:
        raise UnfitError
    if p + 1 != len(data):
        raise UnfitError
    return new(StreamsGroupCurrentMemberAssignmentValue, (member_epoch, previous_member_epoch, state, active_tasks, standby_tasks, warmup_tasks, active_tasks_pending_revocation, standby_tasks_pending_revocation, warmup_tasks_pending_revocation))


def streams_group_topology_key_v0(data: bytes) -> StreamsGroupTopologyKey:
    p = 0
    n, = unpack_i2(data, p + 2)
    if n < 0:
        raise UnfitError
    e = p + 4 + n
    group_id = data[p + 4 : e].decode()
    p = e
    if p != len(data):
        raise UnfitError
    return new(StreamsGroupTopologyKey, (group_id,))


def _streams_group_topology_value_v0_topic_config_array(data: bytes, p: int, count: int) -> tuple[tuple[StreamsGroupTopologyTopicConfig, ...], int]:
    items: list[StreamsGroupTopologyTopicConfig] = []
    add = items.append
    for _ in range(count):
        n = data[p]
        if not 0 < n < 128:
            n, p = long_string(data, p, 1)
        e = p + n
        key = data[p + 1 : e].decode()
        p = e
        n = data[p]
        if not 0 < n < 128:
            n, p = long_string(data, p, 1)
        e = p + n
        value = data[p + 1 : e].decode()
        p = e
        n = data[p]
        if n:
            raise UnfitError
        p += 1
        add(new(StreamsGroupTopologyTopicConfig, (key, value)))
    return tuple(items), p


def _streams_group_topology_value_v0_topic_info_array(data: bytes, p: int, count: int) -> tuple[tuple[StreamsGroupTopologyTopicInfo, ...], int]:
    items: list[StreamsGroupTopologyTopicInfo] = []
    add = items.append
    for _ in range(count):
        n = data[p]
        if not 0 < n < 128:
            n, p = long_string(data, p, 1)
        e = p + n
        name = data[p + 1 : e].decode()
        p = e
        partitions, replication_factor, n = unpack_i4_i2_u1(data, p)
        if not 0 < n < 128:
            n, p = long_length(data, p + 6, 7)
        topic_configs, p = _streams_group_topology_value_v0_topic_config_array(data, p + 7, n - 1) if n > 1 else ((), p + 7)
        n = data[p]
        if n:
            raise UnfitError
        p += 1
        add(new(StreamsGroupTopologyTopicInfo, (name, partitions, replication_factor, topic_configs)))
    return tuple(items), p


def _streams_group_topology_value_v0_copartition_group_array(data: bytes, p: int, count: int) -> tuple[tuple[StreamsGroupTopologyCopartitionGroup, ...], int]:
    items: list[StreamsGroupTopologyCopartitionGroup] = []
    add = items.append
    for _ in range(count):
        n = data[p]
        if not 0 < n < 128:
            n, p = long_length(data, p, 1)
        source_topics = INT16S[n - 1](data, p + 1) if n < 65 else int16s(data, p + 1, n - 1)
        p += 2 * n - 1
        n = data[p]
        if not 0 < n < 128:
            n, p = long_length(data, p, 1)
        source_topic_regex = INT16S[n - 1](data, p + 1) if n < 65 else int16s(data, p + 1, n - 1)
        p += 2 * n - 1
        n = data[p]
        if not 0 < n < 128:
            n, p = long_length(data, p, 1)
        repartition_source_topics = INT16S[n - 1](data, p + 1) if n < 65 else int16s(data, p + 1, n - 1)
        p += 2 * n - 1
        n = data[p]
        if n:
            raise UnfitError
        p += 1
        add(new(StreamsGroupTopologyCopartitionGroup, (source_topics, source_topic_regex, repartition_source_topics)))
    return tuple(items), p


def _streams_group_topology_value_v0_subtopology_array(data: bytes, p: int, count: int) -> tuple[tuple[StreamsGroupTopologySubtopology, ...], int]:
    items: list[StreamsGroupTopologySubtopology] = []
    add = items.append
    for _ in range(count):
        n = data[p]
        if not 0 < n < 128:
            n, p = long_string(data, p, 1)
        e = p + n
        subtopology_id = data[p + 1 : e].decode()
        p = e
        n = data[p]
        if not 0 < n < 128:
            n, p = long_length(data, p, 1)
        p += 1
        texts: list[str] = []
        for _ in range(n - 1):
            n = data[p]
            if not 0 < n < 128:
                n, p = long_string(data, p, 1)
            e = p + n
            text = data[p + 1 : e].decode()
            p = e
            texts.append(text)
        source_topics = tuple(texts)
        n = data[p]
        if not 0 < n < 128:
            n, p = long_length(data, p, 1)
        p += 1
        texts_2: list[str] = []
        for _ in range(n - 1):
            n = data[p]
            if not 0 < n < 128:
                n, p = long_string(data, p, 1)
            e = p + n
            text = data[p + 1 : e].decode()
            p = e
            texts_2.append(text)
        source_topic_regex = tuple(texts_2)
        n = data[p]
        if not 0 < n < 128:
            n, p = long_length(data, p, 1)
        state_changelog_topics, p = _streams_group_topology_value_v0_topic_info_array(data, p + 1, n - 1) if n > 1 else ((), p + 1)
        n = data[p]
        if not 0 < n < 128:
            n, p = long_length(data, p, 1)
        p += 1
        texts_3: list[str] = []
        for _ in range(n - 1):
            n = data[p]
            if not 0 < n < 128:
                n, p = long_string(data, p, 1)
            e = p + n
            text = data[p + 1 : e].decode()
            p = e
            texts_3.append(text)
        repartition_sink_topics = tuple(texts_3)
        n = data[p]
        if not 0 < n < 128:
            n, p = long_length(data, p, 1)
        repartition_source_topics, p = _streams_group_topology_value_v0_topic_info_array(data, p + 1, n - 1) if n > 1 else ((), p + 1)
        n = data[p]
        if not 0 < n < 128:
            n, p = long_length(data, p, 1)
        copartition_groups, p = _streams_group_topology_value_v0_copartition_group_array(data, p + 1, n - 1) if n > 1 else ((), p + 1)
        n = data[p]
        if n:
            raise UnfitError
        p += 1
        add(new(StreamsGroupTopologySubtopology, (subtopology_id, source_topics, source_topic_regex, state_changelog_topics, repartition_sink_topics, repartition_source_topics, copartition_groups)))
    return tuple(items), p


def streams_group_topology_value_v0(data: bytes) -> StreamsGroupTopologyValue:
    p = 0
    epoch, n = unpack_i4_u1(data, p + 2)
    if not 0 < n < 128:
        n, p = long_length(data, p + 6, 7)
    subtopologies, p = _streams_group_topology_value_v0_subtopology_array(data, p + 7, n - 1) if n > 1 else ((), p + 7)
    n = data[p]
    if n:
        raise UnfitError
    if p + 1 != len(data):
        raise UnfitError
    return new(StreamsGroupTopologyValue, (epoch, subtopologies))


def streams_group_target_assignment_resolved_topic_ids_key_v0(data: bytes) -> StreamsGroupTargetAssignmentResolvedTopicIdsKey:
    p = 0
    n, = unpack_i2(data, p + 2)
    if n < 0:
        raise UnfitError
    e = p + 4 + n
    group_id = data[p + 4 : e].decode()
    p = e
    if p != len(data):
        raise UnfitError
    return new(StreamsGroupTargetAssignmentResolvedTopicIdsKey, (group_id,))


def _streams_group_target_assignment_resolved_topic_ids_value_v0_resolved_topic_ids_array(data: bytes, p: int, count: int) -> tuple[tuple[StreamsGroupTargetAssignmentResolvedTopicIdsResolvedTopicIds, ...], int]:
    items: list[StreamsGroupTargetAssignmentResolvedTopicIdsResolvedTopicIds] = []
    add = items.append
    for _ in range(count):
        n = data[p]
        if not 0 < n < 128:
            n, p = long_string(data, p, 1)
        e = p + n
        subtopology_id = data[p + 1 : e].decode()
        p = e
        n = data[p]
        if not 0 < n < 128:
            n, p = long_length(data, p, 1)
        topic_ids = uuids(data, p + 1, n - 1)
        p += 16 * n - 15
        n = data[p]
        if n:
            raise UnfitError
        p += 1
        add(new(StreamsGroupTargetAssignmentResolvedTopicIdsResolvedTopicIds, (subtopology_id, topic_ids)))
    return tuple(items), p


def streams_group_target_assignment_resolved_topic_ids_value_v0(data: bytes) -> StreamsGroupTargetAssignmentResolvedTopicIdsValue:
    p = 0
    assignment_epoch, n = unpack_i4_u1(data, p + 2)
    if not 0 < n < 128:
        n, p = long_length(data, p + 6, 7)
    resolved_topic_ids_by_subtopology, p = _streams_group_target_assignment_resolved_topic_ids_value_v0_resolved_topic_ids_array(data, p + 7, n - 1) if n > 1 else ((), p + 7)
    n = data[p]
    if n:
        raise UnfitError
    if p + 1 != len(data):
        raise UnfitError
    return new(StreamsGroupTargetAssignmentResolvedTopicIdsValue, (assignment_epoch, resolved_topic_ids_by_subtopology))


def _connect_assignment_v0_to_v2_connector_array(data: bytes, p: int, count: int) -> tuple[tuple[ConnectAssignmentConnector, ...], int]:
    items: list[ConnectAssignmentConnector] = []
    add = items.append
    for _ in range(count):
        n, = unpack_i2(data, p)
        if n < 0:
            raise UnfitError
        e = p + 2 + n
        name = data[p + 2 : e].decode()
        p = e
        n, = unpack_i4(data, p)
        if n < 0:
            raise UnfitError
        tasks = INT32S[n](data, p + 4) if n < 64 else int32s(data, p + 4, n)
        p += 4 * n + 4
        add(new(ConnectAssignmentConnector, (name, tasks)))
    return tuple(items), p


def connect_assignment_v0(data: bytes) -> ConnectAssignment:
    p = 0
    error, n = unpack_i2_i2(data, p + 2)
    if n == -1:
        leader = None
        p += 6
    else:
        if n < 0:
            raise UnfitError
        e = p + 6 + n
        leader = data[p + 6 : e].decode()
        p = e
    n, = unpack_i2(data, p)
    if n == -1:
        leader_url = None
        p += 2
    else:
        if n < 0:
            raise UnfitError
        e = p + 2 + n
        leader_url = data[p + 2 : e].decode()
        p = e
    config_offset, n = unpack_i8_i4(data, p)
    if n == -1:
        assigned = None
        p += 12
    else:
        if n < 0:
            raise UnfitError
        assigned, p = _connect_assignment_v0_to_v2_connector_array(data, p + 12, n) if n else ((), p + 12)
    if p > len(data):
        raise UnfitError
    return new(ConnectAssignment, (error, leader, leader_url, config_offset, assigned, None, 0))


def connect_assignment_v1_v2(data: bytes) -> ConnectAssignment:
    p = 0
    error, n = unpack_i2_i2(data, p + 2)
    if n == -1:
        leader = None
        p += 6
    else:
        if n < 0:
            raise UnfitError
        e = p + 6 + n
        leader = data[p + 6 : e].decode()
        p = e
    n, = unpack_i2(data, p)
    if n == -1:
        leader_url = None
        p += 2
    else:
        if n < 0:
            raise UnfitError
        e = p + 2 + n
        leader_url = data[p + 2 : e].decode()
        p = e
    config_offset, n = unpack_i8_i4(data, p)
    if n == -1:
        assigned = None
        p += 12
    else:
        if n < 0:
            raise UnfitError
        assigned, p = _connect_assignment_v0_to_v2_connector_array(data, p + 12, n) if n else ((), p + 12)
    n, = unpack_i4(data, p)
    if n == -1:
        revoked = None
        p += 4
    else:
        if n < 0:
            raise UnfitError
        revoked, p = _connect_assignment_v0_to_v2_connector_array(data, p + 4, n) if n else ((), p + 4)
    scheduled_delay, = unpack_i4(data, p)
    if p + 4 > len(data):
        raise UnfitError
    return new(ConnectAssignment, (error, leader, leader_url, config_offset, assigned, revoked, scheduled_delay))


def connect_worker_state_v0(data: bytes) -> ConnectWorkerState:
    p = 0
    n, = unpack_i2(data, p + 2)
    if n < 0:
        raise UnfitError
    e = p + 4 + n
    url = data[p + 4 : e].decode()
    p = e
    config_offset, = unpack_i8(data, p)
    if p + 8 > len(data):
        raise UnfitError
    return new(ConnectWorkerState, (url, config_offset, None))


def connect_worker_state_v1_v2(data: bytes) -> ConnectWorkerState:
    p = 0
    n, = unpack_i2(data, p + 2)
    if n < 0:
        raise UnfitError
    e = p + 4 + n
    url = data[p + 4 : e].decode()
    p = e
    config_offset, n = unpack_i8_i4(data, p)
    if n == -1:
        allocation = None
        p += 12
    else:
        if n < 0:
            raise UnfitError
        e = p + 12 + n
        allocation = data[p + 12 : e]
        p = e
    if p > len(data):
        raise UnfitError
    return new(ConnectWorkerState, (url, config_offset, allocation))


def _consumer_protocol_assignment_v0_to_v3_topic_partition_array(data: bytes, p: int, count: int) -> tuple[tuple[ConsumerProtocolAssignmentTopicPartition, ...], int]:
    items: list[ConsumerProtocolAssignmentTopicPartition] = []
    add = items.append
    for _ in range(count):
        n, = unpack_i2(data, p)
        if n < 0:
            raise UnfitError
        e = p + 2 + n
        topic = data[p + 2 : e].decode()
        p = e
        n, = unpack_i4(data, p)
        if n < 0:
            raise UnfitError
        partitions = INT32S[n](data, p + 4) if n < 64 else int32s(data, p + 4, n)
        p += 4 * n + 4
        add(new(ConsumerProtocolAssignmentTopicPartition, (topic, partitions)))
    return tuple(items), p


def consumer_protocol_assignment_v0_to_v3(data: bytes) -> ConsumerProtocolAssignment:
    p = 0
    n, = unpack_i4(data, p + 2)
    if n < 0:
        raise UnfitError
    assigned_partitions, p = _consumer_protocol_assignment_v0_to_v3_topic_partition_array(data, p + 6, n) if n else ((), p + 6)
    n, = unpack_i4(data, p)
    if n == -1:
        user_data = None
        p += 4
    else:
        if n < 0:
            raise UnfitError
        e = p + 4 + n
        user_data = data[p + 4 : e]
        p = e
    if p > len(data):
        raise UnfitError
    return new(ConsumerProtocolAssignment, (assigned_partitions, user_data))


def consumer_protocol_subscription_v0(data: bytes) -> ConsumerProtocolSubscription:
    p = 0
    n, = unpack_i4(data, p + 2)
    if n < 0:
        raise UnfitError
    p += 6
    texts: list[str] = []
    for _ in range(n):
        n, = unpack_i2(data, p)
        if n < 0:
            raise UnfitError
        e = p + 2 + n
        text = data[p + 2 : e].decode()
        p = e
        texts.append(text)
    topics = tuple(texts)
    n, = unpack_i4(data, p)
    if n == -1:
        user_data = None
        p += 4
    else:
        if n < 0:
            raise UnfitError
        e = p + 4 + n
        user_data = data[p + 4 : e]
        p = e
    if p > len(data):
        raise UnfitError
    return new(ConsumerProtocolSubscription, (topics, user_data, (), -1, None))


def _consumer_protocol_subscription_v1_to_v3_topic_partition_array(data: bytes, p: int, count: int) -> tuple[tuple[ConsumerProtocolSubscriptionTopicPartition, ...], int]:
    items: list[ConsumerProtocolSubscriptionTopicPartition] = []
    add = items.append
    for _ in range(count):
        n, = unpack_i2(data, p)
        if n < 0:
            raise UnfitError
        e = p + 2 + n
        topic = data[p + 2 : e].decode()
        p = e
        n, = unpack_i4(data, p)
        if n < 0:
            raise UnfitError
        partitions = INT32S[n](data, p + 4) if n < 64 else int32s(data, p + 4, n)
        p += 4 * n + 4
        add(new(ConsumerProtocolSubscriptionTopicPartition, (topic, partitions)))
    return tuple(items), p


def consumer_protocol_subscription_v1(data: bytes) -> ConsumerProtocolSubscription:
    p = 0
    n, = unpack_i4(data, p + 2)
    if n < 0:
        raise UnfitError
    p += 6
    texts: list[str] = []
    for _ in range(n):
        n, = unpack_i2(data, p)
        if n < 0:
            raise UnfitError
        e = p + 2 + n
        text = data[p + 2 : e].decode()
        p = e
        texts.append(text)
    topics = tuple(texts)
    n, = unpack_i4(data, p)
    if n == -1:
        user_data = None
        p += 4
    else:
        if n < 0:
            raise UnfitError
        e = p + 4 + n
        user_data = data[p + 4 : e]
        p = e
    n, = unpack_i4(data, p)
    if n < 0:
        raise UnfitError
    owned_partitions, p = _consumer_protocol_subscription_v1_to_v3_topic_partition_array(data, p + 4, n) if n else ((), p + 4)
    if p > len(data):
        raise UnfitError
    return new(ConsumerProtocolSubscription, (topics, user_data, owned_partitions, -1, None))


def consumer_protocol_subscription_v2(data: bytes) -> ConsumerProtocolSubscription:
    p = 0
    n, = unpack_i4(data, p + 2)
    if n < 0:
        raise UnfitError
    p += 6
    texts: list[str] = []
    for _ in range(n):
        n, = unpack_i2(data, p)
        if n < 0:
            raise UnfitError
        e = p + 2 + n
        text = data[p + 2 : e].decode()
        p = e
        texts.append(text)
    topics = tuple(texts)
    n, = unpack_i4(data, p)
    if n == -1:
        user_data = None
        p += 4
    else:
        if n < 0:
            raise UnfitError
        e = p + 4 + n
        user_data = data[p + 4 : e]
        p = e
    n, = unpack_i4(data, p)
    if n < 0:
        raise UnfitError
    owned_partitions, p = _consumer_protocol_subscription_v1_to_v3_topic_partition_array(data, p + 4, n) if n else ((), p + 4)
    generation_id, = unpack_i4(data, p)
    if p + 4 > len(data):
        raise UnfitError
    return new(ConsumerProtocolSubscription, (topics, user_data, owned_partitions, generation_id, None))


def consumer_protocol_subscription_v3(data: bytes) -> ConsumerProtocolSubscription:
    p = 0
    n, = unpack_i4(data, p + 2)
    if n < 0:
        raise UnfitError
    p += 6
    texts: list[str] = []
    for _ in range(n):
        n, = unpack_i2(data, p)
        if n < 0:
            raise UnfitError
        e = p + 2 + n
        text = data[p + 2 : e].decode()
        p = e
        texts.append(text)
    topics = tuple(texts)
    n, = unpack_i4(data, p)
    if n == -1:
        user_data = None
        p += 4
    else:
        if n < 0:
            raise UnfitError
        e = p + 4 + n
        user_data = data[p + 4 : e]
        p = e
    n, = unpack_i4(data, p)
    if n < 0:
        raise UnfitError
    owned_partitions, p = _consumer_protocol_subscription_v1_to_v3_topic_partition_array(data, p + 4, n) if n else ((), p + 4)
    generation_id, n = unpack_i4_i2(data, p)
    if n == -1:
        rack_id = None
        p += 6
    else:
        if n < 0:
            raise UnfitError
        e = p + 6 + n
        rack_id = data[p + 6 : e].decode()
        p = e
    if p > len(data):
        raise UnfitError
    return new(ConsumerProtocolSubscription, (topics, user_data, owned_partitions, generation_id, rack_id))


def _streams_assignment_info_v1_to_v9_task_id_array(data: bytes, p: int, count: int) -> tuple[tuple[StreamsAssignmentInfoTaskId, ...], int]:
    items: list[StreamsAssignmentInfoTaskId] = []
    add = items.append
    for _ in range(count):
        subtopology, partition = unpack_i4_i4(data, p)
        p += 8
        add(new(StreamsAssignmentInfoTaskId, (subtopology, partition, ())))
    return tuple(items), p


def _streams_assignment_info_v1_to_v11_topic_partition_array(data: bytes, p: int, count: int) -> tuple[tuple[StreamsAssignmentInfoTopicPartition, ...], int]:
    items: list[StreamsAssignmentInfoTopicPartition] = []
    add = items.append
    for _ in range(count):
        n, = unpack_i2(data, p)
        if n < 0:
            raise UnfitError
        e = p + 2 + n
        topic = data[p + 2 : e].decode()
        p = e
        partition, = unpack_i4(data, p)
        p += 4
        add(new(StreamsAssignmentInfoTopicPartition, (topic, partition)))
    return tuple(items), p


def _streams_assignment_info_v1_to_v9_standby_task_array(data: bytes, p: int, count: int) -> tuple[tuple[StreamsAssignmentInfoStandbyTask, ...], int]:
    items: list[StreamsAssignmentInfoStandbyTask] = []
    add = items.append
    for _ in range(count):
        subtopology, partition, n = unpack_i4_i4_i4(data, p)
        if n < 0:
            raise UnfitError
        changelogs, p = _streams_assignment_info_v1_to_v11_topic_partition_array(data, p + 12, n) if n else ((), p + 12)
        add(new(StreamsAssignmentInfoStandbyTask, (subtopology, partition, changelogs, ())))
    return tuple(items), p


def streams_assignment_info_v1(data: bytes) -> StreamsAssignmentInfo:
    p = 0
    n, = unpack_i4(data, p + 2)
    if n < 0:
        raise UnfitError
    active_tasks, p = _streams_assignment_info_v1_to_v9_task_id_array(data, p + 6, n) if n else ((), p + 6)
    n, = unpack_i4(data, p)
    if n < 0:
        raise UnfitError
    standby_tasks, p = _streams_assignment_info_v1_to_v9_standby_task_array(data, p + 4, n) if n else ((), p + 4)
    if p > len(data):
        raise UnfitError
    return new(StreamsAssignmentInfo, (active_tasks, standby_tasks, -1, (), (), (), (), 0, 9223372036854775807))


def _streams_assignment_info_v2_to_v4_host_partitions_array(data: bytes, p: int, count: int) -> tuple[tuple[StreamsAssignmentInfoHostPartitions, ...], int]:
    items: list[StreamsAssignmentInfoHostPartitions] = []
    add = items.append
    for _ in range(count):
        n, = unpack_i2(data, p)
        if n < 0:
            raise UnfitError
        e = p + 2 + n
        host = data[p + 2 : e].decode()
        p = e
        port, n = unpack_i4_i4(data, p)
        if n < 0:
            raise UnfitError
        partitions, p = _streams_assignment_info_v1_to_v11_topic_partition_array(data, p + 8, n) if n else ((), p + 8)
        add(new(StreamsAssignmentInfoHostPartitions, (host, port, partitions)))
    return tuple(items), p


def streams_assignment_info_v2(data: bytes) -> StreamsAssignmentInfo:
    p = 0
    n, = unpack_i4(data, p + 2)
    if n < 0:
        raise UnfitError
    active_tasks, p = _streams_assignment_info_v1_to_v9_task_id_array(data, p + 6, n) if n else ((), p + 6)
    n, = unpack_i4(data, p)
    if n < 0:
        raise UnfitError
    standby_tasks, p = _streams_assignment_info_v1_to_v9_standby_task_array(data, p + 4, n) if n else ((), p + 4)
    n, = unpack_i4(data, p)
    if n < 0:
        raise UnfitError
    partitions_by_host, p = _streams_assignment_info_v2_to_v4_host_partitions_array(data, p + 4, n) if n else ((), p + 4)
    if p > len(data):
        raise UnfitError
    return new(StreamsAssignmentInfo, (active_tasks, standby_tasks, -1, partitions_by_host, (), (), (), 0, 9223372036854775807))


def streams_assignment_info_v3(data: bytes) -> StreamsAssignmentInfo:
    p = 0
    commonly_supported_version, n = unpack_i4_i4(data, p + 2)
    if n < 0:
        raise UnfitError
    active_tasks, p = _streams_assignment_info_v1_to_v9_task_id_array(data, p + 10, n) if n else ((), p + 10)
    n, = unpack_i4(data, p)
    if n < 0:
        raise UnfitError
    standby_tasks, p = _streams_assignment_info_v1_to_v9_standby_task_array(data, p + 4, n) if n else ((), p + 4)
    n, = unpack_i4(data, p)
    if n < 0:
        raise UnfitError
    partitions_by_host, p = _streams_assignment_info_v2_to_v4_host_partitions_array(data, p + 4, n) if n else ((), p + 4)
    if p > len(data):
        raise UnfitError
    return new(StreamsAssignmentInfo, (active_tasks, standby_tasks, commonly_supported_version, partitions_by_host, (), (), (), 0, 9223372036854775807))


def streams_assignment_info_v4(data: bytes) -> StreamsAssignmentInfo:
    p = 0
    commonly_supported_version, n = unpack_i4_i4(data, p + 2)
    if n < 0:
        raise UnfitError
    active_tasks, p = _streams_assignment_info_v1_to_v9_task_id_array(data, p + 10, n) if n else ((), p + 10)
    n, = unpack_i4(data, p)
    if n < 0:
        raise UnfitError
    standby_tasks, p = _streams_assignment_info_v1_to_v9_standby_task_array(data, p + 4, n) if n else ((), p + 4)
    n, = unpack_i4(data, p)
    if n < 0:
        raise UnfitError
    partitions_by_host, p = _streams_assignment_info_v2_to_v4_host_partitions_array(data, p + 4, n) if n else ((), p + 4)
    error_code, = unpack_i4(data, p)
    if p + 4 > len(data):
        raise UnfitError
    return new(StreamsAssignmentInfo, (active_tasks, standby_tasks, commonly_supported_version, partitions_by_host, (), (), (), error_code, 9223372036854775807))


def _streams_assignment_info_v5_to_v11_indexed_topic_array(data: bytes, p: int, count: int) -> tuple[tuple[StreamsAssignmentInfoIndexedTopic, ...], int]:
    items: list[StreamsAssignmentInfoIndexedTopic] = []
    add = items.append
    for _ in range(count):
        topic_index, n = unpack_i4_i2(data, p)
        if n < 0:
            raise UnfitError
        e = p + 6 + n
        topic = data[p + 6 : e].decode()
        p = e
        add(new(StreamsAssignmentInfoIndexedTopic, (topic_index, topic)))
    return tuple(items), p


def _streams_assignment_info_v5_to_v11_indexed_partition_array(data: bytes, p: int, count: int) -> tuple[tuple[StreamsAssignmentInfoIndexedPartition, ...], int]:
    items: list[StreamsAssignmentInfoIndexedPartition] = []
    add = items.append
    for _ in range(count):
        topic_index, partition = unpack_i4_i4(data, p)
        p += 8
        add(new(StreamsAssignmentInfoIndexedPartition, (topic_index, partition)))
    return tuple(items), p


def _streams_assignment_info_v5_to_v11_host_indexed_partitions_array(data: bytes, p: int, count: int) -> tuple[tuple[StreamsAssignmentInfoHostIndexedPartitions, ...], int]:
    items: list[StreamsAssignmentInfoHostIndexedPartitions] = []
    add = items.append
    for _ in range(count):
        n, = unpack_i2(data, p)
        if n < 0:
            raise UnfitError
        e = p + 2 + n
        host = data[p + 2 : e].decode()
        p = e
        port, n = unpack_i4_i4(data, p)
        if n < 0:
            raise UnfitError
        partitions, p = _streams_assignment_info_v5_to_v11_indexed_partition_array(data, p + 8, n) if n else ((), p + 8)
        add(new(StreamsAssignmentInfoHostIndexedPartitions, (host, port, partitions)))
    return tuple(items), p


def streams_assignment_info_v5(data: bytes) -> StreamsAssignmentInfo:
    p = 0
    commonly_supported_version, n = unpack_i4_i4(data, p + 2)
    if n < 0:
        raise UnfitError
    active_tasks, p = _streams_assignment_info_v1_to_v9_task_id_array(data, p + 10, n) if n else ((), p + 10)
    n, = unpack_i4(data, p)
    if n < 0:
        raise UnfitError
    standby_tasks, p = _streams_assignment_info_v1_to_v9_standby_task_array(data, p + 4, n) if n else ((), p + 4)
    n, = unpack_i4(data, p)
    if n < 0:
        raise UnfitError
    topics, p = _streams_assignment_info_v5_to_v11_indexed_topic_array(data, p + 4, n) if n else ((), p + 4)
    n, = unpack_i4(data, p)
    if n < 0:
        raise UnfitError
    active_by_host, p = _streams_assignment_info_v5_to_v11_host_indexed_partitions_array(data, p + 4, n) if n else ((), p + 4)
    error_code, = unpack_i4(data, p)
    if p + 4 > len(data):
        raise UnfitError
    return new(StreamsAssignmentInfo, (active_tasks, standby_tasks, commonly_supported_version, (), topics, active_by_host, (), error_code, 9223372036854775807))


def streams_assignment_info_v6(data: bytes) -> StreamsAssignmentInfo:
    p = 0
    commonly_supported_version, n = unpack_i4_i4(data, p + 2)
    if n < 0:
        raise UnfitError
    active_tasks, p = _streams_assignment_info_v1_to_v9_task_id_array(data, p + 10, n) if n else ((), p + 10)
    n, = unpack_i4(data, p)
    if n < 0:
        raise UnfitError
    standby_tasks, p = _streams_assignment_info_v1_to_v9_standby_task_array(data, p + 4, n) if n else ((), p + 4)
    n, = unpack_i4(data, p)
    if n < 0:
        raise UnfitError
    topics, p = _streams_assignment_info_v5_to_v11_indexed_topic_array(data, p + 4, n) if n else ((), p + 4)
    n, = unpack_i4(data, p)
    if n < 0:
        raise UnfitError
    active_by_host, p = _streams_assignment_info_v5_to_v11_host_indexed_partitions_array(data, p + 4, n) if n else ((), p + 4)
    n, = unpack_i4(data, p)
    if n < 0:
        raise UnfitError
    standby_by_host, p = _streams_assignment_info_v5_to_v11_host_indexed_partitions_array(data, p + 4, n) if n else ((), p + 4)
    error_code, = unpack_i4(data, p)
    if p + 4 > len(data):
        raise UnfitError
    return new(StreamsAssignmentInfo, (active_tasks, standby_tasks, commonly_supported_version, (), topics, active_by_host, standby_by_host, error_code, 9223372036854775807))


def streams_assignment_info_v7_to_v9(data: bytes) -> StreamsAssignmentInfo:
    p = 0
    commonly_supported_version, n = unpack_i4_i4(data, p + 2)
    if n < 0:
        raise UnfitError
    active_tasks, p = _streams_assignment_info_v1_to_v9_task_id_array(data, p + 10, n) if n else ((), p + 10)
    n, = unpack_i4(data, p)
    if n < 0:
        raise UnfitError
    standby_tasks, p = _streams_assignment_info_v1_to_v9_standby_task_array(data, p + 4, n) if n else ((), p + 4)
    n, = unpack_i4(data, p)
    if n < 0:
        raise UnfitError
    topics, p = _streams_assignment_info_v5_to_v11_indexed_topic_array(data, p + 4, n) if n else ((), p + 4)
    n, = unpack_i4(data, p)
    if n < 0:
        raise UnfitError
    active_by_host, p = _streams_assignment_info_v5_to_v11_host_indexed_partitions_array(data, p + 4, n) if n else ((), p + 4)
    n, = unpack_i4(data, p)
    if n < 0:
        raise UnfitError
    standby_by_host, p = _streams_assignment_info_v5_to_v11_host_indexed_partitions_array(data, p + 4, n) if n else ((), p + 4)
    error_code, next_rebalance = unpack_i4_i8(data, p)
    if p + 12 > len(data):
        raise UnfitError
    return new(StreamsAssignmentInfo, (active_tasks, standby_tasks, commonly_supported_version, (), topics, active_by_host, standby_by_host, error_code, next_rebalance))


def _streams_assignment_info_v10_v11_task_id_array(data: bytes, p: int, count: int) -> tuple[tuple[StreamsAssignmentInfoTaskId, ...], int]:
    items: list[StreamsAssignmentInfoTaskId] = []
    add = items.append
    for _ in range(count):
        subtopology, partition, n = unpack_i4_i4_i4(data, p)
        if n < 0:
            raise UnfitError
        named_topology = INT16S[n](data, p + 12) if n < 64 else int16s(data, p + 12, n)
        p += 2 * n + 12
        add(new(StreamsAssignmentInfoTaskId, (subtopology, partition, named_topology)))
    return tuple(items), p


def _streams_assignment_info_v10_v11_standby_task_array(data: bytes, p: int, count: int) -> tuple[tuple[StreamsAssignmentInfoStandbyTask, ...], int]:
    items: list[StreamsAssignmentInfoStandbyTask] = []
    add = items.append
    for _ in range(count):
        subtopology, partition, n = unpack_i4_i4_i4(data, p)
        if n < 0:
            raise UnfitError
        named_topology = INT16S[n](data, p + 12) if n < 64 else int16s(data, p + 12, n)
        p += 2 * n + 12
        n, = unpack_i4(data, p)
        if n < 0:
            raise UnfitError
        changelogs, p = _streams_assignment_info_v1_to_v11_topic_partition_array(data, p + 4, n) if n else ((), p + 4)
        add(new(StreamsAssignmentInfoStandbyTask, (subtopology, partition, changelogs, named_topology)))
    return tuple(items), p


def streams_assignment_info_v10_v11(data: bytes) -> StreamsAssignmentInfo:
    p = 0
    commonly_supported_version, n = unpack_i4_i4(data, p + 2)
    if n < 0:
        raise UnfitError
    active_tasks, p = _streams_assignment_info_v10_v11_task_id_array(data, p + 10, n) if n else ((), p + 10)
    n, = unpack_i4(data, p)
    if n < 0:
        raise UnfitError
    standby_tasks, p = _streams_assignment_info_v10_v11_standby_task_array(data, p + 4, n) if n else ((), p + 4)
    n, = unpack_i4(data, p)
    if n < 0:
        raise UnfitError
    topics, p = _streams_assignment_info_v5_to_v11_indexed_topic_array(data, p + 4, n) if n else ((), p + 4)
    n, = unpack_i4(data, p)
    if n < 0:
        raise UnfitError
    active_by_host, p = _streams_assignment_info_v5_to_v11_host_indexed_partitions_array(data, p + 4, n) if n else ((), p + 4)
    n, = unpack_i4(data, p)
    if n < 0:
        raise UnfitError
    standby_by_host, p = _streams_assignment_info_v5_to_v11_host_indexed_partitions_array(data, p + 4, n) if n else ((), p + 4)
    error_code, next_rebalance = unpack_i4_i8(data, p)
    if p + 12 > len(data):
        raise UnfitError
    return new(StreamsAssignmentInfo, (active_tasks, standby_tasks, commonly_supported_version, (), topics, active_by_host, standby_by_host, error_code, next_rebalance))


def _streams_subscription_info_v1_to_v6_task_id_array(data: bytes, p: int, count: int) -> tuple[tuple[StreamsSubscriptionInfoTaskId, ...], int]:
    items: list[StreamsSubscriptionInfoTaskId] = []
    add = items.append
    for _ in range(count):
        subtopology, partition = unpack_i4_i4(data, p)
        p += 8
        add(new(StreamsSubscriptionInfoTaskId, (subtopology, partition)))
    return tuple(items), p


def streams_subscription_info_v1(data: bytes) -> StreamsSubscriptionInfo:
    p = 0
    process_id, n = unpack_id_i4(data, p + 2)
    if n < 0:
        raise UnfitError
    previous_tasks, p = _streams_subscription_info_v1_to_v6_task_id_array(data, p + 22, n) if n else ((), p + 22)
    n, = unpack_i4(data, p)
    if n < 0:
        raise UnfitError
    standby_tasks, p = _streams_subscription_info_v1_to_v6_task_id_array(data, p + 4, n) if n else ((), p + 4)
    if p > len(data):
        raise UnfitError
    return new(StreamsSubscriptionInfo, (process_id, -1, previous_tasks, standby_tasks, b"", (), 0, 0, ()))


def streams_subscription_info_v2(data: bytes) -> StreamsSubscriptionInfo:
    p = 0
    process_id, n = unpack_id_i4(data, p + 2)
    if n < 0:
        raise UnfitError
    previous_tasks, p = _streams_subscription_info_v1_to_v6_task_id_array(data, p + 22, n) if n else ((), p + 22)
    n, = unpack_i4(data, p)
    if n < 0:
        raise UnfitError
    standby_tasks, p = _streams_subscription_info_v1_to_v6_task_id_array(data, p + 4, n) if n else ((), p + 4)
    n, = unpack_i4(data, p)
    if n == -1:
        user_end_point = None
        p += 4
    else:
        if n < 0:
            raise UnfitError
        e = p + 4 + n
        user_end_point = data[p + 4 : e]
        p = e
    if p > len(data):
        raise UnfitError
    return new(StreamsSubscriptionInfo, (process_id, -1, previous_tasks, standby_tasks, user_end_point, (), 0, 0, ()))


def streams_subscription_info_v3_to_v6(data: bytes) -> StreamsSubscriptionInfo:
    p = 0
    latest_supported_version, process_id, n = unpack_i4_id_i4(data, p + 2)
    if n < 0:
        raise UnfitError
    previous_tasks, p = _streams_subscription_info_v1_to_v6_task_id_array(data, p + 26, n) if n else ((), p + 26)
    n, = unpack_i4(data, p)
    if n < 0:
        raise UnfitError
    standby_tasks, p = _streams_subscription_info_v1_to_v6_task_id_array(data, p + 4, n) if n else ((), p + 4)
    n, = unpack_i4(data, p)
    if n == -1:
        user_end_point = None
        p += 4
    else:
        if n < 0:
            raise UnfitError
        e = p + 4 + n
        user_end_point = data[p + 4 : e]
        p = e
    if p > len(data):
        raise UnfitError
    return new(StreamsSubscriptionInfo, (process_id, latest_supported_version, previous_tasks, standby_tasks, user_end_point, (), 0, 0, ()))


def _streams_subscription_info_v7_to_v9_partition_offset_sum_array(data: bytes, p: int, count: int) -> tuple[tuple[StreamsSubscriptionInfoPartitionOffsetSum, ...], int]:
    items: list[StreamsSubscriptionInfoPartitionOffsetSum] = []
    add = items.append
    for _ in range(count):
        partition, offset_sum = unpack_i4_i8(data, p)
        p += 12
        add(new(StreamsSubscriptionInfoPartitionOffsetSum, (partition, offset_sum)))
    return tuple(items), p


def _streams_subscription_info_v7_to_v9_task_offset_sum_array(data: bytes, p: int, count: int) -> tuple[tuple[StreamsSubscriptionInfoTaskOffsetSum, ...], int]:
    items: list[StreamsSubscriptionInfoTaskOffsetSum] = []
    add = items.append
    for _ in range(count):
        subtopology, n = unpack_i4_i4(data, p)
        if n < 0:
            raise UnfitError
        partition_offset_sums, p = _streams_subscription_info_v7_to_v9_partition_offset_sum_array(data, p + 8, n) if n else ((), p + 8)
        add(new(StreamsSubscriptionInfoTaskOffsetSum, (subtopology, 0, 0, None, partition_offset_sums)))
    return tuple(items), p


def streams_subscription_info_v7(data: bytes) -> StreamsSubscriptionInfo:
    p = 0
    latest_supported_version, process_id, n = unpack_i4_id_i4(data, p + 2)
    if n == -1:
        user_end_point = None
        p += 26
    else:
        if n < 0:
            raise UnfitError
        e = p + 26 + n
        user_end_point = data[p + 26 : e]
        p = e
    n, = unpack_i4(data, p)
    if n < 0:
        raise UnfitError
    task_offset_sums, p = _streams_subscription_info_v7_to_v9_task_offset_sum_array(data, p + 4, n) if n else ((), p + 4)
    if p > len(data):
        raise UnfitError
    return new(StreamsSubscriptionInfo, (process_id, latest_supported_version, (), (), user_end_point, task_offset_sums, 0, 0, ()))


def streams_subscription_info_v8(data: bytes) -> StreamsSubscriptionInfo:
    p = 0
    latest_supported_version, process_id, n = unpack_i4_id_i4(data, p + 2)
    if n == -1:
        user_end_point = None
        p += 26
    else:
        if n < 0:
            raise UnfitError
        e = p + 26 + n
        user_end_point = data[p + 26 : e]
        p = e
    n, = unpack_i4(data, p)
    if n < 0:
        raise UnfitError
    task_offset_sums, p = _streams_subscription_info_v7_to_v9_task_offset_sum_array(data, p + 4, n) if n else ((), p + 4)
    unique_field, = unpack_i1(data, p)
    if p + 1 > len(data):
        raise UnfitError
    return new(StreamsSubscriptionInfo, (process_id, latest_supported_version, (), (), user_end_point, task_offset_sums, unique_field, 0, ()))


def streams_subscription_info_v9(data: bytes) -> StreamsSubscriptionInfo:
    p = 0
    latest_supported_version, process_id, n = unpack_i4_id_i4(data, p + 2)
    if n == -1:
        user_end_point = None
        p += 26
    else:
        if n < 0:
            raise UnfitError
        e = p + 26 + n
        user_end_point = data[p + 26 : e]
        p = e
    n, = unpack_i4(data, p)
    if n < 0:
        raise UnfitError
    task_offset_sums, p = _streams_subscription_info_v7_to_v9_task_offset_sum_array(data, p + 4, n) if n else ((), p + 4)
    unique_field, error_code = unpack_i1_i4(data, p)
    if p + 5 > len(data):
        raise UnfitError
    return new(StreamsSubscriptionInfo, (process_id, latest_supported_version, (), (), user_end_point, task_offset_sums, unique_field, error_code, ()))


def _streams_subscription_info_v10_v11_task_offset_sum_array(data: bytes, p: int, count: int) -> tuple[tuple[StreamsSubscriptionInfoTaskOffsetSum, ...], int]:
    items: list[StreamsSubscriptionInfoTaskOffsetSum] = []
    add = items.append
    for _ in range(count):
        subtopology, partition, offset_sum, n = unpack_i4_i4_i8_i2(data, p)
        if n == -1:
            named_topology = None
            p += 18
        else:
            if n < 0:
                raise UnfitError
            e = p + 18 + n
            named_topology = data[p + 18 : e].decode()
            p = e
        add(new(StreamsSubscriptionInfoTaskOffsetSum, (subtopology, partition, offset_sum, named_topology, ())))
    return tuple(items), p


def streams_subscription_info_v10(data: bytes) -> StreamsSubscriptionInfo:
    p = 0
    latest_supported_version, process_id, n = unpack_i4_id_i4(data, p + 2)
    if n == -1:
        user_end_point = None
        p += 26
    else:
        if n < 0:
            raise UnfitError
        e = p + 26 + n
        user_end_point = data[p + 26 : e]
        p = e
    n, = unpack_i4(data, p)
    if n < 0:
        raise UnfitError
    task_offset_sums, p = _streams_subscription_info_v10_v11_task_offset_sum_array(data, p + 4, n) if n else ((), p + 4)
    unique_field, error_code = unpack_i1_i4(data, p)
    if p + 5 > len(data):
        raise UnfitError
    return new(StreamsSubscriptionInfo, (process_id, latest_supported_version, (), (), user_end_point, task_offset_sums, unique_field, error_code, ()))


def _streams_subscription_info_v11_client_tag_array(data: bytes, p: int, count: int) -> tuple[tuple[StreamsSubscriptionInfoClientTag, ...], int]:
    items: list[StreamsSubscriptionInfoClientTag] = []
    add = items.append
    for _ in range(count):
        n, = unpack_i4(data, p)
        if n < 0:
            raise UnfitError
        e = p + 4 + n
        key = data[p + 4 : e]
        p = e
        n, = unpack_i4(data, p)
        if n < 0:
            raise UnfitError
        e = p + 4 + n
        value = data[p + 4 : e]
        p = e
        add(new(StreamsSubscriptionInfoClientTag, (key, value)))
    return tuple(items), p


def streams_subscription_info_v11(data: bytes) -> StreamsSubscriptionInfo:
    p = 0
    latest_supported_version, process_id, n = unpack_i4_id_i4(data, p + 2)
    if n == -1:
        user_end_point = None
        p += 26
    else:
        if n < 0:
            raise UnfitError
        e = p + 26 + n
        user_end_point = data[p + 26 : e]
        p = e
    n, = unpack_i4(data, p)
    if n < 0:
        raise UnfitError
    task_offset_sums, p = _streams_subscription_info_v10_v11_task_offset_sum_array(data, p + 4, n) if n else ((), p + 4)
    unique_field, error_code, n = unpack_i1_i4_i4(data, p)
    if n < 0:
        raise UnfitError
    client_tags, p = _streams_subscription_info_v11_client_tag_array(data, p + 9, n) if n else ((), p + 9)
    if p > len(data):
        raise UnfitError
    return new(StreamsSubscriptionInfo, (process_id, latest_supported_version, (), (), user_end_point, task_offset_sums, unique_field, error_code, client_tags))


KeyDecoder: TypeAlias = Callable[[bytes], Key]
ValueDecoder: TypeAlias = Callable[[bytes], Value]

KEY_DECODERS: Final[Mapping[bytes, tuple[RecordType, KeyDecoder]]] = {
    b"\x00\x00": (RecordType.LEGACY_OFFSET_COMMIT, legacy_offset_commit_key_v0),
    b"\x00\x01": (RecordType.OFFSET_COMMIT, offset_commit_key_v0),
    b"\x00\x02": (RecordType.GROUP_METADATA, group_metadata_key_v0),
    b"\x00\x03": (RecordType.CONSUMER_GROUP_METADATA, consumer_group_metadata_key_v0),
    b"\x00\x04": (RecordType.CONSUMER_GROUP_PARTITION_METADATA, consumer_group_partition_metadata_key_v0),
    b"\x00\x05": (RecordType.CONSUMER_GROUP_MEMBER_METADATA, consumer_group_member_metadata_key_v0),
    b"\x00\x06": (RecordType.CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA, consumer_group_target_assignment_metadata_key_v0),
    b"\x00\x07": (RecordType.CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER, consumer_group_target_assignment_member_key_v0),
    b"\x00\x08": (RecordType.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT, consumer_group_current_member_assignment_key_v0),
    b"\x00\x09": (RecordType.SHARE_GROUP_PARTITION_METADATA, share_group_partition_metadata_key_v0),
    b"\x00\x0a": (RecordType.SHARE_GROUP_MEMBER_METADATA, share_group_member_metadata_key_v0),
    b"\x00\x0b": (RecordType.SHARE_GROUP_METADATA, share_group_metadata_key_v0),
    b"\x00\x0c": (RecordType.SHARE_GROUP_TARGET_ASSIGNMENT_METADATA, share_group_target_assignment_metadata_key_v0),
    b"\x00\x0d": (RecordType.SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER, share_group_target_assignment_member_key_v0),
    b"\x00\x0e": (RecordType.SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT, share_group_current_member_assignment_key_v0),
    b"\x00\x0f": (RecordType.SHARE_GROUP_STATE_PARTITION_METADATA, share_group_state_partition_metadata_key_v0),
    b"\x00\x10": (RecordType.CONSUMER_GROUP_REGULAR_EXPRESSION, consumer_group_regular_expression_key_v0),
    b"\x00\x11": (RecordType.STREAMS_GROUP_METADATA, streams_group_metadata_key_v0),
    b"\x00\x12": (RecordType.STREAMS_GROUP_PARTITION_METADATA, streams_group_partition_metadata_key_v0),
    b"\x00\x13": (RecordType.STREAMS_GROUP_MEMBER_METADATA, streams_group_member_metadata_key_v0),
    b"\x00\x14": (RecordType.STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA, streams_group_target_assignment_metadata_key_v0),
    b"\x00\x15": (RecordType.STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER, streams_group_target_assignment_member_key_v0),
    b"\x00\x16": (RecordType.STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT, streams_group_current_member_assignment_key_v0),
    b"\x00\x17": (RecordType.STREAMS_GROUP_TOPOLOGY, streams_group_topology_key_v0),
    b"\x00\x18": (RecordType.STREAMS_GROUP_TARGET_ASSIGNMENT_RESOLVED_TOPIC_IDS, streams_group_target_assignment_resolved_topic_ids_key_v0),
}
"""By the first two bytes of the key."""

VALUE_DECODERS: Final[
    Mapping[RecordType, Mapping[bytes, tuple[tuple[int, str, ValueDecoder], ...]]]
] = {
    RecordType.LEGACY_OFFSET_COMMIT: {
        b"\x00\x00": ((0, "", legacy_offset_commit_value_v0),),
    },
    RecordType.OFFSET_COMMIT: {
        b"\x00\x00": ((0, "", offset_commit_value_v0_v2),),
        b"\x00\x01": ((1, "", offset_commit_value_v1),),
        b"\x00\x02": ((2, "", offset_commit_value_v0_v2),),
        b"\x00\x03": ((3, "", offset_commit_value_v3),),
        b"\x00\x04": ((4, "", offset_commit_value_v4),),
    },
    RecordType.GROUP_METADATA: {
        b"\x00\x00": ((0, "", group_metadata_value_v0), (0, "redpanda", group_metadata_value_v0_of_redpanda),),
        b"\x00\x01": ((1, "", group_metadata_value_v1), (1, "redpanda", group_metadata_value_v1_of_redpanda),),
        b"\x00\x02": ((2, "", group_metadata_value_v2), (2, "redpanda", group_metadata_value_v2_of_redpanda),),
        b"\x00\x03": ((3, "", group_metadata_value_v3), (3, "redpanda", group_metadata_value_v3_of_redpanda),),
        b"\x00\x04": ((4, "", group_metadata_value_v4),),
    },
    RecordType.CONSUMER_GROUP_METADATA: {
        b"\x00\x00": ((0, "", consumer_group_metadata_value_v0),),
    },
    RecordType.CONSUMER_GROUP_PARTITION_METADATA: {
        b"\x00\x00": ((0, "", consumer_group_partition_metadata_value_v0), (0, "3.7", consumer_group_partition_metadata_value_v0_of_3_7),),
    },
    RecordType.CONSUMER_GROUP_MEMBER_METADATA: {
        b"\x00\x00": ((0, "", consumer_group_member_metadata_value_v0), (0, "3.7", consumer_group_member_metadata_value_v0_of_3_7),),
    },
    RecordType.CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA: {
        b"\x00\x00": ((0, "", consumer_group_target_assignment_metadata_value_v0),),
    },
    RecordType.CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER: {
        b"\x00\x00": ((0, "", consumer_group_target_assignment_member_value_v0), (0, "3.7", consumer_group_target_assignment_member_value_v0_of_3_7),),
    },
    RecordType.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT: {
        b"\x00\x00": ((0, "", consumer_group_current_member_assignment_value_v0), (0, "3.7", consumer_group_current_member_assignment_value_v0_of_3_7),),
    },
    RecordType.SHARE_GROUP_PARTITION_METADATA: {
        b"\x00\x00": ((0, "4.0", share_group_partition_metadata_value_v0_of_4_0), (0, "3.9", share_group_partition_metadata_value_v0_of_3_9),),
    },
    RecordType.SHARE_GROUP_MEMBER_METADATA: {
        b"\x00\x00": ((0, "", share_group_member_metadata_value_v0),),
    },
    RecordType.SHARE_GROUP_METADATA: {
        b"\x00\x00": ((0, "", share_group_metadata_value_v0), (0, "4.0", share_group_metadata_value_v0_of_4_0),),
    },
    RecordType.SHARE_GROUP_TARGET_ASSIGNMENT_METADATA: {
        b"\x00\x00": ((0, "", share_group_target_assignment_metadata_value_v0),),
    },
    RecordType.SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER: {
        b"\x00\x00": ((0, "", share_group_target_assignment_member_value_v0),),
    },
    RecordType.SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT: {
        b"\x00\x00": ((0, "", share_group_current_member_assignment_value_v0),),
    },
    RecordType.SHARE_GROUP_STATE_PARTITION_METADATA: {
        b"\x00\x00": ((0, "", share_group_state_partition_metadata_value_v0), (0, "4.0", share_group_state_partition_metadata_value_v0_of_4_0),),
    },
    RecordType.CONSUMER_GROUP_REGULAR_EXPRESSION: {
        b"\x00\x00": ((0, "", consumer_group_regular_expression_value_v0),),
    },
    RecordType.STREAMS_GROUP_METADATA: {
        b"\x00\x00": ((0, "", streams_group_metadata_value_v0),),
    },
    RecordType.STREAMS_GROUP_PARTITION_METADATA: {
        b"\x00\x00": ((0, "", streams_group_partition_metadata_value_v0),),
    },
    RecordType.STREAMS_GROUP_MEMBER_METADATA: {
        b"\x00\x00": ((0, "", streams_group_member_metadata_value_v0),),
    },
    RecordType.STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA: {
        b"\x00\x00": ((0, "", streams_group_target_assignment_metadata_value_v0),),
    },
    RecordType.STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER: {
        b"\x00\x00": ((0, "", streams_group_target_assignment_member_value_v0),),
    },
    RecordType.STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT: {
        b"\x00\x00": ((0, "", streams_group_current_member_assignment_value_v0),),
    },
    RecordType.STREAMS_GROUP_TOPOLOGY: {
        b"\x00\x00": ((0, "", streams_group_topology_value_v0),),
    },
    RecordType.STREAMS_GROUP_TARGET_ASSIGNMENT_RESOLVED_TOPIC_IDS: {
        b"\x00\x00": ((0, "", streams_group_target_assignment_resolved_topic_ids_value_v0),),
    },
}
"""By the first two bytes of the value: version, layout and decoder, newest layout first."""

EMBEDDED_DECODERS: Final[Mapping[str, Mapping[int, Callable[[bytes], Any]]]] = {
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
"""By message and version: the decoder."""
