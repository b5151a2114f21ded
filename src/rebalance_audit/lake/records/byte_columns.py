"""Fields inside binary Arrow columns, read for all rows at once."""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from rebalance_audit.segments.columns import numbers_at

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
