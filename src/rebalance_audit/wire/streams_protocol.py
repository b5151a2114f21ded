"""What Kafka Streams' leaders add to the assignments of the classic protocol, in the user data.

An int32 version, then fields (`AssignmentInfo` in Kafka; the releases of the versions are in `schemas/records`). Since
KIP-441 (version 7) an assignment says when its client must rejoin.
"""

from typing import Any, Final, NamedTuple, TypeAlias

from rebalance_audit.wire import embedded
from rebalance_audit.wire.embedded import Malformed, remembered
from rebalance_audit.wire.generated import messages

PROTOCOL_NAME: Final = "stream"
"""Protocol name that Streams' clients offer; their protocol type is `consumer`."""
REJOIN_AT_ONCE: Final = 0
REJOIN_NEVER: Final = 2**63 - 1
ERRORS: Final = {
    1: "incomplete source topic metadata",
    2: "version probing",
    3: "an assignment error",
    4: "a shutdown of the whole application",
}
"""Error code -> what it stands for (`AssignorError`)."""
_HIGH_BYTES: Final = 2
"""The upper half of the int32 version is 0, so what follows it is an embedded message."""


class TaskId(NamedTuple):
    """One task; as text like Kafka's own, `0_1` or `name__0_1`."""

    subtopology: int
    partition: int
    topology: str | None = None
    """Name of the topology; None for the only one."""

    def __str__(self) -> str:
        """As Kafka spells it."""
        number = f"{self.subtopology}_{self.partition}"
        return f"{self.topology}__{number}" if self.topology else number


StreamsTasks: TypeAlias = tuple[TaskId, ...]


class StreamsAssignment(NamedTuple):
    """What the leader sends a Streams client."""

    active: StreamsTasks
    standby: StreamsTasks
    error_code: int
    """A key of `ERRORS`; 0 for none, and before version 4."""
    next_rebalance_ms: int | None
    """When the client rejoins, epoch ms: `REJOIN_AT_ONCE`, `REJOIN_NEVER`; None if not known (before version 7)."""
    unread: tuple[str, ...]
    """JSON names of fields that the bytes do not hold."""


@remembered
def read_streams_assignment(user_data: bytes) -> StreamsAssignment | Malformed:
    """Decode the user data of an assignment as far as it goes, or say why it is malformed. Never raises."""
    if any(user_data[:_HIGH_BYTES]):
        return Malformed(f"version {int.from_bytes(user_data[:4], signed=True)}")
    read = embedded.read(user_data[_HIGH_BYTES:], messages.StreamsAssignmentInfo)
    if isinstance(read, Malformed):
        return read
    if "standbyTasks" in read.unread:
        return Malformed(f"no {read.unread[0]}")
    fields: messages.StreamsAssignmentInfo = read.fields
    said = read.version >= 7 and "nextRebalance" not in read.unread
    return StreamsAssignment(
        _tasks(fields.active_tasks),
        _tasks(fields.standby_tasks),
        fields.error_code,
        fields.next_rebalance if said else None,
        read.unread,
    )


def _tasks(given: tuple[Any, ...]) -> StreamsTasks:
    tasks = {
        TaskId(task.subtopology, task.partition, _topology(task.named_topology)) for task in given
    }
    return tuple(sorted(tasks, key=lambda task: (task.topology or "", *task[:2])))


def _topology(chars: tuple[int, ...]) -> str | None:
    data = b"".join([char.to_bytes(2, signed=True) for char in chars])
    return data.decode("utf-16-be", errors="replace") or None
