"""Records with pseudonyms: which field holds what kind of name, for every message of `schemas/records`.

A text or bytes without a rule would be replaced as well, as another text; a test holds that every field has one.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from rebalance_audit.anonymise.pseudonyms import Pseudonyms

FieldRule: TypeAlias = Callable[[Pseudonyms, Any], Any]


def _text(rename: Callable[[str], str], data: bytes) -> bytes:
    return rename(data.decode(errors="surrogateescape")).encode(errors="surrogateescape")


def _units(names: Pseudonyms, chars: tuple[int, ...]) -> tuple[int, ...]:
    """A text as UTF-16 units, each a signed number of two bytes."""
    data = b"".join([unit.to_bytes(2, signed=True) for unit in chars])
    coded = names.other(data.decode("utf-16-be", errors="surrogatepass")).encode("utf-16-be")
    return tuple(int.from_bytes(coded[at : at + 2], signed=True) for at in range(0, len(coded), 2))


_ATTRIBUTES: Final[Mapping[FieldRule, tuple[str, ...]]] = {
    Pseudonyms.group: ("group", "group_id"),
    Pseudonyms.topic: (
        "topic",
        "topics",
        "topic_name",
        "subscribed_topic_names",
        "source_topics",
        "repartition_sink_topics",
    ),
    Pseudonyms.topic_id: ("topic_id", "topic_ids"),
    Pseudonyms.member: ("member_id", "leader"),
    Pseudonyms.client: ("client_id", "group_instance_id", "instance_id"),
    Pseudonyms.host: ("client_host", "host"),
    Pseudonyms.rack: ("rack_id", "racks"),
    Pseudonyms.expression: ("subscribed_topic_regex", "regular_expression", "source_topic_regex"),
    Pseudonyms.assignor: ("protocol_type", "protocol", "server_assignor"),
    Pseudonyms.process: ("process_id",),
    Pseudonyms.word_or_number: ("subtopology_id", "key", "value"),
    Pseudonyms.other: ("named_topology",),
    Pseudonyms.url: ("url", "leader_url"),
}
NAMES: Final[Mapping[str, FieldRule]] = {
    name: rule for rule, names in _ATTRIBUTES.items() for name in names
}
"""Attribute of a message -> what becomes of its texts, and of its bytes unless `OTHERS` has them."""

OTHERS: Final[Mapping[tuple[str, str], FieldRule]] = {
    ("LegacyOffsetCommitValue", "metadata"): Pseudonyms.commit_metadata,
    ("OffsetCommitValue", "metadata"): Pseudonyms.commit_metadata,
    ("ConsumerGroupMemberMetadataClassicProtocol", "name"): Pseudonyms.assignor,
    ("ConsumerGroupMemberMetadataAssignor", "name"): Pseudonyms.assignor,
    ("ConsumerGroupMemberMetadataAssignor", "metadata"): Pseudonyms.data,
    ("ConsumerGroupTargetAssignmentMemberValue", "metadata_bytes"): Pseudonyms.data,
    ("ConsumerGroupCurrentMemberAssignmentValue", "metadata_bytes"): Pseudonyms.data,
    ("StreamsGroupTopologyTopicInfo", "name"): Pseudonyms.topic,
    ("StreamsGroupMemberMetadataClientTag", "key"): Pseudonyms.other,
    ("StreamsGroupMemberMetadataClientTag", "value"): Pseudonyms.other,
    ("ConnectAssignmentConnector", "name"): Pseudonyms.connector,
    ("StreamsSubscriptionInfo", "process_id"): Pseudonyms.process_bytes,
    ("StreamsSubscriptionInfo", "user_end_point"): lambda names, data: _text(names.endpoint, data),
    ("StreamsSubscriptionInfoClientTag", "key"): lambda names, data: _text(names.other, data),
    ("StreamsSubscriptionInfoClientTag", "value"): lambda names, data: _text(names.other, data),
    ("StreamsAssignmentInfoTaskId", "named_topology"): _units,
    ("StreamsAssignmentInfoStandbyTask", "named_topology"): _units,
}
"""(class, attribute) -> what becomes of it, where the attribute alone does not say it."""

MOMENTS: Final = frozenset(
    {
        "commit_timestamp",
        "expire_timestamp",
        "current_state_timestamp",
        "assignment_timestamp",
        "timestamp",
        "next_rebalance",
    }
)
"""Attributes that are times in epoch milliseconds."""

INSIDE: Final = frozenset(
    {
        ("GroupMetadataMember", "subscription"),
        ("GroupMetadataMember", "assignment"),
        ("ConsumerGroupMemberMetadataClassicProtocol", "metadata"),
        ("ConsumerProtocolSubscription", "user_data"),
        ("ConsumerProtocolAssignment", "user_data"),
        ("ConnectWorkerState", "allocation"),
    }
)
"""(class, attribute) of bytes that hold a message of their own: `embedded_bytes` replaces them."""


ORDER_OF_NAMES: Final = frozenset(
    {
        ("ConsumerGroupMemberMetadataValue", "subscribed_topic_names"),
        ("ConsumerGroupPartitionMetadataValue", "topics"),
        ("ConsumerGroupRegularExpressionValue", "topics"),
        ("ConnectAssignment", "assigned"),
        ("ConnectAssignment", "revoked"),
        ("ConsumerProtocolAssignment", "assigned_partitions"),
        ("ConsumerProtocolSubscription", "owned_partitions"),
        ("ConsumerProtocolSubscription", "topics"),
        ("ShareGroupMemberMetadataValue", "subscribed_topic_names"),
        ("ShareGroupPartitionMetadataValue", "topics"),
        ("StreamsGroupPartitionMetadataValue", "topics"),
    }
)
"""(class, attribute) of lists whose order means nothing: brokers and clients sort names, or order them by their hash.

They are written in order of the pseudonyms; else a sorted list of names that someone guesses would show which is which.
"""


def renamed(names: Pseudonyms, message: Any) -> Any:
    """A message with pseudonyms in all its fields but those of `INSIDE`."""
    cls = type(message)
    plan = _PLANS.get(cls)
    if plan is None:
        plan = _PLANS[cls] = tuple(_step(cls.__name__, name) for name in cls._fields)
    return cls(*[step(names, value) for step, value in zip(plan, message, strict=True)])


_PLANS: Final[dict[type, tuple[FieldRule, ...]]] = {}


def rule_of(class_name: str, attribute: str) -> FieldRule | None:
    """What becomes of the texts and bytes of a field; None without a rule."""
    return OTHERS.get((class_name, attribute)) or NAMES.get(attribute)


def _step(class_name: str, attribute: str) -> FieldRule:
    if (class_name, attribute) not in ORDER_OF_NAMES:
        return _in_order(class_name, attribute)
    in_order = _in_order(class_name, attribute)

    def step(names: Pseudonyms, value: Any) -> Any:
        made = in_order(names, value)
        return made if made is None else tuple(sorted(made, key=_name_in))

    return step


def _name_in(element: Any) -> Any:
    """What an element of a list is called: it is a name, or begins with one."""
    return element if isinstance(element, str) else element[0]


def _in_order(class_name: str, attribute: str) -> FieldRule:
    if (class_name, attribute) in INSIDE:
        return lambda _names, value: value
    if attribute in MOMENTS:
        return Pseudonyms.moment
    whole = OTHERS.get((class_name, attribute))
    if whole is not None:
        return lambda names, value: value if value is None else whole(names, value)
    rule = NAMES.get(attribute)

    def step(names: Pseudonyms, value: Any) -> Any:
        match value:
            case str() | bytes():
                return (rule or _unknown)(names, value)
            case tuple() if hasattr(value, "_fields"):
                return renamed(names, value)
            case tuple():
                return tuple([step(names, each) for each in value])
            case _:
                return value

    return step


def _unknown(names: Pseudonyms, value: str | bytes) -> str | bytes:
    return names.other(value) if isinstance(value, str) else names.data(value)
