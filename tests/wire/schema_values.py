"""Hypothesis strategies over the record schemas: any value that a message can hold."""

from typing import Any

from hypothesis import strategies as st

from rebalance_audit.wire.decoders import Unit
from rebalance_audit.wire.schema import Field, Struct, record_schemas

UNITS = tuple(
    Unit(message, version, layout)
    for message in record_schemas().messages()
    for version in message.version_numbers()
    for layout in message.layouts_of(version)
)
"""Every message in every version and layout."""

_LIMITS = {
    "int8": (-(2**7), 2**7 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint16": (0, 2**16 - 1),
}
_EDGE_LENGTHS = (126, 127, 128)
"""Where the compact length of a string, bytes or array takes a second byte."""
_TABLE_LENGTHS = (63, 64, 65)
"""Where the fast decoders change from a table of unpackers to one made for the length."""

_TEXT = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    st.sampled_from(_EDGE_LENGTHS).map(lambda length: "x" * length),
    st.sampled_from(_EDGE_LENGTHS).map(lambda length: "é" * (length // 2) + "x" * (length % 2)),
)
_BYTES = st.one_of(
    st.binary(max_size=5), st.sampled_from(_EDGE_LENGTHS).map(lambda length: b"\x01" * length)
)


def unit_name(unit: Unit) -> str:
    """Name of a unit in test ids."""
    layout = f" of {unit.layout.name}" if unit.layout.name else ""
    return f"{unit.message.name} v{unit.version}{layout}"


def values_of(unit: Unit) -> st.SearchStrategy[dict[str, Any]]:
    """Values of a message in one version and layout: only the fields that these have."""
    return _VALUES[unit_name(unit)]


def _struct(unit: Unit, shape: Struct) -> st.SearchStrategy[dict[str, Any]]:
    version = unit.version
    held = (*shape.untagged(version), *shape.tagged(version))
    return st.fixed_dictionaries({field.attribute: _field(unit, field) for field in held})


def _field(unit: Unit, field: Field) -> st.SearchStrategy[Any]:
    if field.known:
        return st.sampled_from(field.known)
    if field.type_name in _LIMITS:
        lowest, highest = _LIMITS[field.type_name]
        some: st.SearchStrategy[Any] = st.integers(lowest, highest)
    elif field.type_name == "uuid":
        some = st.binary(min_size=16, max_size=16)
    elif field.type_name == "string":
        some = _TEXT
    elif field.type_name == "bytes":
        some = _BYTES
    else:
        some = _struct(unit, unit.layout.structs[field.type_name])
    if field.is_array:
        lengths = st.sampled_from(_EDGE_LENGTHS + _TABLE_LENGTHS)
        long = st.builds(lambda length: [7] * length, lengths)
        short = st.lists(some, max_size=3)
        some = st.one_of(short, long) if field.type_name in ("int16", "int32") else short
    options = [some]
    if field.is_nullable(unit.version):
        options.append(st.none())
    if field.is_tagged(unit.version):
        options.append(st.just(field.default))
    return st.one_of(options)


_VALUES = {unit_name(unit): _struct(unit, unit.layout.body) for unit in UNITS}
"""Made once: hypothesis keeps what it learns about a strategy with the strategy."""
