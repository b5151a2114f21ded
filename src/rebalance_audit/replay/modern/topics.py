"""Replay of what groups record about topics: resolved regexes, topic metadata, share partitions, topologies."""

from typing import Any

from rebalance_audit.replay.changes import (
    RegexResolved,
    SharePartitionsRecorded,
    TopicMetadataRecorded,
    TopologyChanged,
)
from rebalance_audit.replay.groups.modern_group import RecordedTopic, RegexResolution
from rebalance_audit.replay.modern.kinds import CONSUMER, SHARE, STREAMS, GroupKind
from rebalance_audit.replay.modern.lookup import group_for_tombstone, group_for_value
from rebalance_audit.replay.step import ReplayStep
from rebalance_audit.wire.generated.messages import (
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    StreamsGroupTopologyKey,
    StreamsGroupTopologyValue,
)


def replay_regex(
    step: ReplayStep,
    key: ConsumerGroupRegularExpressionKey,
    value: ConsumerGroupRegularExpressionValue | None,
) -> None:
    """Set the topics of a regular expression; the tombstone forgets the expression ([16])."""
    expression = key.regular_expression
    if value is None:
        group = group_for_tombstone(CONSUMER, step)
        if group is None:
            return
        new = None
        old = group.regexes.pop(expression, None)
        group.regex_resolutions.pop(expression, None)
    else:
        group = group_for_value(CONSUMER, step)
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
        group = group_for_tombstone(kind, step)
        if group is None:
            return
        group.recorded_topics = None
        group.recorded_shapes = {}
        step.changes.append(TopicMetadataRecorded(step.position, None))
        return
    group = group_for_value(kind, step)
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
    is_first, old = group.recorded_topics is None, group.recorded_shapes
    differ = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
    group.recorded_shapes = new
    group.recorded_topics = {name: topic.partition_count for name, topic in new.items()}
    step.changes.append(TopicMetadataRecorded(step.position, tuple(differ), is_first))


def replay_share_partition_metadata(step: ReplayStep, key: object, value: Any) -> None:
    """[9]: in 3.9 a list of initialised topics; 4.0 reused the number for topic metadata."""
    if step.record.layout == "3.9":
        replay_share_partitions(step, key, value)
    else:
        replay_topic_metadata(SHARE, step, key, value)


def replay_share_partitions(step: ReplayStep, _key: object, value: Any) -> None:
    """[15]: which partitions have share state says nothing about members; it only proves that the group exists."""
    group = (group_for_tombstone if value is None else group_for_value)(SHARE, step)
    if group is not None:
        step.changes.append(SharePartitionsRecorded(step.position))


def replay_topology(
    step: ReplayStep, _key: StreamsGroupTopologyKey, value: StreamsGroupTopologyValue | None
) -> None:
    """Set the topology epoch ([23]). Its tombstone follows the group's own, so an unknown group is no anomaly."""
    if value is None:
        if step.slot.group is None:
            return
        group = group_for_tombstone(STREAMS, step)
        topology_epoch = -1
    else:
        group = group_for_value(STREAMS, step)
        topology_epoch = value.epoch
    if group is None:
        return
    group.topology_epoch = topology_epoch
    step.changes.append(TopologyChanged(step.position, topology_epoch))


def replay_nothing(_step: ReplayStep, _key: object, _value: object) -> None:
    """A record that is decoded but changes no state ([24]: no release writes it)."""
