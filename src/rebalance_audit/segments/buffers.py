"""The arrays that the compiled walk fills."""

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rebalance_audit.segments import kernel
from rebalance_audit.segments.columns import Blobs, Columns, Int64s
from rebalance_audit.wire.segments import batches
from rebalance_audit.wire.segments.columns import Run

ROWS: Final = 1 << 18
"""Most records, and runs, that are taken at once."""
_KEY_BYTES: Final = 16 << 20
_VALUE_BYTES: Final = 32 << 20


class Room(NamedTuple):
    """What the walk works in: counts, the batch that it is at, and the columns so far. `places` has the numbers."""

    tally: Int64s
    head: Int64s
    batch: Int64s
    offsets: Int64s
    times: Int64s
    keys: Blobs
    values: Blobs
    runs: Int64s


class ColumnBuffers:
    """Where one walk keeps what it has found, some 60 MB at most."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        """New arrays: what was taken goes on to use the old ones."""
        self._room = Room(
            np.zeros(kernel.TALLIES, np.int64),
            np.zeros(kernel.HEADS, np.int64),
            np.empty((kernel.BATCH_RECORDS, 6), np.int64),
            np.empty(ROWS, np.int64),
            np.empty(ROWS, np.int64),
            _blobs(_KEY_BYTES),
            _blobs(_VALUE_BYTES),
            np.empty((ROWS, 5), np.int64),
        )

    def walk(
        self,
        data: NDArray[np.uint8],
        at: int,
        end: int,
        loaded: int,
        end_offset: int,
        *,
        proven: bool = False,
    ) -> tuple[int, int]:
        """See `kernel.walk`."""
        status, stopped = kernel.walk(data, at, end, loaded, end_offset, proven, self._room)
        return int(status), int(stopped)

    @property
    def is_empty(self) -> bool:
        """Whether no batch with records was walked since the last `take`."""
        return not self._room.tally[kernel.RECORDS]

    def take(self) -> Columns:
        """All that was walked since the last call."""
        tally, _, _, offsets, times, keys, values, runs = self._room
        count, run_count, _, _ = tally.tolist()
        self._begin()
        return Columns(
            offsets[:count],
            times[:count],
            _first(keys, count),
            _first(values, count),
            _runs_of(runs[:run_count]),
        )


def _blobs(size_bytes: int) -> Blobs:
    ends = np.empty(ROWS + 1, np.int32)
    ends[0] = 0
    return Blobs(ends, np.empty(size_bytes, np.uint8), np.empty(ROWS, np.uint8))


def _first(blobs: Blobs, count: int) -> Blobs:
    ends = blobs.ends[: count + 1]
    return Blobs(ends, blobs.data[: ends[-1]], blobs.there[:count])


def _runs_of(rows: Any) -> list[Run]:
    """Rows with the columns of `places`."""
    return [
        Run(
            records,
            leader_epoch,
            producer_id,
            producer_epoch,
            bool(bits & batches.TRANSACTIONAL),
            bool(bits & batches.CONTROL),
            batches.timestamp_type_of(2, bits & batches.LOG_APPEND_TIME),
        )
        for leader_epoch, producer_id, producer_epoch, bits, records in rows.tolist()
    ]
