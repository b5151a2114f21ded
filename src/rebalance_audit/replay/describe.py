"""A group as Kafka's describe commands show it."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from rebalance_audit.replay import groups
from rebalance_audit.replay.changes import GroupType
from rebalance_audit.replay.classic import CONSUMER, Kind, OwnedWork, kind_of
from rebalance_audit.replay.modern.preferred_assignor import preferred_assignor
from rebalance_audit.replay.partitions import Partitions, text_of, union
from rebalance_audit.wire.topic_names import TopicNames

DEFAULT_ASSIGNORS: Final = {
    GroupType.CONSUMER: "uniform",
    GroupType.SHARE: "simple",
    GroupType.STREAMS: None,
}
"""What Kafka shows if no member prefers one: the first of the broker's default assignors."""

UNKNOWN: Final = "Unknown"
"""State of a group since a record of it that could not be decoded, and of one without a record of its epoch.

Kafka's own tools have such a value too.
"""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def describe_unknown(slot: groups.GroupSlot, lost: groups.LostRecord) -> dict[str, Any]:
    """A group whose last record could not be decoded, in the shape of `describe_group`: most of it is not known."""
    known = lost.group_type or (None if slot.group is None else groups.type_of(slot.group))
    position = lost.position
    return {
        "group_id": slot.group_id,
        "type": None if known is None else known.value.capitalize(),
        "state": UNKNOWN,
        "unknown_since": {
            "partition": position.log_partition,
            "offset": position.log_offset,
            "at": _moment(position.record_timestamp_ms),
        },
        "epoch": None,
        "assignment_epoch": None,
        "assignor": None,
        "members": None,
        "offsets": _offsets(slot),
    }


def describe_group(slot: groups.GroupSlot, topic_names: TopicNames) -> dict[str, Any] | None:
    """The group in the shape of the `state` command; None when the slot holds no group (removed, or never there).

    Type, state and assignor are spelled as Kafka spells them; a topic without a known name is shown by its id. What a
    group type does not have is None: a classic member's epoch and target, the generation of a simple group. So are
    epochs that no record shows: those of a share group that an administrator's request made, or those that compaction
    removed. The
    assignment of a consumer group's member includes partitions it has yet to revoke, as in ConsumerGroupDescribe.
    """
    group = slot.group
    if group is None:
        return None
    described = (
        _classic_group(group)
        if isinstance(group, groups.ClassicGroup)
        else _modern_group(group, topic_names)
    )
    return {"group_id": slot.group_id, **described, "offsets": _offsets(slot)}


def _classic_group(group: groups.ClassicGroup) -> dict[str, Any]:
    kind = kind_of(group.protocol_type, group.protocol_name)
    return {
        **({} if kind is CONSUMER else {"protocol_type": group.protocol_type}),
        "type": GroupType.CLASSIC.value.capitalize(),
        "state": group.group_state(),
        "epoch": group.generation if group.has_record else None,
        "assignment_epoch": None,
        "assignor": (group.protocol_name or "") if group.members else "",
        "members": [
            {
                "member_id": member.member_id,
                "instance_id": member.instance_id,
                "client_id": member.client_id,
                "client_host": member.client_host,
                "epoch": None,
                "assignment": _classic_assignment(kind, member),
                "target": None,
                **({} if kind is CONSUMER else {"work": _listed(kind.work(member))}),
            }
            for _, member in sorted(group.members.items())
        ],
    }


def _classic_assignment(kind: Kind, member: groups.ClassicMember) -> dict[str, list[int]] | None:
    """None where members own no partitions, or the bytes do not show which."""
    is_unread = member.assignment is None and bool(member.assignment_bytes)
    if is_unread or not kind.owns_partitions:
        return None
    return _topics(member.assigned, text_of)


def _listed(work: OwnedWork | None) -> list[str] | None:
    return None if work is None else list(work)


def _modern_group(group: groups.ModernGroup, topic_names: TopicNames) -> dict[str, Any]:
    def name_of(topic: bytes | str) -> str:
        return topic if isinstance(topic, str) else topic_names.text_of(topic)

    epoch, assignment_epoch = group.shown_epochs
    return {
        "type": group.group_type.value.capitalize(),
        "state": shown_state(group),
        "epoch": epoch,
        "assignment_epoch": assignment_epoch,
        "assignor": preferred_assignor(group.members.values())
        or DEFAULT_ASSIGNORS[group.group_type],
        "members": [
            {
                "member_id": member.member_id,
                "instance_id": member.instance_id,
                "client_id": member.client_id,
                "client_host": member.client_host,
                "epoch": member.member_epoch,
                "assignment": _topics(union(member.assigned, member.pending_revocation), name_of),
                "target": _topics(group.target_of(member.member_id), name_of),
            }
            for _, member in sorted(group.members.items())
        ],
    }


def shown_state(group: groups.Group) -> str:
    """The group's state; UNKNOWN where it follows from a group epoch that no record of the log shows."""
    if (
        isinstance(group, groups.ModernGroup)
        and group.group_type is not GroupType.SHARE
        and group.members
        and not group.shows_epoch
    ):
        return UNKNOWN
    return group.group_state()


def mentioned_topic_ids(slot: groups.GroupSlot) -> set[bytes]:
    """Ids of the topics whose partitions the group's description has."""
    group = slot.group
    if not isinstance(group, groups.ModernGroup):
        return set()
    return {
        topic
        for member in group.members.values()
        for partitions in (
            member.assigned,
            member.pending_revocation,
            group.target_of(member.member_id),
        )
        for topic in partitions
        if isinstance(topic, bytes)
    }


def _topics(partitions: Partitions, name_of: Callable[[bytes | str], str]) -> dict[str, list[int]]:
    """Topic -> partitions, both ascending; ids that share a name (a topic created again) are merged."""
    named: dict[str, set[int]] = {}
    for topic, numbers in partitions.items():
        named.setdefault(name_of(topic), set()).update(numbers)
    return {name: sorted(numbers) for name, numbers in sorted(named.items())}


def _offsets(slot: groups.GroupSlot) -> dict[str, dict[str, dict[str, Any]]]:
    topics: dict[str, dict[str, dict[str, Any]]] = {}
    for (topic, topic_partition), offset in sorted(slot.offsets.items()):
        topics.setdefault(topic, {})[str(topic_partition)] = {
            "offset": offset.committed_offset,
            "leader_epoch": None if offset.leader_epoch < 0 else offset.leader_epoch,
            "metadata": offset.commit_metadata,
            "committed_at": _moment(offset.commit_timestamp_ms),
        }
    return topics


def _moment(timestamp_ms: int) -> str | None:
    """ISO 8601 in UTC with milliseconds; None for what is not a time (-1 of old releases, damaged bytes)."""
    if timestamp_ms < 0:
        return None
    try:
        moment = _EPOCH + timedelta(milliseconds=timestamp_ms)
    except OverflowError:
        return None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
