"""Replay of classic group records (type 2).

Each record is a snapshot of a whole generation, written when it is complete. Replay puts a new group object in place
and reports that; whoever reads the change compares the two generations.
"""

from collections.abc import Mapping
from typing import Final, TypeAlias

from rebalance_audit.replay.changes import (
    AnomalyKind,
    GenerationCompleted,
    GroupCreated,
    GroupRemoved,
    GroupType,
)
from rebalance_audit.replay.groups.classic_group import ClassicGroup, ClassicMember
from rebalance_audit.replay.groups.slot import type_of
from rebalance_audit.replay.partitions import NOTHING, Partitions, count, partitions_of
from rebalance_audit.replay.step import ReplayRule, ReplayStep
from rebalance_audit.wire.consumer_protocol import (
    CACHED_PAYLOAD_BYTES,
    PROTOCOL_TYPE,
    Assignment,
    Subscription,
    read_assignment,
    read_subscription,
)
from rebalance_audit.wire.generated.messages import (
    GroupMetadataKey,
    GroupMetadataValue,
    RecordType,
)
from rebalance_audit.wire.payload_cache import PayloadCache

_STORED: Final = ClassicMember._fields.index("subscription")
"""How many fields of a member are in the record; the others are read from its bytes."""
StoredMember: TypeAlias = tuple[str, str | None, str, str, int, int, bytes, bytes]
"""These fields, in the order of `ClassicMember`."""


def replay_generation(
    step: ReplayStep, _key: GroupMetadataKey, value: GroupMetadataValue | None
) -> None:
    """Replace whatever group the slot holds, of any type, with the snapshot; the tombstone removes it."""
    if value is None:
        _remove_group(step)
        return
    before = step.slot.group
    known = before if isinstance(before, ClassicGroup) and before.has_record else None
    if known is None:
        replaced = None if before is None else type_of(before)
        step.changes.append(
            GroupCreated(step.position, GroupType.CLASSIC, simple=False, replaced=replaced)
        )
    elif value.generation < known.generation:
        step.refuse(
            AnomalyKind.EPOCH_WENT_BACK, f"generation {value.generation} after {known.generation}"
        )
    step.slot.group = ClassicGroup(
        group_id=step.slot.group_id,
        has_record=True,
        protocol_type=value.protocol_type,
        generation=value.generation,
        protocol_name=value.protocol,
        leader_member_id=value.leader,
        current_state_timestamp_ms=value.current_state_timestamp,
        members=_members(value, known),
    )
    step.changes.append(
        GenerationCompleted(
            step.position, None if known is None else known.generation, value.generation
        )
    )


def _members(value: GroupMetadataValue, known: ClassicGroup | None) -> Mapping[str, ClassicMember]:
    """The snapshot's members; one that is as before is the same object, and bytes that are, are not decoded again."""
    is_consumer = value.protocol_type == PROTOCOL_TYPE
    is_same_type = known is not None and known.protocol_type == value.protocol_type
    earlier = known.members if known is not None and is_same_type else {}
    members: dict[str, ClassicMember] = {}
    for snapshot in value.members:
        member_id, rebalance_timeout_ms = snapshot.member_id, snapshot.rebalance_timeout
        if rebalance_timeout_ms == -1:
            rebalance_timeout_ms = snapshot.session_timeout
        stored = (
            member_id,
            snapshot.group_instance_id,
            snapshot.client_id,
            snapshot.client_host,
            rebalance_timeout_ms,
            snapshot.session_timeout,
            snapshot.subscription,
            snapshot.assignment,
        )
        member = earlier.get(member_id)
        if member is None or member[:_STORED] != stored:
            member = read_member(stored, member, is_consumer=is_consumer)
        members[member_id] = member
    return members


def read_member(
    stored: StoredMember, before: ClassicMember | None = None, *, is_consumer: bool
) -> ClassicMember:
    """A member with what its bytes say. `before`, the same member a generation ago, saves decoding equal bytes."""
    subscription_bytes, assignment_bytes = stored[-2:]
    subscription = assignment = None
    assigned, partition_count = NOTHING, 0
    if before is not None and before.subscription_bytes == subscription_bytes:
        subscription = before.subscription
    elif is_consumer:
        said = read_subscription(subscription_bytes)
        subscription = said if isinstance(said, Subscription) else None
    if before is not None and before.assignment_bytes == assignment_bytes:
        assignment, assigned = before.assignment, before.assigned
        partition_count = before.partition_count
    elif is_consumer:
        assignment, assigned, partition_count = _read_assignment(assignment_bytes)
    fields = (*stored, subscription, assignment, assigned, partition_count)
    return tuple.__new__(ClassicMember, fields)  # without a call of its own __new__


def _assignment_of(assignment_bytes: bytes) -> tuple[Assignment | None, Partitions, int]:
    assignment = read_assignment(assignment_bytes)
    if not isinstance(assignment, Assignment):
        return None, NOTHING, 0
    assigned = partitions_of(assignment.assigned_partitions)
    return assignment, assigned, count(assigned)


_read_assignment: Final = PayloadCache(_assignment_of, CACHED_PAYLOAD_BYTES)
"""Members return to assignments that they or others had before."""


def _remove_group(step: ReplayStep) -> None:
    group = step.slot.group
    if group is None:
        step.refuse(AnomalyKind.TOMBSTONE_OF_UNKNOWN, "there is no such group")
        return
    step.slot.group = None
    step.changes.append(GroupRemoved(step.position, type_of(group)))


RULES: Final[Mapping[RecordType, ReplayRule]] = {RecordType.GROUP_METADATA: replay_generation}
"""Record type -> what it does to the slot."""
