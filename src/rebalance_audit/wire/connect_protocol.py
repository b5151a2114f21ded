"""What Kafka Connect's workers put into a group's records: their state when they join, and their assignments.

In the eager protocol (version 0) an assignment is all that a worker has. In the incremental ones (KIP-415, and KIP-507,
which adds keys for sessions) it holds what changes, and a worker that joins says what it runs (`ConnectProtocol` and
`IncrementalCooperativeConnectProtocol` in Kafka).
"""

from typing import Final, NamedTuple, TypeAlias

from rebalance_audit.wire import embedded
from rebalance_audit.wire.embedded import Malformed, remembered
from rebalance_audit.wire.generated import messages

PROTOCOL_TYPE: Final = "connect"
CONNECTOR: Final = -1
"""Stands for the connector itself among the numbers of its tasks."""
NO_ERROR: Final = 0

ConnectorTasks: TypeAlias = tuple[tuple[str, tuple[int, ...]], ...]
"""(connector, numbers of tasks) in wire order; `CONNECTOR` among the numbers is the connector itself."""


class WorkerAssignment(NamedTuple):
    """What the leader assigns to one worker."""

    protocol_version: int
    error: int
    """`NO_ERROR`, or 1: the workers had read different configurations."""
    leader: str | None
    """Member id."""
    leader_url: str | None
    config_offset: int
    assigned: ConnectorTasks
    """All that the worker has in version 0; what it must start in later ones."""
    revoked: ConnectorTasks
    """What it must stop."""
    scheduled_delay_ms: int
    """When the workers rejoin because tasks of a lost worker wait for its return; 0 = not at all."""
    unread: tuple[str, ...]
    """JSON names of fields that the bytes do not hold."""


class WorkerState(NamedTuple):
    """What a worker says when it joins."""

    protocol_version: int
    url: str
    config_offset: int
    """How far it has read the topic of connector configurations; -1 = not read yet."""
    allocation: WorkerAssignment | None
    """What it runs; None for nothing, and if it is unreadable."""
    unread: tuple[str, ...]
    """JSON names of fields that the bytes do not hold, or that cannot be read."""


@remembered
def read_worker_state(data: bytes) -> WorkerState | Malformed:
    """Decode a worker's metadata as far as it goes, or say why it is malformed. Never raises."""
    read = embedded.read(data, messages.ConnectWorkerState)
    if isinstance(read, Malformed):
        return read
    fields: messages.ConnectWorkerState = read.fields
    if "configOffset" in read.unread:
        return Malformed("no config offset after the URL")
    allocation, unread = None, read.unread
    if fields.allocation is not None and "allocation" not in unread:
        found = read_worker_assignment(fields.allocation)
        if isinstance(found, Malformed):
            unread = (*unread, "allocation")
        else:
            allocation = found
    return WorkerState(read.version, fields.url, fields.config_offset, allocation, unread)


@remembered
def read_worker_assignment(data: bytes) -> WorkerAssignment | Malformed:
    """Decode a worker's assignment as far as it goes, or say why it is malformed. Never raises.

    The fields from `assigned` on may be missing, as for Kafka's own reader.
    """
    read = embedded.read(data, messages.ConnectAssignment)
    if isinstance(read, Malformed):
        return read
    if "configOffset" in read.unread:
        return Malformed(f"no {read.unread[0]} in the assignment")
    fields: messages.ConnectAssignment = read.fields
    return WorkerAssignment(
        read.version,
        fields.error,
        fields.leader,
        fields.leader_url,
        fields.config_offset,
        _connectors(fields.assigned),
        _connectors(fields.revoked),
        fields.scheduled_delay,
        read.unread,
    )


def _connectors(
    given: tuple[messages.ConnectAssignmentConnector, ...] | None,
) -> ConnectorTasks:
    return tuple((connector.name, connector.tasks) for connector in given or ())


def running(state: WorkerState, assignment: WorkerAssignment) -> ConnectorTasks | None:
    """What the worker has after the assignment, by connector, tasks ascending; None if parts of it are unreadable."""
    if {"assigned", "revoked"} & set(assignment.unread) or "allocation" in state.unread:
        return None
    had = None if assignment.protocol_version < 1 else state.allocation
    if had is not None and "assigned" in had.unread:
        return None
    tasks: dict[str, set[int]] = {}
    for connector, numbers in had.assigned if had is not None else ():
        tasks.setdefault(connector, set()).update(numbers)
    for connector, numbers in assignment.revoked:
        tasks.get(connector, set()).difference_update(numbers)
    for connector, numbers in assignment.assigned:
        tasks.setdefault(connector, set()).update(numbers)
    return tuple(
        (connector, tuple(sorted(numbers)))
        for connector, numbers in sorted(tasks.items())
        if numbers
    )
