"""Replay of consumer, share and streams group records (types 3 to 24): which rule each record type has.

These records are deltas: each overwrites one part of the group. The rules are those of the replay methods in Kafka's
GroupMetadataManager; what the three group types do differently is data in `kinds`. Here are those for what a group and
its members say of themselves, `assignments` has the others.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from rebalance_audit.replay.changes import (
    AnomalyKind,
    GroupEpochBumped,
    GroupRemoved,
    MemberSubscribed,
    MemberUnsubscribed,
    RegexResolved,
    SharePartitionsRecorded,
    TargetInstalled,
    TopicMetadataRecorded,
    TopologyChanged,
)
from rebalance_audit.replay.groups import (
    LEFT_EPOCH,
    NOT_VALIDATED,
    ModernGroup,
    ModernMember,
    RecordedTopic,
    RegexResolution,
)
from rebalance_audit.replay.modern.assignments import (
    replay_current,
    replay_streams_current,
    replay_target,
)
from rebalance_audit.replay.modern.kinds import (
    CONSUMER,
    SHARE,
    STREAMS,
    GroupKind,
    group_for_tombstone,
    group_for_value,
    group_of,
    known_member,
)
from rebalance_audit.replay.step import ReplayRule, ReplayStep
from rebalance_audit.wire.generated import messages
from rebalance_audit.wire.generated.messages import RecordType

NO_ASSIGNMENT_EPOCH: Final = -1
"""The assignment epoch after the tombstone of the target metadata."""


def replay_group_epoch(
    kind: GroupKind, group: ModernGroup, step: ReplayStep, _key: object, value: Any
) -> None:
    """Set the group epoch and metadata hash; the tombstone removes the group."""
    if value is None:
        _remove_group(group, step)
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
    kind: GroupKind,
    group: ModernGroup,
    step: ReplayStep,
    key: object,
    value: messages.StreamsGroupMetadataValue | None,
) -> None:
    """As for the other group types, plus the topology epoch that was found valid.

    Tags with default values are left out, so a record with neither tag is one of 4.1, which has none: from 4.2 on, the
    assignment configurations are written as soon as a member has sent a heartbeat.
    """
    replay_group_epoch(kind, group, step, key, value)
    if value is not None:
        validated = value.validated_topology_epoch
        is_recorded = validated != NOT_VALIDATED or bool(value.last_assignment_configs)
        group.validated_topology_epoch = validated if is_recorded else None


def _remove_group(group: ModernGroup, step: ReplayStep) -> None:
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
    step.changes.append(GroupRemoved(step.position, group.group_type))


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


def replay_member(
    kind: GroupKind, group: ModernGroup, step: ReplayStep, key: Any, value: Any
) -> None:
    """Overwrite the member's description; the tombstone removes the member."""
    member_id = key.member_id
    if value is None:
        _remove_member(group, step, member_id)
        return
    member = group.members.get(member_id)
    joined = member is None
    if member is None:
        member = group.members[member_id] = ModernMember(member_id)
        group.note_convergence(member)
    old_instance_id = member.instance_id
    changed: list[str] = []
    for name, value_of in kind.member_fields.items():
        described = value_of(value)
        if getattr(member, name) != described:
            setattr(member, name, described)
            changed.append(name)
    if not member.described:
        # Known only by its assignment, or not at all: nothing is known to differ.
        changed.clear()
        member.described = True
    if member.instance_id != old_instance_id:
        _forget_instance(group, old_instance_id, member_id)
    if member.instance_id is not None:
        group.static_members[member.instance_id] = member_id
    step.changes.append(
        MemberSubscribed(step.position, member_id, member.instance_id, joined, tuple(changed))
    )


def _remove_member(group: ModernGroup, step: ReplayStep, member_id: str) -> None:
    member = known_member(group, step, member_id)
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
    group.forget_convergence(member_id)
    _forget_instance(group, member.instance_id, member_id)
    step.changes.append(
        MemberUnsubscribed(
            step.position, member_id, member.instance_id, member.client_id, member.client_host
        )
    )


def _forget_instance(group: ModernGroup, instance_id: str | None, member_id: str) -> None:
    """Unless another member has taken the instance id over meanwhile."""
    if instance_id is not None and group.static_members.get(instance_id) == member_id:
        del group.static_members[instance_id]


def replay_regex(
    _kind: GroupKind,
    group: ModernGroup,
    step: ReplayStep,
    key: messages.ConsumerGroupRegularExpressionKey,
    value: messages.ConsumerGroupRegularExpressionValue | None,
) -> None:
    """Set the topics of a regular expression; the tombstone forgets the expression ([16])."""
    expression = key.regular_expression
    if value is None:
        new = None
        old = group.regexes.pop(expression, None)
        group.regex_resolutions.pop(expression, None)
    else:
        new = frozenset(value.topics)
        old = group.regexes.get(expression)
        group.regexes[expression] = new
        group.regex_resolutions[expression] = RegexResolution(value.version, value.timestamp)
    step.changes.append(RegexResolved(step.position, expression, old, new))


def replay_topic_metadata(
    _kind: GroupKind, group: ModernGroup, step: ReplayStep, _key: object, value: Any
) -> None:
    """Keep the recorded shape of the subscribed topics ([4], [9] of 4.0, [18]); the tombstone forgets it."""
    if value is None:
        group.recorded_topics = None
        group.recorded_shapes = {}
        step.changes.append(TopicMetadataRecorded(step.position, None))
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
    is_first, old = group.recorded_topics is None, group.recorded_shapes
    differ = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
    group.recorded_shapes = new
    group.recorded_topics = {name: topic.partition_count for name, topic in new.items()}
    step.changes.append(TopicMetadataRecorded(step.position, tuple(differ), is_first))


def replay_share_partition_metadata(
    kind: GroupKind, group: ModernGroup, step: ReplayStep, key: object, value: Any
) -> None:
    """[9]: in 3.9 a list of initialised topics; 4.0 reused the number for topic metadata."""
    rule = replay_share_partitions if step.record.layout == "3.9" else replay_topic_metadata
    rule(kind, group, step, key, value)


def replay_share_partitions(
    _kind: GroupKind, _group: ModernGroup, step: ReplayStep, _key: object, _value: object
) -> None:
    """[15]: which partitions have share state says nothing about members; it only proves that the group exists."""
    step.changes.append(SharePartitionsRecorded(step.position))


def replay_topology(
    step: ReplayStep, _key: object, value: messages.StreamsGroupTopologyValue | None
) -> None:
    """Set the topology epoch ([23]). Its tombstone follows the group's own, so an unknown group is no anomaly."""
    if value is None and step.slot.group is None:
        return
    group = group_of(STREAMS, step)
    if group is not None:
        group.topology_epoch = -1 if value is None else value.epoch
        step.changes.append(TopologyChanged(step.position, group.topology_epoch))


def replay_nothing(_step: ReplayStep, _key: object, _value: object) -> None:
    """A record that is decoded but changes no state ([24]: no release writes it)."""


def _of_group(
    kind: GroupKind, rule: Callable[[GroupKind, ModernGroup, ReplayStep, Any, Any], None]
) -> ReplayRule:
    """A rule for the group that a record belongs to; a record without one is left out."""

    def replay(step: ReplayStep, key: Any, value: Any) -> None:
        group = group_of(kind, step)
        if group is not None:
            rule(kind, group, step, key, value)

    return replay


RULES: Final[Mapping[RecordType, ReplayRule]] = {
    RecordType.CONSUMER_GROUP_METADATA: _of_group(CONSUMER, replay_group_epoch),
    RecordType.SHARE_GROUP_METADATA: _of_group(SHARE, replay_group_epoch),
    RecordType.STREAMS_GROUP_METADATA: _of_group(STREAMS, replay_streams_group_epoch),
    RecordType.CONSUMER_GROUP_PARTITION_METADATA: _of_group(CONSUMER, replay_topic_metadata),
    RecordType.SHARE_GROUP_PARTITION_METADATA: _of_group(SHARE, replay_share_partition_metadata),
    RecordType.STREAMS_GROUP_PARTITION_METADATA: _of_group(STREAMS, replay_topic_metadata),
    RecordType.CONSUMER_GROUP_MEMBER_METADATA: _of_group(CONSUMER, replay_member),
    RecordType.SHARE_GROUP_MEMBER_METADATA: _of_group(SHARE, replay_member),
    RecordType.STREAMS_GROUP_MEMBER_METADATA: _of_group(STREAMS, replay_member),
    RecordType.CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA: partial(replay_target_metadata, CONSUMER),
    RecordType.SHARE_GROUP_TARGET_ASSIGNMENT_METADATA: partial(replay_target_metadata, SHARE),
    RecordType.STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA: partial(replay_target_metadata, STREAMS),
    RecordType.CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER: _of_group(CONSUMER, replay_target),
    RecordType.SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER: _of_group(SHARE, replay_target),
    RecordType.STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER: _of_group(STREAMS, replay_target),
    RecordType.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT: _of_group(CONSUMER, replay_current),
    RecordType.SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT: _of_group(SHARE, replay_current),
    RecordType.STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT: _of_group(STREAMS, replay_streams_current),
    RecordType.CONSUMER_GROUP_REGULAR_EXPRESSION: _of_group(CONSUMER, replay_regex),
    RecordType.SHARE_GROUP_STATE_PARTITION_METADATA: _of_group(SHARE, replay_share_partitions),
    RecordType.STREAMS_GROUP_TOPOLOGY: replay_topology,
    RecordType.STREAMS_GROUP_TARGET_ASSIGNMENT_RESOLVED_TOPIC_IDS: replay_nothing,
}
"""Record type -> what it does to the slot."""
