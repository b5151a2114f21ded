"""Classic groups in the log: what record type 2 does to them, and what their members have.

Only finished generations are recorded; the phases of a rebalance are soft state: `coordinator.classic`. Each record is
a snapshot of a whole generation, written when it is complete. Replay puts a new group object in place and reports that;
whoever reads the change compares the two generations.

What members have is in the words of their protocol where that is more or other than partitions: Connect's workers run
connectors and tasks, one schema registry of a group is the primary, Streams' clients process tasks. A group of any
other protocol type has bytes that only its members understand.
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, TypeAlias

from rebalance_audit.replay.changes import (
    AnomalyKind,
    GenerationCompleted,
    GroupCreated,
    GroupRemoved,
    GroupType,
)
from rebalance_audit.replay.groups import ClassicGroup, ClassicMember, type_of
from rebalance_audit.replay.partitions import NOTHING, Partitions, count, partitions_of
from rebalance_audit.replay.step import ReplayRule, ReplayStep
from rebalance_audit.wire import (
    connect_protocol,
    consumer_protocol,
    registry_protocol,
    streams_protocol,
)
from rebalance_audit.wire.embedded import Embedded, PayloadCache
from rebalance_audit.wire.generated.messages import (
    GroupMetadataKey,
    GroupMetadataValue,
    RecordType,
)

OwnedWork: TypeAlias = tuple[str, ...]
"""Pieces of work as their protocol spells them: `connector sink`, `task sink-0`; `task 0_1`; `primary`."""


class Kind(NamedTuple):
    """One kind of classic group."""

    title: str
    """Whose groups these are; empty if that is not known."""
    member: str
    owns_partitions: bool
    """Whether assignments hold partitions of topics."""
    work: Callable[[ClassicMember], OwnedWork | None]
    """What the member has; None if its bytes do not show."""


def connect_tasks(member: ClassicMember) -> connect_protocol.ConnectorTasks | None:
    """The connectors and tasks that a worker runs after its assignment; None if its bytes do not show."""
    if not member.assignment_bytes:
        return ()
    state = connect_protocol.read_worker_state(member.subscription_bytes)
    assignment = connect_protocol.read_worker_assignment(member.assignment_bytes)
    if not (isinstance(state, Embedded) and isinstance(assignment, Embedded)):
        return None
    return connect_protocol.running(state, assignment)


def _connect_work(member: ClassicMember) -> OwnedWork | None:
    tasks = connect_tasks(member)
    if tasks is None:
        return None
    return tuple(
        f"connector {connector}"
        if number == connect_protocol.CONNECTOR
        else f"task {connector}-{number}"
        for connector, numbers in tasks
        for number in numbers
    )


def _registry_work(member: ClassicMember) -> OwnedWork | None:
    if not member.assignment_bytes:
        return ()
    assignment = registry_protocol.read_registry_assignment(member.assignment_bytes)
    if not isinstance(assignment, registry_protocol.RegistryAssignment):
        return None
    return ("primary",) if assignment.primary_member_id == member.member_id else ()


def streams_assignment(member: ClassicMember) -> streams_protocol.StreamsAssignment | None:
    """What the leader sent a Streams client; None if its bytes do not show."""
    user_data = None if member.assignment is None else member.assignment.user_data
    read = None if not user_data else streams_protocol.read_streams_assignment(user_data)
    return read if isinstance(read, streams_protocol.StreamsAssignment) else None


def _streams_work(member: ClassicMember) -> OwnedWork | None:
    if not member.assignment_bytes:
        return ()
    decoded = streams_assignment(member)
    if decoded is None:
        return None
    active = [f"task {task}" for task in decoded.active]
    return (*active, *(f"standby task {task}" for task in decoded.standby))


def _nothing_known(_member: ClassicMember) -> None:
    return None


CONSUMER: Final = Kind("consumers", "consumer", owns_partitions=True, work=_nothing_known)
STREAMS: Final = Kind("Kafka Streams", "Streams client", owns_partitions=True, work=_streams_work)
CONNECT: Final = Kind("Kafka Connect", "worker", owns_partitions=False, work=_connect_work)
REGISTRY: Final = Kind(
    "schema registry", "registry instance", owns_partitions=False, work=_registry_work
)
OTHER: Final = Kind("", "member", owns_partitions=False, work=_nothing_known)
_KINDS: Final[Mapping[str, Kind]] = {
    "": CONSUMER,  # a group that never had a member, or that only commits offsets
    consumer_protocol.PROTOCOL_TYPE: CONSUMER,
    connect_protocol.PROTOCOL_TYPE: CONNECT,
    registry_protocol.PROTOCOL_TYPE: REGISTRY,
}


def kind_of(protocol_type: str, protocol_name: str | None) -> Kind:
    """The kind of a classic group; Streams' clients are consumers with a protocol of their own."""
    kind = _KINDS.get(protocol_type, OTHER)
    return STREAMS if kind is CONSUMER and protocol_name == streams_protocol.PROTOCOL_NAME else kind


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
    is_consumer = value.protocol_type == consumer_protocol.PROTOCOL_TYPE
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
        said = consumer_protocol.read_subscription(subscription_bytes)
        subscription = said if isinstance(said, consumer_protocol.Subscription) else None
    if before is not None and before.assignment_bytes == assignment_bytes:
        assignment, assigned = before.assignment, before.assigned
        partition_count = before.partition_count
    elif is_consumer:
        assignment, assigned, partition_count = _read_assignment(assignment_bytes)
    fields = (*stored, subscription, assignment, assigned, partition_count)
    return tuple.__new__(ClassicMember, fields)  # without a call of its own __new__


def _assignment_of(
    assignment_bytes: bytes,
) -> tuple[consumer_protocol.Assignment | None, Partitions, int]:
    assignment = consumer_protocol.read_assignment(assignment_bytes)
    if not isinstance(assignment, consumer_protocol.Assignment):
        return None, NOTHING, 0
    assigned = partitions_of(assignment.assigned_partitions)
    return assignment, assigned, count(assigned)


_read_assignment: Final = PayloadCache(_assignment_of, consumer_protocol.CACHED_PAYLOAD_BYTES)
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
