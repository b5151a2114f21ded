"""What Kafka Connect's workers put into a group's records: their state when they join, and their assignments.

In the eager protocol (version 0) an assignment is all that a worker has. In the incremental ones (KIP-415, and KIP-507,
which adds keys for sessions) it holds what changes, and a worker that joins says what it runs (`ConnectProtocol` and
`IncrementalCooperativeConnectProtocol` in Kafka).
"""

from typing import Final, TypeAlias

from rebalance_audit.wire import embedded
from rebalance_audit.wire.embedded import Embedded, Malformed, remembered
from rebalance_audit.wire.generated import messages

PROTOCOL_TYPE: Final = "connect"
CONNECTOR: Final = -1
"""Stands for the connector itself among the numbers of its tasks."""

ConnectorTasks: TypeAlias = tuple[tuple[str, tuple[int, ...]], ...]
"""(connector, numbers of tasks) in wire order; `CONNECTOR` among the numbers is the connector itself."""


@remembered
def read_worker_state(data: bytes) -> Embedded | Malformed:
    """A `ConnectWorkerState`, which a worker sends when it joins, or why it is malformed. Never raises."""
    read = embedded.read(data, messages.ConnectWorkerState)
    if isinstance(read, Embedded) and "configOffset" in read.unread:
        return Malformed("no config offset after the URL")
    return read


@remembered
def read_worker_assignment(data: bytes) -> Embedded | Malformed:
    """A `ConnectAssignment`, which the leader sends a worker, or why it is malformed. Never raises.

    The fields from `assigned` on may be missing, as for Kafka's own reader.
    """
    read = embedded.read(data, messages.ConnectAssignment)
    if isinstance(read, Embedded) and "configOffset" in read.unread:
        return Malformed(f"no {read.unread[0]} in the assignment")
    return read


def running(state: Embedded, assignment: Embedded) -> ConnectorTasks | None:
    """What the worker has after the assignment, by connector, tasks ascending; None if parts of it are unreadable."""
    if {"assigned", "revoked"} & set(assignment.unread) or "allocation" in state.unread:
        return None
    allocation = state.fields.allocation
    had = None if allocation is None else read_worker_assignment(allocation)
    if isinstance(had, Malformed):
        return None
    if assignment.version < 1:
        had = None
    if had is not None and "assigned" in had.unread:
        return None
    tasks: dict[str, set[int]] = {}
    for connector, numbers in had.fields.assigned or () if had is not None else ():
        tasks.setdefault(connector, set()).update(numbers)
    for connector, numbers in assignment.fields.revoked or ():
        tasks.get(connector, set()).difference_update(numbers)
    for connector, numbers in assignment.fields.assigned or ():
        tasks.setdefault(connector, set()).update(numbers)
    return tuple(
        (connector, tuple(sorted(numbers)))
        for connector, numbers in sorted(tasks.items())
        if numbers
    )
