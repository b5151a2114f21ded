"""What clients put into each other's bytes, with pseudonyms: subscriptions, assignments, and the user data in them.

Messages of known protocols are read, renamed and written again. Any other bytes, and those that do not hold what they
should, become as many others that cannot be read either.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import orjson

from rebalance_audit.anonymise.pseudonyms import Pseudonyms
from rebalance_audit.anonymise.record_fields import renamed
from rebalance_audit.wire import connect_protocol, consumer_protocol, embedded, registry_protocol
from rebalance_audit.wire.embedded import Malformed
from rebalance_audit.wire.generated import messages
from rebalance_audit.wire.streams_protocol import PROTOCOL_NAME

_VERSION_BYTES: Final = 2
_VERSION_MAX: Final = b"\0\x1f"
"""Larger than any known version, and no two letters."""
_NO_VERSION: Final = b"\xff\xff"
_HIGH_BYTES: Final = b"\0\0"
"""The upper half of the version of a message of Kafka Streams, which has four bytes."""
_NO_LENGTH: Final = b"\x7f\xff\xff\xff"
"""A length that is more than any bytes hold."""
_IDENTITIES: Final = frozenset({"master_identity", "leader_identity"})
_NUMBERS: Final = frozenset({"version", "error", "port"})
_FLAGS: Final = frozenset({"master_eligibility", "leader_eligibility"})

_Inner = Callable[[Pseudonyms, Any], Any]


class MemberBytes:
    """Renames the bytes of the members of one classic group."""

    def __init__(self, names: Pseudonyms, protocol_type: str, protocol: str | None) -> None:
        """`protocol`: None where the group has chosen none."""
        self._names = names
        self._protocol_type = protocol_type
        self._is_streams = protocol == PROTOCOL_NAME

    def subscription(self, data: bytes) -> bytes:
        """What a member sends when it joins."""
        return self._renamed(data, _SUBSCRIPTIONS)

    def assignment(self, data: bytes) -> bytes:
        """What the leader sends a member."""
        return self._renamed(data, _ASSIGNMENTS)

    def _renamed(self, data: bytes, classes: Mapping[str, type]) -> bytes:
        if not data:
            return data
        if self._protocol_type == registry_protocol.PROTOCOL_TYPE:
            return _registry(self._names, data)
        cls = classes.get(self._protocol_type)
        if cls is None:
            return self._names.data(data)
        return _message(self._names, data, cls, self._inside)

    def _inside(self, names: Pseudonyms, fields: Any) -> Any:
        match fields:
            case messages.ConsumerProtocolSubscription(user_data=bytes(user_data)) if user_data:
                return fields._replace(
                    user_data=self._user_data(names, user_data, messages.StreamsSubscriptionInfo)
                )
            case messages.ConsumerProtocolAssignment(user_data=bytes(user_data)) if user_data:
                return fields._replace(
                    user_data=self._user_data(names, user_data, messages.StreamsAssignmentInfo)
                )
            case messages.ConnectWorkerState(allocation=bytes(allocation)) if allocation:
                cls = messages.ConnectAssignment
                return fields._replace(allocation=_message(names, allocation, cls, _as_it_is))
        return fields

    def _user_data(self, names: Pseudonyms, data: bytes, cls: type) -> bytes:
        if not self._is_streams:
            return names.data(data)
        if not data.startswith(_HIGH_BYTES):
            return b"\xff" + names.data(data)[1:]  # no known version, as before
        return _HIGH_BYTES + _message(names, data[len(_HIGH_BYTES) :], cls, _as_it_is)


_SUBSCRIPTIONS: Final[Mapping[str, type]] = {
    "": messages.ConsumerProtocolSubscription,
    consumer_protocol.PROTOCOL_TYPE: messages.ConsumerProtocolSubscription,
    connect_protocol.PROTOCOL_TYPE: messages.ConnectWorkerState,
}
_ASSIGNMENTS: Final[Mapping[str, type]] = {
    "": messages.ConsumerProtocolAssignment,
    consumer_protocol.PROTOCOL_TYPE: messages.ConsumerProtocolAssignment,
    connect_protocol.PROTOCOL_TYPE: messages.ConnectAssignment,
}


def _as_it_is(_names: Pseudonyms, fields: Any) -> Any:
    return fields


def _message(names: Pseudonyms, data: bytes, cls: type, inside: _Inner) -> bytes:
    read = embedded.read(data, cls)
    if isinstance(read, Malformed):
        return _malformed(names, data)
    fields = inside(names, renamed(names, read.fields))
    return embedded.encode_as_read(read._replace(fields=fields))


def _malformed(names: Pseudonyms, data: bytes) -> bytes:
    """As many bytes that hold the version, unless it may be text, and not even the first field."""
    version = data[:_VERSION_BYTES]
    other = (version if version <= _VERSION_MAX else _NO_VERSION) + _NO_LENGTH + names.data(data)
    return other[: len(data)]


def _registry(names: Pseudonyms, data: bytes) -> bytes:
    if len(data) <= registry_protocol.LONGEST:
        try:
            found = orjson.loads(data)
        except orjson.JSONDecodeError:
            found = None
        if isinstance(found, dict):
            return orjson.dumps(_identity(names, found))
    return b"\xff" + names.data(data)[1:]  # no JSON


def _identity(
    names: Pseudonyms, found: Mapping[str, Any], *, is_inner: bool = False
) -> dict[str, Any]:
    """The members that are known; others are left out."""
    out: dict[str, Any] = {}
    for name, value in found.items():
        if (
            name in (_FLAGS if isinstance(value, bool) else _NUMBERS) and isinstance(value, int)
        ) or (name == "scheme" and value in {"http", "https"}):
            out[name] = value
        elif name == "host" and isinstance(value, str):
            out[name] = names.host(value)
        elif name == "master" and isinstance(value, str):
            out[name] = names.member(value)
        elif name in _IDENTITIES and isinstance(value, dict) and not is_inner:
            out[name] = _identity(names, value, is_inner=True)
        elif name in {"master", *_IDENTITIES} and value is None:
            out[name] = None
    return out
