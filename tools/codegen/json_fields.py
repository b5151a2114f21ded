"""Generates `json_fields.py`: functions to Kafka's JSON fields, for every message, version and layout."""

from collections.abc import Mapping
from typing import Final

from rebalance_audit.wire.schema import Catalogue, Field, Struct
from tools.codegen.body import Unit, UnitKey, snake_case, units_of
from tools.codegen.functions import CLASSES, NAME, Functions
from tools.codegen.messages import enum_member, literal

_HEADER: Final = '''\
# fmt: off
# ruff: noqa: D103, E501
"""Fields of keys and values as Kafka's own JSON converters name them. Generated; do not edit.

Names are lowerCamelCase in schema order. A field that the version lacks is absent, and so is a
tagged one that has its default. Messages that are shown alike share a function, named after their
fields. `make codegen` writes this file from schemas/records.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from rebalance_audit.wire.generated.messages import (
{imports}
)
from rebalance_audit.wire.text_forms import base64_text, uuid_text

Fields: TypeAlias = dict[str, Any]
FieldsOf: TypeAlias = Callable[[Any], Fields]
'''


def source(catalogue: Catalogue) -> str:
    """Text of `json_fields.py`."""
    module = _Module()
    shown = {
        message.name: {unit.key: module.add_unit(unit) for unit in units_of(message)}
        for message in catalogue.messages()
    }
    constants = "\n".join(f"{name}: Final = {text}" for text, name in module.constants.items())
    parts = [
        _HEADER.replace("{imports}", "\n".join(f"    {name}," for name in module.imports())),
        constants + "\n",
        *(f"\n{function}\n" for function in module.functions.sources()),
        module.functions.with_names(_tables(catalogue, shown)),
    ]
    return "\n".join(parts)


class _Module:
    """The functions so far and what they need around them."""

    def __init__(self) -> None:
        self.functions = Functions()
        self.names: set[str] = {"RecordType"}
        self.constants: dict[str, str] = {}
        self._of_structs: dict[str, str] = {}
        """Struct with tags of the unit at hand -> the mark of its function."""

    def imports(self) -> list[str]:
        """Names from `messages`, constants first."""
        return sorted(self.names, key=lambda name: (not name.isupper(), name))

    def add_unit(self, unit: Unit) -> str:
        """Add the functions of one version and layout: its structs with tags, then itself; returns its mark."""
        self._of_structs = {}
        for name, shape in unit.layout.structs.items():
            if shape.tagged(unit.version):
                self._of_structs[name] = self._add(unit, shape, snake_case(name))
        return self._add(unit, unit.layout.body)

    def _add(self, unit: Unit, shape: Struct, part: str = "") -> str:
        self.names.add(unit.message.class_name(shape.name))
        lines = [f"def {NAME}(v: {CLASSES}) -> Fields:"]
        tagged = shape.tagged(unit.version)
        untagged = self._dict(unit, shape.untagged(unit.version), "v", 0)
        if not tagged:
            lines.append(f"    return {untagged}")
        else:
            lines.append(f"    fields: Fields = {untagged}")
            for field in tagged:
                default = self._default(unit, field)
                lines.append(f"    if v.{field.attribute} != {default}:")
                value = self._expression(unit, field, f"v.{field.attribute}", 0)
                lines.append(f'        fields["{field.json_name}"] = {value}')
            lines.append("    return fields")
        held = "_".join(f.attribute for f in (*shape.untagged(unit.version), *tagged))
        return self.functions.add(
            unit.purpose(shape.name, part), "\n".join(lines), f"fields_{held}"
        )

    def _default(self, unit: Unit, field: Field) -> str:
        text = literal(unit.message, field, field.default)
        if text == "ZERO_UUID":
            self.names.add(text)
        if text == "()" or not text.endswith(")"):
            return text
        self.names.add(unit.message.class_name(field.type_name))
        return self.constants.setdefault(text, f"DEFAULT_{len(self.constants)}")

    def _dict(self, unit: Unit, fields: tuple[Field, ...], variable: str, depth: int) -> str:
        entries = (
            f'"{f.json_name}": {self._expression(unit, f, f"{variable}.{f.attribute}", depth)}'
            for f in fields
        )
        return "{" + ", ".join(entries) + "}"

    def _expression(self, unit: Unit, field: Field, value: str, depth: int) -> str:
        element = f"x{depth}" if field.is_array else value
        if field.is_struct:
            shape = unit.layout.structs[field.type_name]
            if shape.tagged(unit.version):
                text = f"{self._of_structs[shape.name]}({element})"
            else:
                text = self._dict(unit, shape.untagged(unit.version), element, depth + 1)
        elif field.type_name == "bytes":
            text = f"base64_text({element})"
        elif field.type_name == "uuid":
            text = f"uuid_text({element})"
        else:
            text = element
        if field.is_array:
            text = f"list({value})" if text == element else f"[{text} for {element} in {value}]"
        if text != value and field.is_nullable(unit.version):
            text = f"None if {value} is None else {text}"
        return text


def _tables(catalogue: Catalogue, shown: Mapping[str, Mapping[UnitKey, str]]) -> str:
    lines = ["", "KEY_FIELDS: Final[Mapping[RecordType, FieldsOf]] = {"]
    for message in catalogue.keys.values():
        (function,) = shown[message.name].values()
        lines.append(f"    RecordType.{enum_member(message)}: {function},")
    lines += ["}", "", "VALUE_FIELDS: Final[Mapping[tuple[RecordType, int, str], FieldsOf]] = {"]
    for message in catalogue.values.values():
        member = f"RecordType.{enum_member(message)}"
        lines += [
            f'    ({member}, {version}, "{layout}"): {function},'
            for (version, layout), function in shown[message.name].items()
        ]
    lines += ["}", '"""By record type, value version and layout."""', ""]
    lines.append("EMBEDDED_FIELDS: Final[Mapping[str, Mapping[int, FieldsOf]]] = {")
    for message in catalogue.embedded.values():
        lines.append(f'    "{message.name}": {{')
        by_version = zip(message.version_numbers(), shown[message.name].values(), strict=True)
        lines += [f"        {version}: {function}," for version, function in by_version]
        lines.append("    },")
    lines += ["}", '"""By message and version: the function."""', ""]
    return "\n".join(lines)
