"""Generates `compiled.py`: one straight-line decoder per message, version and layout."""

from rebalance_audit.wire.schema import Catalogue
from tools.codegen.body import Body, Surroundings, Unit, array_function, units_of
from tools.codegen.messages import enum_member

_HEADER = '''\
# fmt: off
# ruff: noqa: COM819, D103, E501
"""Decoders of coordinator records, one per message, version and layout. Generated; do not edit.

Each reads the clean form of its message, to the last byte, and raises `straight.FAILURES` at
anything else; an embedded message may be followed by more. `make codegen` writes it again from
schemas/records.
"""

import struct
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from rebalance_audit.wire.generated.messages import (
{imports}
)
from rebalance_audit.wire.primitives import read_uvarint
from rebalance_audit.wire.straight import (
    INT16S,
    INT32S,
    UnfitError,
    int16s,
    int32s,
    long_length,
    long_string,
    uuids,
)

new = tuple.__new__
'''


def source(catalogue: Catalogue) -> str:
    """Text of `compiled.py`."""
    shared = Surroundings()
    functions = []
    for message in catalogue.messages():
        for unit in units_of(message):
            functions += _unit_source(unit, shared)
    names = {*shared.classes, "Key", "RecordType", "Value"} | shared.names
    imports = sorted(names, key=lambda name: (not name.isupper(), name))  # constants first
    unpacks = [
        f'{name} = struct.Struct(">{codes}").unpack_from'
        for name, codes in sorted(shared.unpacks.items())
    ]
    constants = [f"{name}: Final = {text}" for text, name in shared.constants.items()]
    return "\n".join(
        (
            _HEADER.replace("{imports}", "\n".join(f"    {name}," for name in imports)),
            "\n".join(unpacks),
            *([""] if constants else []),
            *constants,
            "",
            "",
            "\n\n\n".join(functions),
            "",
            _tables(catalogue),
        )
    )


def _unit_source(unit: Unit, shared: Surroundings) -> list[str]:
    message, layout = unit.message, unit.layout
    arrays = {f.type_name for s in (*layout.structs.values(), layout.body) for f in s.fields
              if f.is_struct and f.is_array and f.versions.holds(unit.version)}  # fmt: skip
    sources = []
    for name in layout.structs:
        if name not in arrays:
            continue
        cls = message.class_name(name)
        body = Body(unit, shared, distance=0)
        body.line(
            f"def {array_function(unit, name)}(data: bytes, p: int, count: int)"
            f" -> tuple[tuple[{cls}, ...], int]:"
        )
        with body.indented():
            body.line(f"items: list[{cls}] = []")
            body.line("add = items.append")
            body.line("for _ in range(count):")
            with body.indented():
                made = body.struct(layout.structs[name])
                body.settle()
                body.line(f"add({made})")
            body.line("return tuple(items), p")
        sources.append(body.text())
    body = Body(unit, shared, distance=2)  # behind the record type, the value version
    body.line(f"def {unit.function}(data: bytes) -> {message.name}:")
    with body.indented():
        body.line("p = 0")
        made = body.struct(layout.body)
        body.flush()
        relation = ">" if message.kind == "embedded" else "!="
        body.line(f"if {body.position()} {relation} len(data):")
        body.line("    raise UnfitError")
        body.line(f"return {made}")
    sources.append(body.text())
    return sources


def _tables(catalogue: Catalogue) -> str:
    def prefix(number: int) -> str:
        high, low = number.to_bytes(2)
        return f'b"\\x{high:02x}\\x{low:02x}"'

    lines = [
        "",
        "KeyDecoder: TypeAlias = Callable[[bytes], Key]",
        "ValueDecoder: TypeAlias = Callable[[bytes], Value]",
        "",
        "KEY_DECODERS: Final[Mapping[bytes, tuple[RecordType, KeyDecoder]]] = {",
    ]
    for number, message in catalogue.keys.items():
        (unit,) = units_of(message)
        member = f"RecordType.{enum_member(message)}"
        lines.append(f"    {prefix(number)}: ({member}, {unit.function}),")
    lines += [
        "}",
        '"""By the first two bytes of the key."""',
        "",
        "VALUE_DECODERS: Final[",
        "    Mapping[RecordType, Mapping[bytes, tuple[tuple[int, str, ValueDecoder], ...]]]",
        "] = {",
    ]
    for message in catalogue.values.values():
        lines.append(f"    RecordType.{enum_member(message)}: {{")
        for version in message.version_numbers():
            readers = "".join(
                f'({version}, "{unit.layout.name}", {unit.function}), '
                for unit in units_of(message)
                if unit.version == version
            )
            lines.append(f"        {prefix(version)}: ({readers.rstrip()}),")
        lines.append("    },")
    lines += [
        "}",
        '"""By the first two bytes of the value: version, layout and decoder, newest layout first."""',
        "",
    ]
    return "\n".join(lines)
