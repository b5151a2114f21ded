"""One record as the loader of a release decodes it: by the types, versions and layouts that it knows."""

from collections.abc import Iterable
from typing import Final, NamedTuple, cast

from rebalance_audit.verify.coordinators import KnownRecords
from rebalance_audit.wire import generic, instances
from rebalance_audit.wire.generated.messages import Key, OffsetCommitValue, RecordType, Value
from rebalance_audit.wire.key_bytes import TYPE_BYTES
from rebalance_audit.wire.primitives import DecodeError, TruncatedError, uvarint
from rebalance_audit.wire.records import Record, UndecodableReason, decode_record
from rebalance_audit.wire.schema import CURRENT_LAYOUT, record_schemas

_LEGACY: Final = int(RecordType.LEGACY_OFFSET_COMMIT)
_COMMIT: Final = int(RecordType.OFFSET_COMMIT)
_FLEXIBLE_COMMIT: Final = 4
"""Version of the value that has tags, at its end; the topic id is the only one."""
_TOPIC_ID_TAG: Final = b"\1\0\x10"
_COMMIT_BYTES: Final = 23
"""Of a value of that version beside its metadata: version, offset, leader epoch, time, no tags."""
_OWN_STRUCTS: Final = frozenset(
    {
        RecordType.GROUP_METADATA,
        RecordType.CONSUMER_GROUP_PARTITION_METADATA,
        RecordType.CONSUMER_GROUP_MEMBER_METADATA,
        RecordType.CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER,
    }
)
"""Types whose values have structs of their own: their generated readers check the version, those of common structs and
of the message itself do not."""
_ONLY_ZERO: Final = range(1)


class NotDecoded(NamedTuple):
    """Why a loader cannot decode a record."""

    rule_id: str
    record_type: int | None
    detail: str


def record_type_of_key(key: bytes | None) -> int | None:
    """The number that a key begins with; None where it has none."""
    if key is None or len(key) < TYPE_BYTES:
        return None
    return int.from_bytes(key[:TYPE_BYTES], signed=True)


def read_record(known: KnownRecords, key: bytes | None, value: bytes | None) -> Record | NotDecoded:
    """The record as a coordinator reads it, or why it cannot. Never raises, whatever the bytes."""
    number = record_type_of_key(key)
    if key is None:
        return NotDecoded(UndecodableReason.NO_KEY, None, "the record has no key")
    if number is None:
        return NotDecoded(UndecodableReason.KEY_TRUNCATED, None, f"the key has {len(key)} bytes")
    if number not in known.record_types:
        return NotDecoded(UndecodableReason.UNKNOWN_RECORD_TYPE, number, f"record type {number}")
    record = decode_record(key, value)
    if isinstance(record, Record) and _is_as_expected(known, number, record, value):
        return record
    return _read_by_schema(known, number, key, value)


def _is_as_expected(known: KnownRecords, number: int, record: Record, value: bytes | None) -> bool:
    if record.value is None or value is None:
        return True
    return (
        number != _LEGACY
        and (number not in known.unknown_tags or _has_plain_tags(record, value))
        and record.layout == known.layouts.get(number, CURRENT_LAYOUT)
        and record.value_version in known.value_versions.get(number, _ONLY_ZERO)
    )


def _has_plain_tags(record: Record, value: bytes) -> bool:
    """Whether reading past the tags that a release does not know gives the same as reading them.

    The fast decoders read a tag by its type, whatever its size says. Of offset commits there are too many to decode all
    of them by the schema: most have no tag, or the topic id in its size.
    """
    if not isinstance(record.value, OffsetCommitValue):
        return False
    if record.value_version != _FLEXIBLE_COMMIT or value[-19:-16] == _TOPIC_ID_TAG:
        return True
    size = len(record.value.metadata.encode())
    return len(value) == _COMMIT_BYTES + size + len(uvarint(size + 1))


def _read_by_schema(
    known: KnownRecords, number: int, key: bytes, value: bytes | None
) -> Record | NotDecoded:
    schemas = record_schemas()
    key_message = schemas.keys[number]
    (key_layout,) = key_message.layouts
    try:
        read = generic.decode(key_message, 0, key_layout, key, TYPE_BYTES, as_java=True)
    except DecodeError as problem:
        is_short = isinstance(problem, TruncatedError)
        reason = UndecodableReason.KEY_TRUNCATED if is_short else UndecodableReason.KEY_CORRUPT
        return NotDecoded(reason, number, str(problem))
    decoded_key = cast("Key", instances.to_instance(key_message, key_layout, read.value))
    record = Record(RecordType(number), decoded_key, None, None)
    if value is None:
        return record
    # Up to 4.0 both types of offset commits have values of the same class.
    shape = _COMMIT if number == _LEGACY and number in known.value_versions else number
    message = schemas.values[shape]
    if len(value) < TYPE_BYTES:
        detail = f"the value has {len(value)} bytes"
        return NotDecoded(UndecodableReason.VALUE_TRUNCATED, number, detail)
    version, is_ahead = int.from_bytes(value[:TYPE_BYTES], signed=True), False
    versions = known.value_versions.get(number, _ONLY_ZERO)
    if version not in versions:
        if known.checks_version:
            detail = f"the value has version {version}, known are {versions[0]} to {versions[-1]}"
            return NotDecoded(UndecodableReason.UNKNOWN_VALUE_VERSION, number, detail)
        is_ahead = version > versions[-1]
        version = min(max(version, versions[0]), versions[-1])
    layout = message.layout_named(version, known.layouts.get(number, CURRENT_LAYOUT))
    try:
        read = generic.decode(
            message,
            version,
            layout,
            value,
            TYPE_BYTES,
            as_java=True,
            without_tags=known.unknown_tags.get(shape, ()),
        )
    except DecodeError as problem:
        is_short = isinstance(problem, TruncatedError)
        reason = UndecodableReason.VALUE_TRUNCATED if is_short else UndecodableReason.VALUE_CORRUPT
        return NotDecoded(reason, number, f"{problem.path or 'the value'}: {problem}")
    if (
        is_ahead
        and number in _OWN_STRUCTS
        and any(isinstance(each, dict) for held in read.value.values() for each in _inner(held))
    ):
        detail = f"a struct in it has no version {int.from_bytes(value[:TYPE_BYTES])}"
        return NotDecoded(UndecodableReason.VALUE_CORRUPT, number, detail)
    decoded = cast("Value", instances.to_instance(message, layout, read.value))
    if shape != number:
        fields = decoded_key._asdict()
        new_key = schemas.keys[shape]
        as_commit = instances.to_instance(new_key, new_key.layouts[0], fields)
        record = Record(RecordType(shape), cast("Key", as_commit), None, None)
    return record._replace(value=decoded, value_version=version, layout=layout.name)


def _inner(held: object) -> Iterable[object]:
    return held if isinstance(held, list) else (held,)
