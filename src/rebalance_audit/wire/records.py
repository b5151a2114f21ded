"""Coordinator records: a key and a value in bytes, and what they say.

Decoding never raises, whatever the bytes: a record that cannot be read is an `Undecodable` with its
reason. The compiled decoders (`decoders`) try first; whatever they refuse is judged by the generic codec.
"""

import functools
from enum import StrEnum
from typing import Final, NamedTuple, cast

from rebalance_audit import limits
from rebalance_audit.wire import generic, instances
from rebalance_audit.wire.decoder_runtime import FAILURES
from rebalance_audit.wire.decoders import key_decoder, value_decoders
from rebalance_audit.wire.generated.messages import Key, RecordType, Value
from rebalance_audit.wire.generic import UnknownTags
from rebalance_audit.wire.primitives import SCALARS, DecodeError, TruncatedError
from rebalance_audit.wire.schema import CURRENT_LAYOUT, Message, message_named, record_schemas

_INT16: Final = SCALARS["int16"]
_CACHED_KEYS: Final = 1 << 15
_CACHED_KEY_BYTES: Final = limits.KEY_BYTES.most
"""Keys repeat: a log of many offset commits has one key per group and partition."""

_REFUSED: Final = (*FAILURES, KeyError)


class Record(NamedTuple):
    """One decoded record."""

    record_type: RecordType
    key: Key
    value: Value | None
    """None = tombstone."""
    value_version: int | None
    """None for a tombstone."""
    layout: str = CURRENT_LAYOUT
    """Layout of the value: the release that wrote it, if an early one wrote an incompatible layout."""
    unknown_tags: UnknownTags = ()
    """Tagged fields of the value that the schema does not have."""
    key_trailing: bytes = b""
    """Bytes after the key's last field, and after the value's; Kafka ignores them."""
    value_trailing: bytes = b""


class UndecodableReason(StrEnum):
    """Why a record could not be decoded."""

    NO_KEY = "no_key"
    """The key is null."""
    KEY_TRUNCATED = "key_truncated"
    """The key ends before its fields do."""
    KEY_CORRUPT = "key_corrupt"
    """The key holds something that its fields do not allow."""
    UNKNOWN_RECORD_TYPE = "unknown_record_type"
    """The key begins with a number that no known record type has; Kafka skips such a record."""
    VALUE_TRUNCATED = "value_truncated"
    """The value ends before its fields do."""
    VALUE_CORRUPT = "value_corrupt"
    """The value holds something that its fields do not allow, in any known layout."""
    UNKNOWN_VALUE_VERSION = "unknown_value_version"
    """The value begins with a version number that the record type does not have."""


class Undecodable(NamedTuple):
    """Why one record could not be decoded. The caller has the bytes."""

    reason: UndecodableReason
    detail: str
    """A sentence with the field and the position where it went wrong."""
    record_type: int | None
    """The number that the key begins with; None if it has none."""
    value_version: int | None
    """None where the value was not reached."""
    key: Key | None = None
    """The key, if only the value is at fault."""


def decode_record(key: bytes | None, value: bytes | None) -> Record | Undecodable:
    """Decode one record; a null value is a tombstone. Never raises, whatever the bytes."""
    if key is None:
        return decode_record_by_schema(key, value)
    try:
        known = _known_key if len(key) <= _CACHED_KEY_BYTES else _decode_clean_key
        record_type, decoded_key = known(key)
    except _REFUSED:
        return decode_record_by_schema(key, value)
    if value is None:
        return Record(record_type, decoded_key, None, None)
    for value_version, layout, decode in value_decoders(record_type, value[:2]):
        try:
            decoded = decode(value)
        except FAILURES:
            continue
        return tuple.__new__(
            Record, (record_type, decoded_key, decoded, value_version, layout, (), b"", b"")
        )
    return decode_record_by_schema(key, value)


def _decode_clean_key(key: bytes) -> tuple[RecordType, Key]:
    record_type, decode = key_decoder(key[:2])
    return record_type, decode(key)


_known_key: Final = functools.lru_cache(_CACHED_KEYS)(_decode_clean_key)


def decode_record_by_schema(key: bytes | None, value: bytes | None) -> Record | Undecodable:
    """Decode one record with the generic codec alone: what `decode_record` means, but slower."""
    if key is None:
        return Undecodable(UndecodableReason.NO_KEY, "the record has no key", None, None)
    if len(key) < _INT16.size:
        detail = f"the key has {len(key)} bytes and begins with a record type of 2"
        return Undecodable(UndecodableReason.KEY_TRUNCATED, detail, None, None)
    (number,) = _INT16.unpack_from(key)
    message = record_schemas().keys.get(number)
    if message is None:
        detail = f"no record type has the number {number}"
        return Undecodable(UndecodableReason.UNKNOWN_RECORD_TYPE, detail, number, None)
    (layout,) = message.layouts
    try:
        read = generic.decode(message, 0, layout, key, _INT16.size)
    except DecodeError as problem:
        reason = _reason(problem, UndecodableReason.KEY_TRUNCATED, UndecodableReason.KEY_CORRUPT)
        return Undecodable(reason, _sentence("key", message, problem), number, None)
    found = Record(
        record_type=RecordType(number),
        key=cast("Key", instances.to_instance(message, layout, read.value)),
        value=None,
        value_version=None,
        key_trailing=key[read.end_position :],
    )
    return found if value is None else _with_value(found, value)


def _with_value(tombstone: Record, data: bytes) -> Record | Undecodable:
    number = int(tombstone.record_type)
    message = record_schemas().values[number]
    if len(data) < _INT16.size:
        detail = f"the value has {len(data)} bytes and begins with a version of 2"
        reason = UndecodableReason.VALUE_TRUNCATED
        return Undecodable(reason, detail, number, None, tombstone.key)
    (version,) = _INT16.unpack_from(data)
    layouts = message.layouts_of(version)
    if not layouts:
        detail = f"{message.name} has no version {version}"
        reason = UndecodableReason.UNKNOWN_VALUE_VERSION
        return Undecodable(reason, detail, number, version, tombstone.key)
    newest: generic.Decoded | None = None
    problems: list[DecodeError] = []
    for layout in layouts:
        try:
            read = generic.decode(message, version, layout, data, _INT16.size)
        except DecodeError as problem:
            problems.append(problem)
            continue
        if read.end_position == len(data) and not read.odd and not read.unknown_tags:
            value = instances.to_instance(message, layout, read.value)
            return tombstone._replace(value=value, value_version=version, layout=layout.name)
        if layout is layouts[0]:
            newest = read
    if newest is not None:
        # Only the newest layout may bring something new. An early one belongs to releases that will
        # not change any more, so it must fit to the last byte.
        return tombstone._replace(
            value=instances.to_instance(message, layouts[0], newest.value),
            value_version=version,
            layout=layouts[0].name,
            unknown_tags=newest.unknown_tags,
            value_trailing=data[newest.end_position :],
        )
    # Report the newest layout that the bytes follow to their end, or else the one that they follow furthest.
    ended_early = (refusal for refusal in problems if isinstance(refusal, TruncatedError))
    chosen = next(ended_early, None) or max(problems, key=lambda refusal: refusal.position)
    reason = _reason(chosen, UndecodableReason.VALUE_TRUNCATED, UndecodableReason.VALUE_CORRUPT)
    detail = _sentence("value", message, chosen)
    return Undecodable(reason, detail, number, version, tombstone.key)


def _reason(
    problem: DecodeError, truncated: UndecodableReason, corrupt: UndecodableReason
) -> UndecodableReason:
    return truncated if isinstance(problem, TruncatedError) else corrupt


def _sentence(what: str, message: Message, problem: DecodeError) -> str:
    place = f"in {problem.path} " if problem.path else ""
    return f"{what} of {message.stem}, {place}at byte {problem.position}: {problem}"


def group_id_of(key: Key) -> str:
    """Id of the group that the key belongs to: the first field of every key."""
    return key[0]


def encode_key(key: Key) -> bytes:
    """Bytes of a key. Raises ValueError that names the field."""
    message = message_named(type(key).__name__)
    (layout,) = message.layouts
    fields = generic.encode(message, 0, layout, instances.to_dict(layout, key))
    return _INT16.pack(message.record_type) + fields


def encode_value(
    value: Value,
    value_version: int,
    layout: str = CURRENT_LAYOUT,
    unknown_tags: UnknownTags = (),
) -> bytes:
    """Bytes of a value in a version and layout.

    Raises ValueError that names the field, also when the version or layout has no room for it.
    """
    message = message_named(type(value).__name__)
    shape = message.layout_named(value_version, layout)
    fields = instances.to_dict(shape, value)
    body = generic.encode(message, value_version, shape, fields, unknown_tags)
    return _INT16.pack(value_version) + body
