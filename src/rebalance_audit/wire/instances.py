"""Converts between the dicts of the generic codec and the classes of `messages`."""

import functools
from collections.abc import Mapping
from typing import Any

from rebalance_audit.wire.generated import messages
from rebalance_audit.wire.schema import Layout, Message, Struct, record_schemas


def to_instance(message: Message, layout: Layout, value: Mapping[str, Any]) -> Any:
    """Instance of the message's class; fields that the value lacks get their `ifLacking`."""
    return _instance(message, layout, layout.body, value)


def to_dict(layout: Layout, instance: Any) -> dict[str, Any]:
    """Plain dict of an instance: the fields that the layout has in any version, by attribute name.

    Raises ValueError when a field of another layout does not hold its default, since it would be lost.
    """
    return _dict(layout, layout.body, instance)


def _instance(message: Message, layout: Layout, shape: Struct, value: Mapping[str, Any]) -> Any:
    fields: dict[str, Any] = {}
    for field in shape.fields:
        held = value.get(field.attribute, field.if_lacking)
        if field.is_struct and held is not None:
            inner = layout.structs[field.type_name]
            if field.is_array:
                held = tuple(_instance(message, layout, inner, element) for element in held)
            else:
                held = _instance(message, layout, inner, held)
        elif field.is_array and held is not None:
            held = tuple(held)
        fields[field.attribute] = held
    return getattr(messages, message.class_name(shape.name))(**fields)


def _dict(layout: Layout, shape: Struct, instance: Any) -> dict[str, Any]:
    given: dict[str, Any] = instance._asdict()
    value: dict[str, Any] = {}
    for field in shape.fields:
        held = given.pop(field.attribute)
        if field.is_struct and held is not None:
            plain = functools.partial(_dict, layout, layout.structs[field.type_name])
            held = list(map(plain, held)) if field.is_array else plain(held)
        elif field.is_array and held is not None:
            held = list(held)
        value[field.attribute] = held
    for name, held in given.items():
        if held != instance._field_defaults[name]:
            raise ValueError(f"{name} does not exist in layout {layout.name!r} of {shape.name}")
    return value


@functools.cache
def message_of(class_name: str) -> Message:
    """Schema of a generated key, value or embedded class. Raises ValueError for another class."""
    for message in record_schemas().messages():
        if message.name == class_name:
            return message
    raise ValueError(f"{class_name} is neither a key nor a value of a record")
