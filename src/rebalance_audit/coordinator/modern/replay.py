"""Replay of consumer, share and streams group records (types 3 to 24).

These records are deltas: each overwrites one part of the group. The rules are those of the replay methods in Kafka's
GroupMetadataManager; what the three group types do differently is data in `kinds`.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from rebalance_audit.coordinator.changes import (
    AnomalyKind,
    GroupCreated,
    GroupEpochBumped,
    GroupRemoved,
    GroupType,
    MemberAssigned,
    MemberSubscribed,
    MemberTargeted,
    MemberUnsubscribed,
    RegexResolved,
    SharePartitionsRecorded,
    TargetInstalled,
    TopicMetadataRecorded,
    TopologyChanged,
)
from rebalance_audit.coordinator.modern.group import (
    LEFT_EPOCH,
    STABLE,
    STATIC_LEAVE_EPOCH,
    UNKNOWN,
    UNRELEASED,
    UNREVOKED,
    ClientAssignorResult,
    ModernGroup,
    ModernMember,
    RecordedTopic,
    RegexResolution,
)
from rebalance_audit.coordinator.modern.kinds import (
    CONSUMER,
    EARLY_ACCESS_LAYOUT,
    SHARE,
    STREAMS,
    GroupKind,
)
from rebalance_audit.coordinator.partitions import NOTHING, Partitions, partitions_of, text_of
from rebalance_audit.coordinator.slot import Group, type_of
from rebalance_audit.coordinator.step import ReplayRule, ReplayStep
from rebalance_audit.wire.messages import (
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    RecordType,
    StreamsGroupCurrentMemberAssignmentKey,
    StreamsGroupCurrentMemberAssignmentValue,
    StreamsGroupMetadataKey,
    StreamsGroupMetadataValue,
    StreamsGroupTopologyKey,
    StreamsGroupTopologyValue,
)

_REMOVED_ASSIGNMENT_EPOCH: Final = -1


def _group_for_value(kind: GroupKind, step: ReplayStep) -> ModernGroup | None:
    """The group that a record with a value belongs to, made when there is none; None when it must be left out."""
    group = step.slot.group
    if group is None:
        return _create(kind, step, None)
    return _group_of_kind(kind, step, group)


def _group_for_tombstone(kind: GroupKind, step: ReplayStep) -> ModernGroup | None:
    """The group that a tombstone belongs to; None when it is unknown or of another type."""
    group = step.slot.group
    if group is None:
        step.refuse(AnomalyKind.TOMBSTONE_OF_UNKNOWN, "there is no such group")
        return None
    return _group_of_kind(kind, step, group)


def _group_of_kind(kind: GroupKind, step: ReplayStep, group: Group) -> ModernGroup | None:
    if isinstance(group, ModernGroup):
        if group.group_type is kind.group_type:
            return group
    elif kind.replaces_simple and group.is_simple():
        # It was only made to hold offsets; nothing of a simple group would be lost.
        return _create(kind, step, GroupType.CLASSIC)
    step.refuse(
        AnomalyKind.WRONG_GROUP_TYPE,
        f"it belongs to a {kind.group_type} group, but this is a {type_of(group)} group",
    )
    return None


def _create(kind: GroupKind, step: ReplayStep, replaced: GroupType | None) -> ModernGroup:
    group = ModernGroup(step.slot.group_id, kind.group_type)
    step.slot.group = group
    step.changes.append(
        GroupCreated(step.position, kind.group_type, simple=False, replaced=replaced)
    )
    return group


# --- the group's epoch: [3], [11], [17] ---


def replay_group_epoch(kind: GroupKind, step: ReplayStep, _key: object, value: Any) -> None:
    """Set the group epoch and metadata hash; the tombstone removes the group."""
    if value is None:
        _remove_group(kind, step)
        return
    group = _group_for_value(kind, step)
    if group is None:
        return
    new_epoch = value.epoch
    old_epoch = old_hash = None
    if group.has_epoch_record:
        old_epoch, old_hash = group.group_epoch, group.metadata_hash
        if new_epoch < old_epoch:
            step.refuse(AnomalyKind.EPOCH_WENT_BACK, f"group epoch {new_epoch} after {old_epoch}")
        elif new_epoch > old_epoch + 1:
            step.refuse(AnomalyKind.EPOCH_SKIPPED, f"group epoch {new_epoch} after {old_epoch}")
    elif new_epoch < 0:
        step.refuse(AnomalyKind.BAD_VALUE, f"group epoch {new_epoch}")
    group.group_epoch = new_epoch
    group.metadata_hash = value.metadata_hash
    group.has_epoch_record = True
    step.changes.append(
        GroupEpochBumped(
            step.position, kind.group_type, old_epoch, new_epoch, old_hash, value.metadata_hash
        )
    )


def replay_streams_group_epoch(
    step: ReplayStep, key: StreamsGroupMetadataKey, value: StreamsGroupMetadataValue | None
) -> None:
    """As for the others, and which topology was found valid."""
    replay_group_epoch(STREAMS, step, key, value)
    group = _streams_group(step)
    if value is not None and group is not None:
        group.validated_topology_epoch = value.validated_topology_epoch


def _streams_group(step: ReplayStep) -> ModernGroup | None:
    """The slot's streams group; None where the record was left out because of another group's type."""
    group = step.slot.group
    if isinstance(group, ModernGroup) and group.group_type is GroupType.STREAMS:
        return group
    return None


def _remove_group(kind: GroupKind, step: ReplayStep) -> None:
    group = _group_for_tombstone(kind, step)
    if group is None:
        return
    remains = [
        f"{len(left)} {what}"
        for left, what in ((group.members, "members"), (group.targets, "targets"))
        if left
    ]
    if group.assignment_epoch != _REMOVED_ASSIGNMENT_EPOCH:
        remains.append(f"assignment epoch {group.assignment_epoch}")
    if remains:
        step.refuse(AnomalyKind.GROUP_NOT_EMPTY, "the group still has " + ", ".join(remains))
        return
    step.slot.group = None
    step.changes.append(GroupRemoved(step.position, kind.group_type))


# --- what a member says of itself: [5], [10], [19] ---


def replay_member(kind: GroupKind, step: ReplayStep, key: Any, value: Any) -> None:
    """Overwrite the member's description; the tombstone removes the member."""
    member_id = key.member_id
    if value is None:
        _remove_member(kind, step, member_id)
        return
    group = _group_for_value(kind, step)
    if group is None:
        return
    member = group.members.get(member_id)
    joined = member is None
    if member is None:
        member = group.members[member_id] = ModernMember(member_id)
        group.note_convergence(member)
    old_instance_id = member.instance_id
    changed: list[str] = []
    for name, described in zip(kind.member_fields, kind.member_values(value), strict=True):
        if getattr(member, name) != described:
            setattr(member, name, described)
            changed.append(name)
    if not member.described:
        # Known by its assignment alone, or not at all: nothing is known to differ.
        changed.clear()
        member.described = True
    if member.instance_id != old_instance_id:
        _forget_instance(group, old_instance_id, member_id)
    if member.instance_id is not None:
        group.static_members[member.instance_id] = member_id
    step.changes.append(
        MemberSubscribed(step.position, member_id, member.instance_id, joined, tuple(changed))
    )


def _remove_member(kind: GroupKind, step: ReplayStep, member_id: str) -> None:
    group = _group_for_tombstone(kind, step)
    if group is None:
        return
    member = _known_member(group, step, member_id)
    if member is None:
        return
    if member.member_epoch != LEFT_EPOCH:
        step.refuse(
            AnomalyKind.MEMBER_NOT_RELEASED,
            f"member {member_id} is still at epoch {member.member_epoch}",
        )
        return
    if member_id in group.targets:
        step.refuse(AnomalyKind.MEMBER_NOT_RELEASED, f"member {member_id} still has a target")
        return
    del group.members[member_id]
    group.unconverged.discard(member_id)
    _forget_instance(group, member.instance_id, member_id)
    step.changes.append(
        MemberUnsubscribed(
            step.position, member_id, member.instance_id, member.client_id, member.client_host
        )
    )


def _known_member(group: ModernGroup, step: ReplayStep, member_id: str) -> ModernMember | None:
    member = group.members.get(member_id)
    if member is None:
        step.refuse(AnomalyKind.TOMBSTONE_OF_UNKNOWN, f"the group does not know member {member_id}")
    return member


def _forget_instance(group: ModernGroup, instance_id: str | None, member_id: str) -> None:
    """Another member may have taken the instance id over meanwhile; then it keeps it."""
    if instance_id is not None and group.static_members.get(instance_id) == member_id:
        del group.static_members[instance_id]


# --- the target assignment: [6], [12], [20] and per member [7], [13], [21] ---


def replay_target_metadata(kind: GroupKind, step: ReplayStep, _key: object, value: Any) -> None:
    """Set the assignment epoch; the tombstone sets it to -1."""
    if value is None:
        group = _group_for_tombstone(kind, step)
        if group is None:
            return
        if group.targets:
            step.refuse(
                AnomalyKind.TARGETS_REMAIN, f"{len(group.targets)} members still have a target"
            )
            return
        new_epoch, timestamp_ms = _REMOVED_ASSIGNMENT_EPOCH, 0
    else:
        new_epoch, timestamp_ms = value.assignment_epoch, value.assignment_timestamp
        if new_epoch < _REMOVED_ASSIGNMENT_EPOCH or timestamp_ms < 0:
            step.refuse(
                AnomalyKind.BAD_VALUE, f"assignment epoch {new_epoch}, timestamp {timestamp_ms}"
            )
            return
        group = _group_for_value(kind, step)
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
    group.has_assignment_record = value is not None
    if new_epoch != old_epoch:
        group.recheck_convergence()
    step.changes.append(TargetInstalled(step.position, old_epoch, new_epoch, timestamp_ms))


def replay_target(kind: GroupKind, step: ReplayStep, key: Any, value: Any) -> None:
    """Set one member's target, whether or not the member exists; the tombstone removes it."""
    member_id = key.member_id
    if value is None:
        group = _group_for_tombstone(kind, step)
        if group is None:
            return
        new = None
        old = group.targets.pop(member_id, None)
        group.target_results.pop(member_id, None)
    else:
        group = _group_for_value(kind, step)
        if group is None:
            return
        new = kind.target(value)
        old = group.targets.get(member_id)
        group.targets[member_id] = new
        if step.record.layout == EARLY_ACCESS_LAYOUT:
            group.target_results[member_id] = _assignor_result(value)
    step.changes.append(MemberTargeted(step.position, member_id, old, new))


def _assignor_result(value: Any) -> ClientAssignorResult:
    return ClientAssignorResult(value.error, value.metadata_version, value.metadata_bytes)


# --- the current assignment: [8], [14], [22] ---


def replay_current(kind: GroupKind, step: ReplayStep, key: Any, value: Any) -> None:
    """Overwrite the member's epochs, state and partitions; the tombstone leaves it at epoch -1 with nothing."""
    member_id = key.member_id
    if value is None:
        _release_member(kind, step, member_id)
        return
    group = _group_for_value(kind, step)
    if group is None:
        return
    assigned, pending, assignment_epochs, uneven = kind.holding(value)
    new_epoch = value.member_epoch
    early_access = step.record.layout == EARLY_ACCESS_LAYOUT
    new_state = (
        _early_access_state(value) if early_access else kind.member_states.get(value.state, UNKNOWN)
    )
    if new_epoch < 0 and new_epoch != STATIC_LEAVE_EPOCH:
        step.refuse(AnomalyKind.BAD_VALUE, f"member epoch {new_epoch}")
    if uneven:
        step.refuse(
            AnomalyKind.BAD_VALUE,
            f"assignment epochs of {text_of(uneven[0])} do not pair with its partitions",
        )
    if kind.one_owner:
        _require_free(group, step, member_id, assigned, new_epoch)
        if pending:
            _require_free(group, step, member_id, pending, new_epoch)
    if new_epoch > group.assignment_epoch:
        _require_reached(group, step, member_id, new_epoch)
    member = group.members.get(member_id)
    if member is None:
        member = group.members[member_id] = ModernMember(member_id)
    old_epoch, old_state = member.member_epoch, member.member_state
    old_assigned, old_pending = member.assigned, member.pending_revocation
    member.member_epoch = new_epoch
    member.previous_member_epoch = value.previous_member_epoch
    member.member_state = new_state
    member.assigned = assigned
    member.pending_revocation = pending
    member.assignment_epochs = assignment_epochs
    if early_access:
        member.target_member_epoch = value.target_member_epoch
        member.pending_assignment = partitions_of(value.partitions_pending_assignment)
        member.client_assignor_result = _assignor_result(value)
    if kind.one_owner:
        if assigned != old_assigned or pending != old_pending:
            group.release(member_id, old_assigned)
            group.release(member_id, old_pending)
        group.take(member_id, assigned)
        group.take(member_id, pending)
    group.note_convergence(member)
    step.changes.append(
        MemberAssigned(
            step.position,
            member_id,
            False,
            old_epoch,
            new_epoch,
            old_state,
            new_state,
            old_assigned,
            assigned,
            old_pending,
            pending,
        )
    )


def _early_access_state(value: ConsumerGroupCurrentMemberAssignmentValue) -> str:
    """3.7 wrote no state: it follows from what the member waits for (its ConsumerGroupMember.Builder)."""
    if value.partitions_pending_revocation:
        return UNREVOKED
    return UNRELEASED if value.partitions_pending_assignment else STABLE


def _require_reached(
    group: ModernGroup, step: ReplayStep, member_id: str, member_epoch: int
) -> None:
    """A member is never above the assignment epoch.

    So one above the implicit 0 of a group without a target assignment record proves that the group starts at 1: it was
    written by 4.3 or later.
    """
    implicit = not group.has_assignment_record and group.assignment_epoch == 0
    assignment_epoch = 1 if implicit else group.assignment_epoch
    if member_epoch > assignment_epoch:
        step.refuse(
            AnomalyKind.MEMBER_ABOVE_ASSIGNMENT,
            f"member {member_id} at epoch {member_epoch}, assignment epoch {assignment_epoch}",
        )
    if implicit:
        group.assignment_epoch = 1
        if not group.has_epoch_record:
            group.group_epoch = 1
        group.recheck_convergence()


def _require_free(
    group: ModernGroup, step: ReplayStep, member_id: str, partitions: Partitions, member_epoch: int
) -> None:
    taken = group.contested(member_id, partitions, member_epoch)
    if not taken:
        return
    topic, number = min(taken, key=lambda partition: (text_of(partition[0]), partition[1]))
    owner = group.members[group.owners[topic, number]]
    others = f" and {len(taken) - 1} more" if len(taken) > 1 else ""
    step.refuse(
        AnomalyKind.PARTITION_OWNED_TWICE,
        f"member {member_id} takes {text_of(topic)}-{number}{others} at epoch {member_epoch}, but "
        f"member {owner.member_id} holds it at epoch {owner.member_epoch}",
    )


def _release_member(kind: GroupKind, step: ReplayStep, member_id: str) -> None:
    group = _group_for_tombstone(kind, step)
    if group is None:
        return
    member = _known_member(group, step, member_id)
    if member is None:
        return
    old_epoch, old_assigned, old_pending = (
        member.member_epoch,
        member.assigned,
        member.pending_revocation,
    )
    member.member_epoch = member.previous_member_epoch = LEFT_EPOCH
    member.assigned = member.pending_revocation = NOTHING
    member.standby = member.warmup = member.pending_assignment = NOTHING
    member.assignment_epochs = {}
    group.release(member_id, old_assigned)
    group.release(member_id, old_pending)
    group.note_convergence(member)
    step.changes.append(
        MemberAssigned(
            step.position,
            member_id,
            released=True,
            old_member_epoch=old_epoch,
            new_member_epoch=LEFT_EPOCH,
            old_state=member.member_state,
            new_state=member.member_state,
            old_assigned=old_assigned,
            new_assigned=NOTHING,
            old_pending=old_pending,
            new_pending=NOTHING,
        )
    )


def replay_streams_current(
    step: ReplayStep,
    key: StreamsGroupCurrentMemberAssignmentKey,
    value: StreamsGroupCurrentMemberAssignmentValue | None,
) -> None:
    """As for the others, and the tasks that the member shadows or prepares."""
    replay_current(STREAMS, step, key, value)
    group = _streams_group(step)
    if value is not None and group is not None:
        member = group.members[key.member_id]
        member.standby = partitions_of(value.standby_tasks)
        member.warmup = partitions_of(value.warmup_tasks)


# --- what only some group types have ---


def replay_regex(
    step: ReplayStep,
    key: ConsumerGroupRegularExpressionKey,
    value: ConsumerGroupRegularExpressionValue | None,
) -> None:
    """Set the topics of a regular expression; the tombstone forgets the expression ([16])."""
    expression = key.regular_expression
    if value is None:
        group = _group_for_tombstone(CONSUMER, step)
        if group is None:
            return
        new = None
        old = group.regexes.pop(expression, None)
        group.regex_resolutions.pop(expression, None)
    else:
        group = _group_for_value(CONSUMER, step)
        if group is None:
            return
        new = frozenset(value.topics)
        old = group.regexes.get(expression)
        group.regexes[expression] = new
        group.regex_resolutions[expression] = RegexResolution(value.version, value.timestamp)
    step.changes.append(RegexResolved(step.position, expression, old, new))


def replay_topic_metadata(kind: GroupKind, step: ReplayStep, _key: object, value: Any) -> None:
    """Keep the recorded shape of the subscribed topics ([4], [9] of 4.0, [18]); the tombstone forgets it."""
    if value is None:
        group = _group_for_tombstone(kind, step)
        if group is None:
            return
        group.recorded_topics = None
        group.recorded_shapes = {}
        step.changes.append(TopicMetadataRecorded(step.position, None))
        return
    group = _group_for_value(kind, step)
    if group is None:
        return
    new = {
        topic.topic_name: RecordedTopic(
            topic.topic_id,
            topic.topic_name,
            topic.num_partitions,
            tuple((shape.partition, shape.racks) for shape in topic.partition_metadata),
        )
        for topic in value.topics
    }
    old = group.recorded_shapes
    differ = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
    group.recorded_shapes = new
    group.recorded_topics = {name: topic.partition_count for name, topic in new.items()}
    step.changes.append(TopicMetadataRecorded(step.position, tuple(differ)))


def replay_share_partition_metadata(step: ReplayStep, key: object, value: Any) -> None:
    """[9]: 3.9 listed initialised topics under the number that 4.0 then gave to topic metadata."""
    if step.record.layout == "3.9":
        replay_share_partitions(step, key, value)
    else:
        replay_topic_metadata(SHARE, step, key, value)


def replay_share_partitions(step: ReplayStep, _key: object, value: Any) -> None:
    """[15]: which partitions have share state says nothing of members; it only proves the group."""
    group = (_group_for_tombstone if value is None else _group_for_value)(SHARE, step)
    if group is not None:
        step.changes.append(SharePartitionsRecorded(step.position))


def replay_topology(
    step: ReplayStep, _key: StreamsGroupTopologyKey, value: StreamsGroupTopologyValue | None
) -> None:
    """Set the topology epoch ([23]). Its tombstone follows the group's own, so an unknown group is nothing odd."""
    if value is None:
        if step.slot.group is None:
            return
        group = _group_for_tombstone(STREAMS, step)
        topology_epoch = -1
    else:
        group = _group_for_value(STREAMS, step)
        topology_epoch = value.epoch
    if group is None:
        return
    group.topology_epoch = topology_epoch
    step.changes.append(TopologyChanged(step.position, topology_epoch))


def replay_nothing(_step: ReplayStep, _key: object, _value: object) -> None:
    """A record that is read but changes no state ([24]: no release has it)."""


RULES: Final[Mapping[RecordType, ReplayRule]] = {
    RecordType.CONSUMER_GROUP_METADATA: partial(replay_group_epoch, CONSUMER),
    RecordType.SHARE_GROUP_METADATA: partial(replay_group_epoch, SHARE),
    RecordType.STREAMS_GROUP_METADATA: replay_streams_group_epoch,
    RecordType.CONSUMER_GROUP_PARTITION_METADATA: partial(replay_topic_metadata, CONSUMER),
    RecordType.SHARE_GROUP_PARTITION_METADATA: replay_share_partition_metadata,
    RecordType.STREAMS_GROUP_PARTITION_METADATA: partial(replay_topic_metadata, STREAMS),
    RecordType.CONSUMER_GROUP_MEMBER_METADATA: partial(replay_member, CONSUMER),
    RecordType.SHARE_GROUP_MEMBER_METADATA: partial(replay_member, SHARE),
    RecordType.STREAMS_GROUP_MEMBER_METADATA: partial(replay_member, STREAMS),
    RecordType.CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA: partial(replay_target_metadata, CONSUMER),
    RecordType.SHARE_GROUP_TARGET_ASSIGNMENT_METADATA: partial(replay_target_metadata, SHARE),
    RecordType.STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA: partial(replay_target_metadata, STREAMS),
    RecordType.CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER: partial(replay_target, CONSUMER),
    RecordType.SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER: partial(replay_target, SHARE),
    RecordType.STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER: partial(replay_target, STREAMS),
    RecordType.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT: partial(replay_current, CONSUMER),
    RecordType.SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT: partial(replay_current, SHARE),
    RecordType.STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT: replay_streams_current,
    RecordType.CONSUMER_GROUP_REGULAR_EXPRESSION: replay_regex,
    RecordType.SHARE_GROUP_STATE_PARTITION_METADATA: replay_share_partitions,
    RecordType.STREAMS_GROUP_TOPOLOGY: replay_topology,
    RecordType.STREAMS_GROUP_TARGET_ASSIGNMENT_RESOLVED_TOPIC_IDS: replay_nothing,
}
"""Record type -> what it does to the slot."""
