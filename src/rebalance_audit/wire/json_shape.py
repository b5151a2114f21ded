"""Records in the shape of Kafka's own JSON, as `kafka-dump-log --offsets-decoder` prints them.

Uuids are url-safe base64, bytes are standard base64, numbers are numbers. In a classic group whose
members are consumers, the subscription and assignment bytes are shown as objects.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, TypeAlias

from rebalance_audit.wire import consumer_protocol, json_fields
from rebalance_audit.wire.generated.messages import GroupMetadataValue
from rebalance_audit.wire.records import Record

_KNOWN: Final = 1024
"""How many subscriptions, and assignments, are cached: most members of a generation repeat theirs."""
_KNOWN_BYTES: Final = 1024
"""Longer ones are decoded each time, so that the cache stays below a few megabytes."""
_Shape: TypeAlias = Callable[[bytes], dict[str, Any] | None]


def key_data(record: Record) -> dict[str, Any]:
    """Fields of the record's key."""
    return json_fields.key_fields(record.record_type)(record.key)


def value_data(record: Record) -> dict[str, Any]:
    """Fields of the record's value, which must not be a tombstone.

    Treat nested objects as read-only: equal values share them.
    """
    value = record.value
    assert value is not None
    assert record.value_version is not None
    fields_of = json_fields.value_fields(record.record_type, record.value_version, record.layout)
    fields = fields_of(value)
    if (
        isinstance(value, GroupMetadataValue)
        and value.protocol_type == consumer_protocol.PROTOCOL_TYPE
    ):
        for member, shown in zip(value.members, fields["members"], strict=True):
            _show_payloads(member.subscription, member.assignment, shown)
    return fields


def _show_payloads(subscription: bytes, assignment: bytes, shown: dict[str, Any]) -> None:
    """Replace the base64 of a member's bytes with what they say.

    Malformed bytes and those of a newer version stay as they are, as in Kafka's tool.
    """
    said = _again(_known_subscription, _subscription, subscription)
    if said is not None:
        shown["subscription"] = said
    said = _again(_known_assignment, _assignment, assignment)
    if said is not None:
        shown["assignment"] = said


def _again(known: _Shape, shape: _Shape, payload: bytes) -> dict[str, Any] | None:
    return (known if len(payload) <= _KNOWN_BYTES else shape)(payload)


def _subscription(payload: bytes) -> dict[str, Any] | None:
    read = consumer_protocol.decode_subscription(payload)
    if read is None or read.protocol_version > consumer_protocol.NEWEST_VERSION:
        return None
    fields = json_fields.embedded_fields("ConsumerProtocolSubscription", read.protocol_version)
    return fields(read)


def _assignment(payload: bytes) -> dict[str, Any] | None:
    read = consumer_protocol.decode_assignment(payload)
    if read is None or read.protocol_version > consumer_protocol.NEWEST_VERSION:
        return None
    fields = json_fields.embedded_fields("ConsumerProtocolAssignment", read.protocol_version)
    return fields(read)


_known_subscription: Final[_Shape] = lru_cache(_KNOWN)(_subscription)
_known_assignment: Final[_Shape] = lru_cache(_KNOWN)(_assignment)
