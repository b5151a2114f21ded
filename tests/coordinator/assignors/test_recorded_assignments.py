"""Assignments that real leaders computed, recomputed from the subscriptions in the log."""

from collections.abc import Iterator
from itertools import groupby

import pytest

from rebalance_audit.coordinator.assignors.client_assignors import CLIENT_ASSIGNORS
from rebalance_audit.coordinator.assignors.client_members import JoinedMember
from rebalance_audit.wire.consumer_protocol import (
    Subscription,
    decode_assignment,
    decode_subscription,
    encode_assignment,
)
from rebalance_audit.wire.generated.messages import GroupMetadataValue, RecordType
from rebalance_audit.wire.records import Record, decode_record, group_id_of
from rebalance_audit.wire.segments.folder import open_log_folder
from tests.support.log_entries import PositionedRecord, log_entries
from tests.wire.golden import capture


@pytest.mark.parametrize(
    ("name", "expected_count"),
    [
        ("broker-3.9", 1),
        ("broker-4.0", 1),
        ("broker-4.4", 1),
        ("classic-cooperative", 23),
        ("classic-static", 3),
        ("migration", 9),
    ],
)
def test_assignments_of_java_leaders_are_theirs_byte_for_byte(
    name: str, expected_count: int
) -> None:
    """Range and cooperative-sticky generations led by the Java client, including both steps of a cooperative move."""
    computed = 0
    for generation in _generations_by_java(name):
        members = [
            JoinedMember(each.member_id, each.group_instance_id, _subscription(each.subscription))
            for each in generation.members
        ]
        assert generation.protocol is not None
        assign = CLIENT_ASSIGNORS[generation.protocol].assign
        assignments = assign(members, _partition_counts(generation))
        for each in generation.members:
            assert encode_assignment(assignments[each.member_id]) == each.assignment
        computed += 1
    assert computed == expected_count


def _generations_by_java(name: str) -> Iterator[GroupMetadataValue]:
    """Generations that a Java client assigned, except those that only record a static member's return."""
    last: dict[str, int] = {}
    records = (
        (entry.record_timestamp_ms, decode_record(entry.key, entry.value))
        for entry in log_entries(open_log_folder(capture(name).segments))
        if isinstance(entry, PositionedRecord)
    )
    for _, write in groupby(records, key=lambda timed: timed[0]):
        found = [record for _, record in write if isinstance(record, Record)]
        if {record.record_type for record in found} != {RecordType.GROUP_METADATA}:
            continue  # offsets, or a consumer group that became a classic one with the assignment that it had
        for record in found:
            group_id, value = group_id_of(record.key), record.value
            if not isinstance(value, GroupMetadataValue) or last.get(group_id) == value.generation:
                continue
            last[group_id] = value.generation
            if value.protocol in CLIENT_ASSIGNORS and _is_java(value):
                yield value


def _is_java(generation: GroupMetadataValue) -> bool:
    """The Java client writes version 3 without a rack as null; librdkafka as an empty text."""
    leader = next(each for each in generation.members if each.member_id == generation.leader)
    subscription = _subscription(leader.subscription)
    return subscription.protocol_version == 3 and subscription.rack_id is None


def _subscription(data: bytes) -> Subscription:
    decoded = decode_subscription(data)
    assert decoded is not None
    return decoded


def _partition_counts(generation: GroupMetadataValue) -> dict[str, int]:
    """Every partition is assigned to a member, or still owned by one that has to give it up."""
    counts: dict[str, int] = {}
    for each in generation.members:
        assignment = decode_assignment(each.assignment)
        assert assignment is not None
        owned = _subscription(each.subscription).owned_partitions
        for topic, numbers in (*assignment.assigned_partitions, *owned):
            counts[topic] = max(counts.get(topic, 0), *(number + 1 for number in numbers))
    return counts
