"""The arrays that the compiled walk fills with records as columns."""

from collections.abc import Collection, Iterable
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rebalance_audit.scan import kernel, places
from rebalance_audit.scan.runs import runs_of
from rebalance_audit.scan.walk_arrays import ROWS, WalkArrays, bits_of_types
from rebalance_audit.wire.key_bytes import TYPE_BYTES
from rebalance_audit.wire.segments.columns import ColumnChunk, Run

_KEY_BYTES: Final = 8 << 20
_VALUE_BYTES: Final = 32 << 20

Int64s: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]


class Blobs(NamedTuple):
    """Byte strings, as Arrow has them."""

    ends: NDArray[np.int32]
    """One more than there are strings: number n is data[ends[n]:ends[n + 1]]."""
    data: NDArray[np.uint8]
    there: NDArray[np.uint8]
    """0 for null, else 1."""

    def at(self, places: Int64s) -> list[bytes | None]:
        """The strings of these numbers."""
        data = self.data.tobytes()
        bounds = zip(
            self.ends[places].tolist(),
            self.ends[places + 1].tolist(),
            self.there[places].tolist(),
            strict=True,
        )
        return [data[begin:end] if there else None for begin, end, there in bounds]


class WalkedColumns(NamedTuple):
    """A `wire.segments.columns.ColumnChunk` of arrays; fields of the same names say the same."""

    log_offsets: Int64s
    record_timestamps_ms: Int64s
    keys: Blobs
    values: Blobs
    runs: list[Run]
    excluded_count: int
    excluded_last_ms: int | None
    excluded_last_offset: int | None

    def run_flags(self, flags: Iterable[bool]) -> Flags:
        """Of each record what `flags` has of its run."""
        counts = [run.record_count for run in self.runs]
        return np.repeat(np.fromiter(flags, np.bool_, len(counts)), counts)

    def key_types(self) -> Int64s:
        """The number that each key begins with; -1 for a key too short for one."""
        ends, data = self.keys.ends, self.keys.data
        types = np.full(len(ends) - 1, -1, np.int64)
        long_enough = np.flatnonzero(np.diff(ends) >= TYPE_BYTES)
        begins = ends[long_enough]
        types[long_enough] = data[begins].astype(np.int64) << 8 | data[begins + 1]
        return types

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
            self.excluded_count,
            self.excluded_last_ms,
            self.excluded_last_offset,
        )


class ColumnBuffers(WalkArrays):
    """Where one walk keeps what it has found, some 40 MB."""

    def __init__(self, without_record_types: Collection[int] = ()) -> None:
        """`without_record_types`: as for `wire.segments.columns.read_columns`; numbers below 64."""
        super().__init__()
        self._without = bits_of_types(without_record_types)
        self._begin()

    def _begin(self) -> None:
        """New arrays: what was taken goes on to use the old ones."""
        self.tally[:] = 0
        self._offsets = np.empty(ROWS, np.int64)
        self._times = np.empty(ROWS, np.int64)
        self._keys = _blobs(_KEY_BYTES)
        self._values = _blobs(_VALUE_BYTES)

    def walk(
        self, data: Any, at: int, end: int, loaded: int, end_offset: int, *, proven: bool = False
    ) -> tuple[int, int]:
        """See `kernel.pick`."""
        keys, values = self._keys, self._values
        status, stopped = kernel.pick(
            data,
            at,
            end,
            loaded,
            end_offset,
            proven,
            self._without,
            self._batch,
            self._head,
            self._offsets,
            self._times,
            keys.ends,
            keys.data,
            keys.there,
            values.ends,
            values.data,
            values.there,
            self._runs,
            self.tally,
        )
        return int(status), int(stopped)

    def draw(self, data: Any) -> None:
        """Nothing is left in the window."""

    @property
    def is_heavy(self) -> bool:
        """The arrays have one size, however full they are."""
        return False

    def take(self) -> WalkedColumns:
        """All that was walked since the last call."""
        tally = self.tally
        count, excluded = int(tally[places.KEPT]), int(tally[places.EXCLUDED])
        last_ms, last_offset = (
            tally[[places.EXCLUDED_LAST_MS, places.EXCLUDED_LAST_OFFSET]].tolist()
            if excluded
            else (None, None)
        )
        taken = WalkedColumns(
            self._offsets[:count],
            self._times[:count],
            _first(self._keys, count),
            _first(self._values, count),
            runs_of(self._runs[: tally[places.RUNS]]),
            excluded,
            last_ms,
            last_offset,
        )
        self._begin()
        return taken


def _blobs(size_bytes: int) -> Blobs:
    ends = np.empty(ROWS + 1, np.int32)
    ends[0] = 0
    return Blobs(ends, np.empty(size_bytes, np.uint8), np.empty(ROWS, np.uint8))


def _first(blobs: Blobs, count: int) -> Blobs:
    ends = blobs.ends[: count + 1]
    return Blobs(ends, blobs.data[: ends[-1]], blobs.there[:count])
