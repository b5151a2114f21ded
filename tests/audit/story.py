"""A shorthand for coordinator records, so that a test shows a whole write on one line.

5 A            member A subscribes to foo         5 A topics=foo,bar instance=i1 regex=^f timeout=9 assignor=range
               host=/b
3 2 h7         group epoch 2, metadata hash 7     3t  group tombstone
4              topics of the group, none          4t
7 A 0-2        target of A: foo 0, 1, 2           7 A bar:0+foo:1-2   7t A
6 2            target metadata, epoch 2           6t
8 A 2/0 0-5    A at epoch 2, before 0, STABLE     8 A 2/2 UNREVOKED 0-2|3-5     8t A
16 ^f foo,bar  resolved expression                16t ^f
2 1 range A=0-2 B@i1=3-5   generation 1 of a classic group: members, instance ids, assignments
   cst=4000 (state timestamp; default 10 ms before the record)  topics=foo  owned:A=0-2  type=consumer
2t             classic group tombstone
"""

import re
from collections.abc import Iterable

from rebalance_audit.replay.changes import Position
from rebalance_audit.wire import consumer_protocol
from rebalance_audit.wire.generated import messages
from rebalance_audit.wire.records import Record

GROUP = "g"
TOPIC_IDS = {"foo": bytes([1] * 16), "bar": bytes([2] * 16), "zar": bytes([3] * 16)}
TOPIC_NAMES = {topic_id: name for name, topic_id in TOPIC_IDS.items()}
STATES = {"STABLE": 0, "UNREVOKED": 1, "UNRELEASED": 2}

Log = list[tuple[Record, Position]]


def log(*writes: tuple[int, str]) -> Log:
    """Records of (time in ms, write) pairs at contiguous offsets within a write, with a hole between writes."""
    records: Log = []
    log_offset = 0
    for at_ms, write in writes:
        for line in filter(None, (part.strip() for part in write.split(";"))):
            records.append((record_of(line, at_ms), Position(0, log_offset, at_ms, 0)))
            log_offset += 1
        log_offset += 1
    return records


def record_of(line: str, at_ms: int) -> Record:
    """One record of the shorthand."""
    head, *words = line.split()
    record_type = messages.RecordType(int(head.rstrip("t")))
    options = dict(word.split("=", 1) for word in words if re.match(r"[a-z:]+(:\w+)?=", word))
    plain = [word for word in words if word.split("=", 1)[0] not in options or "=" not in word]
    key = _key(record_type, plain)
    if head.endswith("t"):
        return Record(record_type, key, None, None, "", ())
    value, value_version = _value(record_type, plain, options, at_ms)
    return Record(record_type, key, value, value_version, "", ())


def _key(record_type: messages.RecordType, plain: list[str]) -> messages.Key:
    kind = getattr(messages, f"{_stem(record_type)}Key")
    fields = (GROUP, plain[0]) if len(kind._fields) > 1 else (GROUP,)
    key: messages.Key = kind(*fields)
    return key


def _stem(record_type: messages.RecordType) -> str:
    return "".join(word.capitalize() for word in record_type.name.split("_"))


def _value(
    record_type: messages.RecordType, plain: list[str], options: dict[str, str], at_ms: int
) -> tuple[messages.Value, int]:
    match int(record_type):
        case 2:
            return _generation(plain, options, at_ms), 3
        case 3:
            return messages.ConsumerGroupMetadataValue(int(plain[0]), _hash(plain)), 0
        case 4:
            return messages.ConsumerGroupPartitionMetadataValue(()), 0
        case 5:
            return _member(options), 0
        case 6:
            return messages.ConsumerGroupTargetAssignmentMetadataValue(int(plain[0]), at_ms), 0
        case 7:
            target = messages.ConsumerGroupTargetAssignmentMemberTopicPartitions
            entries = _entries(plain[1] if len(plain) > 1 else "-")
            return (
                messages.ConsumerGroupTargetAssignmentMemberValue(
                    tuple(target(TOPIC_IDS[topic], tuple(numbers)) for topic, numbers in entries)
                ),
                0,
            )
        case 8:
            return _current(plain), 0
        case 16:
            topics = tuple(plain[1].split(",")) if len(plain) > 1 else ()
            return messages.ConsumerGroupRegularExpressionValue(topics, 1, at_ms), 0
    raise ValueError(record_type)


def _hash(plain: list[str]) -> int:
    return int(plain[1].removeprefix("h")) if len(plain) > 1 else 1


def _member(options: dict[str, str]) -> messages.ConsumerGroupMemberMetadataValue:
    classic = None
    if "session" in options:
        classic = messages.ConsumerGroupMemberMetadataClassicMemberMetadata(
            int(options["session"]), ()
        )
    topics = options.get("topics", "" if "regex" in options else "foo")
    return messages.ConsumerGroupMemberMetadataValue(
        options.get("instance"),
        options.get("rack"),
        "client",
        options.get("host", "/host"),
        tuple(sorted(filter(None, topics.split(",")))),
        options.get("regex", ""),
        int(options.get("timeout", "300000")),
        options.get("assignor"),
        classic,
    )


def _current(plain: list[str]) -> messages.ConsumerGroupCurrentMemberAssignmentValue:
    entry = messages.ConsumerGroupCurrentMemberAssignmentTopicPartitions
    epoch, previous = plain[1].split("/")
    state = plain[2] if plain[2] in STATES else "STABLE"
    assigned, _, pending = plain[-1].partition("|") if plain[-1] not in STATES else ("-", "", "")

    def lists(
        text: str,
    ) -> tuple[messages.ConsumerGroupCurrentMemberAssignmentTopicPartitions, ...]:
        return tuple(
            entry(TOPIC_IDS[topic], tuple(numbers), (int(epoch),) * len(numbers))
            for topic, numbers in _entries(text)
        )

    return messages.ConsumerGroupCurrentMemberAssignmentValue(
        int(epoch), int(previous), lists(assigned), lists(pending), STATES[state]
    )


def _generation(
    plain: list[str], options: dict[str, str], at_ms: int
) -> messages.GroupMetadataValue:
    generation, protocol, *members = [*plain, "-"] if len(plain) == 1 else plain
    rows = []
    for member in members:
        name, _, share = member.partition("=")
        member_id, _, instance_id = name.partition("@")
        topics = options.get(f"topics:{member_id.lower()}", options.get("topics", "foo"))
        owned = options.get(f"owned:{member_id.lower()}", "-")
        rows.append(
            messages.GroupMetadataMember(
                member_id,
                "client",
                "/host",
                6000,
                consumer_protocol.encode_subscription(
                    consumer_protocol.Subscription(
                        tuple(topics.split(",")),
                        None,
                        _entries(owned),
                        int(generation) - 1,
                        None,
                        3,
                    )
                ),
                consumer_protocol.encode_assignment(
                    consumer_protocol.Assignment(_entries(share), None, 3)
                ),
                instance_id or None,
                60000,
            )
        )
    return messages.GroupMetadataValue(
        options.get("type", "consumer" if int(generation) else ""),
        int(generation),
        None if protocol == "-" else protocol,
        rows[0].member_id if rows else None,
        tuple(rows),
        int(options.get("cst", at_ms - 10)),
    )


def _entries(text: str) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """`0-2`, `0,3`, `bar:1+foo:0-1` or `-` (nothing)."""
    if text in ("-", ""):
        return ()
    entries = []
    for part in text.split("+"):
        topic, _, numbers = part.rpartition(":")
        entries.append((topic or "foo", tuple(_numbers(numbers.split(",")))))
    return tuple(entries)


def _numbers(parts: Iterable[str]) -> Iterable[int]:
    for part in parts:
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)
