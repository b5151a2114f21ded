"""The arrays that the compiled walk fills with lines of JSON, and the records that it leaves to others."""

from collections.abc import Collection, Iterable
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from rebalance_audit.scan import kernel, places
from rebalance_audit.scan.runs import runs_of
from rebalance_audit.scan.walk_arrays import ROWS, WalkArrays, bits_of_types
from rebalance_audit.wire.segments.columns import ColumnChunk, Run

_LINE_BYTES: Final = 24 << 20
_FAR: Final = 1 << 62

Lines: TypeAlias = list[bytes | ColumnChunk]
"""In log order: lines of JSON, and records to be written as lines."""


class Chosen(NamedTuple):
    """Which records to print. Of what the walk leaves to others these choose themselves."""

    keys: tuple[bytes, ...] = ()
    """Only offset commits whose keys have one of these from their third byte on; all if empty."""
    without_record_types: Collection[int] = ()
    """Numbers below 64."""
    from_ms: int | None = None
    to_ms: int | None = None
    """Record timestamps from the one on and before the other (epoch ms)."""


class LineBuffers(WalkArrays):
    """Where one walk keeps what it has printed, some 30 MB."""

    def __init__(self, log_partition: int, chosen: Chosen) -> None:
        super().__init__()
        self._begin = np.frombuffer(b'{"partition":%d,"offset":' % log_partition, np.uint8)
        self._keys = np.frombuffer(b"".join(chosen.keys), np.uint8)
        self._key_ends = np.cumsum([0, *map(len, chosen.keys)], dtype=np.int64)
        self._without = bits_of_types(chosen.without_record_types)
        self._times = np.array([_bounded(chosen.from_ms, -_FAR), _bounded(chosen.to_ms, _FAR)])
        self._kept = np.empty((ROWS, 8), np.int64)
        self._line = np.empty(_LINE_BYTES, np.uint8)
        self._lines: Lines = []

    def walk(
        self, data: Any, at: int, end: int, loaded: int, end_offset: int, *, proven: bool = False
    ) -> tuple[int, int]:
        """See `kernel.render`."""
        status, stopped = kernel.render(
            data,
            at,
            end,
            loaded,
            end_offset,
            proven,
            self._begin,
            self._keys,
            self._key_ends,
            self._without,
            self._times,
            self._batch,
            self._head,
            self._kept,
            self._runs,
            self._line,
            self.tally,
        )
        return int(status), int(stopped)

    def draw(self, data: Any) -> None:
        """Take lines and records out of the arrays and the window before its bytes change."""
        tally = self.tally
        begin, end = 0, int(tally[places.LINE_BYTES])
        runs = runs_of(self._runs[: tally[places.RUNS]])
        kept = self._kept[: tally[places.KEPT]].tolist()
        for before, rows in groupby(kept, key=itemgetter(places.LINE_AT)):
            if before > begin:
                self._lines.append(self._line[begin:before].tobytes())
                begin = before
            self._lines.append(_chunk(data, rows, runs))
        if end > begin:
            self._lines.append(self._line[begin:end].tobytes())
        tally[[places.KEPT, places.RUNS, places.LINE_BYTES]] = 0

    @property
    def is_heavy(self) -> bool:
        """Whether lines wait."""
        return bool(self._lines)

    def take(self) -> Lines:
        """All that was drawn."""
        self.tally[:] = 0
        taken, self._lines = self._lines, []
        return taken


def _bounded(moment_ms: int | None, otherwise: int) -> int:
    return otherwise if moment_ms is None else max(-_FAR, min(_FAR, moment_ms))


def _chunk(data: Any, rows: Iterable[list[int]], runs: list[Run]) -> ColumnChunk:
    chunk = ColumnChunk([], [], [], [], [], 0)
    for offset, at_ms, key, key_bytes, value, value_bytes, _, run in rows:
        chunk.log_offsets.append(offset)
        chunk.record_timestamps_ms.append(at_ms)
        chunk.keys.append(None if key_bytes < 0 else data[key : key + key_bytes].tobytes())
        chunk.values.append(
            None if value_bytes < 0 else data[value : value + value_bytes].tobytes()
        )
        chunk.runs.append(runs[run]._replace(record_count=1))
    return chunk
