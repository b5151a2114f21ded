"""Records in the shape of Kafka's own JSON, as `kafka-dump-log --offsets-decoder` prints them.

Names are lowerCamelCase in schema order. A field that the version lacks is absent, and so is a tagged one that has its
default. Uuids are url-safe base64, bytes are standard base64, numbers are numbers. In a classic group whose members are
consumers, the subscription and assignment bytes are shown as objects.

A function for the fields of a message is made from `schemas/records` when a record first needs it, as in `decoders`.
"""

from base64 import b64encode
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final, TypeAlias

from rebalance_audit.wire import consumer_protocol, instances
from rebalance_audit.wire.decoders import Unit, function_of
from rebalance_audit.wire.embedded import PayloadCache
from rebalance_audit.wire.generated.messages import (
    KEY_CLASSES,
    VALUE_CLASSES,
    GroupMetadataValue,
    RecordType,
)
from rebalance_audit.wire.records import Record
from rebalance_audit.wire.schema import Field, Struct, message_named
from rebalance_audit.wire.topic_names import topic_id_text

FieldsOf: TypeAlias = Callable[[Any], dict[str, Any]]


@cache
def key_fields(record_type: RecordType) -> FieldsOf:
    """Of the keys of a record type."""
    message = message_named(KEY_CLASSES[record_type].__name__)
    return _fields(Unit(message, 0, *message.layouts))


@cache
def value_fields(record_type: RecordType, version: int, layout: str) -> FieldsOf:
    """Of the values of a record type in a version and layout."""
    message = message_named(VALUE_CLASSES[record_type].__name__)
    return _fields(Unit(message, version, message.layout_named(version, layout)))


@cache
def embedded_fields(name: str, version: int) -> FieldsOf:
    """Of an embedded message in a version."""
    message = message_named(name)
    return _fields(Unit(message, version, *message.layouts_of(version)))


def _fields(unit: Unit) -> FieldsOf:
    source = _Source(unit)
    return function_of("fields_of", unit, source.text(), source.names)


class _Source:
    """The text of a unit's function, after those of its structs with tags, and what it calls."""

    def __init__(self, unit: Unit) -> None:
        self._unit = unit
        self.names: dict[str, Any] = {"b64encode": b64encode, "uuid_text": topic_id_text}

    def text(self) -> str:
        structs = self._unit.layout.structs.items()
        parts = [
            self._function(_of_struct(name), shape)
            for name, shape in structs
            if shape.tagged(self._unit.version)
        ]
        return "\n".join([*parts, self._function("fields_of", self._unit.layout.body)])

    def _function(self, name: str, shape: Struct) -> str:
        version = self._unit.version
        lines = [f"def {name}(v):", f"    fields = {self._dict(shape.untagged(version), 'v', 0)}"]
        for field in shape.tagged(version):
            default = f"default_{len(self.names)}"
            self.names[default] = instances.held_by(
                self._unit.message, self._unit.layout, field, field.default
            )
            value = self._expression(field, f"v.{field.attribute}", 0)
            lines.append(f"    if v.{field.attribute} != {default}:")
            lines.append(f'        fields["{field.json_name}"] = {value}')
        return "\n".join([*lines, "    return fields"])

    def _dict(self, fields: Sequence[Field], variable: str, depth: int) -> str:
        entries = (
            f'"{f.json_name}": {self._expression(f, f"{variable}.{f.attribute}", depth)}'
            for f in fields
        )
        return "{" + ", ".join(entries) + "}"

    def _expression(self, field: Field, value: str, depth: int) -> str:
        version = self._unit.version
        element = f"x{depth}" if field.is_array else value
        if field.is_struct:
            shape = self._unit.layout.structs[field.type_name]
            if shape.tagged(version):
                text = f"{_of_struct(shape.name)}({element})"
            else:
                text = self._dict(shape.untagged(version), element, depth + 1)
        elif field.type_name == "bytes":
            text = f"b64encode({element}).decode()"
        elif field.type_name == "uuid":
            text = f"uuid_text({element})"
        else:
            text = element
        if field.is_array:
            text = f"list({value})" if text == element else f"[{text} for {element} in {value}]"
        if text != value and field.is_nullable(version):
            text = f"None if {value} is None else {text}"
        return text


def _of_struct(name: str) -> str:
    return f"fields_of_{name}"


_CACHED_BYTES: Final = 1 << 20
"""Of subscriptions, and of assignments, that are remembered: most members of a generation repeat theirs."""


def key_data(record: Record) -> dict[str, Any]:
    """Fields of the record's key."""
    return key_fields(record.record_type)(record.key)


def value_data(record: Record) -> dict[str, Any]:
    """Fields of the record's value, which must not be a tombstone.

    Treat nested objects as read-only: equal values share them.
    """
    value = record.value
    assert value is not None
    assert record.value_version is not None
    fields_of = value_fields(record.record_type, record.value_version, record.layout)
    fields = fields_of(value)
    if (
        isinstance(value, GroupMetadataValue)
        and value.protocol_type == consumer_protocol.PROTOCOL_TYPE
    ):
        for member, shown in zip(value.members, fields["members"], strict=True):
            for name, shape in _PAYLOADS.items():
                said = shape(getattr(member, name))
                if said is not None:
                    shown[name] = said
    return fields


def _shown(decode: Callable[[bytes], Any], name: str) -> PayloadCache[dict[str, Any] | None]:
    """What payloads say; None for malformed ones and those of a newer version, as Kafka's tool leaves them alone."""

    def shape(payload: bytes) -> dict[str, Any] | None:
        read = decode(payload)
        if read is None or read.protocol_version > consumer_protocol.NEWEST_VERSION:
            return None
        return embedded_fields(name, read.protocol_version)(read)

    return PayloadCache(shape, _CACHED_BYTES)


_PAYLOADS: Final = {
    "subscription": _shown(consumer_protocol.decode_subscription, "ConsumerProtocolSubscription"),
    "assignment": _shown(consumer_protocol.decode_assignment, "ConsumerProtocolAssignment"),
}
"""Bytes of a member that replace their base64 by what they say."""
