"""Records of a segment as columns of arrays: what every reader of a log works on, however the log was read."""

from collections.abc import Collection, Iterable, Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rebalance_audit.wire.key_bytes import OFFSET_COMMIT_TYPES, TYPE_BYTES
from rebalance_audit.wire.segments.columns import ColumnChunk, Run

Int64s: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]

_GROUP_FROM: Final = TYPE_BYTES + 2
"""Where a key has its group's id, after the type and the length of the id."""
_FEW: Final = 1 << 10
"""Strings whose bytes are taken one by one; for more, all bytes are copied first."""


def numbers_at(data: NDArray[np.uint8], at: Int64s, big_endian: str) -> Int64s:
    """Whole numbers (`>i2`, `>u2`, `>i4`, `>i8`, `u1`) at positions in bytes; beyond their end it is any number."""
    kind = np.dtype(big_endian)
    last = len(data) - kind.itemsize
    if last < 0:
        return np.zeros(len(at), np.int64)
    # One number for each position, overlapping: so unaligned ones are taken without a loop.
    items = np.ndarray((last + 1,), kind, data.data, 0, (1,))
    return items[np.clip(at, 0, last)].astype(np.int64)


class Blobs(NamedTuple):
    """Byte strings, as Arrow has them."""

    ends: NDArray[np.int32]
    """One more than there are strings: number n is data[ends[n]:ends[n + 1]]."""
    data: NDArray[np.uint8]
    there: NDArray[np.uint8]
    """0 for null, else 1."""

    @classmethod
    def of(cls, strings: Sequence[bytes | None]) -> "Blobs":
        """The arrays of these strings."""
        present = [string or b"" for string in strings]
        ends = np.zeros(len(strings) + 1, np.int32)
        np.cumsum(np.fromiter(map(len, present), np.int64, len(present)), out=ends[1:])
        there = np.fromiter((string is not None for string in strings), np.uint8, len(strings))
        return cls(ends, np.frombuffer(b"".join(present), np.uint8), there)

    @property
    def begins(self) -> Int64s:
        """Where each string begins in `data`."""
        return self.ends[:-1].astype(np.int64)

    @property
    def sizes(self) -> Int64s:
        """Bytes of each string; 0 for null."""
        return np.diff(self.ends).astype(np.int64)

    def at(self, places: Int64s) -> list[bytes | None]:
        """The strings of these numbers."""
        data = self.data.data if len(places) < _FEW else self.data.tobytes()
        bounds = zip(
            self.ends[places].tolist(),
            self.ends[places + 1].tolist(),
            self.there[places].tolist(),
            strict=True,
        )
        return [bytes(data[begin:end]) if there else None for begin, end, there in bounds]

    def numbers(self, at: Int64s, big_endian: str) -> Int64s:
        """Big-endian numbers at these places. Where a string is too short it is any number: check the sizes."""
        return numbers_at(self.data, at, big_endian)


class Columns(NamedTuple):
    """Records in log order; fields that `wire.segments.columns.ColumnChunk` has say the same here."""

    log_offsets: Int64s
    record_timestamps_ms: Int64s
    keys: Blobs
    values: Blobs
    runs: list[Run]

    @classmethod
    def of(cls, chunk: ColumnChunk) -> "Columns":
        """The arrays of these lists."""
        return cls(
            np.array(chunk.log_offsets, np.int64),
            np.array(chunk.record_timestamps_ms, np.int64),
            Blobs.of(chunk.keys),
            Blobs.of(chunk.values),
            chunk.runs,
        )

    def of_runs(self, fields: Iterable[int]) -> Int64s:
        """Of each record what `fields` has of its run."""
        counts = [run.record_count for run in self.runs]
        return np.repeat(np.fromiter(fields, np.int64, len(counts)), counts)

    def run_flags(self, flags: Iterable[bool]) -> Flags:
        """Of each record what `flags` has of its run."""
        found: Flags = self.of_runs(flags) != 0
        return found

    def are_control(self) -> Flags:
        """Which records are control records."""
        return self.run_flags(run.is_control for run in self.runs)

    def have_types(self, record_types: Collection[int]) -> Flags:
        """Which records have a key that begins with one of these numbers; some control records have one of 0 or 1."""
        types = self.keys.numbers(self.keys.begins, ">i2")
        types[self.keys.sizes < TYPE_BYTES] = -1
        return np.isin(types, [*record_types])

    def have_commit_keys(self) -> Flags:
        """Which records have the key of an offset commit; so have some control records."""
        return self.have_types(OFFSET_COMMIT_TYPES)

    def have_groups(self) -> Flags:
        """Which records have a key with a group's id, as `key_bytes.group_bytes` finds it."""
        sizes = self.keys.sizes
        id_sizes = self.keys.numbers(self.keys.begins + TYPE_BYTES, ">u2")
        found: Flags = (sizes > _GROUP_FROM) & (_GROUP_FROM + id_sizes <= sizes)
        return found

    def all(self) -> ColumnChunk:
        """All records as objects."""
        return self.chosen(np.arange(len(self.log_offsets)))

    def chosen(self, places: Int64s) -> ColumnChunk:
        """The records of these numbers, in ascending order, as objects."""
        run_ends = np.cumsum([0, *(run.record_count for run in self.runs)])
        counts = np.diff(np.searchsorted(places, run_ends)).tolist()
        return ColumnChunk(
            self.log_offsets[places].tolist(),
            self.record_timestamps_ms[places].tolist(),
            self.keys.at(places),
            self.values.at(places),
            [
                run._replace(record_count=count)
                for run, count in zip(self.runs, counts, strict=True)
                if count
            ],
        )
