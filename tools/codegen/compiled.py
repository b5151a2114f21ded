"""Generates `compiled.py`: straight-line decoders for every message, version and layout."""

from collections.abc import Mapping

from rebalance_audit.wire.schema import Catalogue
from tools.codegen.body import Body, Surroundings, Unit, UnitKey, snake_case, units_of
from tools.codegen.functions import NAME
from tools.codegen.messages import enum_member

_HEADER = '''\
# fmt: off
# ruff: noqa: COM819, D103, E501
"""Decoders of coordinator records, by message, version and layout. Generated; do not edit.

Versions and layouts that are read alike share a decoder, which has them all in its name. A decoder
reads the clean form of its message, to the last byte, and raises `decoder_runtime.FAILURES` at anything
else; only an embedded message may be followed by more bytes. `make codegen` writes this file from
schemas/records.
"""

import struct
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from rebalance_audit.wire.generated.messages import (
{imports}
)
from rebalance_audit.wire.primitives import read_uvarint
from rebalance_audit.wire.decoder_runtime import (
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
    decoders = {
        message.name: {unit.key: _add_unit(unit, shared) for unit in units_of(message)}
        for message in catalogue.messages()
    }
    functions = "\n\n\n".join(shared.functions.sources())
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
            functions,
            "",
            shared.functions.with_names(_tables(catalogue, decoders)),
        )
    )


def _add_unit(unit: Unit, shared: Surroundings) -> str:
    """Add the functions of one version and layout; returns the mark of its decoder."""
    message, layout = unit.message, unit.layout
    arrays = {f.type_name for s in (*layout.structs.values(), layout.body) for f in s.fields
              if f.is_struct and f.is_array and f.versions.holds(unit.version)}  # fmt: skip
    readers: dict[str, str] = {}
    for name in layout.structs:
        if name not in arrays:
            continue
        cls = message.class_name(name)
        body = Body(unit, shared, readers, distance=0)
        body.line(f"def {NAME}(data: bytes, p: int, count: int) -> tuple[tuple[{cls}, ...], int]:")
        with body.indented():
            body.line(f"items: list[{cls}] = []")
            body.line("add = items.append")
            body.line("for _ in range(count):")
            with body.indented():
                made = body.struct(layout.structs[name])
                body.settle()
                body.line(f"add({made})")
            body.line("return tuple(items), p")
        purpose = unit.purpose(name, f"{snake_case(name)}_array")
        readers[name] = shared.functions.add(purpose, body.text())
    body = Body(unit, shared, readers, distance=2)  # after the record type, or the value version
    body.line(f"def {NAME}(data: bytes) -> {message.name}:")
    with body.indented():
        body.line("p = 0")
        made = body.struct(layout.body)
        body.flush()
        relation = ">" if message.kind == "embedded" else "!="
        body.line(f"if {body.position()} {relation} len(data):")
        body.line("    raise UnfitError")
        body.line(f"return {made}")
    return shared.functions.add(unit.purpose(message.name), body.text())


def _tables(catalogue: Catalogue, decoders: Mapping[str, Mapping[UnitKey, str]]) -> str:
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
        (decoder,) = decoders[message.name].values()
        lines.append(f"    {prefix(number)}: (RecordType.{enum_member(message)}, {decoder}),")
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
                f'({version}, "{layout}", {decoder}), '
                for (of_version, layout), decoder in decoders[message.name].items()
                if of_version == version
            )
            lines.append(f"        {prefix(version)}: ({readers.rstrip()}),")
        lines.append("    },")
    lines += [
        "}",
        '"""By the first two bytes of the value: version, layout and decoder, newest layout first."""',
        "",
        "EMBEDDED_DECODERS: Final[Mapping[str, Mapping[int, Callable[[bytes], Any]]]] = {",
    ]
    for message in catalogue.embedded.values():
        lines.append(f'    "{message.name}": {{')
        by_version = zip(message.version_numbers(), decoders[message.name].values(), strict=True)
        lines += [f"        {version}: {decoder}," for version, decoder in by_version]
        lines.append("    },")
    lines += ["}", '"""By message and version: the decoder."""', ""]
    return "\n".join(lines)
