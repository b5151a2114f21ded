"""Where the batches of a segment end, by their headers alone: no record is read, decompressed or checked."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from rebalance_audit.wire.segments.batches import (
    ATTRIBUTES,
    BASE_OFFSET,
    CONTROL,
    HEADER,
    LAST_OFFSET_DELTA,
    LENGTH,
    LOG_OVERHEAD_BYTES,
    MAGIC,
    MAX_TIMESTAMP,
    is_plausible_v2,
)
from rebalance_audit.wire.segments.regular_file import open_regular

_V2: Final = 2


class BatchEnd(NamedTuple):
    """What a batch's header says about its place in the log."""

    base_offset: int
    end_offset: int
    """After its last record."""
    max_timestamp_ms: int
    """CreateTime of the producer or LogAppendTime of the broker (epoch ms)."""
    is_control: bool
    """Whether it holds markers of transactions and no records."""


def batch_ends(path: Path) -> Iterator[BatchEnd]:
    """The batches of a segment in order, up to the first that is damaged, unfinished or of an older format than 2.

    Raises OSError that names the file.
    """
    descriptor = open_regular(path)
    try:
        at, size = 0, os.fstat(descriptor).st_size
        while at + HEADER.size <= size:
            data = os.pread(descriptor, HEADER.size, at)
            if len(data) < HEADER.size:
                return
            header = HEADER.unpack(data)
            if header[MAGIC] != _V2 or not is_plausible_v2(header):
                return
            at += LOG_OVERHEAD_BYTES + header[LENGTH]
            if at > size:
                return
            base_offset = header[BASE_OFFSET]
            yield BatchEnd(
                base_offset,
                base_offset + header[LAST_OFFSET_DELTA] + 1,
                header[MAX_TIMESTAMP],
                bool(header[ATTRIBUTES] & CONTROL),
            )
    finally:
        os.close(descriptor)
