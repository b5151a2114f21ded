"""A shorthand for coordinator records and for the state they lead to, so that a test reads as a table.

Records of a group `g`, separated by `;`. The number is the record type, `t` behind it a tombstone; share (10 to 15) and
streams records (17 to 23) are written like the consumer group record of the same role.

    2 1 range A=0-2 B@i1=3-5     generation 1, protocol range, members with instance ids and assignments
                                 (options: lead=A state_at=4000 of=connect topics=foo,bar); `2 0` is an empty group
    3 2 h7                       group epoch 2, metadata hash 7 (17: valid=1 is the validated topology epoch)
    4 foo:6 bar:3                recorded topics and their partition counts
    5 A topics=foo,bar           member A (options: instance= regex= rack= assignor= timeout= classic=range process=)
    6 2 t=2000                   target metadata: epoch and timestamp
    7 A 0-2+bar:0                target of A; `-` is nothing, a topic that is not named is foo
    8 A 2/0 UNREVOKED 0-2|3-5    A at epoch 2, before 0; assigned|pending; `@4` behind partitions: assignment epoch
    15 foo                       initialised topics
    16 ^f foo,bar                expression and its topics
    23 1                         topology epoch
    1 foo:0 42 m=text            committed offset 42 (options: m= le= at= expires= id=foo); 0 is the oldest form

`layout=3.7` makes any of them an early-access record. States are shown by `picture`.
"""

import re
from typing import Any

from rebalance_audit.replay.changes import Anomaly, Change, Position
from rebalance_audit.replay.classic.group import ClassicGroup
from rebalance_audit.replay.modern.group import ModernGroup
from rebalance_audit.replay.partitions import Partitions, text_of
from rebalance_audit.replay.playback import apply
from rebalance_audit.replay.policy import Policy
from rebalance_audit.replay.slot import GroupSlot
from rebalance_audit.wire.consumer_protocol import (
    Assignment,
    Subscription,
    encode_assignment,
    encode_subscription,
)
from rebalance_audit.wire.generated import messages
from rebalance_audit.wire.generated.messages import RecordType
from rebalance_audit.wire.records import Record

GROUP_ID = "g"
TOPIC_IDS = {name: bytes([number]) * 16 for number, name in enumerate(("foo", "bar", "zar"), 1)}
TOPIC_NAMES = {topic_id: name for name, topic_id in TOPIC_IDS.items()}
CODES = {"STABLE": 0, "UNREVOKED": 1, "UNRELEASED": 2, "ODD": 9}

Entries = list[tuple[str, tuple[int, ...], tuple[int, ...]]]
"""(topic name, partition numbers, assignment epochs or ())."""


def records(text: str) -> list[Record]:
    """The records that the shorthand names."""
    return [_record(part.strip()) for part in text.split(";") if part.strip()]


def replay(
    slot: GroupSlot, text: str, policy: Policy = Policy.STRICT, **where: Any
) -> list[Change]:
    """Apply records at the next offsets of the slot; `where` overrides fields of each position."""
    changes: list[Change] = []
    for record in records(text):
        log_offset = slot.last_log_offset + 1
        position = Position(0, log_offset, 1000 + log_offset)._replace(**where)
        changes += apply(slot, record, position, policy)
        assert_derived_values_hold(slot, policy)
    return changes


def replayed(text: str, policy: Policy = Policy.STRICT) -> GroupSlot:
    """A new slot with the records applied."""
    slot = GroupSlot(GROUP_ID)
    replay(slot, text, policy)
    return slot


def anomalies(changes: list[Change]) -> list[str]:
    """The kinds of anomaly among the changes, in order."""
    return [change.kind.value for change in changes if isinstance(change, Anomaly)]


def assert_derived_values_hold(slot: GroupSlot, policy: Policy) -> None:
    """What replay keeps up record by record equals what one pass over the members gives.

    Where records came in disorder a partition may be without an owner although a member still claims it: another one
    took it and gave it up.
    """
    group = slot.group
    if not isinstance(group, ModernGroup):
        return
    assert group.unconverged == {
        member.member_id
        for member in group.members.values()
        if (member.member_state, member.member_epoch) != ("STABLE", group.assignment_epoch)
    }
    holders: dict[tuple[bytes | str, int], set[str]] = {}
    for member in group.members.values():
        for held in (member.assigned, member.pending_revocation):
            for topic, numbers in held.items():
                for number in numbers:
                    holders.setdefault((topic, number), set()).add(member.member_id)
    for partition, owner in group.owners.items():
        assert owner in holders[partition]
    if group.group_type == "share":
        assert not group.owners
    elif policy is Policy.STRICT and all(len(members) == 1 for members in holders.values()):
        assert group.owners.keys() == holders.keys()
    for instance_id, member_id in group.static_members.items():
        assert group.members[member_id].instance_id == instance_id


def picture(slot: GroupSlot) -> str:
    """The slot in one line: type, state, epochs, then each member and, where they differ, its target."""
    group = slot.group
    if group is None:
        return "gone"
    if isinstance(group, ClassicGroup):
        members = [
            f"{name} {_partitions(member.assigned)}"
            for name, member in sorted(group.members.items())
        ]
        return " | ".join([f"Classic {group.group_state()} {group.generation}", *members])
    members = []
    for name, member in sorted(group.members.items()):
        held = _partitions(member.assigned)
        if member.pending_revocation:
            held += " gives up " + _partitions(member.pending_revocation)
        epochs = f"{member.member_epoch}/{member.previous_member_epoch}"
        row = f"{name} {epochs} {member.member_state} {held}"
        target = _partitions(group.target_of(name))
        members.append(row if target == held else f"{row} wants {target}")
    epochs = f"{group.group_epoch}/{group.assignment_epoch}"
    return " | ".join([f"{group.group_type.capitalize()} {group.group_state()} {epochs}", *members])


def _partitions(partitions: Partitions) -> str:
    parts = []
    for topic, numbers in sorted(partitions.items(), key=str):
        name = text_of(TOPIC_NAMES.get(topic, topic) if isinstance(topic, bytes) else topic)
        text = ",".join(_ranges(sorted(numbers)))
        parts.append(text if name == "foo" else f"{name}:{text}")
    return "+".join(parts) or "-"


def _ranges(numbers: list[int]) -> list[str]:
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and ranges[-1][-1] == number - 1:
            ranges[-1].append(number)
        else:
            ranges.append([number])
    return [f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in ranges]


def _record(text: str) -> Record:
    head, *words = text.split()
    record_type = RecordType(int(head.removesuffix("t")))
    options = dict(word.split("=", 1) for word in words if re.match(r"[a-z_]+=", word))
    plain = [word for word in words if not re.match(r"[a-z_]+=", word)]
    key = _key(record_type, plain)
    if head.endswith("t"):
        return Record(record_type, key, None, None)
    value = _VALUES[int(record_type)](int(record_type), plain, options)
    return Record(record_type, key, value, 0, options.get("layout", ""))


def _key(record_type: RecordType, plain: list[str]) -> Any:
    kind: Any = messages.KEY_CLASSES[record_type]
    if record_type <= RecordType.OFFSET_COMMIT:
        topic, _, number = plain[0].partition(":")
        return kind(GROUP_ID, topic, int(number))
    return kind(*(GROUP_ID, *plain)[: len(kind._fields)])


def _entries(text: str) -> Entries:
    """Topics with their partitions and assignment epochs, of `0-2@4,5@5+bar:0`."""
    found: Entries = []
    for part in text.split("+"):
        if part in {"", "-"}:
            continue
        topic, _, spans = part.rpartition(":")
        numbers: list[int] = []
        epochs: list[int] = []
        for span in spans.split(","):
            span_range, _, epoch = span.partition("@")
            first, _, last = span_range.partition("-")
            run = range(int(first), int(last or first) + 1)
            numbers += run
            epochs += [int(epoch)] * len(run) if epoch else []
        found.append((topic or "foo", tuple(numbers), tuple(epochs)))
    return found


def _topic_partitions(kind: Any, text: str) -> tuple[Any, ...]:
    """Entries as structs of `kind`; streams groups name subtopologies where others have topic ids."""
    by_name = kind._fields[0] == "subtopology_id"
    return tuple(
        kind(*(topic if by_name else TOPIC_IDS[topic], numbers, epochs)[: len(kind._fields)])
        for topic, numbers, epochs in _entries(text)
    )


def _offset(number: int, plain: list[str], options: dict[str, str]) -> Any:
    basic = (int(plain[1]), options.get("m", ""), int(options.get("at", "500")))
    if number == RecordType.LEGACY_OFFSET_COMMIT:
        return messages.LegacyOffsetCommitValue(*basic)
    return messages.OffsetCommitValue(
        *basic,
        leader_epoch=int(options.get("le", "-1")),
        expire_timestamp=int(options.get("expires", "-1")),
        topic_id=TOPIC_IDS.get(options.get("id", ""), messages.ZERO_UUID),
    )


def _generation(_number: int, plain: list[str], options: dict[str, str]) -> Any:
    topics = tuple(options.get("topics", "foo").split(","))
    members = []
    for word in plain[2:]:
        name, _, share = word.partition("=")
        member_id, _, instance_id = name.partition("@")
        assigned = tuple((topic, numbers) for topic, numbers, _ in _entries(share))
        members.append(
            messages.GroupMetadataMember(
                member_id,
                "client",
                "/host",
                int(options.get("session", "45000")),
                encode_subscription(Subscription(topics, None)),
                encode_assignment(Assignment(assigned, None)) if share else b"",
                instance_id or None,
                int(options.get("timeout", "300000")),
            )
        )
    protocol_type = options.get("of", "consumer" if plain[1:] else "")
    return messages.GroupMetadataValue(
        protocol_type,
        int(plain[0]),
        plain[1] if plain[1:] else None,
        options.get("lead", members[0].member_id if members else None),
        tuple(members),
        int(options.get("state_at", "-1")),
    )


def _epoch(number: int, plain: list[str], options: dict[str, str]) -> Any:
    metadata_hash = int(plain[1].removeprefix("h")) if plain[1:] else 1
    if number == RecordType.STREAMS_GROUP_METADATA:
        valid = int(options.get("valid", "-1"))
        return messages.StreamsGroupMetadataValue(int(plain[0]), metadata_hash, valid)
    kind: Any = messages.VALUE_CLASSES[RecordType(number)]
    return kind(int(plain[0]), metadata_hash)


def _topics(number: int, plain: list[str], _options: dict[str, str]) -> Any:
    stem = messages.VALUE_CLASSES[RecordType(number)].__name__.removesuffix("Value")
    kind = getattr(messages, f"{stem}TopicMetadata")
    rows = tuple(
        kind(TOPIC_IDS[name], name, int(count), ())
        for name, count in (word.split(":") for word in plain)
    )
    value: Any = messages.VALUE_CLASSES[RecordType(number)]
    return value(topics=rows)


def _member(number: int, plain: list[str], options: dict[str, str]) -> Any:
    del plain
    topics = tuple(filter(None, options.get("topics", "foo").split(",")))
    client = (options.get("client", "client"), "/host")
    instance_id, rack_id = options.get("instance"), options.get("rack")
    timeout = int(options.get("timeout", "300000"))
    if number == RecordType.SHARE_GROUP_MEMBER_METADATA:
        return messages.ShareGroupMemberMetadataValue(rack_id, *client, topics)
    if number == RecordType.STREAMS_GROUP_MEMBER_METADATA:
        process_id = options.get("process", "p")
        return messages.StreamsGroupMemberMetadataValue(
            instance_id, rack_id, *client, timeout, 0, process_id, None, ()
        )
    classic = None
    if "classic" in options:
        protocol = messages.ConsumerGroupMemberMetadataClassicProtocol(options["classic"], b"s")
        classic = messages.ConsumerGroupMemberMetadataClassicMemberMetadata(45000, (protocol,))
    regex = options.get("regex")
    names = () if regex and "topics" not in options else topics
    return messages.ConsumerGroupMemberMetadataValue(
        instance_id, rack_id, *client, names, regex, timeout, options.get("assignor"), classic
    )


def _target_metadata(number: int, plain: list[str], options: dict[str, str]) -> Any:
    kind: Any = messages.VALUE_CLASSES[RecordType(number)]
    return kind(int(plain[0]), int(options.get("t", "0")))


def _target(number: int, plain: list[str], options: dict[str, str]) -> Any:
    if number == RecordType.STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER:
        kind: Any = messages.StreamsGroupTargetAssignmentMemberTaskIds
        return messages.StreamsGroupTargetAssignmentMemberValue(
            _topic_partitions(kind, plain[1]), (), ()
        )
    if number == RecordType.SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER:
        kind = messages.ShareGroupTargetAssignmentMemberTopicPartitions
        return messages.ShareGroupTargetAssignmentMemberValue(_topic_partitions(kind, plain[1]))
    kind = messages.ConsumerGroupTargetAssignmentMemberTopicPartitions
    return messages.ConsumerGroupTargetAssignmentMemberValue(
        _topic_partitions(kind, plain[1]), error=int(options.get("error", "0"))
    )


def _current(number: int, plain: list[str], options: dict[str, str]) -> Any:
    member_epoch, previous_member_epoch = map(int, plain[1].split("/"))
    code = CODES[plain[2]]
    held, _, pending = plain[3].partition("|")
    if number == RecordType.SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT:
        kind: Any = messages.ShareGroupCurrentMemberAssignmentTopicPartitions
        return messages.ShareGroupCurrentMemberAssignmentValue(
            member_epoch, previous_member_epoch, code, _topic_partitions(kind, held)
        )
    if number == RecordType.STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT:
        kind = messages.StreamsGroupCurrentMemberAssignmentTaskIds
        lists = [
            _topic_partitions(kind, text)
            for text in (held, options.get("standby", "-"), options.get("warmup", "-"), pending)
        ]
        value: Any = messages.StreamsGroupCurrentMemberAssignmentValue
        return value(member_epoch, previous_member_epoch, code + 1, *lists, (), ())
    kind = messages.ConsumerGroupCurrentMemberAssignmentTopicPartitions
    early = options.get("layout") == "3.7"
    return messages.ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch,
        previous_member_epoch,
        _topic_partitions(kind, held),
        _topic_partitions(kind, pending),
        127 if early else code,
        int(options.get("to", "-1")),
        _topic_partitions(kind, options.get("waits", "-")),
    )


def _share_state(_number: int, plain: list[str], _options: dict[str, str]) -> Any:
    kind = messages.ShareGroupStatePartitionMetadataTopicPartitionsInfo
    rows = tuple(kind(TOPIC_IDS[name], name, (0,)) for name in plain)
    return messages.ShareGroupStatePartitionMetadataValue(rows, ())


def _regex(_number: int, plain: list[str], options: dict[str, str]) -> Any:
    topics = tuple(plain[1].split(",")) if plain[1:] else ()
    return messages.ConsumerGroupRegularExpressionValue(topics, int(options.get("v", "1")), 900)


def _topology(_number: int, plain: list[str], _options: dict[str, str]) -> Any:
    return messages.StreamsGroupTopologyValue(int(plain[0]), ())


def _resolved_topics(_number: int, plain: list[str], _options: dict[str, str]) -> Any:
    return messages.StreamsGroupTargetAssignmentResolvedTopicIdsValue(int(plain[0]), ())


_VALUES = {
    **dict.fromkeys((0, 1), _offset),
    2: _generation,
    **dict.fromkeys((3, 11, 17), _epoch),
    **dict.fromkeys((4, 9, 18), _topics),
    **dict.fromkeys((5, 10, 19), _member),
    **dict.fromkeys((6, 12, 20), _target_metadata),
    **dict.fromkeys((7, 13, 21), _target),
    **dict.fromkeys((8, 14, 22), _current),
    15: _share_state,
    16: _regex,
    23: _topology,
    24: _resolved_topics,
}
