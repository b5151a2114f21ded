"""What classic consumers tell each other through the coordinator: subscriptions and assignments.

The coordinator stores both as bytes that it never reads. They are an int16 version and a message
without compact lengths or tags. A later version only adds fields at the end, so a reader can take
the part it knows from a version it does not know (`ConsumerProtocol` in Kafka).
"""

from typing import Any, Final, NamedTuple, TypeAlias

from rebalance_audit import limits
from rebalance_audit.wire import generic, instances
from rebalance_audit.wire.decoder_runtime import FAILURES
from rebalance_audit.wire.generated import messages
from rebalance_audit.wire.generated.compiled import EMBEDDED_DECODERS
from rebalance_audit.wire.payload_cache import PayloadCache
from rebalance_audit.wire.primitives import SCALARS, DecodeError

TopicPartitions: TypeAlias = tuple[tuple[str, tuple[int, ...]], ...]
"""(topic name, partition numbers) in wire order."""

PROTOCOL_TYPE: Final = "consumer"
NEWEST_VERSION: Final = 3

_INT16: Final = SCALARS["int16"]
CACHED_PAYLOAD_BYTES: Final = limits.PAYLOAD_BYTES.most
"""Generations repeat most assignments, and consumers of one topic send equal subscriptions."""


class Subscription(NamedTuple):
    """What a consumer subscribes to and holds when it joins."""

    topics: tuple[str, ...]
    user_data: bytes | None
    owned_partitions: TopicPartitions = ()
    """From version 1; always empty in the eager protocol."""
    generation_id: int = -1
    """Generation of the owned partitions, from version 2; -1 = the member is new, or did not say."""
    rack_id: str | None = None
    """From version 3."""
    protocol_version: int = NEWEST_VERSION
    """As in the bytes; above `NEWEST_VERSION` the bytes held more than this class shows."""


class Assignment(NamedTuple):
    """What the leader assigns to one consumer."""

    assigned_partitions: TopicPartitions
    user_data: bytes | None
    protocol_version: int = NEWEST_VERSION
    """As in the bytes."""


class Malformed(NamedTuple):
    """Bytes that hold no subscription or assignment."""

    detail: str
    """A clause that says why."""


def decode_subscription(data: bytes) -> Subscription | None:
    """Decode subscription bytes; None when they are malformed or empty."""
    read = read_subscription(data)
    return read if isinstance(read, Subscription) else None


def decode_assignment(data: bytes) -> Assignment | None:
    """Decode assignment bytes; None when they are malformed, or empty because there is none yet."""
    read = read_assignment(data)
    return read if isinstance(read, Assignment) else None


def _read_subscription(data: bytes) -> Subscription | Malformed:
    read = _read(data, messages.ConsumerProtocolSubscription)
    if isinstance(read, Malformed):
        return read
    protocol_version, fields = read
    return Subscription._make((*fields, protocol_version))


def _read_assignment(data: bytes) -> Assignment | Malformed:
    read = _read(data, messages.ConsumerProtocolAssignment)
    if isinstance(read, Malformed):
        return read
    protocol_version, fields = read
    return Assignment._make((*fields, protocol_version))


read_subscription: Final = PayloadCache(_read_subscription, CACHED_PAYLOAD_BYTES)
"""Decodes subscription bytes, or says why they are malformed."""
read_assignment: Final = PayloadCache(_read_assignment, CACHED_PAYLOAD_BYTES)
"""Decodes assignment bytes, or says why they are malformed."""


def _read(data: bytes, cls: type) -> tuple[int, Any] | Malformed:
    """Read the protocol version, and an instance of `cls` in that version or the newest one known."""
    if len(data) < _INT16.size:
        return Malformed(f"{len(data)} bytes, and the version alone has 2")
    (protocol_version,) = _INT16.unpack_from(data)
    if protocol_version < 0:
        return Malformed(f"version {protocol_version}")
    known_version = min(protocol_version, NEWEST_VERSION)
    try:
        return protocol_version, EMBEDDED_DECODERS[cls.__name__][known_version](data)
    except FAILURES:
        message = instances.message_of(cls.__name__)
        (layout,) = message.layouts_of(known_version)
    try:
        fields = generic.decode(message, known_version, layout, data, _INT16.size).value
    except DecodeError as problem:
        return Malformed(f"{problem.path} at byte {problem.position}: {problem}")
    return protocol_version, instances.to_instance(message, layout, fields)


def encode_subscription(subscription: Subscription) -> bytes:
    """Bytes of a subscription in its protocol version. Raises ValueError that names the field."""
    held = subscription.owned_partitions
    owned = tuple(map(messages.ConsumerProtocolSubscriptionTopicPartition._make, held))
    fields = messages.ConsumerProtocolSubscription(
        subscription.topics,
        subscription.user_data,
        owned,
        subscription.generation_id,
        subscription.rack_id,
    )
    return _encode(fields, subscription.protocol_version)


def encode_assignment(assignment: Assignment) -> bytes:
    """Bytes of an assignment in its protocol version. Raises ValueError that names the field."""
    held = assignment.assigned_partitions
    assigned = tuple(map(messages.ConsumerProtocolAssignmentTopicPartition._make, held))
    fields = messages.ConsumerProtocolAssignment(assigned, assignment.user_data)
    return _encode(fields, assignment.protocol_version)


def _encode(fields: Any, protocol_version: int) -> bytes:
    message = instances.message_of(type(fields).__name__)
    layout = message.layout_named(protocol_version, "")
    plain = instances.to_dict(layout, fields)
    return _INT16.pack(protocol_version) + generic.encode(message, protocol_version, layout, plain)
