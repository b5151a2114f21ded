"""Replay of the group's own counters: the group epoch ([3], [11], [17]) and the assignment epoch ([6], [12], [20])."""

from typing import Any, Final

from rebalance_audit.replay.changes import (
    AnomalyKind,
    GroupEpochBumped,
    GroupRemoved,
    TargetInstalled,
)
from rebalance_audit.replay.groups.modern_group import NOT_VALIDATED
from rebalance_audit.replay.modern.kinds import CONSUMER, STREAMS, GroupKind
from rebalance_audit.replay.modern.lookup import (
    group_for_tombstone,
    group_for_value,
    streams_group,
)
from rebalance_audit.replay.step import ReplayStep
from rebalance_audit.wire.generated.messages import (
    StreamsGroupMetadataKey,
    StreamsGroupMetadataValue,
)

NO_ASSIGNMENT_EPOCH: Final = -1
"""The assignment epoch after the tombstone of the target metadata."""


def replay_group_epoch(kind: GroupKind, step: ReplayStep, _key: object, value: Any) -> None:
    """Set the group epoch and metadata hash; the tombstone removes the group."""
    if value is None:
        _remove_group(kind, step)
        return
    group = group_for_value(kind, step)
    if group is None:
        return
    new_epoch = value.epoch
    old_epoch = old_hash = None
    if group.has_epoch_record:
        old_epoch = group.group_epoch
        old_hash = group.metadata_hash if group.records_hash else None
        if new_epoch < old_epoch:
            step.refuse(AnomalyKind.EPOCH_WENT_BACK, f"group epoch {new_epoch} after {old_epoch}")
        elif new_epoch > old_epoch + 1:
            step.refuse(AnomalyKind.EPOCH_SKIPPED, f"group epoch {new_epoch} after {old_epoch}")
    elif new_epoch < 0:
        step.refuse(AnomalyKind.BAD_VALUE, f"group epoch {new_epoch}")
    group.group_epoch = new_epoch
    group.metadata_hash = value.metadata_hash
    # Share and streams groups have had the field since 4.1, without a tag.
    always = kind is not CONSUMER and not step.record.layout
    group.records_hash |= always or bool(value.metadata_hash)
    group.has_epoch_record = True
    step.changes.append(
        GroupEpochBumped(
            step.position, kind.group_type, old_epoch, new_epoch, old_hash, value.metadata_hash
        )
    )


def replay_streams_group_epoch(
    step: ReplayStep, key: StreamsGroupMetadataKey, value: StreamsGroupMetadataValue | None
) -> None:
    """As for the other group types, plus the topology epoch that was found valid.

    Tags with default values are left out, so a record with neither tag is one of 4.1, which has none: from 4.2 on, the
    assignment configurations are written as soon as a member has sent a heartbeat.
    """
    replay_group_epoch(STREAMS, step, key, value)
    group = streams_group(step)
    if value is not None and group is not None:
        validated = value.validated_topology_epoch
        is_recorded = validated != NOT_VALIDATED or bool(value.last_assignment_configs)
        group.validated_topology_epoch = validated if is_recorded else None


def _remove_group(kind: GroupKind, step: ReplayStep) -> None:
    group = group_for_tombstone(kind, step)
    if group is None:
        return
    remains = [
        f"{len(left)} {what}"
        for left, what in ((group.members, "members"), (group.targets, "targets"))
        if left
    ]
    if group.assignment_epoch != NO_ASSIGNMENT_EPOCH:
        remains.append(f"assignment epoch {group.assignment_epoch}")
    if remains:
        step.refuse(AnomalyKind.GROUP_NOT_EMPTY, "the group still has " + ", ".join(remains))
        return
    step.slot.group = None
    step.changes.append(GroupRemoved(step.position, kind.group_type))


def replay_target_metadata(kind: GroupKind, step: ReplayStep, _key: object, value: Any) -> None:
    """Set the assignment epoch; the tombstone sets it to -1."""
    if value is None:
        group = group_for_tombstone(kind, step)
        if group is None:
            return
        if group.targets:
            step.refuse(
                AnomalyKind.TARGETS_REMAIN, f"{len(group.targets)} members still have a target"
            )
            return
        new_epoch, timestamp_ms = NO_ASSIGNMENT_EPOCH, 0
    else:
        new_epoch, timestamp_ms = value.assignment_epoch, value.assignment_timestamp
        if new_epoch < NO_ASSIGNMENT_EPOCH or timestamp_ms < 0:
            step.refuse(
                AnomalyKind.BAD_VALUE, f"assignment epoch {new_epoch}, timestamp {timestamp_ms}"
            )
            return
        group = group_for_value(kind, step)
        if group is None:
            return
        if group.has_assignment_record and new_epoch < group.assignment_epoch:
            step.refuse(
                AnomalyKind.EPOCH_WENT_BACK,
                f"assignment epoch {new_epoch} after {group.assignment_epoch}",
            )
    old_epoch = group.assignment_epoch
    group.assignment_epoch = new_epoch
    group.assignment_timestamp_ms = timestamp_ms
    group.records_hash |= bool(timestamp_ms)
    group.assigns_tasks = kind is STREAMS and any(group.targets.values())
    group.has_assignment_record = value is not None
    step.changes.append(TargetInstalled(step.position, old_epoch, new_epoch, timestamp_ms))
