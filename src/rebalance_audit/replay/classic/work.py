"""What members of a classic group have, in the words of their protocol, where that is more or other than partitions.

Connect's workers run connectors and tasks, one schema registry of a group is the primary, Streams' clients process
tasks.
A group of any other protocol type has bytes that only its members understand.
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, TypeAlias

from rebalance_audit.replay.groups.classic_group import ClassicMember
from rebalance_audit.wire import connect_protocol, consumer_protocol, registry_protocol
from rebalance_audit.wire.connect_protocol import (
    CONNECTOR,
    ConnectorTasks,
    WorkerAssignment,
    WorkerState,
    read_worker_assignment,
    read_worker_state,
    running,
)
from rebalance_audit.wire.registry_protocol import RegistryAssignment, read_registry_assignment
from rebalance_audit.wire.streams_protocol import (
    PROTOCOL_NAME,
    StreamsAssignment,
    read_streams_assignment,
)

OwnedWork: TypeAlias = tuple[str, ...]
"""Pieces of work as their protocol spells them: `connector sink`, `task sink-0`; `task 0_1`; `primary`."""


class Kind(NamedTuple):
    """One kind of classic group."""

    title: str
    """Whose groups these are; empty if that is not known."""
    member: str
    """What one member is called."""
    owns_partitions: bool
    """Whether assignments hold partitions of topics."""
    work: Callable[[ClassicMember], OwnedWork | None]
    """What the member has; None if its bytes do not show."""


def connect_tasks(member: ClassicMember) -> ConnectorTasks | None:
    """The connectors and tasks that a worker runs after its assignment; None if its bytes do not show."""
    if not member.assignment_bytes:
        return ()
    state = read_worker_state(member.subscription_bytes)
    assignment = read_worker_assignment(member.assignment_bytes)
    if not (isinstance(state, WorkerState) and isinstance(assignment, WorkerAssignment)):
        return None
    return running(state, assignment)


def _connect_work(member: ClassicMember) -> OwnedWork | None:
    tasks = connect_tasks(member)
    if tasks is None:
        return None
    return tuple(
        f"connector {connector}" if number == CONNECTOR else f"task {connector}-{number}"
        for connector, numbers in tasks
        for number in numbers
    )


def _registry_work(member: ClassicMember) -> OwnedWork | None:
    if not member.assignment_bytes:
        return ()
    assignment = read_registry_assignment(member.assignment_bytes)
    if not isinstance(assignment, RegistryAssignment):
        return None
    return ("primary",) if assignment.primary_member_id == member.member_id else ()


def streams_assignment(member: ClassicMember) -> StreamsAssignment | None:
    """What the leader sent a Streams client; None if its bytes do not show."""
    user_data = None if member.assignment is None else member.assignment.user_data
    read = None if not user_data else read_streams_assignment(user_data)
    return read if isinstance(read, StreamsAssignment) else None


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
"""Protocol type -> kind."""


def kind_of(protocol_type: str, protocol_name: str | None) -> Kind:
    """The kind of a classic group; Streams' clients are consumers with a protocol of their own."""
    kind = _KINDS.get(protocol_type, OTHER)
    return STREAMS if kind is CONSUMER and protocol_name == PROTOCOL_NAME else kind
