"""What schema registries put into a group's records to elect their primary (Schema Registry, Karapace).

Both are JSON (`SchemaRegistryIdentity` and `SchemaRegistryProtocol` of Confluent's registry, whose format Karapace
follows): who an instance is, and which instance is the primary.
"""

from typing import Any, Final, NamedTuple

import orjson

from rebalance_audit.wire.embedded import Malformed, remembered

PROTOCOL_TYPE: Final = "sr"
NO_ERROR: Final = 0
LONGEST: Final = 1 << 16
"""Longer bytes are not read: an identity has a host and a few flags."""


class RegistryIdentity(NamedTuple):
    """Who an instance of a registry is; what it does not say is None."""

    scheme: str | None
    host: str | None
    port: int | None
    may_be_primary: bool | None

    def url(self) -> str | None:
        """Its address, like `http://host:8081`; None without a host."""
        if self.host is None:
            return None
        return (
            f"{self.scheme or 'http'}://{self.host}{'' if self.port is None else f':{self.port}'}"
        )


class RegistryAssignment(NamedTuple):
    """Which instance the leader has made the primary."""

    error: int
    """`NO_ERROR`, or 1: two instances have the same URL."""
    primary_member_id: str | None
    """None if no instance may be the primary."""
    primary: RegistryIdentity | None


@remembered
def read_registry_identity(data: bytes) -> RegistryIdentity | Malformed:
    """Decode an instance's metadata, or say why it is malformed. Never raises."""
    found = _object(data)
    return found if isinstance(found, Malformed) else _identity(found)


@remembered
def read_registry_assignment(data: bytes) -> RegistryAssignment | Malformed:
    """Decode an instance's assignment, or say why it is malformed. Never raises."""
    found = _object(data)
    if isinstance(found, Malformed):
        return found
    if not {"master", "error"} & found.keys():
        return Malformed("neither a primary nor an error")
    identity = found.get("master_identity")
    return RegistryAssignment(
        _typed(found, "error", int) or NO_ERROR,
        _typed(found, "master", str),
        _identity(identity) if isinstance(identity, dict) else None,
    )


def _object(data: bytes) -> dict[str, Any] | Malformed:
    if len(data) > LONGEST:
        return Malformed(f"{len(data)} bytes")
    try:
        found = orjson.loads(data)
    except orjson.JSONDecodeError as problem:
        return Malformed(f"not JSON: {problem}")
    return found if isinstance(found, dict) else Malformed("JSON, but no object")


def _identity(found: dict[str, Any]) -> RegistryIdentity:
    return RegistryIdentity(
        _typed(found, "scheme", str),
        _typed(found, "host", str),
        _typed(found, "port", int),
        _typed(found, "master_eligibility", bool),
    )


def _typed(found: dict[str, Any], name: str, kind: type) -> Any:
    value = found.get(name)
    is_flag = isinstance(value, bool)
    return value if isinstance(value, kind) and is_flag == (kind is bool) else None
