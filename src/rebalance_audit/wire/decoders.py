"""Decoders of coordinator records, compiled from `schemas/records` when a record first needs one.

A log has some ten of the hundred messages, versions and layouts. One takes a millisecond or two, all take a tenth of
a second. Tests hold each to the generic codec, which defines what bytes mean.
"""

from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any, Final, TypeAlias

from rebalance_audit.wire.decoder_source import Unit, decoder_text
from rebalance_audit.wire.generated.messages import (
    KEY_CLASSES,
    VALUE_CLASSES,
    Key,
    RecordType,
    Value,
)
from rebalance_audit.wire.schema import message_named

KeyDecoder: TypeAlias = Callable[[bytes], Key]
ValueDecoder: TypeAlias = Callable[[bytes], Value]

_KEPT: Final = 1024
"""Any writer can name 65,536 versions of each record type; only some sixty of them exist."""
_TYPES: Final = {record_type.value: record_type for record_type in RecordType}


@cache
def key_decoder(prefix: bytes) -> tuple[RecordType, KeyDecoder]:
    """By the first two bytes of a key. Raises KeyError for a type that no record has."""
    record_type = _TYPES[int.from_bytes(prefix)]
    message = message_named(KEY_CLASSES[record_type].__name__)
    return record_type, _decoder(Unit(message, 0, *message.layouts))


@lru_cache(_KEPT)
def value_decoders(
    record_type: RecordType, prefix: bytes
) -> tuple[tuple[int, str, ValueDecoder], ...]:
    """By the first two bytes of a value: version, layout and decoder, newest layout first; empty for none."""
    message = message_named(VALUE_CLASSES[record_type].__name__)
    version = int.from_bytes(prefix, signed=True)
    return tuple(
        (version, layout.name, _decoder(Unit(message, version, layout)))
        for layout in message.layouts_of(version)
    )


@cache
def embedded_decoder(name: str, version: int) -> Callable[[bytes], Any]:
    """By message and version. Raises ValueError for an unknown message."""
    message = message_named(name)
    return _decoder(Unit(message, version, *message.layouts_of(version)))


def _decoder(unit: Unit) -> Callable[[bytes], Any]:
    return function_of("decode", unit, *decoder_text(unit))


def function_of(name: str, unit: Unit, text: str, names: dict[str, Any]) -> Callable[[Any], Any]:
    """The function of that name in a module's text, which was made for a unit and finds `names` around it."""
    where = f"<{name} {unit.message.name}, version {unit.version} {unit.layout.name}>"
    exec(compile(text, where, "exec"), names)  # noqa: S102 - the text is made of the package's own schemas
    found: Callable[[Any], Any] = names[name]
    return found
