"""Fields inside binary Arrow columns, read for all rows at once."""

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from rebalance_audit.audit.commits.summary import VALUE_VERSION_MAX
from rebalance_audit.lake.records.record_columns import timestamps
from rebalance_audit.segments.columns import numbers_at
from rebalance_audit.tables.arrow_types import arrow_type, column_of, struct_of_columns
from rebalance_audit.wire.generated.messages import (
    LegacyOffsetCommitKey,
    LegacyOffsetCommitValue,
    OffsetCommitKey,
    OffsetCommitValue,
    RecordType,
)
from rebalance_audit.wire.records import Record, Undecodable, decode_record
from rebalance_audit.wire.topic_names import TOPIC_ID_BYTES, ZERO_TOPIC_ID, topic_id_text

Ints: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]
Bytes: TypeAlias = npt.NDArray[np.uint8]

_PADDING: Bytes = np.zeros(64, np.uint8)
"""Appended to the bytes, so that a field of a row that is too short can be read before that is known."""


class ByteColumn:
    """A binary column: its bytes in one buffer, and the positions at which each row begins and ends in it."""

    def __init__(self, column: pa.Array) -> None:
        """A null row has no bytes, see `is_null`."""
        count = len(column)
        _, offsets, data = column.cast(pa.binary()).buffers()
        spans = np.frombuffer(offsets, np.int32, count + 1, 4 * column.offset)
        self.starts: Ints = spans[:-1].astype(np.int64)
        self.ends: Ints = spans[1:].astype(np.int64)
        self.lengths: Ints = self.ends - self.starts
        self.is_null: Bools = np.asarray(column.is_null())
        used = int(self.ends[-1]) if count else 0
        held = np.frombuffer(data, np.uint8, used) if used else np.empty(0, np.uint8)
        self._bytes: Bytes = np.concatenate([held, _PADDING])

    def field(self, at: Ints, big_endian: str) -> Ints:
        """A fixed-width integer (`>i2`, `>i4`, `>i8`, `u1`) at a byte position per row.

        A position after its row's end reads zeros or another row's bytes: check the lengths before or afterwards.
        """
        return numbers_at(self._bytes, at, big_endian)

    def slices(self, at: Ints, lengths: Ints) -> pa.Array:
        """A binary column of slices, by position and length per row; rows whose length is 0 are empty."""
        ends = np.cumsum(lengths)
        offsets = np.zeros(len(lengths) + 1, np.int32)
        offsets[1:] = ends
        total = int(ends[-1]) if len(ends) else 0
        # An Arrow buffer of binary values is below 2 GiB: half as wide indexes, half the time.
        skips = (at - (ends - lengths)).astype(np.int32)
        picked = np.arange(total, dtype=np.int32) + np.repeat(skips, lengths)
        return pa.Array.from_buffers(
            pa.binary(),
            len(lengths),
            [None, pa.py_buffer(offsets), pa.py_buffer(self._bytes[picked])],
        )


def is_utf8(column: pa.Array) -> Bools:
    """Which rows of a binary column are UTF-8."""
    try:
        column.cast(pa.string())
    except pa.ArrowInvalid:
        return np.fromiter(map(_decodes, column.to_pylist()), np.bool_, len(column))
    return np.ones(len(column), np.bool_)


def _decodes(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


COMMIT: Final[Mapping[str, str]] = {
    "group_id": "string",
    "topic": "string",
    "topic_partition": "int",
    "committed_offset": "bigint",
    "committed_leader_epoch": "int",
    "metadata": "string",
    "committed_at": "timestamp",
    "expires_at": "timestamp",
    "topic_id": "string",
    "value_version": "int",
}
"""The fields of a key and a value, with their names in silver.offset_commits."""
UNDECODABLE: Final[Mapping[str, str]] = {
    "reason": "string",
    "detail": "string",
    "record_type": "int",
    "undecodable_version": "int",
}
"""Set instead if the record cannot be decoded."""
ALL_FIELDS: Final[Mapping[str, str]] = {**COMMIT, **UNDECODABLE}
COMMIT_DDL: Final = struct_of_columns(ALL_FIELDS)

KEY_BYTES_MIN: Final = 10
"""Type, two empty strings with their lengths, partition."""
NO_TAGS: Final = b"\0"
TOPIC_ID_TAG: Final = b"\1\0\x10"
"""One tag, number 0, 16 bytes: the topic id follows, and nothing else."""
NO_LEADER_EPOCH: Final = -1


def decode_commits(keys: pa.Array, values: pa.Array) -> pa.Array:
    """Decode offset commits: two binary columns in, one column of COMMIT_DDL out. Never raises on bytes.

    Every key must begin with one of OFFSET_COMMIT_TYPES.
    """
    key = _Keys(keys)
    value = _Values(ByteColumn(values), key.record_type)
    fits = key.fits & value.fits
    columns = key.columns() | value.columns(fits)
    nothing = {name: pa.nulls(len(keys), arrow_type(kind)) for name, kind in UNDECODABLE.items()}
    decoded = _struct(columns | nothing)
    odd = np.flatnonzero(~fits)
    if not len(odd):
        return decoded
    rows = [
        _row(key_bytes, value_bytes)
        for key_bytes, value_bytes in zip(
            keys.take(pa.array(odd)).to_pylist(),
            values.take(pa.array(odd)).to_pylist(),
            strict=True,
        )
    ]
    others = _struct(
        {
            name: column_of(kind, [row.get(name) for row in rows])
            for name, kind in ALL_FIELDS.items()
        }
    )
    # Row i of the result is row i of `decoded`, or, where that did not fit, the next one of `others`.
    picked = np.arange(len(keys))
    picked[odd] = len(keys) + np.arange(len(odd))
    return pa.concat_arrays([decoded, others]).take(pa.array(picked))


def are_decodable(keys: pa.Array, values: pa.Array) -> Bools:
    """Which of these commits `decode_commits` can decode."""
    key = _Keys(keys)
    fits = key.fits & _Values(ByteColumn(values), key.record_type).fits
    for place in np.flatnonzero(~fits).tolist():
        found = decode_record(keys[place].as_py(), values[place].as_py())
        fits[place] = not isinstance(found, Undecodable)
    return fits


class _Keys:
    """`int16 type, string group, string topic, int32 partition`, to the byte; each of the few keys is read once."""

    def __init__(self, given: pa.Array) -> None:
        encoded = given.dictionary_encode()
        self._codes = encoded.indices
        self._keys = keys = ByteColumn(encoded.dictionary)
        start, length = keys.starts, keys.lengths
        record_type = keys.field(start, ">i2")
        group_length = keys.field(start + 2, ">i2")
        fits = (length >= KEY_BYTES_MIN) & (group_length >= 0)
        fits &= KEY_BYTES_MIN + group_length <= length
        group_length = np.where(fits, group_length, 0)
        topic_length = length - KEY_BYTES_MIN - group_length
        fits &= keys.field(start + 4 + group_length, ">i2") == topic_length
        self._group = keys.slices(start + 4, np.where(fits, group_length, 0))
        self._topic = keys.slices(start + 6 + group_length, np.where(fits, topic_length, 0))
        self._fit: Bools = fits & is_utf8(self._group) & is_utf8(self._topic)
        codes = self._codes.to_numpy()
        self.fits: Bools = self._fit[codes]
        self.record_type: Ints = record_type[codes]

    def columns(self) -> dict[str, pa.Array]:
        found = {
            "group_id": _texts(self._group, self._fit),
            "topic": _texts(self._topic, self._fit),
            "topic_partition": _ints(
                self._keys.field(self._keys.ends - 4, ">i4"), "int", self._fit
            ),
        }
        return {name: column.take(self._codes) for name, column in found.items()}


class _Values:
    """Values of the versions 0 to 4, to the byte; a null value is a tombstone and fits."""

    def __init__(self, values: ByteColumn, record_type: Ints) -> None:
        self._values = values
        start, end = values.starts, values.ends
        self.is_tombstone: Bools = values.is_null
        self._version = version = values.field(start, ">i2")
        newest = np.where(record_type == RecordType.LEGACY_OFFSET_COMMIT, 0, VALUE_VERSION_MAX)
        fits = (values.lengths >= 2) & (version >= 0) & (version <= newest)
        flexible = version == VALUE_VERSION_MAX
        self._has_epoch: Bools = version >= 3
        head = start + np.where(self._has_epoch, 14, 10)
        # The compact length of a text, one more than it has, takes a second byte from 128 on.
        low, high = values.field(head, "u1"), values.field(head + 1, "u1")
        long = low > 127
        compact = np.where(long, (low & 127) | (high << 7), low)
        length = np.where(flexible, compact - 1, values.field(head, ">i2"))
        fits &= (length >= 0) & ~(flexible & long & ((high == 0) | (high > 127)))
        text = head + np.where(flexible & ~long, 1, 2)
        self._tail = text + np.where(fits, length, 0)
        self._expires: Bools = version == 1
        rest = end - self._tail - np.where(self._expires, 16, 8)
        tags = self._tail + 8
        no_tags = (rest == len(NO_TAGS)) & self._reads(tags, NO_TAGS)
        self._has_id: Bools = (
            flexible
            & (rest == len(TOPIC_ID_TAG) + TOPIC_ID_BYTES)
            & self._reads(tags, TOPIC_ID_TAG)
        )
        fits &= np.where(flexible, no_tags | self._has_id, rest == 0)
        self._text = values.slices(text, np.where(fits, length, 0))
        fits &= is_utf8(self._text)
        self.fits: Bools = fits | self.is_tombstone

    def columns(self, fits: Bools) -> dict[str, pa.Array]:
        values, start = self._values, self._values.starts
        present = fits & ~self.is_tombstone
        leader_epoch = values.field(start + 10, ">i4")
        with_epoch = present & self._has_epoch & (leader_epoch != NO_LEADER_EPOCH)
        moments = values.field(self._tail, ">i8")
        expiries = np.where(self._expires & present, values.field(self._tail + 8, ">i8"), -1)
        return {
            "committed_offset": _ints(values.field(start + 2, ">i8"), "bigint", present),
            "committed_leader_epoch": _ints(leader_epoch, "int", with_epoch),
            "metadata": _texts(self._text, present),
            "committed_at": timestamps(np.where(present, moments, -1)),
            "expires_at": timestamps(expiries),
            "topic_id": self._topic_ids(present & self._has_id),
            "value_version": _ints(self._version, "int", present),
        }

    def _reads(self, at: Ints, expected: bytes) -> Bools:
        found = np.ones(len(at), np.bool_)
        for index, byte in enumerate(expected):
            found &= self._values.field(at + index, "u1") == byte
        return found

    def _topic_ids(self, present: Bools) -> pa.Array:
        """Ids as text. A log has few topics, so each id is put into words once per batch."""
        length = np.where(present, TOPIC_ID_BYTES, 0)
        ids = self._values.slices(self._values.ends - length, length).dictionary_encode()
        texts = [
            topic_id_text(topic_id) if len(topic_id) and topic_id != ZERO_TOPIC_ID else None
            for topic_id in ids.dictionary.to_pylist()
        ]
        return pa.array(texts, pa.string()).take(ids.indices)


def _row(key: bytes | None, value: bytes | None) -> dict[str, Any]:
    match decode_record(key, value):
        case Undecodable(reason, detail, record_type, value_version):
            return {
                "reason": reason.value,
                "detail": detail,
                "record_type": record_type,
                "undecodable_version": value_version,
            }
        case Record(
            key=OffsetCommitKey(group, topic, partition)
            | LegacyOffsetCommitKey(group, topic, partition),
            value=decoded,
            value_version=value_version,
        ):
            row = {"group_id": group, "topic": topic, "topic_partition": partition}
            return row | _value_row(decoded, value_version)
        case other:
            raise AssertionError(f"{other} is no offset commit")


def _value_row(value: object, value_version: int | None) -> dict[str, Any]:
    if not isinstance(value, OffsetCommitValue | LegacyOffsetCommitValue):
        return {}  # a tombstone
    row = {
        "committed_offset": value.offset,
        "metadata": value.metadata,
        "committed_at": value.commit_timestamp,
        "value_version": value_version,
    }
    if isinstance(value, OffsetCommitValue):
        row["expires_at"] = value.expire_timestamp
        if value.leader_epoch != NO_LEADER_EPOCH:
            row["committed_leader_epoch"] = value.leader_epoch
        if value.topic_id != ZERO_TOPIC_ID:
            row["topic_id"] = topic_id_text(value.topic_id)
    return row


def _struct(columns: Mapping[str, pa.Array]) -> pa.Array:
    return pa.StructArray.from_arrays([columns[name] for name in ALL_FIELDS], names=[*ALL_FIELDS])


def _ints(values: Ints, kind: str, present: Bools) -> pa.Array:
    return pa.array(np.where(present, values, 0), arrow_type(kind), mask=~present)


def _texts(column: pa.Array, present: Bools) -> pa.Array:
    """A binary column as text; a row that is not wanted may hold anything."""
    valid = pa.array(present)
    return pa.compute.if_else(valid, column, None).cast(pa.string())
