"""A folder of segment files: what is in it."""

import os
import re
from codecs import getincrementaldecoder
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from rebalance_audit import limits
from rebalance_audit.wire.segments.bad_bytes import BadBytes, TailNote
from rebalance_audit.wire.segments.batches import (
    BASE_OFFSET,
    MAGIC,
)
from rebalance_audit.wire.segments.regular_file import open_regular
from rebalance_audit.wire.segments.walk import SegmentWalk

OFFSETS_TOPIC: Final = "__consumer_offsets"
METADATA_TOPIC: Final = "__cluster_metadata"
PARTITION_FOLDER: Final = re.compile(r"(?P<topic>.+)-(?P<partition>\d+)")
SEGMENT_NAME: Final = re.compile(r"(?P<base_offset>\d{20})\.log")
SNAPSHOT_NAME: Final = re.compile(r"\d{20}-\d{10}\.checkpoint")
LEFTOVER_SUFFIXES: Final = (".cleaned", ".swap", ".deleted")
"""Files that the log cleaner is writing or has replaced; all their records are in .log files as well."""
_DIGITS_MAX: Final = 10
LOOKED_FOR: Final = f"{OFFSETS_TOPIC}-<partition>/<20-digit base offset>.log"


class SourceNotReadable(Exception):  # noqa: N818 - named for what the user reads
    """The source cannot be read; the message is one sentence that names the path."""


class Segment(NamedTuple):
    """One segment file of a partition."""

    log_partition: int
    path: Path
    base_offset: int
    """From the file's name."""
    size_bytes: int
    end_offset: int | None
    """First offset of the next segment: this one ends there, even if the file holds more. None for the last."""
    modified_ns: int
    """When the file was changed last, nanoseconds since 1970."""

    @property
    def mark(self) -> "FileMark":
        """Whether the file has changed."""
        return FileMark(self.path.name, self.size_bytes, self.modified_ns)


class FileMark(NamedTuple):
    """A file at some moment. An equal mark means equal bytes, even in a copy, if the copy keeps file times."""

    name: str
    size_bytes: int
    modified_ns: int


class LogNote(NamedTuple):
    """Something worth knowing about the folder; nothing is wrong with what is read."""

    path: str
    detail: str


class LogFolder:
    """The segments of `__consumer_offsets` under one folder, and those of the metadata log for topic names.

    Made by `open_log_folder`. Nothing is held open.
    """

    def __init__(
        self,
        path: Path,
        segments: dict[int, tuple[Segment, ...]],
        metadata_segments: tuple[Path, ...],
        notes: tuple[LogNote, ...],
    ) -> None:
        self.path = path
        self.segments = segments
        """By partition, in offset order; a partition without segments is missing."""
        self.metadata_segments = metadata_segments
        """Snapshots first, then segments, each in offset order."""
        self.notes = notes

    @property
    def partitions(self) -> dict[int, list[Path]]:
        """Segment files of each partition in offset order, partitions in numeric order."""
        return {
            number: [segment.path for segment in self.segments[number]] for number in self.segments
        }

    @property
    def size_bytes(self) -> int:
        """Size of all segments of `__consumer_offsets`."""
        return sum(segment.size_bytes for parts in self.segments.values() for segment in parts)


def open_log_folder(path: str | Path) -> LogFolder:
    """The log under a path: a folder of partition folders, one partition folder, or one segment file in such a folder.

    Names and first headers are read, nothing more. Raises SourceNotReadable.
    """
    path = Path(path)
    try:
        return _open(path)
    except OSError as error:
        raise not_readable(error.filename or path, error) from error


def _open(path: Path) -> LogFolder:
    # The folder's own name matters, even if the user writes "." or a relative path.
    path = Path(os.path.abspath(path))  # noqa: PTH100 - resolve() would follow links and lose the name
    if not path.exists():
        raise SourceNotReadable(f"{path} does not exist.")
    if path.is_file():
        return _open_file(path)
    if not path.is_dir():
        raise SourceNotReadable(f"{path} is neither a folder nor a segment file.")
    notes: list[LogNote] = []
    topic, partition = _topic_and_partition(path)
    if topic == OFFSETS_TOPIC:
        folders = {partition: path}
        metadata = path.parent / f"{METADATA_TOPIC}-0"
    else:
        folders = _partition_folders(path, notes)
        metadata = path / f"{METADATA_TOPIC}-0"
    segments = {
        number: found
        for number in sorted(folders)
        if (found := _segments_of(number, folders[number], notes))
    }
    if not segments:
        raise SourceNotReadable(_nothing_found(path, topic))
    _require_a_segment(segment for found in segments.values() for segment in found)
    return LogFolder(path, segments, _metadata_files(metadata), tuple(notes))


def _open_file(path: Path) -> LogFolder:
    if _is_compressed(path):
        raise SourceNotReadable(f"{path} {UNPACK}.")
    topic, partition = _topic_and_partition(path.parent)
    if topic != OFFSETS_TOPIC:
        if path.suffix in ARCHIVE_SUFFIXES:
            raise SourceNotReadable(f"{path} is an archive: unpack it first.")
        belongs = f"belongs to topic {topic}" if topic else "is in no partition folder"
        raise SourceNotReadable(
            f"{path} {belongs}; a segment file is read where its folder is named"
            f" {OFFSETS_TOPIC}-<partition>."
        )
    notes: list[LogNote] = []
    segment = _segment(partition, path, notes)[0]
    _require_a_segment((segment,))
    return LogFolder(
        path,
        {partition: (segment,)},
        _metadata_files(path.parent.parent / f"{METADATA_TOPIC}-0"),
        tuple(notes),
    )


def _require_a_segment(segments: Iterable[Segment]) -> None:
    """Raises SourceNotReadable if every file is something else; one among segments is read as damage."""
    wrong = ""
    for segment in segments:
        kind = other_kind(segment.path)
        if kind is None:
            return
        wrong = wrong or f"{segment.path} {kind}."
    raise SourceNotReadable(wrong)


def _is_compressed(file: Path) -> bool:
    return file.suffix in COMPRESSED_SUFFIXES and SEGMENT_NAME.fullmatch(file.stem) is not None


def _topic_and_partition(folder: Path) -> tuple[str | None, int]:
    match = PARTITION_FOLDER.fullmatch(folder.name)
    is_number = match is not None and len(match["partition"]) <= _DIGITS_MAX
    if match is None or not is_number or int(match["partition"]) > limits.LOG_PARTITIONS.most:
        return None, -1
    return match["topic"], int(match["partition"])


def _partition_folders(path: Path, notes: list[LogNote]) -> dict[int, Path]:
    folders = {}
    for child in sorted(path.iterdir()):
        if not child.name.startswith(f"{OFFSETS_TOPIC}-") or not child.is_dir():
            continue
        topic, partition = _topic_and_partition(child)
        if topic == OFFSETS_TOPIC:
            folders[partition] = child
        else:
            # <topic>-<partition>.<id>-delete, -future and -stray: what the broker removes or moves.
            notes.append(LogNote(str(child), f"{child} is no partition folder and is not read."))
    return folders


def _segments_of(partition: int, folder: Path, notes: list[LogNote]) -> tuple[Segment, ...]:
    found = []
    for file in sorted(folder.iterdir()):
        if file.suffix == ".log":
            found.append(_segment(partition, file, notes))
        elif file.suffix in LEFTOVER_SUFFIXES and ".log" in file.suffixes:
            notes.append(
                LogNote(str(file), f"{file} is a left-over of the log cleaner and is not read.")
            )
        elif _is_compressed(file):
            notes.append(LogNote(str(file), f"{file} {UNPACK}. It is not read."))
    segments = []
    end_offset = None
    for segment, first_offset in reversed(found):
        segments.append(segment._replace(end_offset=end_offset))
        if first_offset is not None:
            end_offset = first_offset
    return tuple(reversed(segments))


def _segment(partition: int, file: Path, notes: list[LogNote]) -> tuple[Segment, int | None]:
    """The segment, and the offset from which on it is the one to read; None if it does not begin with a batch."""
    match = SEGMENT_NAME.fullmatch(file.name)
    if match is None:
        raise SourceNotReadable(
            f"{file} is not named as a segment, which is the 20-digit offset of its first record"
            " and .log."
        )
    base_offset = int(match["base_offset"])
    with SegmentWalk(file) as walk:
        # Before the file is read: a change in between shows up the next time.
        modified_ns = file.stat().st_mtime_ns
        _, _, header = next(walk.steps(), (0, 0, None))
        segment = Segment(partition, file, base_offset, walk.size_bytes, None, modified_ns)
    if header is None or isinstance(header, BadBytes | TailNote):
        return segment, None
    if header[MAGIC] != 2:
        # A compressed old message has the offset of its last record.
        return segment, base_offset
    if header[BASE_OFFSET] < base_offset:
        detail = f"{file} begins with offset {header[BASE_OFFSET]}, below the one in its name."
        notes.append(LogNote(str(file), detail))
    # Compaction may have moved the first batch above the name.
    return segment, max(base_offset, header[BASE_OFFSET])


def _metadata_files(folder: Path) -> tuple[Path, ...]:
    if not folder.is_dir():
        return ()
    files = sorted(folder.iterdir())
    return tuple(
        file
        for pattern in (SNAPSHOT_NAME, SEGMENT_NAME)
        for file in files
        if pattern.fullmatch(file.name)
    )


def _nothing_found(path: Path, topic: str | None) -> str:
    names = sorted(child.name for child in path.iterdir())
    below = path.glob("*" if topic == OFFSETS_TOPIC else f"{OFFSETS_TOPIC}-*/*")
    compressed = min(filter(_is_compressed, below), default=None)
    if compressed is not None:
        return f"{compressed} {UNPACK}."
    if topic is not None and any(SEGMENT_NAME.fullmatch(name) for name in names):
        return f"{path} is a partition folder of topic {topic}, not of {OFFSETS_TOPIC}."
    if (path / "meta" / "runs").is_dir():
        return (
            f"{path} is a lake and holds no segments: commands that read a lake take it as --lake."
        )
    sentence = f"{path} holds no segments of {OFFSETS_TOPIC}; looked for {LOOKED_FOR}"
    topics = sorted(
        {match["topic"] for name in names if (match := PARTITION_FOLDER.fullmatch(name))}
    )
    if OFFSETS_TOPIC in topics:
        return f"{path} has partition folders of {OFFSETS_TOPIC}, but they contain no segment file."
    if topics:
        sentence += (
            f", found topics {', '.join(topics[:5])}{' and more' if len(topics) > 5 else ''}"
        )
    nested = [child for child in path.iterdir() if any(child.glob(f"{OFFSETS_TOPIC}-*/*.log"))]
    if nested:
        sentence += f", did you mean {nested[0]}"
    return f"{sentence}."


def not_readable(path: str | Path, error: OSError) -> SourceNotReadable:
    """The error of the operating system as one sentence about the path."""
    return SourceNotReadable(f"{path} cannot be read: {error.strerror or error}.")


UNPACK: Final = "is compressed: unpack it first"
COMPRESSED_SUFFIXES: Final = frozenset({".bz2", ".gz", ".lz4", ".xz", ".zip", ".zst"})
ARCHIVE_SUFFIXES: Final = COMPRESSED_SUFFIXES | {".tar", ".tgz", ".tbz2", ".txz", ".tzst"}

_COMPRESSED: Final = (
    b"BZh",
    b"\x1f\x8b",
    b"\x04\x22\x4d\x18",
    b"\xfd7zXZ",
    b"PK\x03\x04",
    b"\x28\xb5\x2f\xfd",
)
"""How such files begin. A segment begins with an offset, and so with a zero."""
_BLANKS: Final = "\t\n\v\f\r"
_HEAD_BYTES: Final = 4096


def other_kind(path: Path) -> str | None:
    """What is wrong with a file that is compressed, text or no batch at all, to follow its name; None for any other.

    A segment with an overwritten beginning is a damaged segment. Raises OSError.
    """
    with SegmentWalk(path) as walk:
        _, following, found = next(walk.steps(), (0, 0, None))
        if not isinstance(found, BadBytes | TailNote) or following < walk.size_bytes:
            return None
    with os.fdopen(open_regular(path), "rb") as file:
        head = file.read(_HEAD_BYTES)
    if head.startswith(_COMPRESSED):
        return UNPACK
    if _is_text(head):
        return "is a text file, not a segment"
    is_unlike_batch = isinstance(found, BadBytes) and found.base_offset is None
    return "holds no batch of records: it is not a segment" if is_unlike_batch else None


def _is_text(head: bytes) -> bool:
    """Whether a file that begins so is UTF-8 without control characters, and not empty."""
    try:
        text = getincrementaldecoder("utf-8")().decode(head)  # the last character may be cut
    except UnicodeDecodeError:
        return False
    return bool(text) and all(char.isprintable() or char in _BLANKS for char in text)
