"""What a log that is being written has gained since it was read last.

A broker's log folder, or a copy that grows, is read as far as its files are written.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Final, NamedTuple, Protocol, TypeAlias

from rebalance_audit.wire.segments.bad_bytes import BadBytes, TailNote
from rebalance_audit.wire.segments.batches import BASE_OFFSET, LAST_OFFSET_DELTA, MAGIC
from rebalance_audit.wire.segments.columns import ColumnChunk, read_columns
from rebalance_audit.wire.segments.folder import (
    OFFSETS_TOPIC,
    PARTITION_FOLDER,
    Segment,
    SourceNotReadable,
    not_readable,
    open_log_folder,
)
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


_Files: TypeAlias = tuple[tuple[str, int, int, int], ...]
"""Name, inode, size and time of change of each segment file."""

_SUFFIX: Final = ".log"


@dataclass(slots=True)
class _Place:
    """How far a partition has been read."""

    next_offset: int = 0
    inode: int = -1
    byte: int = 0
    """Position in the file with this inode."""
    files: _Files = ()
    is_begun: bool = False


class GrowingSegments:
    """The segments under a path. Only partitions whose files have changed are opened."""

    def __init__(self, path: str | Path) -> None:
        """Raises SourceNotReadable if there is no segment now."""
        self._path = Path(path)
        found = open_log_folder(self._path)
        self._parents = {file.parent for files in found.partitions.values() for file in files}
        self._places: dict[int, _Place] = {}
        self.problem = ""

    def read(self) -> Iterator[Growth]:
        """What is new. Raises SourceNotReadable."""
        for number, folder in self._folders():
            place = self._places.setdefault(number, _Place())
            try:
                files = _files_in(folder)
                if files == place.files:
                    continue
                yield from self._of_partition(number, folder, place)
                place.files = files
            except FileNotFoundError:
                continue  # the broker removed or replaced it: the next call sees what is there then
            except OSError as error:
                raise not_readable(error.filename or folder, error) from error

    @property
    def is_at_end(self) -> bool:
        """A call reads everything."""
        return True

    def close(self) -> None:
        """Nothing is held open."""

    def _folders(self) -> list[tuple[int, Path]]:
        """Partition folders in numeric order; partitions may come while the log is watched."""
        if self._path.is_dir():
            self._parents.update(self._path.glob(f"{OFFSETS_TOPIC}-*"))
        found = []
        for folder in self._parents:
            match = PARTITION_FOLDER.fullmatch(folder.name)
            if match is not None and match["topic"] == OFFSETS_TOPIC:
                found.append((int(match["partition"]), folder))
        return sorted(found)

    def _of_partition(self, number: int, folder: Path, place: _Place) -> Iterator[Growth]:
        segments = _segments_in(folder, number)
        if not segments:
            return
        if _is_truncated(place, segments[-1]):
            self._places[number] = _Place()
            yield number, Break.TRUNCATED
            return
        if place.is_begun and segments[0].base_offset > place.next_offset:
            yield number, Break.LOST
        for segment in segments:
            if segment.end_offset is not None and segment.end_offset <= place.next_offset:
                continue
            yield from _of_segment(number, segment, place)
        place.is_begun = True


def _of_segment(number: int, segment: Segment, place: _Place) -> Iterator[Growth]:
    inode = segment.path.stat().st_ino
    start = place.byte if inode == place.inode else 0
    end = end_of(segment.path, start, is_last=segment.end_offset is None)
    from_offset = place.next_offset
    for found in pieces(segment.path, start, end.byte, from_offset, segment.end_offset):
        yield number, found
    reached = [place.next_offset]
    if end.offset is not None:
        reached.append(end.offset)
    if segment.end_offset is not None:
        reached.append(segment.end_offset)
    place.next_offset = max(reached)
    place.inode, place.byte = inode, end.byte


def _is_truncated(place: _Place, last: Segment) -> bool:
    """Whether the log ends before the place: its last segment is never compacted."""
    if last.path.stat().st_ino == place.inode:
        return last.size_bytes < place.byte
    if not place.is_begun or last.base_offset >= place.next_offset:
        return False
    end = end_of(last.path, 0, is_last=True)
    return end.offset is None or end.offset < place.next_offset


def _segments_in(folder: Path, number: int) -> tuple[Segment, ...]:
    """Raises FileNotFoundError if a file goes while it is looked at."""
    try:
        return open_log_folder(folder).segments[number]
    except SourceNotReadable as error:
        if isinstance(error.__cause__, FileNotFoundError):
            raise error.__cause__ from error
        if not any(folder.glob(f"*{_SUFFIX}")):
            return ()  # a partition that is being made or moved away
        raise


def _files_in(folder: Path) -> _Files:
    found = []
    for file in sorted(folder.iterdir()):
        if file.suffix == _SUFFIX:
            stat = file.stat()
            found.append((file.name, stat.st_ino, stat.st_size, stat.st_mtime_ns))
    return tuple(found)
