"""What classic consumers exchange through the coordinator: subscriptions and assignments.

The coordinator stores both as bytes that it never reads. They are an int16 version and a message
without compact lengths or tags. A later version only adds fields at the end, so a reader can take
the part it knows from a version it does not know (`ConsumerProtocol` in Kafka).
"""

from typing import Final, NamedTuple, TypeAlias

from rebalance_audit import limits
from rebalance_audit.wire import embedded
from rebalance_audit.wire.embedded import Malformed, PayloadCache
from rebalance_audit.wire.generated import messages

TopicPartitions: TypeAlias = tuple[tuple[str, tuple[int, ...]], ...]
"""(topic name, partition numbers) in wire order."""

PROTOCOL_TYPE: Final = "consumer"
NEWEST_VERSION: Final = 3
OWNED_PARTITIONS: Final = "ownedPartitions"
"""Name of the field that a subscription may lack, in `Subscription.unread`."""

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
    """As in the bytes; above `NEWEST_VERSION` the bytes may hold more than this class shows."""
    unread: tuple[str, ...] = ()
    """JSON names of fields that the version has and the bytes do not: what stands in them here is not known.

    kafka-go and @platformatic/kafka leave out what version 1 added; faust writes version 4 and the fields of version 0.
    """


class Assignment(NamedTuple):
    """What the leader assigns to one consumer."""

    assigned_partitions: TopicPartitions
    user_data: bytes | None
    protocol_version: int = NEWEST_VERSION
    """As in the bytes."""
    unread: tuple[str, ...] = ()
    """As in `Subscription`: some clients leave the user data out."""


def decode_subscription(data: bytes) -> Subscription | None:
    """Decode subscription bytes; None when they are malformed or empty."""
    read = read_subscription(data)
    return read if isinstance(read, Subscription) and not read.unread else None


def decode_assignment(data: bytes) -> Assignment | None:
    """Decode assignment bytes; None when they are malformed, or empty because there is none yet."""
    read = read_assignment(data)
    return read if isinstance(read, Assignment) and not read.unread else None


def _read_subscription(data: bytes) -> Subscription | Malformed:
    read = embedded.read(data, messages.ConsumerProtocolSubscription)
    if isinstance(read, Malformed):
        return read
    return Subscription._make((*read.fields, read.version, read.unread))


def _read_assignment(data: bytes) -> Assignment | Malformed:
    read = embedded.read(data, messages.ConsumerProtocolAssignment)
    if isinstance(read, Malformed):
        return read
    return Assignment._make((*read.fields, read.version, read.unread))


read_subscription: Final = PayloadCache(_read_subscription, CACHED_PAYLOAD_BYTES)
"""Decodes subscription bytes as far as they hold one, or says why they hold not even its topics."""
read_assignment: Final = PayloadCache(_read_assignment, CACHED_PAYLOAD_BYTES)
"""Decodes assignment bytes as far as they hold one, or says why they hold not even its partitions."""


def encode_subscription(subscription: Subscription) -> bytes:
    """Bytes of a complete subscription in its protocol version. Raises ValueError that names the field."""
    held = subscription.owned_partitions
    owned = tuple(map(messages.ConsumerProtocolSubscriptionTopicPartition._make, held))
    fields = messages.ConsumerProtocolSubscription(
        subscription.topics,
        subscription.user_data,
        owned,
        subscription.generation_id,
        subscription.rack_id,
    )
    return embedded.encode_embedded(fields, subscription.protocol_version)


def encode_assignment(assignment: Assignment) -> bytes:
    """Bytes of an assignment in its protocol version. Raises ValueError that names the field."""
    held = assignment.assigned_partitions
    assigned = tuple(map(messages.ConsumerProtocolAssignmentTopicPartition._make, held))
    fields = messages.ConsumerProtocolAssignment(assigned, assignment.user_data)
    return embedded.encode_embedded(fields, assignment.protocol_version)
