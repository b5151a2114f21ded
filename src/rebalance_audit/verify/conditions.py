"""What is wrong with a record for its group beyond what replay checks: the conditions of rules.

A condition only says what is there; whether a coordinator minds it, is a rule's matter.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from rebalance_audit.replay.changes import AnomalyKind, GroupType
from rebalance_audit.replay.groups import ClassicGroup, Group, ModernGroup, ModernMember, type_of
from rebalance_audit.replay.modern.kinds import CONSUMER, SHARE, STREAMS, GroupKind
from rebalance_audit.replay.partitions import Partitions, each, text_of, union
from rebalance_audit.wire.consumer_protocol import PROTOCOL_TYPE
from rebalance_audit.wire.generated.messages import GroupMetadataValue, RecordType
from rebalance_audit.wire.records import Record

Met: TypeAlias = tuple[str, str]
"""Id of the rule, and what exactly is wrong."""

UNHANDLED: Final = "unhandled_record_type"
SIMPLE_IN_THE_WAY: Final = "simple_group_in_the_way"
RECORD_OF_UNKNOWN: Final = "record_of_unknown"
TAKEN_FROM_MEMBER: Final = "partition_taken_from_member"
OWNED_LATER: Final = "partition_owned_at_later_epoch"
HELD_AND_GIVEN_UP: Final = "partition_held_and_given_up"
TOPIC_TWICE: Final = "topic_twice"
STATIC_TWICE: Final = "static_member_twice"
MEMBER_TWICE: Final = "member_twice"
SUBSCRIPTION: Final = "subscription_unreadable"
_NO_ASSIGNMENT_EPOCH: Final = -1


def conditions_met(group: Group | None, record: Record) -> Iterator[Met]:
    """What is wrong with a record for the group as it is before it."""
    if record.record_type is RecordType.GROUP_METADATA:
        if record.value is not None:
            yield from _classic(record.value)
        return
    place = _PLACES.get(record.record_type)
    if place is None:
        return
    if record.record_type is RecordType.SHARE_GROUP_STATE_PARTITION_METADATA:
        yield UNHANDLED, "no replay is there for it"
    kind, look = place
    if group is not None and not _is_of(kind, group):
        detail = (
            f"the group is a {type_of(group)} group, the record that of a {kind.group_type} group"
        )
        yield AnomalyKind.WRONG_GROUP_TYPE, detail
        return
    if isinstance(group, ClassicGroup):
        yield SIMPLE_IN_THE_WAY, "the group is one that only holds offsets"
        # A new group takes its place, even where the record is a tombstone.
        group = ModernGroup(group.group_id, kind.group_type)
    modern = group if isinstance(group, ModernGroup) else None
    if modern is None and record.value is None:
        return
    if modern is None:
        yield RECORD_OF_UNKNOWN, "there is no such group"
    yield from look(modern, record)


def _is_of(kind: GroupKind, group: Group) -> bool:
    if isinstance(group, ClassicGroup):
        return kind.replaces_simple and group.is_simple()
    return group.group_type is kind.group_type


def _classic(value: Any) -> Iterator[Met]:
    assert isinstance(value, GroupMetadataValue)
    member_ids: set[str] = set()
    instance_ids: set[str] = set()
    for place, member in enumerate(value.members):
        if member.group_instance_id is not None:
            if member.group_instance_id in instance_ids:
                yield STATIC_TWICE, f"members have the instance id {member.group_instance_id}"
            instance_ids.add(member.group_instance_id)
        if len(member_ids) < place:
            yield MEMBER_TWICE, "the record has a member id twice"
        member_ids.add(member.member_id)
    if value.protocol_type == PROTOCOL_TYPE and value.protocol is not None:
        for member in value.members:
            if wrong := _unreadable(member.subscription):
                yield SUBSCRIPTION, f"member {member.member_id}: {wrong}"


def _unreadable(subscription: bytes) -> str | None:
    """Why reading it throws what is not caught: bytes that end inside a number are, whatever else is wrong is not.

    Kafka reads version 0, whatever the bytes say: topics, then user data (`ConsumerProtocol.deserializeSubscription`).
    """
    at, size = 2, len(subscription)
    if size < at + 4:
        return None
    count = int.from_bytes(subscription[at : at + 4], signed=True)
    at += 4
    if not 0 <= count <= size - at:
        return f"the subscription claims {count} topics"
    for _ in range(count):
        if size < at + 2:
            return None
        length = int.from_bytes(subscription[at : at + 2], signed=True)
        at += 2
        if not 0 <= length <= size - at:
            return f"the subscription claims a topic of {length} bytes"
        at += length
    if size < at + 4:
        return None
    length = int.from_bytes(subscription[at : at + 4], signed=True)
    return (
        f"the subscription claims user data of {length} bytes" if length > size - at - 4 else None
    )


def _group_epoch(group: ModernGroup | None, record: Record) -> Iterator[Met]:
    value: Any = record.value
    if value is not None:
        yield from _twice(key for key, _ in getattr(value, "last_assignment_configs", None) or ())
        return
    assert group is not None
    has_targets = group.targets and group.group_type is not GroupType.STREAMS
    if group.members:
        yield AnomalyKind.GROUP_NOT_EMPTY, f"{len(group.members)} members are left"
    elif has_targets:
        yield AnomalyKind.GROUP_NOT_EMPTY, f"{len(group.targets)} targets are left"
    elif group.assignment_epoch != _NO_ASSIGNMENT_EPOCH:
        yield AnomalyKind.GROUP_NOT_EMPTY, f"assignment epoch {group.assignment_epoch} is left"


def _member(group: ModernGroup | None, record: Record) -> Iterator[Met]:
    key: Any = record.key
    member = None if group is None else group.members.get(key.member_id)
    if record.value is not None and group is not None and member is not None:
        held = union(member.assigned, member.pending_revocation)
        yield from _ownership(group, member, key.member_id, held, member.member_epoch)


def _target(_group: ModernGroup | None, record: Record) -> Iterator[Met]:
    yield from _listed_twice(record.value)


def _current(group: ModernGroup | None, record: Record) -> Iterator[Met]:
    key: Any = record.key
    value: Any = record.value
    member = None if group is None else group.members.get(key.member_id)
    if member is None and group is not None and value is not None:
        yield RECORD_OF_UNKNOWN, f"the group has no member {key.member_id}"
    kind, _ = _PLACES[record.record_type]
    if value is None:
        if group is not None and member is not None:
            yield from _taken(group, member)
        return
    yield from _listed_twice(value)
    current = kind.current_assignment(value)
    if kind is not CONSUMER:
        return
    for topic, numbers in current.assigned.items():
        both = numbers & current.pending_revocation.get(topic, frozenset())
        if both:
            yield HELD_AND_GIVEN_UP, f"{text_of(topic)}-{min(both)} is in both lists"
    if group is not None:
        held = union(current.assigned, current.pending_revocation)
        yield from _ownership(group, member, key.member_id, held, value.member_epoch)


def _ownership(
    group: ModernGroup,
    member: ModernMember | None,
    member_id: str,
    held: Partitions,
    member_epoch: int,
) -> Iterator[Met]:
    """What the map of partitions to epochs (`ConsumerGroup.currentPartitionEpoch`) has against what a member holds."""
    if group.group_type is not GroupType.CONSUMER:
        return
    if member is not None:
        yield from _taken(group, member)
    earlier: str | None = None
    for partition in each(held):
        owner = group.owners.get(partition)
        if owner is None or owner == member_id:
            continue
        owner_epoch = group.members[owner].member_epoch
        topic, number = partition
        claim = (
            f"member {member_id} takes {text_of(topic)}-{number} at epoch {member_epoch}, member {owner}"
            f" holds it at epoch {owner_epoch}"
        )
        if owner_epoch >= member_epoch:
            yield OWNED_LATER, claim
            return
        earlier = earlier or claim
    if earlier is not None:
        yield AnomalyKind.PARTITION_OWNED_TWICE, earlier


def _taken(group: ModernGroup, member: ModernMember) -> Iterator[Met]:
    if not group.disputed:
        return
    for partition in each(union(member.assigned, member.pending_revocation)):
        owner = group.owners.get(partition)
        if owner != member.member_id:
            topic, number = partition
            detail = f"member {owner} took {text_of(topic)}-{number} from member {member.member_id}"
            yield TAKEN_FROM_MEMBER, detail
            return


def _share_partitions(_group: ModernGroup | None, record: Record) -> Iterator[Met]:
    yield from _listed_twice(record.value)


def _topology(_group: ModernGroup | None, record: Record) -> Iterator[Met]:
    value: Any = record.value
    if value is not None:
        yield from _twice(entry[0] for entry in value.subtopologies)
        if value.epoch < 0:
            yield AnomalyKind.BAD_VALUE, f"topology epoch {value.epoch}"


def _nothing(_group: ModernGroup | None, _record: Record) -> Iterator[Met]:
    return iter(())


_LISTS: Final = (
    *("topic_partitions", "assigned_partitions", "partitions_pending_revocation"),
    *("active_tasks", "standby_tasks", "warmup_tasks", "active_tasks_pending_revocation"),
    *("standby_tasks_pending_revocation", "warmup_tasks_pending_revocation"),
    *("initializing_topics", "initialized_topics"),
)


def _listed_twice(value: object) -> Iterator[Met]:
    """In a list of a value; each entry begins with its topic."""
    for name in _LISTS:
        if entries := getattr(value, name, ()):
            yield from _twice(entry[0] for entry in entries)


def _twice(names: Iterable[bytes | str]) -> Iterator[Met]:
    met: set[bytes | str] = set()
    for name in names:
        if name in met:
            yield TOPIC_TWICE, f"{text_of(name)} is there twice"
            return
        met.add(name)


class _Place(NamedTuple):
    kind: GroupKind
    look: Callable[[ModernGroup | None, Record], Iterator[Met]]


_PLACES: Final[Mapping[RecordType, _Place]] = {
    RecordType.CONSUMER_GROUP_METADATA: _Place(CONSUMER, _group_epoch),
    RecordType.SHARE_GROUP_METADATA: _Place(SHARE, _group_epoch),
    RecordType.STREAMS_GROUP_METADATA: _Place(STREAMS, _group_epoch),
    RecordType.CONSUMER_GROUP_PARTITION_METADATA: _Place(CONSUMER, _nothing),
    RecordType.SHARE_GROUP_PARTITION_METADATA: _Place(SHARE, _nothing),
    RecordType.CONSUMER_GROUP_MEMBER_METADATA: _Place(CONSUMER, _member),
    RecordType.SHARE_GROUP_MEMBER_METADATA: _Place(SHARE, _member),
    RecordType.STREAMS_GROUP_MEMBER_METADATA: _Place(STREAMS, _member),
    RecordType.CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA: _Place(CONSUMER, _nothing),
    RecordType.SHARE_GROUP_TARGET_ASSIGNMENT_METADATA: _Place(SHARE, _nothing),
    RecordType.STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA: _Place(STREAMS, _nothing),
    RecordType.CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER: _Place(CONSUMER, _target),
    RecordType.SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER: _Place(SHARE, _target),
    RecordType.STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER: _Place(STREAMS, _target),
    RecordType.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT: _Place(CONSUMER, _current),
    RecordType.SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT: _Place(SHARE, _current),
    RecordType.STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT: _Place(STREAMS, _current),
    RecordType.CONSUMER_GROUP_REGULAR_EXPRESSION: _Place(CONSUMER, _nothing),
    RecordType.SHARE_GROUP_STATE_PARTITION_METADATA: _Place(SHARE, _share_partitions),
    RecordType.STREAMS_GROUP_TOPOLOGY: _Place(STREAMS, _topology),
}
"""Record type -> the groups that it belongs to, and what to look at."""
