"""The records of streams groups, as StreamsCoordinatorRecordHelpers makes them."""

from collections.abc import Mapping
from typing import Any

from rebalance_audit.coordinator.handling import RecordDraft
from rebalance_audit.coordinator.requests.streams import Topology
from rebalance_audit.coordinator.streams.reconciliation import TaskStep
from rebalance_audit.coordinator.streams.tasks import HeldTasks, Tasks
from rebalance_audit.coordinator.streams.topology import recorded
from rebalance_audit.replay.groups import STABLE, UNRELEASED, UNREVOKED, ModernMember
from rebalance_audit.replay.partitions import Partitions
from rebalance_audit.wire.generated import messages

STATE_CODES: Mapping[str, int] = {STABLE: 1, UNREVOKED: 2, UNRELEASED: 3}


def streams_member(group_id: str, described: ModernMember) -> RecordDraft:
    """[19]: what the member said about itself."""
    endpoint = described.user_endpoint
    value = messages.StreamsGroupMemberMetadataValue(
        described.instance_id,
        described.rack_id,
        described.client_id,
        described.client_host,
        described.rebalance_timeout_ms,
        described.topology_epoch,
        described.process_id,
        None if endpoint is None else messages.StreamsGroupMemberMetadataEndpoint(*endpoint),
        tuple(messages.StreamsGroupMemberMetadataClientTag(*tag) for tag in described.client_tags),
    )
    key = messages.StreamsGroupMemberMetadataKey(group_id, described.member_id)
    return RecordDraft(key, value)


def streams_topology(group_id: str, topology: Topology) -> RecordDraft:
    """[23]."""
    return RecordDraft(messages.StreamsGroupTopologyKey(group_id), recorded(topology))


def streams_group_epoch(
    group_id: str,
    epoch: int,
    metadata_hash: int,
    validated_topology_epoch: int | None,
    configs: Mapping[str, str],
) -> RecordDraft:
    """[17]; a release that keeps neither validation nor settings has None for the former."""
    value = messages.StreamsGroupMetadataValue(epoch, metadata_hash, last_assignment_configs=None)
    if validated_topology_epoch is not None:
        value = value._replace(
            validated_topology_epoch=validated_topology_epoch,
            last_assignment_configs=tuple(
                messages.StreamsGroupMetadataLastAssignmentConfig(*each)
                for each in sorted(configs.items())
            ),
        )
    return RecordDraft(messages.StreamsGroupMetadataKey(group_id), value)


def streams_target_epoch(group_id: str, epoch: int, computed_at_ms: int) -> RecordDraft:
    """[20]; the time is 0 in releases that do not keep it."""
    value = messages.StreamsGroupTargetAssignmentMetadataValue(epoch, computed_at_ms)
    return RecordDraft(messages.StreamsGroupTargetAssignmentMetadataKey(group_id), value)


def streams_target(group_id: str, member_id: str, tasks: Tasks) -> RecordDraft:
    """[21]."""
    value = messages.StreamsGroupTargetAssignmentMemberValue(
        *(
            tuple(
                messages.StreamsGroupTargetAssignmentMemberTaskIds(*each)
                for each in tasks_in_order(kind)
            )
            for kind in tasks
        )
    )
    return RecordDraft(messages.StreamsGroupTargetAssignmentMemberKey(group_id, member_id), value)


def streams_current(
    group_id: str, member_id: str, moved: TaskStep, previous_member_epoch: int, *, epochs: bool
) -> RecordDraft:
    """[22]; `epochs`: whether the release records when active tasks were assigned."""
    held = moved.held
    value = messages.StreamsGroupCurrentMemberAssignmentValue(
        moved.member_epoch,
        previous_member_epoch,
        STATE_CODES[moved.member_state],
        *(
            _entries(kind, held if epochs and place == 0 else None)
            for tasks in (held.assigned, held.pending)
            for place, kind in enumerate(tasks)
        ),
    )
    key = messages.StreamsGroupCurrentMemberAssignmentKey(group_id, member_id)
    return RecordDraft(key, value)


def _entries(kind: Partitions, held: HeldTasks | None) -> tuple[Any, ...]:
    entry = messages.StreamsGroupCurrentMemberAssignmentTaskIds
    if held is None:
        return tuple(entry(*each, None) for each in tasks_in_order(kind))
    return tuple(
        entry(name, numbers, tuple(held.epoch_of((name, number), 0) for number in numbers))
        for name, numbers in tasks_in_order(kind)
    )


def tasks_in_order(kind: Partitions) -> list[tuple[str, tuple[int, ...]]]:
    """Tasks of one kind as records and responses have them: by subtopology, partitions ascending."""
    return sorted((str(name), tuple(sorted(numbers))) for name, numbers in kind.items())
