"""Column types: from the DDL strings of `schemas/tables` to Arrow, and rows of plain Python values to Arrow columns.

The core speaks of moments as epoch milliseconds; tables have timestamps of microseconds in UTC.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Final, TypeAlias

import pyarrow as pa

ATOMIC: Final[Mapping[str, pa.DataType]] = {
    "string": pa.string(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "boolean": pa.bool_(),
    "binary": pa.binary(),
    "timestamp": pa.timestamp("us", tz="UTC"),
}
MILLIS_MIN: Final = -62_135_596_800_000
MILLIS_MAX: Final = 253_402_300_799_999
"""Years 1 to 9999: what Spark, Python and SQL clients can all hold. A damaged record may say anything."""
NO_TIMESTAMP_MS: Final = -1
"""Kafka's word for a record without a time."""

Convert: TypeAlias = Callable[[Any], Any]


def micros_of(moment_ms: int | None) -> int | None:
    """Microseconds of a moment; None for no time and for moments outside of the years 1 to 9999."""
    if (
        moment_ms is None
        or moment_ms == NO_TIMESTAMP_MS
        or not MILLIS_MIN <= moment_ms <= MILLIS_MAX
    ):
        return None
    return moment_ms * 1000


@cache
def arrow_type(ddl: str) -> pa.DataType:
    """The Arrow type of a DDL type such as `array<struct<at: timestamp, fact: string>>`."""
    found, rest = _parse(ddl.strip())
    assert not rest, f"{rest!r} follows the type in {ddl!r}"
    return found


def column_of(ddl: str, values: Sequence[Any]) -> pa.Array:
    """An Arrow column of plain values; moments, also nested ones, are epoch milliseconds."""
    convert = _converter(arrow_type(ddl))
    return pa.array(values if convert is None else map(convert, values), arrow_type(ddl))


def _parse(ddl: str) -> tuple[pa.DataType, str]:
    """The type that a DDL string begins with, and what follows it."""
    end = next((at for at, char in enumerate(ddl) if char in "<>,"), len(ddl))
    name, rest = ddl[:end].strip(), ddl[end:]
    if not rest.startswith("<"):
        return ATOMIC[name], rest
    rest = rest[1:]
    if name == "array":
        element, rest = _parse(rest)
        return pa.list_(element), rest[1:]
    if name == "map":
        key, rest = _parse(rest)
        value, rest = _parse(rest[1:])
        return pa.map_(key, value), rest[1:]
    fields = []
    while True:
        field, _, rest = rest.partition(":")
        kind, rest = _parse(rest)
        fields.append(pa.field(field.strip(), kind))
        separator, rest = rest[0], rest[1:]
        if separator == ">":
            return pa.struct(fields), rest


@cache
def _converter(kind: pa.DataType) -> Convert | None:
    """How to turn the core's value into what Arrow takes; None where it is the same."""
    if pa.types.is_timestamp(kind):
        return micros_of
    if pa.types.is_list(kind):
        element = _converter(kind.value_type)
        if element is None:
            return None
        return lambda values: None if values is None else [element(value) for value in values]
    if pa.types.is_struct(kind):
        converters = {
            field.name: convert for field in kind if (convert := _converter(field.type)) is not None
        }
        if not converters:
            return None
        return lambda value: (
            None
            if value is None
            else value | {name: convert(value[name]) for name, convert in converters.items()}
        )
    return None
