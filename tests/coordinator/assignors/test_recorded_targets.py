"""Targets that real coordinators computed, recomputed from what their logs say."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby

import pytest

from rebalance_audit.coordinator.assignors.group_spec import (
    GroupSpec,
    MemberSpec,
    Subscribing,
    effective_assignor,
    member_order,
    subscription_type,
)
from rebalance_audit.coordinator.assignors.server_assignors import SERVER_ASSIGNORS
from rebalance_audit.replay.changes import GroupType, Position
from rebalance_audit.replay.groups import GroupSlot, ModernGroup, ModernMember
from rebalance_audit.replay.modern.preferred_assignor import PreferenceChange
from rebalance_audit.replay.partitions import Partitions, Topic
from rebalance_audit.replay.playback import apply
from rebalance_audit.wire.generated.messages import RecordType
from rebalance_audit.wire.metadata_log import read_topic_names
from rebalance_audit.wire.records import Record, group_id_of
from rebalance_audit.wire.segments.folder import open_log_folder
from rebalance_audit.wire.topic_names import TopicNames
from tests.support.log_entries import records_of
from tests.wire.golden import capture

Entry = tuple[Record, Position]

EPOCH_OF_TARGET = RecordType.CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA
SPEAKS_OF_MEMBER = (
    RecordType.CONSUMER_GROUP_MEMBER_METADATA,
    RecordType.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT,
)


@pytest.mark.parametrize(
    ("name", "expected_count"),
    [
        ("broker-4.0", 9),
        ("broker-4.4", 9),
        ("consumer-protocol", 33),
        ("consumer-static", 15),
        ("failover", 5),
        ("migration", 15),
        ("oddities", 15),
        ("offsets", 3),
        ("upgrade", 9),
    ],
)
def test_targets_are_those_that_the_broker_recorded(name: str, expected_count: int) -> None:
    """Every target of releases 4.0 to 4.4: joins, leaves, growth, regexes, statics, both assignors and their ties."""
    names = read_topic_names(open_log_folder(capture(name).segments))
    computed = 0
    for entries in _entries_of_groups(name):
        slot = GroupSlot(group_id_of(entries[0][0].key))
        for group_epoch, target, recorded in _targets(slot, entries, names):
            assert target == recorded, (slot.group_id, group_epoch)
            computed += 1
    assert computed == expected_count


def _entries_of_groups(name: str) -> list[list[Entry]]:
    """The group records of each group id."""
    found: dict[str, list[Entry]] = {}
    for record, position in records_of(capture(name).segments):
        if record.record_type is not RecordType.OFFSET_COMMIT:
            found.setdefault(group_id_of(record.key), []).append((record, position))
    return list(found.values())


@dataclass
class _Before:
    """The group before a target is computed."""

    targets: dict[str, Partitions] = field(default_factory=dict)
    static_members: dict[str, str] = field(default_factory=dict)
    preferences: dict[str, str | None] = field(default_factory=dict)

    @staticmethod
    def of(slot: GroupSlot) -> "_Before":
        group = slot.group
        if not isinstance(group, ModernGroup):
            return _Before()
        preferences = {each.member_id: each.server_assignor for each in group.members.values()}
        return _Before(dict(group.targets), dict(group.static_members), preferences)


def _targets(
    slot: GroupSlot, entries: list[Entry], names: TopicNames
) -> Iterator[tuple[int, dict[str, Partitions], dict[str, Partitions]]]:
    """(epoch, targets computed, targets recorded) of every target that an assignor made."""
    member_count_max = 0
    for _, run in groupby(entries, key=lambda entry: entry[1].record_timestamp_ms):
        write = list(run)
        converted = write[0][0].record_type is RecordType.GROUP_METADATA
        before = _Before.of(slot)
        for record, position in write:
            apply(slot, record, position)
            group = slot.group
            if not isinstance(group, ModernGroup) or group.group_type is not GroupType.CONSUMER:
                continue
            if record.record_type is EPOCH_OF_TARGET and record.value and group.members:
                if not converted:
                    spec = _spec(group, before, names, member_count_max + 1)
                    assignor = _assignor(group, before, _speaker(write))
                    recorded = {each: group.target_of(each) for each in group.members}
                    yield group.group_epoch, dict(SERVER_ASSIGNORS[assignor](spec)), recorded
                converted = False  # the first target of a converted group is the classic assignment
                before = _Before.of(slot)
            member_count_max = max(member_count_max, len(group.members))


def _speaker(write: list[Entry]) -> str | None:
    """The member whose heartbeat caused the write; None where no record shows it."""
    found = [
        record.key.member_id  # type: ignore[union-attr]
        for record, _ in write
        if record.record_type in SPEAKS_OF_MEMBER and record.value
    ]
    return found[-1] if found else None


def _assignor(group: ModernGroup, before: _Before, speaker: str | None) -> str:
    change = None
    if speaker is not None:
        wanted = group.members[speaker].server_assignor
        change = PreferenceChange(before.preferences.get(speaker), wanted)
    left = [name for member_id, name in before.preferences.items() if member_id in group.members]
    return effective_assignor(left, ("uniform", "range"), change)


def _spec(group: ModernGroup, before: _Before, names: TopicNames, entries_max: int) -> GroupSpec:
    """The group as the assignor saw it; topics have as many partitions as the recorded target covers."""
    counts: dict[Topic, int] = {}
    for member_id in group.members:
        for topic, numbers in group.target_of(member_id).items():
            counts[topic] = max(counts.get(topic, 0), max(numbers) + 1)
    living = {names.name_of(topic): topic for topic in counts if isinstance(topic, bytes)}
    known = list(before.preferences)
    gone = [member_id for member_id in known if member_id not in group.members]
    order = member_order(known, entries_max, joining=group.members, leaving=gone)
    members = [group.members[member_id] for member_id in order]
    asked = [
        Subscribing(member.subscribed_topic_names, member.subscribed_topic_regex)
        for member in members
    ]
    return GroupSpec(
        tuple(_member_spec(group, member, before, living) for member in members),
        counts,
        subscription_type(asked),
    )


def _member_spec(
    group: ModernGroup, member: ModernMember, before: _Before, living: dict[str | None, bytes]
) -> MemberSpec:
    topics = {*member.subscribed_topic_names, *group.regexes.get(member.subscribed_topic_regex, ())}
    previous = before.targets.get(member.member_id)
    if previous is None and member.instance_id is not None:
        replaced = before.static_members.get(member.instance_id, "")
        previous = before.targets.get(replaced)
    return MemberSpec(
        member.member_id,
        member.instance_id,
        tuple(living[name] for name in sorted(topics) if name in living),
        previous or {},
    )
