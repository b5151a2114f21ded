"""The arrays that every compiled walk works in, whatever it fills besides."""

from collections.abc import Collection
from typing import Final

import numpy as np

from rebalance_audit.scan import kernel, places

ROWS: Final = 1 << 16
"""Of an array with a row for each record, key or run."""
_TYPES: Final = 64


class WalkArrays:
    """Counts, and the batch and the runs that the walk is at."""

    def __init__(self) -> None:
        self.tally = np.zeros(places.TALLIES, np.int64)
        self._head = np.zeros(places.HEADS, np.int64)
        self._batch = np.empty((kernel.BATCH_RECORDS, 6), np.int64)
        self._runs = np.empty((ROWS, 5), np.int64)

    @property
    def is_empty(self) -> bool:
        """Whether no batch with records was walked since the last `take`."""
        return not self.tally[places.RECORDS]


def bits_of_types(record_types: Collection[int]) -> np.uint64:
    """A bit for each type. Raises ValueError for numbers that are not in 0 to 63."""
    if not all(0 <= kind < _TYPES for kind in record_types):
        raise ValueError(f"record types {record_types}")
    return np.uint64(sum(1 << kind for kind in frozenset(record_types)))
