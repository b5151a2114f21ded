"""What consumer, share and streams records do differently, as data, and which group a record belongs to.

The group is found, or made, as Kafka's loader does.
"""

from collections.abc import Callable, Mapping
from itertools import repeat
from operator import attrgetter
from typing import Any, Final, NamedTuple

from rebalance_audit.replay import groups
from rebalance_audit.replay.changes import AnomalyKind, GroupCreated, GroupType
from rebalance_audit.replay.partitions import (
    NOTHING,
    Partitions,
    Topic,
    TopicPartition,
    partitions_of,
)
from rebalance_audit.replay.step import ReplayStep
from rebalance_audit.wire.generated.messages import (
    ConsumerGroupMemberMetadataValue,
    StreamsGroupMemberMetadataValue,
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
    member_fields: Mapping[str, Callable[[Any], object]]
    """Field of `ModernMember` that the member metadata record sets -> its value, from the record's; in their order."""
    target: Callable[[Any], Partitions]
    current_assignment: Callable[[Any], CurrentAssignment]


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


def _classic_membership(value: ConsumerGroupMemberMetadataValue) -> groups.ClassicMembership | None:
    classic = value.classic_member_metadata
    if classic is None:
        return None
    protocols = ((protocol.name, protocol.metadata) for protocol in classic.supported_protocols)
    return groups.ClassicMembership(classic.session_timeout_ms, tuple(protocols))


def _endpoint(value: StreamsGroupMemberMetadataValue) -> tuple[str, int] | None:
    endpoint = value.user_endpoint
    return None if endpoint is None else (endpoint.host, endpoint.port)


def _same(*names: str) -> dict[str, Callable[[Any], object]]:
    """Fields that are called alike."""
    return {name: attrgetter(name) for name in names}


CONSUMER: Final = GroupKind(
    group_type=GroupType.CONSUMER,
    replaces_simple=True,
    replaces_classic=True,
    one_owner=True,
    member_states={0: groups.STABLE, 1: groups.UNREVOKED, 2: groups.UNRELEASED},
    member_fields={
        **_same("instance_id", "rack_id", "client_id", "client_host", "subscribed_topic_names"),
        "subscribed_topic_regex": lambda value: value.subscribed_topic_regex or "",
        **_same("rebalance_timeout_ms", "server_assignor"),
        "classic": _classic_membership,
        "client_assignors": attrgetter("assignors"),
    },
    target=lambda value: partitions_of(value.topic_partitions),
    current_assignment=lambda value: _with_epochs(
        value.assigned_partitions, value.partitions_pending_revocation
    ),
)

SHARE: Final = GroupKind(
    group_type=GroupType.SHARE,
    replaces_simple=False,
    replaces_classic=False,
    one_owner=False,
    member_states={0: groups.STABLE, 1: groups.UNREVOKED, 2: groups.UNRELEASED},
    member_fields=_same("rack_id", "client_id", "client_host", "subscribed_topic_names"),
    target=lambda value: partitions_of(value.topic_partitions),
    current_assignment=lambda value: CurrentAssignment(
        partitions_of(value.assigned_partitions), NOTHING, _NO_EPOCHS, ()
    ),
)

STREAMS: Final = GroupKind(
    group_type=GroupType.STREAMS,
    replaces_simple=True,
    replaces_classic=True,
    one_owner=True,
    member_states={1: groups.STABLE, 2: groups.UNREVOKED, 3: groups.UNRELEASED},
    member_fields={
        **_same("instance_id", "rack_id", "client_id", "client_host", "rebalance_timeout_ms"),
        **_same("topology_epoch", "process_id"),
        "user_endpoint": _endpoint,
        "client_tags": lambda value: tuple((tag.key, tag.value) for tag in value.client_tags),
    },
    target=lambda value: partitions_of(value.active_tasks),
    current_assignment=lambda value: _with_epochs(
        value.active_tasks, value.active_tasks_pending_revocation
    ),
)


def group_of(kind: GroupKind, step: ReplayStep) -> groups.ModernGroup | None:
    """The group that a record belongs to; None if the record must be left out."""
    return (group_for_tombstone if step.record.value is None else group_for_value)(kind, step)


def group_for_value(kind: GroupKind, step: ReplayStep) -> groups.ModernGroup | None:
    """The group that a record with a value belongs to, made if there is none; None if the record must be left out.

    In a real log a consumer or streams group's record also shows that the classic group before it is gone, by an
    upgrade whose tombstone is missing: the cleaner may have passed one segment and not yet another. Kafka's loader
    would stop.
    """
    group = step.slot.group
    if group is None:
        return _create(kind, step, None)
    if isinstance(group, groups.ClassicGroup) and kind.replaces_simple and group.is_simple():
        # A simple group only exists to hold offsets, which belong to the group id: nothing is lost.
        return _create(kind, step, GroupType.CLASSIC)
    if isinstance(group, groups.ModernGroup) and group.group_type is kind.group_type:
        return group
    _refuse_type(kind, step, group)
    if isinstance(group, groups.ClassicGroup) and kind.replaces_classic:
        return _create(kind, step, GroupType.CLASSIC)
    return None


def group_for_tombstone(kind: GroupKind, step: ReplayStep) -> groups.ModernGroup | None:
    """The group that a tombstone belongs to; None when it is unknown or of another type.

    In a real log those of a consumer or streams group may follow the record of the classic group that took its place,
    if the log was read while the cleaner was at work: the classic group stays, and there is nothing left to remove.
    """
    group = step.slot.group
    if group is None:
        step.refuse(AnomalyKind.TOMBSTONE_OF_UNKNOWN, "there is no such group")
        return None
    if isinstance(group, groups.ModernGroup) and group.group_type is kind.group_type:
        return group
    if isinstance(group, groups.ClassicGroup):
        if kind.replaces_simple and group.is_simple():
            return _create(kind, step, GroupType.CLASSIC)
        if kind.replaces_classic and group.has_record and step.is_lenient:
            return None
    _refuse_type(kind, step, group)
    return None


def _refuse_type(kind: GroupKind, step: ReplayStep, group: groups.Group) -> None:
    step.refuse(
        AnomalyKind.WRONG_GROUP_TYPE,
        f"it belongs to a {kind.group_type} group, but this is a {groups.type_of(group)} group",
    )


def _create(kind: GroupKind, step: ReplayStep, replaced: GroupType | None) -> groups.ModernGroup:
    group = groups.ModernGroup(step.slot.group_id, kind.group_type)
    step.slot.group = group
    step.changes.append(
        GroupCreated(step.position, kind.group_type, simple=False, replaced=replaced)
    )
    return group


def known_member(
    group: groups.ModernGroup, step: ReplayStep, member_id: str
) -> groups.ModernMember | None:
    """The member that a tombstone names; None when the group does not know it."""
    member = group.members.get(member_id)
    if member is None:
        step.refuse(AnomalyKind.TOMBSTONE_OF_UNKNOWN, f"the group does not know member {member_id}")
    return member
