"""Segment files: their batches one by one, and where to split them for several readers.

`columns.read_columns` is the bulk path for records; this one gives whole batches with their headers.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from rebalance_audit.wire.segments.bad_bytes import BadBytes, BadBytesReason, TailNote
from rebalance_audit.wire.segments.batches import Batch, bad_batch, crc_holds
from rebalance_audit.wire.segments.walk import SegmentWalk

WRONG_CHECKSUM: Final = "has a wrong checksum"


def read_batches(
    path: str | Path, start_byte: int = 0, end_byte: int | None = None
) -> Iterator[Batch | BadBytes | TailNote]:
    """The batches that begin in [start_byte, end_byte), and damaged or unfinished stretches, in file order.

    Start and end must come from `split_points`. Every Batch has passed its checksum. Raises OSError that names the
    file if it cannot be read; never raises because of the bytes.
    """
    with SegmentWalk(path, start_byte, end_byte) as walk:
        for position, following, found in walk.steps():
            if isinstance(found, BadBytes | TailNote):
                yield found
                continue
            batch = walk.view(position, following)
            if crc_holds(batch):
                yield Batch(walk.path, position, batch)
            else:
                reason = BadBytesReason.CRC_MISMATCH
                yield bad_batch(walk.path, position, batch, reason, WRONG_CHECKSUM)


def split_points(path: str | Path, target_bytes: int) -> list[int]:
    """Byte positions that split the file into parts of about `target_bytes`, from the headers only.

    The first is 0, the last is the file's size, each other one begins a batch; a part lies between two neighbours.
    It exceeds the target by less than one batch. Raises ValueError for a target below 1, OSError as `read_batches`.
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
