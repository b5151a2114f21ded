"""The state machine of one member: how it moves from its current tasks to its target.

The rules are those of streams.CurrentAssignmentBuilder. They are those of consumer groups, but a task also waits
while another of its kinds is with the same process, and the member's own pending tasks count as taken until the record
that gives them up is in the log.
"""

from collections.abc import Callable
from typing import NamedTuple

from rebalance_audit.coordinator.streams.tasks import HeldTasks, Tasks
from rebalance_audit.replay.groups import STABLE, UNRELEASED, UNREVOKED
from rebalance_audit.replay.partitions import Partitions, TopicPartition, each, partitions_of


class TaskStep(NamedTuple):
    """A member's epoch, state and tasks after its next step."""

    member_epoch: int
    member_state: str
    held: HeldTasks


class TaskSurroundings(NamedTuple):
    """What a step depends on besides the member and its target."""

    owned: Tasks | None
    """What the member says it owns; None where the heartbeat does not say."""
    has_active: Callable[[TopicPartition], bool]
    """Whether any member has the active task, or gives it up."""
    with_process: Callable[[TopicPartition, bool], bool]
    """Whether the member's process has a standby or warm-up of the task; with True, or its active one."""
    records_epochs: bool


def reconcile_tasks(
    now: TaskStep, target_epoch: int, target: Tasks, around: TaskSurroundings
) -> TaskStep:
    """The member after its next step; an equal one where nothing changes."""
    member_epoch = now.member_epoch
    if now.member_state == STABLE and member_epoch == target_epoch:
        return now
    if now.member_state == UNREVOKED:
        if around.owned is None or around.owned.overlaps(now.held.pending):
            return now
        member_epoch += 1
    assigned = now.held.assigned
    revoked = assigned.less(target)
    kept = assigned.less(revoked)
    if revoked and (around.owned is None or around.owned.overlaps(revoked)):
        held = HeldTasks(kept, revoked, _epochs(now, kept, revoked, around))
        return TaskStep(member_epoch, UNREVOKED, held)
    missing = target.less(kept)
    taken = Tasks(
        _only(
            missing.active, lambda task: around.has_active(task) or around.with_process(task, False)
        ),
        _only(missing.standby, lambda task: around.with_process(task, True)),
        _only(missing.warmup, lambda task: around.with_process(task, True)),
    )
    added = missing.less(taken)
    epochs = _epochs(now, kept, Tasks(), around)
    if around.records_epochs:
        epochs += tuple((task, target_epoch) for task in each(added.active))
    state = UNRELEASED if taken else STABLE
    return TaskStep(
        target_epoch, state, HeldTasks(kept.plus(added), Tasks(), tuple(sorted(epochs)))
    )


def _only(partitions: Partitions, holds: Callable[[TopicPartition], bool]) -> Partitions:
    return partitions_of(
        (topic, (number,)) for topic, number in each(partitions) if holds((topic, number))
    )


def _epochs(
    now: TaskStep, kept: Tasks, revoked: Tasks, around: TaskSurroundings
) -> tuple[tuple[TopicPartition, int], ...]:
    if not around.records_epochs:
        return ()
    known = dict(now.held.epochs)
    return tuple(
        sorted(
            (task, known.get(task, max(now.member_epoch, 0)))
            for tasks in (kept, revoked)
            for task in each(tasks.active)
        )
    )
