"""The one reader of records in bulk: a segment file as columns, by the compiled walk or without it.

It stays, of several that there were, because columns serve every use: an audit sums up its commits with a few array
operations, `decode` prints them, Spark's tasks hand them to Arrow as they are. A walk that sums up or prints by itself
saves a fraction of a microsecond a record, and needs a twin in plain Python that does the same.

Windows of the file are read, not mapped: a running broker may cut the file short, and a mapped page that is gone ends
the process. What a compressed batch holds is walked as if it had been written plain.
"""

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rebalance_audit.segments.columns import Columns
from rebalance_audit.wire.segments import batches
from rebalance_audit.wire.segments.bad_bytes import BadBytes, TailNote
from rebalance_audit.wire.segments.codecs import CompressionError, decompress
from rebalance_audit.wire.segments.columns import ColumnChunk, read_columns
from rebalance_audit.wire.segments.regular_file import OpenSegment
from rebalance_audit.wire.segments.walk import SegmentWalk

WINDOW_BYTES: Final = 8 << 20
_NO_END: Final = 1 << 62
_LEFT_BYTES_MIN: Final = 64 << 10
_LEFT_BYTES_MAX: Final = 16 << 20

Found: TypeAlias = Columns | BadBytes | TailNote


def read_segment(
    path: str | Path,
    start_byte: int = 0,
    end_byte: int | None = None,
    *,
    end_offset: int | None = None,
    compiled: bool = False,
) -> Iterator[Found]:
    """The records of the batches that begin in [start_byte, end_byte), in file order, and damage where it is.

    Arguments as for `wire.segments.columns.read_columns`, whose records these are, in columns. `compiled`: by the
    compiled walk (`available`), with the same result. Raises OSError that names the file.
    """
    plain = partial(_plain, path, end_offset=end_offset)
    if not compiled:
        yield from plain(start_byte, end_byte)
        return
    from rebalance_audit.segments import kernel  # noqa: PLC0415 - starts the compiler's runtime
    from rebalance_audit.segments.buffers import ColumnBuffers  # noqa: PLC0415 - as above

    room = ColumnBuffers()
    with _Window(path) as window:
        end = window.size_bytes if end_byte is None else min(end_byte, window.size_bytes)
        limit = _NO_END if end_offset is None else end_offset
        at, left_bytes = start_byte, 0
        while at < end:
            begun = at
            window.hold(at)
            status, stopped = room.walk(
                window.data, at - window.origin, end - window.origin, window.loaded, limit
            )
            at = window.origin + stopped
            if status == kernel.COMPRESSED:
                unpacked, size_bytes = window.unpacked(at)
                if unpacked is None:
                    status = kernel.ODD
                else:
                    loaded = len(unpacked)
                    status, _ = room.walk(unpacked, 0, loaded, loaded, limit, proven=True)
                    at += size_bytes if status == kernel.DONE else 0
            if status == kernel.CUT and at > window.origin:
                window.load(at)
                continue
            if status == kernel.DONE:
                continue
            if not room.is_empty:
                yield room.take()
            if status == kernel.FULL:
                continue
            # Where nearly every batch is odd, their reader gets ever more at once.
            left_bytes = 0 if at - begun > left_bytes else max(2 * left_bytes, _LEFT_BYTES_MIN)
            end_of_odd = _stop_after(path, at, end, min(left_bytes, _LEFT_BYTES_MAX))
            yield from plain(at, end_of_odd)
            at = end_of_odd
        if not room.is_empty:
            yield room.take()


def _plain(
    path: str | Path, start_byte: int, end_byte: int | None, *, end_offset: int | None
) -> Iterator[Found]:
    for found in read_columns(path, start_byte, end_byte, end_offset=end_offset):
        yield Columns.of(found) if isinstance(found, ColumnChunk) else found


def _stop_after(path: str | Path, at: int, end: int, left_bytes: int) -> int:
    """The first stop of the walk that is after `at` and not within `left_bytes`, or the end."""
    with SegmentWalk(path, at, end) as walk:
        for position, _, _ in walk.steps():
            if position > at and position - at >= left_bytes:
                return position
    return end


class _Window(OpenSegment):
    def __init__(self, path: str | Path) -> None:
        super().__init__(path)
        self.data = np.empty(WINDOW_BYTES, np.uint8)
        self.origin = self.loaded = 0

    def hold(self, position: int) -> None:
        """Load what begins at a position, unless it is there."""
        if not self.origin <= position < self.origin + self.loaded:
            self.load(position)

    def load(self, position: int) -> None:
        self.origin, self.loaded = position, 0
        room = self.data.data
        try:
            while self.loaded < len(room):
                read = os.preadv(self._file, [room[self.loaded :]], position + self.loaded)
                if not read:
                    return
                self.loaded += read
        except OSError as error:
            raise OSError(error.errno, error.strerror, self.path) from error

    def unpacked(self, position: int) -> tuple[NDArray[np.uint8] | None, int]:
        """The compressed batch at a position as a plain one, or None; and its size in the file."""
        begin = position - self.origin
        fields = list(batches.HEADER.unpack_from(self.data.data, begin))
        size_bytes = batches.LOG_OVERHEAD_BYTES + fields[batches.LENGTH]
        packed = self.data[begin + batches.HEADER.size : begin + size_bytes].tobytes()
        try:
            blob = decompress(fields[batches.ATTRIBUTES] & batches.CODEC_MASK, packed)
        except CompressionError:
            return None, size_bytes
        fields[batches.LENGTH] = batches.HEADER.size - batches.LOG_OVERHEAD_BYTES + len(blob)
        fields[batches.ATTRIBUTES] &= ~batches.CODEC_MASK
        return np.frombuffer(bytearray(batches.HEADER.pack(*fields) + blob), np.uint8), size_bytes
