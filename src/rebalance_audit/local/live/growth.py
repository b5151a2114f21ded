"""What a log that is being written has gained since it was read last."""

from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import NamedTuple, Protocol, TypeAlias

from rebalance_audit.wire.segments.bad_bytes import BadBytes, TailNote
from rebalance_audit.wire.segments.batches import BASE_OFFSET, LAST_OFFSET_DELTA, MAGIC
from rebalance_audit.wire.segments.columns import ColumnChunk, read_columns
from rebalance_audit.wire.segments.walk import SegmentWalk


class Break(Enum):
    """Why what follows does not continue what was read."""

    LOST = "records were removed before they were read"
    TRUNCATED = "records that were read are no longer in the log"


Growth: TypeAlias = tuple[int, ColumnChunk | BadBytes | Break]
"""Log partition, and the next piece of it. After TRUNCATED the partition comes again from its beginning."""


class LiveLog(Protocol):
    """A log that can be asked again and again for what is new."""

    problem: str
    """Why some of the log cannot be read at present, in one sentence; empty if all of it can."""

    def read(self) -> Iterator[Growth]:
        """What is new since the last call, in log order per partition. Raises SourceNotReadable."""

    @property
    def is_at_end(self) -> bool:
        """Whether the last call read the log up to where it ended then."""

    def close(self) -> None:
        """Release what is held."""


class End(NamedTuple):
    """Where the whole batches of a file end."""

    byte: int
    offset: int | None
    """Offset after the last batch, also if compaction removed its last records; None without a batch."""


def end_of(path: str | Path, start_byte: int, *, is_last: bool) -> End:
    """Where the batches from `start_byte` on end. Raises OSError that names the file.

    `is_last`: bytes at the end of the file that are no batch may be half of the next one.
    """
    byte, offset = start_byte, None
    with SegmentWalk(path, start_byte) as walk:
        for _, following, found in walk.steps():
            if isinstance(found, TailNote):
                break
            if isinstance(found, BadBytes):
                if is_last and following >= walk.size_bytes:
                    break
            else:
                last_delta = found[LAST_OFFSET_DELTA] if found[MAGIC] == 2 else 0
                offset = found[BASE_OFFSET] + last_delta + 1
            byte = following
    return End(byte, offset)


def pieces(
    path: str | Path, start_byte: int, end_byte: int, from_offset: int, end_offset: int | None
) -> Iterator[ColumnChunk | BadBytes]:
    """The records between two stops of the walk. Raises OSError that names the file."""
    found = read_columns(path, start_byte, end_byte, from_offset=from_offset, end_offset=end_offset)
    for each in found:
        if not isinstance(each, TailNote):
            yield each
