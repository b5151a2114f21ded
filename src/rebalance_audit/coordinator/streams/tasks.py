"""Tasks of members: active ones, standbys and warm-ups, each by subtopology."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from rebalance_audit.coordinator.requests.streams import StreamsGroupHeartbeatRequest
from rebalance_audit.replay.partitions import (
    NOTHING,
    Partitions,
    TopicPartition,
    minus,
    partitions_of,
    union,
)
from rebalance_audit.wire.generated.messages import (
    StreamsGroupCurrentMemberAssignmentValue,
    StreamsGroupTargetAssignmentMemberValue,
)


class Tasks(NamedTuple):
    """Subtopology -> partition numbers, for each kind of task."""

    active: Partitions = NOTHING
    standby: Partitions = NOTHING
    warmup: Partitions = NOTHING

    def __bool__(self) -> bool:
        """Whether there is any task."""
        return any(self[:])

    def less(self, other: "Tasks") -> "Tasks":
        """What is here and not there."""
        return Tasks(*(minus(one, two) for one, two in zip(self, other, strict=True)))

    def plus(self, other: "Tasks") -> "Tasks":
        """What is in either."""
        return Tasks(*(union(one, two) for one, two in zip(self, other, strict=True)))

    def overlaps(self, other: "Tasks") -> bool:
        """Whether a task is in both."""
        return self.less(other) != self


class HeldTasks(NamedTuple):
    """What a member has and what it still has to give up."""

    assigned: Tasks = Tasks()
    pending: Tasks = Tasks()
    epochs: tuple[tuple[TopicPartition, int], ...] = ()
    """Active tasks, with the epoch at which each was assigned; releases before 4.3 do not record it."""

    def epoch_of(self, task: TopicPartition, otherwise: int) -> int:
        """When the member got an active task."""
        return dict(self.epochs).get(task, otherwise)


def target_of(value: StreamsGroupTargetAssignmentMemberValue | None) -> Tasks:
    """The tasks of a target record."""
    if value is None:
        return Tasks()
    return Tasks(*map(partitions_of, (value.active_tasks, value.standby_tasks, value.warmup_tasks)))


def held_of(value: StreamsGroupCurrentMemberAssignmentValue | None) -> HeldTasks:
    """The tasks of a current assignment record."""
    if value is None:
        return HeldTasks()
    epochs = [
        ((entry.subtopology_id, number), epoch)
        for entry in (*value.active_tasks, *value.active_tasks_pending_revocation)
        for number, epoch in zip(entry.partitions, entry.assignment_epochs or (), strict=False)
    ]
    return HeldTasks(
        Tasks(*map(_merged, (value.active_tasks, value.standby_tasks, value.warmup_tasks))),
        Tasks(
            *map(
                _merged,
                (
                    value.active_tasks_pending_revocation,
                    value.standby_tasks_pending_revocation,
                    value.warmup_tasks_pending_revocation,
                ),
            )
        ),
        tuple(sorted(epochs)),
    )


def owned_in(request: StreamsGroupHeartbeatRequest) -> Tasks | None:
    """What the member says it owns; None where it does not say."""
    reported = request.active_tasks, request.standby_tasks, request.warmup_tasks
    if any(each is None for each in reported):
        return None
    return Tasks(*(partitions_of(each or ()) for each in reported))


def _merged(entries: Iterable[Any]) -> Partitions:
    return partitions_of((entry.subtopology_id, entry.partitions) for entry in entries)
