"""Converts between the dicts of the generic codec and the classes of `messages`."""

import functools
from collections.abc import Mapping
from typing import Any

from rebalance_audit.wire.generated import messages
from rebalance_audit.wire.schema import Field, Layout, Message, Struct


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
        fields[field.attribute] = held_by(message, layout, field, held)
    return class_of(message, shape)(**fields)


def held_by(message: Message, layout: Layout, field: Field, plain: Any) -> Any:
    """What an instance holds for a plain value of a field."""
    if plain is None or not (field.is_struct or field.is_array):
        return plain
    if not field.is_struct:
        return tuple(plain)
    inner = layout.structs[field.type_name]
    if field.is_array:
        return tuple(_instance(message, layout, inner, element) for element in plain)
    return _instance(message, layout, inner, plain)


def class_of(message: Message, shape: Struct) -> Any:
    """The generated class of a message, or of one of its structs."""
    return getattr(messages, message.class_name(shape.name))


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
