"""What consumer, share and streams records do differently, as data: one `GroupKind` per group type."""

from collections.abc import Callable, Mapping
from itertools import repeat
from typing import Any, Final, NamedTuple

from rebalance_audit.replay.changes import GroupType
from rebalance_audit.replay.groups.modern_group import (
    STABLE,
    UNRELEASED,
    UNREVOKED,
    ClassicMembership,
)
from rebalance_audit.replay.partitions import (
    NOTHING,
    Partitions,
    Topic,
    TopicPartition,
    partitions_of,
)
from rebalance_audit.wire.generated.messages import (
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupTargetAssignmentMemberValue,
    ShareGroupCurrentMemberAssignmentValue,
    ShareGroupMemberMetadataValue,
    ShareGroupTargetAssignmentMemberValue,
    StreamsGroupCurrentMemberAssignmentValue,
    StreamsGroupMemberMetadataValue,
    StreamsGroupTargetAssignmentMemberValue,
)

EARLY_ACCESS_LAYOUT: Final = "3.7"


class CurrentAssignment(NamedTuple):
    """The partitions of a current assignment record."""

    assigned: Partitions
    pending_revocation: Partitions
    assignment_epochs: Mapping[TopicPartition, int]
    """Empty if the record has none."""
    uneven: tuple[Topic, ...]
    """Topics whose list of assignment epochs differs in length from their list of partitions."""


class GroupKind(NamedTuple):
    """How one group type writes what all three share."""

    group_type: GroupType
    replaces_simple: bool
    """Whether its records silently replace a simple classic group."""
    replaces_classic: bool
    """Whether a classic group can become one of this type, and a classic group again."""
    one_owner: bool
    """Whether a partition has at most one owner."""
    member_states: Mapping[int, str]
    """Wire code -> member state; any other code is UNKNOWN."""
    member_fields: tuple[str, ...]
    """Fields of `ModernMember` that the member metadata record sets, in the order of that class."""
    member_values: Callable[[Any], tuple[object, ...]]
    """Their values, from the record's value."""
    target: Callable[[Any], Partitions]
    """The partitions of a target assignment record."""
    current_assignment: Callable[[Any], CurrentAssignment]
    """The partitions of a current assignment record."""


_NO_EPOCHS: Final[Mapping[TopicPartition, int]] = {}


def _with_epochs(entries: tuple[Any, ...], pending: tuple[Any, ...]) -> CurrentAssignment:
    """Assigned and pending partitions of entries (topic, partition numbers, assignment epochs or None)."""
    epochs: dict[TopicPartition, int] = {}
    uneven: list[Topic] = []
    for topic, numbers, assignment_epochs in (*entries, *pending):
        if not assignment_epochs:
            continue
        if len(assignment_epochs) != len(numbers):
            uneven.append(topic)
            continue
        epochs.update(zip(zip(repeat(topic), numbers), assignment_epochs, strict=True))
    return CurrentAssignment(
        partitions_of(entries),
        partitions_of(pending) if pending else NOTHING,
        epochs or _NO_EPOCHS,
        tuple(uneven),
    )


def _consumer_member(value: ConsumerGroupMemberMetadataValue) -> tuple[object, ...]:
    classic = value.classic_member_metadata
    return (
        value.instance_id,
        value.rack_id,
        value.client_id,
        value.client_host,
        value.subscribed_topic_names,
        value.subscribed_topic_regex or "",
        value.rebalance_timeout_ms,
        value.server_assignor,
        None
        if classic is None
        else ClassicMembership(
            classic.session_timeout_ms,
            tuple((protocol.name, protocol.metadata) for protocol in classic.supported_protocols),
        ),
        value.assignors,
    )


def _consumer_target(value: ConsumerGroupTargetAssignmentMemberValue) -> Partitions:
    return partitions_of(value.topic_partitions)


def _consumer_current(value: ConsumerGroupCurrentMemberAssignmentValue) -> CurrentAssignment:
    return _with_epochs(value.assigned_partitions, value.partitions_pending_revocation)


def _share_member(value: ShareGroupMemberMetadataValue) -> tuple[object, ...]:
    return (value.rack_id, value.client_id, value.client_host, value.subscribed_topic_names)


def _share_target(value: ShareGroupTargetAssignmentMemberValue) -> Partitions:
    return partitions_of(value.topic_partitions)


def _share_current(value: ShareGroupCurrentMemberAssignmentValue) -> CurrentAssignment:
    return CurrentAssignment(partitions_of(value.assigned_partitions), NOTHING, _NO_EPOCHS, ())


def _streams_member(value: StreamsGroupMemberMetadataValue) -> tuple[object, ...]:
    endpoint = value.user_endpoint
    return (
        value.instance_id,
        value.rack_id,
        value.client_id,
        value.client_host,
        value.rebalance_timeout_ms,
        value.topology_epoch,
        value.process_id,
        None if endpoint is None else (endpoint.host, endpoint.port),
        tuple((tag.key, tag.value) for tag in value.client_tags),
    )


def _streams_target(value: StreamsGroupTargetAssignmentMemberValue) -> Partitions:
    return partitions_of(value.active_tasks)


def _streams_current(value: StreamsGroupCurrentMemberAssignmentValue) -> CurrentAssignment:
    return _with_epochs(value.active_tasks, value.active_tasks_pending_revocation)


CONSUMER: Final = GroupKind(
    group_type=GroupType.CONSUMER,
    replaces_simple=True,
    replaces_classic=True,
    one_owner=True,
    member_states={0: STABLE, 1: UNREVOKED, 2: UNRELEASED},
    member_fields=(
        "instance_id",
        "rack_id",
        "client_id",
        "client_host",
        "subscribed_topic_names",
        "subscribed_topic_regex",
        "rebalance_timeout_ms",
        "server_assignor",
        "classic",
        "client_assignors",
    ),
    member_values=_consumer_member,
    target=_consumer_target,
    current_assignment=_consumer_current,
)

SHARE: Final = GroupKind(
    group_type=GroupType.SHARE,
    replaces_simple=False,
    replaces_classic=False,
    one_owner=False,
    member_states={0: STABLE, 1: UNREVOKED, 2: UNRELEASED},
    member_fields=("rack_id", "client_id", "client_host", "subscribed_topic_names"),
    member_values=_share_member,
    target=_share_target,
    current_assignment=_share_current,
)

STREAMS: Final = GroupKind(
    group_type=GroupType.STREAMS,
    replaces_simple=True,
    replaces_classic=True,
    one_owner=True,
    member_states={1: STABLE, 2: UNREVOKED, 3: UNRELEASED},
    member_fields=(
        "instance_id",
        "rack_id",
        "client_id",
        "client_host",
        "rebalance_timeout_ms",
        "topology_epoch",
        "process_id",
        "user_endpoint",
        "client_tags",
    ),
    member_values=_streams_member,
    target=_streams_target,
    current_assignment=_streams_current,
)
