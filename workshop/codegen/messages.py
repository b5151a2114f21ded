"""Generates `messages.py`: one class per key, value and nested struct."""

import textwrap
from typing import Any, NamedTuple

from rebalance_audit.wire.schema import Catalogue, Field, Message, Struct

PYTHON_TYPES = {"string": "str", "bytes": "bytes", "uuid": "bytes"}

_HEADER = '''\
# fmt: off
"""Keys, values and nested structs of coordinator records. Generated; do not edit.

One class holds all versions and layouts of a message: fields that one of them lacks have a default
and come last. Uuids are 16 raw bytes, arrays are tuples. `make codegen` writes this file from
schemas/records. A field without an explanation means what the last one of its name means.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import Final, NamedTuple, TypeAlias, get_args

ZERO_UUID: Final = bytes(16)
'''


class Attribute(NamedTuple):
    """One field of a generated class."""

    name: str
    annotation: str
    default: str | None
    """Source text; None = the field is required."""
    about: str


class MessageClass(NamedTuple):
    """One generated class."""

    name: str
    about: str
    attributes: tuple[Attribute, ...]


def enum_member(message: Message) -> str:
    """Name of the record type, from the name of its key."""
    words = [f"_{c}" if c.isupper() else c.upper() for c in message.stem]
    return "".join(words).lstrip("_")


def classes_of(message: Message) -> list[MessageClass]:
    """Classes of a message, nested ones first: each the union of its fields over all layouts."""
    found: dict[str, list[Struct]] = {}
    for layout in message.layouts:
        for struct in layout.structs.values():
            found.setdefault(struct.name, []).append(struct)
    found[message.name] = [layout.body for layout in message.layouts]
    return [_class(message, name, structs) for name, structs in found.items()]


def _class(message: Message, struct_name: str, structs: list[Struct]) -> MessageClass:
    fields: dict[str, Field] = {}
    for struct in structs:
        for field in struct.fields:
            fields.setdefault(field.name, field)
    attributes = []
    for field in fields.values():
        everywhere = all(field.name in {f.name for f in s.fields} for s in structs)
        optional = not everywhere or field.tag is not None or not _in_all(message, field)
        attributes.append(
            Attribute(
                field.attribute,
                annotation(message, field),
                literal(message, field, field.if_lacking) if optional else None,
                field.about,
            )
        )
    attributes.sort(key=lambda a: a.default is not None)
    about = message.about if struct_name == message.name else structs[0].about
    return MessageClass(message.class_name(struct_name), about, tuple(attributes))


def _in_all(message: Message, field: Field) -> bool:
    return all(field.versions.holds(version) for version in message.version_numbers())


def annotation(message: Message, field: Field) -> str:
    """Type of the field, over all versions."""
    element = PYTHON_TYPES.get(field.type_name, "int")
    if field.is_struct:
        element = message.class_name(field.type_name)
    whole = f"tuple[{element}, ...]" if field.is_array else element
    nullable = field.nullable_versions.highest is None or field.nullable_versions.highest >= 0
    return f"{whole} | None" if nullable else whole


def literal(message: Message, field: Field, value: Any) -> str:
    """Source text of a default of the field."""
    if value is None:
        return "None"
    if field.is_array:
        assert not value, "only an empty array can be a default"
        return "()"
    if isinstance(value, dict):
        struct = next(
            la.structs[field.type_name] for la in message.layouts if field.type_name in la.structs
        )
        inner = ", ".join(
            f"{f.attribute}={literal(message, f, value[f.attribute])}" for f in struct.fields
        )
        return f"{message.class_name(field.type_name)}({inner})"
    if field.type_name == "uuid":
        assert not any(value), "only the zero uuid can be a default"
        return "ZERO_UUID"
    return {b"": 'b""', "": '""'}.get(value) or repr(value)


def source(catalogue: Catalogue) -> str:
    """Text of `messages.py`."""
    parts = [_HEADER, _record_types(catalogue)]
    explained: dict[str, str] = {}
    for message in catalogue.messages():
        parts += [_class_source(each, explained) for each in classes_of(message)]
    for alias, messages in (("Key", catalogue.keys), ("Value", catalogue.values)):
        names = "\n    | ".join(m.name for m in messages.values())
        parts.append(
            f"{alias}: TypeAlias = (\n    {names}\n)\n"
            '"""In order of their record types."""\n'
            f"{alias.upper()}_CLASSES: Final[Mapping[RecordType, type[{alias}]]] = dict(\n"
            f"    zip(RecordType, get_args({alias}), strict=True)\n)\n"
        )
    return "\n\n".join(parts)


def _record_types(catalogue: Catalogue) -> str:
    lines = [
        "class RecordType(IntEnum):",
        '    """What a record is about: the number that its key begins with."""',
        "",
    ]
    lines += [f"    {enum_member(m)} = {number}" for number, m in catalogue.keys.items()]
    return "\n".join(lines) + "\n"


def _class_source(generated: MessageClass, explained: dict[str, str]) -> str:
    lines = [f"class {generated.name}(NamedTuple):", *_docstring(generated.about), ""]
    for attribute in generated.attributes:
        default = "" if attribute.default is None else f" = {attribute.default}"
        lines.append(f"    {attribute.name}: {attribute.annotation}{default}")
        if explained.get(attribute.name) != attribute.about:
            explained[attribute.name] = attribute.about
            lines += _docstring(attribute.about)
    return "\n".join(lines) + "\n"


def _docstring(text: str) -> list[str]:
    return textwrap.wrap(f'"""{text}"""', 100, initial_indent="    ", subsequent_indent="    ")
