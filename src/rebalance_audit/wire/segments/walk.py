"""From batch to batch through a segment file, around damage, in bounded memory.

Where the walk stops depends on the bytes alone, not on where it began. So a file can be split at any of its stops, and
workers that read the parts find what a single reader would.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TypeAlias

from rebalance_audit import limits
from rebalance_audit.wire.segments import batches
from rebalance_audit.wire.segments.bad_bytes import (
    RAW_BYTES_MAX,
    BadBytes,
    BadBytesReason,
    TailKind,
    TailNote,
)
from rebalance_audit.wire.segments.regular_file import OpenSegment

WalkStop: TypeAlias = tuple[int, int, batches.RawHeader | BadBytes | TailNote]
"""Byte position, the next one, and the header of the batch between them, or what is there instead."""

WINDOW_BYTES: Final = 4 << 20
BLANK: Final = bytes(batches.HEADER.size)
MESSAGE_BYTES_MIN: Final = 26
"""Size of the smallest message of the oldest format: fewer bytes at the end of a file cannot be a batch."""
CANDIDATE: Final = re.compile(rb"(?=\x00.{7}(?!\x00{4})[\x00-\x08].{7}[\x00-\x02])", re.DOTALL)
"""How a header begins if its offset is below 2**56 and `header_is_plausible` accepts its length."""
SEARCH_CRC_BYTES_MAX: Final = limits.SEARCH_BYTES.most
"""Most bytes checksummed in one search for the next batch: false headers must not make it quadratic."""


class SegmentWalk(OpenSegment):
    """The batches of one file between two byte positions, each a stop of the walk or the file's end.

    The walk checks no checksum unless it needs to: `batches.judged` does, for a reader of records.
    """

    def __init__(self, path: str | Path, start_byte: int = 0, end_byte: int | None = None) -> None:
        super().__init__(path)
        self._start = start_byte
        self._end = end_byte
        self._origin = 0
        self._data = batches.PADDING
        self._view = memoryview(self._data)
        self._loaded_to = 0

    def steps(self) -> Iterator[WalkStop]:
        """Every batch header and every damaged stretch in file order. `view` gives the batch until the next step."""
        end = self.size_bytes if self._end is None else min(self._end, self.size_bytes)
        position = self._start
        if position >= end:
            return
        self._need(position, batches.HEADER.size)
        header, plausible = self._header_at(position)
        unpack = batches.HEADER.unpack_from
        while position < end:
            following = position + batches.LOG_OVERHEAD_BYTES + header[batches.LENGTH]
            clause = None
            fits = plausible and following <= self.size_bytes
            if fits and following + batches.HEADER.size > self._loaded_to:
                self._need(position, following + batches.HEADER.size - position)
                fits = following <= self.size_bytes
            if fits:
                next_header: batches.RawHeader = unpack(self._data, following - self._origin)
                # What follows must confirm the length, which the checksum does not cover. The header of an old
                # message is too weak a witness: then, or if nothing sensible follows, the batch's own checksum decides.
                if next_header[batches.MAGIC] == 2 and batches.is_plausible_v2(next_header):
                    next_plausible = True
                else:
                    next_plausible = self._header_at(following)[1]
                    if not (
                        following == self.size_bytes
                        or self._data.startswith(BLANK, following - self._origin)
                        or batches.crc_holds(self.view(position, following))
                    ):
                        clause = batches.WRONG_CHECKSUM
                if clause is None:
                    yield position, following, header
                    position, header, plausible = following, next_header, next_plausible
                    continue
            if position >= self.size_bytes:
                return  # truncated by the broker since the file was opened
            trouble = self._trouble(position, header, clause, plausible=plausible)
            yield position, position + trouble.size_bytes, trouble
            position += trouble.size_bytes
            self._need(position, batches.HEADER.size)
            header, plausible = self._header_at(position)

    def view(self, position: int, following: int) -> memoryview:
        """Bytes of the batch that the last step named; the buffer continues for len(PADDING) bytes."""
        return self._view[position - self._origin : following - self._origin]

    def _need(self, position: int, size_bytes: int) -> None:
        """Load these bytes of the file into the window, as far as the file goes, followed by padding."""
        end = min(position + size_bytes, self.size_bytes)
        if self._origin <= position and end <= self._loaded_to:
            return
        wanted = min(max(WINDOW_BYTES, size_bytes), max(self.size_bytes - position, 0))
        data = self._read(position, wanted)
        self._origin = position
        self._loaded_to = position + len(data)
        self._data = data + batches.PADDING
        self._view = memoryview(self._data)

    def _read(self, position: int, size_bytes: int) -> bytes:
        try:
            data = os.pread(self._file, size_bytes, position)
        except OSError as error:
            raise OSError(error.errno, error.strerror, self.path) from error
        if len(data) < size_bytes:
            # A running broker truncated the file: what is gone was never committed.
            self.size_bytes = position + len(data)
        return data

    def _header_at(self, position: int) -> tuple[batches.RawHeader, bool]:
        """The bytes at a position of the window read as a header, and whether they could be one."""
        at = position - self._origin
        header: batches.RawHeader = batches.HEADER.unpack_from(self._data, at)
        return header, batches.header_is_plausible(header, self._data, at)

    def _trouble(
        self, position: int, header: batches.RawHeader, clause: str | None, *, plausible: bool
    ) -> BadBytes | TailNote:
        """What is at a position where no batch can be read, up to the next batch or the end.

        `clause` says what is wrong with a batch that is complete.
        """
        if not plausible and self._is_zero_from(position):
            return TailNote(self.path, position, self.size_bytes - position, TailKind.PREALLOCATED)
        found = self._next_batch(position + 1)
        size_bytes = max((self.size_bytes if found is None else found) - position, 0)
        unfinished = plausible and clause is None
        if found is None and (unfinished or size_bytes < MESSAGE_BYTES_MIN):
            return TailNote(self.path, position, size_bytes, TailKind.TORN)
        where = f"at byte {position} of {self.path}"
        if clause is not None:
            sentence = f"The batch {where} with base offset {header[batches.BASE_OFFSET]} {clause}."
        elif unfinished:
            sentence = (
                f"The batch {where} claims {header[batches.LENGTH]} bytes, more than the file has."
            )
        else:
            sentence = (
                f"The {size_bytes} bytes {where} are no batch: magic {header[batches.MAGIC]}, length"
                f" {header[batches.LENGTH]}."
            )
        return BadBytes(
            path=self.path,
            byte_position=position,
            size_bytes=size_bytes,
            reason=BadBytesReason.CRC_MISMATCH if clause else BadBytesReason.NOT_A_BATCH,
            detail=sentence,
            base_offset=header[batches.BASE_OFFSET] if plausible else None,
            raw=self._read(position, min(size_bytes, RAW_BYTES_MAX)),
        )

    def _is_zero_from(self, position: int) -> bool:
        while position < self.size_bytes:
            data = self._read(position, min(WINDOW_BYTES, self.size_bytes - position))
            if data.strip(b"\0"):
                return False
            position += len(data)
        return True

    def _next_batch(self, position: int) -> int | None:
        """The next position with a plausible header whose batch has its checksum; None if there is none.

        A search that gives up returns the file's end: the rest is damage then, not an unfinished batch.
        """
        budget = SEARCH_CRC_BYTES_MAX
        while position < self.size_bytes:
            data = self._read(position, min(WINDOW_BYTES, self.size_bytes - position))
            last_window = position + len(data) >= self.size_bytes
            stop = len(data) if last_window else len(data) - batches.HEADER.size
            padded = data + batches.PADDING
            for match in CANDIDATE.finditer(padded):
                at = match.start()
                if at >= stop:
                    break
                header: batches.RawHeader = batches.HEADER.unpack_from(padded, at)
                size_bytes = batches.LOG_OVERHEAD_BYTES + header[batches.LENGTH]
                if position + at + size_bytes > self.size_bytes:
                    continue
                if not batches.header_is_plausible(header, padded, at):
                    continue
                budget -= size_bytes
                if budget < 0:
                    return self.size_bytes
                candidate = self._read(position + at, size_bytes)
                if len(candidate) == size_bytes and batches.crc_holds(memoryview(candidate)):
                    return position + at
            position += stop
        return None


def split_points(path: str | Path, target_bytes: int) -> list[int]:
    """Byte positions that split the file into parts of about `target_bytes`, from the headers only.

    The first is 0, the last is the file's size, each other one begins a batch; a part lies between two neighbours.
    It exceeds the target by less than one batch. Raises ValueError for a target below 1, OSError that names the file.
    """
    if target_bytes <= 0:
        raise ValueError(f"target_bytes is {target_bytes}, a part needs at least one byte")
    points = [0]
    with SegmentWalk(path) as walk:
        for position, _, _ in walk.steps():
            if position - points[-1] >= target_bytes:
                points.append(position)
        points.append(walk.size_bytes)
    return points
