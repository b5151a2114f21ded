"""One record as the loader of a release decodes it: by the types, versions and layouts that it knows."""

from typing import Final, NamedTuple, cast

from rebalance_audit.verify.coordinators import KnownRecords
from rebalance_audit.wire import generic, instances
from rebalance_audit.wire.generated.messages import Key, RecordType, Value
from rebalance_audit.wire.key_bytes import TYPE_BYTES
from rebalance_audit.wire.primitives import DecodeError, TruncatedError
from rebalance_audit.wire.records import Record, UndecodableReason, decode_record
from rebalance_audit.wire.schema import CURRENT_LAYOUT, record_schemas

_LEGACY: Final = int(RecordType.LEGACY_OFFSET_COMMIT)
_COMMIT: Final = int(RecordType.OFFSET_COMMIT)
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
        return NotDecoded(
            UndecodableReason.UNKNOWN_RECORD_TYPE, number, f"the key begins with {number}"
        )
    record = decode_record(key, value)
    if isinstance(record, Record) and _is_as_expected(known, number, record):
        return record
    return _read_by_schema(known, number, key, value)


def _is_as_expected(known: KnownRecords, number: int, record: Record) -> bool:
    if record.value is None:
        return True
    return (
        number != _LEGACY
        and record.layout == known.layouts.get(number, CURRENT_LAYOUT)
        and record.value_version in known.value_versions.get(number, _ONLY_ZERO)
    )


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
    version = int.from_bytes(value[:TYPE_BYTES], signed=True)
    versions = known.value_versions.get(number, _ONLY_ZERO)
    if version not in versions:
        if known.checks_version:
            detail = f"the value has version {version}, known are {versions[0]} to {versions[-1]}"
            return NotDecoded(UndecodableReason.UNKNOWN_VALUE_VERSION, number, detail)
        version = min(max(version, versions[0]), versions[-1])
    layout = message.layout_named(version, known.layouts.get(number, CURRENT_LAYOUT))
    try:
        read = generic.decode(message, version, layout, value, TYPE_BYTES, as_java=True)
    except DecodeError as problem:
        is_short = isinstance(problem, TruncatedError)
        reason = UndecodableReason.VALUE_TRUNCATED if is_short else UndecodableReason.VALUE_CORRUPT
        return NotDecoded(reason, number, f"{problem.path or 'the value'}: {problem}")
    decoded = cast("Value", instances.to_instance(message, layout, read.value))
    if shape != number:
        fields = decoded_key._asdict()
        new_key = schemas.keys[shape]
        as_commit = instances.to_instance(new_key, new_key.layouts[0], fields)
        record = Record(RecordType(shape), cast("Key", as_commit), None, None)
    return record._replace(value=decoded, value_version=version, layout=layout.name)
