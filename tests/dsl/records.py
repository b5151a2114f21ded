"""Records of the shorthand: one line, one record. The grammar is in `tests.dsl`."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rebalance_audit.wire.consumer_protocol import (
    Assignment,
    Subscription,
    encode_assignment,
    encode_subscription,
)
from rebalance_audit.wire.generated import messages
from rebalance_audit.wire.generated.messages import RecordType
from rebalance_audit.wire.records import Record
from tests.dsl.partitions import TOPIC_IDS, entries, topic_partitions

GROUP_ID = "g"
CODES = {"STABLE": 0, "UNREVOKED": 1, "UNRELEASED": 2, "ODD": 9}
DEFAULT_MS = 500
"""The time of a record that is part of no write."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line, taken apart."""

    record_type: RecordType
    plain: tuple[str, ...]
    """Words in their order: key fields first, then those of the value."""
    options: dict[str, str]
    """Words of the form name=value."""
    at_ms: int

    def number(self, name: str, default: int) -> int:
        """An option that is a number."""
        return int(self.options.get(name, default))

    def word(self, place: int, default: str) -> str:
        """A plain word that may be left out."""
        return self.plain[place] if len(self.plain) > place else default


def records(lines: str, at_ms: int = DEFAULT_MS) -> list[Record]:
    """The records of lines separated by `;`."""
    return [record_of(line, at_ms) for line in lines.split(";") if line.strip()]


def record_of(text: str, at_ms: int = DEFAULT_MS) -> Record:
    """The record of one line, written at a time in ms."""
    head, *words = text.split()
    options = dict(word.split("=", 1) for word in words if re.match(r"[a-z_]+(:\w+)?=", word))
    plain = tuple(word for word in words if word.partition("=")[0] not in options)
    line = Line(RecordType(int(head.removesuffix("t"))), plain, options, at_ms)
    if head.endswith("t"):
        return Record(line.record_type, _key(line), None, None)
    version = 3 if line.record_type is RecordType.GROUP_METADATA else 0
    value = _VALUES[line.record_type](line)
    return Record(line.record_type, _key(line), value, version, options.get("layout", ""))


def _key(line: Line) -> Any:
    kind: Any = messages.KEY_CLASSES[line.record_type]
    if line.record_type <= RecordType.OFFSET_COMMIT:
        topic, _, number = line.plain[0].partition(":")
        return kind(GROUP_ID, topic, int(number))
    return kind(*(GROUP_ID, *line.plain)[: len(kind._fields)])


def _value_class(line: Line) -> Any:
    return messages.VALUE_CLASSES[line.record_type]


def _listed(kind: Any, text: str, epoch: int | None = None) -> tuple[Any, ...]:
    """Partitions as structs of `kind`; streams groups name subtopologies where others have topic ids."""
    by_name = kind._fields[0] == "subtopology_id"
    return tuple(
        kind(*(topic if by_name else TOPIC_IDS[topic], numbers, epochs)[: len(kind._fields)])
        for topic, numbers, epochs in entries(text, epoch)
    )


# --- offsets and classic groups ----------------------------------------------------------------


def _offset(line: Line) -> Any:
    basic = (int(line.plain[1]), line.options.get("m", ""), line.number("at", line.at_ms))
    if line.record_type is RecordType.LEGACY_OFFSET_COMMIT:
        return messages.LegacyOffsetCommitValue(*basic)
    return messages.OffsetCommitValue(
        *basic,
        leader_epoch=line.number("le", -1),
        expire_timestamp=line.number("expires", -1),
        topic_id=TOPIC_IDS.get(line.options.get("id", ""), messages.ZERO_UUID),
    )


def _generation(line: Line) -> Any:
    generation, protocol = int(line.plain[0]), line.word(1, "-")
    members = tuple(_classic_member(word, generation, line) for word in line.plain[2:])
    return messages.GroupMetadataValue(
        line.options.get("type", "consumer" if generation else ""),
        generation,
        None if protocol == "-" else protocol,
        line.options.get("lead", members[0].member_id if members else None),
        members,
        line.number("state_at", line.at_ms - 10),
    )


def _classic_member(word: str, generation: int, line: Line) -> messages.GroupMetadataMember:
    name, has_share, share = word.partition("=")
    member_id, _, instance_id = name.partition("@")
    topics = line.options.get(f"topics:{member_id}", line.options.get("topics", "foo"))
    owned = topic_partitions(line.options.get(f"owned:{member_id}", "-"))
    subscription = Subscription(tuple(topics.split(",")), None, owned, generation - 1, None, 3)
    assignment = Assignment(topic_partitions(share), None, 3)
    return messages.GroupMetadataMember(
        member_id,
        "client",
        "/host",
        line.number("session", 6_000),
        encode_subscription(subscription),
        encode_assignment(assignment) if has_share else b"",
        instance_id or None,
        line.number("timeout", 60_000),
    )


# --- groups with epochs ------------------------------------------------------------------------


def _epoch(line: Line) -> Any:
    fields = (int(line.plain[0]), int(line.word(1, "h1").removeprefix("h")))
    if line.record_type is RecordType.STREAMS_GROUP_METADATA:
        standby = line.options.get("standby", "")
        configs = messages.StreamsGroupMetadataLastAssignmentConfig("num.standby.replicas", standby)
        settings = (configs,) if standby else ()
        return messages.StreamsGroupMetadataValue(*fields, line.number("valid", -1), settings)
    return _value_class(line)(*fields)


def _topics(line: Line) -> Any:
    stem = _value_class(line).__name__.removesuffix("Value")
    kind = getattr(messages, f"{stem}TopicMetadata")
    counts = (word.split(":") for word in line.plain)
    return _value_class(line)(
        topics=tuple(kind(TOPIC_IDS[name], name, int(count), ()) for name, count in counts)
    )


def _member(line: Line) -> Any:
    options = line.options
    topics = options.get("topics", "" if "regex" in options else "foo")
    names = tuple(sorted(filter(None, topics.split(","))))
    client = (options.get("client", "client"), options.get("host", "/host"))
    instance_id, rack_id = options.get("instance"), options.get("rack")
    timeout = line.number("timeout", 300_000)
    if line.record_type is RecordType.SHARE_GROUP_MEMBER_METADATA:
        return messages.ShareGroupMemberMetadataValue(rack_id, *client, names)
    if line.record_type is RecordType.STREAMS_GROUP_MEMBER_METADATA:
        process_id = options.get("process", "p")
        return messages.StreamsGroupMemberMetadataValue(
            instance_id, rack_id, *client, timeout, 0, process_id, None, ()
        )
    return messages.ConsumerGroupMemberMetadataValue(
        instance_id,
        rack_id,
        *client,
        names,
        options.get("regex", ""),
        timeout,
        options.get("assignor"),
        _classic_side(line),
    )


def _classic_side(line: Line) -> messages.ConsumerGroupMemberMetadataClassicMemberMetadata | None:
    """What a member with the classic protocol has beside the others, None for a member without it."""
    if not {"classic", "session"} & line.options.keys():
        return None
    kind = messages.ConsumerGroupMemberMetadataClassicProtocol
    protocols = tuple(
        kind(name, b"s") for name in line.options.get("classic", "").split(",") if name
    )
    session_ms = line.number("session", 45_000)
    return messages.ConsumerGroupMemberMetadataClassicMemberMetadata(session_ms, protocols)


def _target_metadata(line: Line) -> Any:
    return _value_class(line)(int(line.plain[0]), line.number("t", line.at_ms))


def _target(line: Line) -> Any:
    text = line.word(1, "-")
    if line.record_type is RecordType.STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER:
        tasks = _listed(messages.StreamsGroupTargetAssignmentMemberTaskIds, text)
        return messages.StreamsGroupTargetAssignmentMemberValue(tasks, (), ())
    if line.record_type is RecordType.SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER:
        kind: Any = messages.ShareGroupTargetAssignmentMemberTopicPartitions
        return messages.ShareGroupTargetAssignmentMemberValue(_listed(kind, text))
    kind = messages.ConsumerGroupTargetAssignmentMemberTopicPartitions
    return messages.ConsumerGroupTargetAssignmentMemberValue(
        _listed(kind, text), error=line.number("error", 0)
    )


def _current(line: Line) -> Any:
    _, epochs, *said = line.plain
    epoch, previous = map(int, epochs.split("/"))
    code = CODES[said.pop(0)] if said and said[0] in CODES else CODES["STABLE"]
    held, _, pending = (said[0] if said else "-").partition("|")
    if line.record_type is RecordType.SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT:
        kind: Any = messages.ShareGroupCurrentMemberAssignmentTopicPartitions
        value: Any = messages.ShareGroupCurrentMemberAssignmentValue
        return value(epoch, previous, code, _listed(kind, held))
    if line.record_type is RecordType.STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT:
        kind = messages.StreamsGroupCurrentMemberAssignmentTaskIds
        roles = (held, line.options.get("standby", "-"), line.options.get("warmup", "-"), pending)
        value = messages.StreamsGroupCurrentMemberAssignmentValue
        tasks = (_listed(kind, text) for text in roles)
        return value(epoch, previous, code + 1, *tasks, (), ())
    kind = messages.ConsumerGroupCurrentMemberAssignmentTopicPartitions
    is_early = line.options.get("layout") == "3.7"
    assigned_in = None if is_early else max(epoch, 0)
    return messages.ConsumerGroupCurrentMemberAssignmentValue(
        epoch,
        previous,
        _listed(kind, held, assigned_in),
        _listed(kind, pending, assigned_in),
        127 if is_early else code,
        line.number("to", -1),
        _listed(kind, line.options.get("waits", "-")),
    )


def _share_state(line: Line) -> Any:
    kind = messages.ShareGroupStatePartitionMetadataTopicPartitionsInfo
    rows = tuple(kind(TOPIC_IDS[name], name, (0,)) for name in line.plain)
    return messages.ShareGroupStatePartitionMetadataValue(rows, ())


def _regex(line: Line) -> Any:
    topics = tuple(filter(None, line.word(1, "").split(",")))
    return messages.ConsumerGroupRegularExpressionValue(topics, line.number("v", 1), line.at_ms)


def _topology(line: Line) -> Any:
    return messages.StreamsGroupTopologyValue(int(line.plain[0]), ())


def _resolved_topics(line: Line) -> Any:
    return messages.StreamsGroupTargetAssignmentResolvedTopicIdsValue(int(line.plain[0]), ())


_VALUES: dict[int, Callable[[Line], Any]] = {
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
