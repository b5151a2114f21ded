"""A log on storage that is not mounted, such as an object store, read with fsspec.

Executors copy one segment at a time to their temporary folder and read it there: whatever the store, a task needs the
disk space of one segment and no more memory than for a file that is mounted.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import fsspec

from rebalance_audit.errors import BadRequest
from rebalance_audit.segments.reader import Found
from rebalance_audit.wire.metadata_log import read_topic_names
from rebalance_audit.wire.segments.bad_bytes import BadBytes
from rebalance_audit.wire.segments.folder import (
    METADATA_TOPIC,
    OFFSETS_TOPIC,
    PARTITION_FOLDER,
    LogFolder,
    Segment,
    SourceNotReadable,
    open_log_folder,
)
from rebalance_audit.wire.topic_names import TopicNames

HEAD_BYTES: Final = 64 << 10
"""Enough of a segment to find out how it begins."""
_NO_NAMES: Final = frozenset({"", ".", ".."})
_EPOCH: Final = datetime.fromtimestamp(0, UTC)


class RemoteLog:
    """A folder of partition folders, one partition folder or one segment file, named by a URL."""

    def __init__(self, url: str, options: Mapping[str, str]) -> None:
        """`options` are those of fsspec for the file system. Nothing is read yet."""
        self.url = url.rstrip("/")
        self._options = dict(options)
        names = self.url.split("/")
        depth = next((at for at in (1, 2) if PARTITION_FOLDER.fullmatch(names[-at])), 0)
        self._below = "/".join(names[len(names) - depth :])
        """What follows the folder of partition folders in the URL."""
        self._folder = "/".join(names[: len(names) - depth])

    def open(self) -> LogFolder:
        """As `open_log_folder`, with each segment's path relative to the folder of partition folders.

        Names and first bytes are read. Raises SourceNotReadable, and BadRequest without a file system for the URL.
        """
        with self._reading(self.url), TemporaryDirectory() as temporary:
            outline = self._outline(Path(temporary))
            opened = self._opened(outline)
            segments = {
                number: tuple(
                    segment._replace(path=segment.path.relative_to(outline)) for segment in found
                )
                for number, found in opened.segments.items()
            }
            return LogFolder(Path(self.url), segments, (), ())

    def topic_names(self) -> TopicNames:
        """Names in the `__cluster_metadata` log beside the partition folders, if there is one.

        Raises as `open`.
        """
        place = f"{self._folder}/{METADATA_TOPIC}-0"
        with self._reading(place), TemporaryDirectory() as temporary:
            outline = self._outline(Path(temporary))
            files, root = self._files(place)
            if files.isdir(root):
                # A broker keeps little of it: 100 MB by default, and snapshots.
                copy = outline / f"{METADATA_TOPIC}-0"
                copy.mkdir(parents=True, exist_ok=True)
                for path, name, info in _children(files, root):
                    if info["type"] == "file":
                        files.get_file(path, str(copy / name))
            names = read_topic_names(self._opened(outline))
            names.notes[:] = [note.replace(str(outline), self._folder) for note in names.notes]
            return names

    @contextmanager
    def copy_of(self, segment: Segment) -> Iterator[Segment]:
        """The segment with the path of a copy on this machine, for the time of the block. Raises SourceNotReadable."""
        url = f"{self._folder}/{segment.path}"
        with TemporaryDirectory() as temporary:
            copy = Path(temporary) / segment.path
            copy.parent.mkdir()
            with self._reading(url):
                files, path = self._files(url)
                files.get_file(path, str(copy))
                files.invalidate_cache()
                size_bytes, modified_ns = files.info(path)["size"], _modified_ns(files, path)
            mark = segment.mark
            if (copy.stat().st_size, size_bytes, modified_ns) != (
                mark.size_bytes,
                mark.size_bytes,
                mark.modified_ns,
            ):
                raise SourceNotReadable(
                    f"{url} was replaced while it was being read: run it again."
                )
            yield segment._replace(path=copy)

    def as_read(self, found: Iterable[Found], segment: Segment, copy: Segment) -> Iterator[Found]:
        """What was found in a copy; damage names the original."""
        url = f"{self._folder}/{segment.path}"
        for part in found:
            if isinstance(part, BadBytes):
                yield part._replace(path=url, detail=part.detail.replace(str(copy.path), url))
            else:
                yield part

    def _opened(self, outline: Path) -> LogFolder:
        try:
            return open_log_folder(outline / self._below)
        except SourceNotReadable as error:
            raise SourceNotReadable(str(error).replace(str(outline), self._folder)) from None

    def _outline(self, temporary: Path) -> Path:
        """A folder with all names of the log, where each segment has its size, its time and its first bytes."""
        outline = temporary / "log"
        files, root = self._files(self.url)
        if not files.exists(root):
            return outline
        segments = {}
        waiting = [(root, outline / self._below, files.info(root))]
        while waiting:
            path, place, info = waiting.pop()
            if info["type"] == "directory":
                place.mkdir(parents=True, exist_ok=True)
                if path == root or place.name.startswith(f"{OFFSETS_TOPIC}-"):
                    waiting += [
                        (child, place / name, of_child)
                        for child, name, of_child in _children(files, path)
                    ]
                continue
            place.parent.mkdir(parents=True, exist_ok=True)
            place.touch()
            if place.suffix == ".log":
                segments[path] = (place, info["size"])
        self._fill(files, segments)
        return outline

    def _fill(self, files: Any, segments: Mapping[str, tuple[Path, int]]) -> None:
        paths = [path for path, (_, size_bytes) in segments.items() if size_bytes]
        ends = [min(segments[path][1], HEAD_BYTES) for path in paths]
        heads = dict(zip(paths, files.cat_ranges(paths, [0] * len(paths), ends), strict=True))
        for path, (place, size_bytes) in segments.items():
            head = heads.get(path, b"")
            if isinstance(head, Exception):
                raise head
            place.write_bytes(head)
            os.truncate(place, size_bytes)
            modified_ns = _modified_ns(files, path)
            os.utime(place, ns=(modified_ns, modified_ns))

    def _files(self, url: str) -> tuple[Any, str]:
        """The file system, and the path as it takes it."""
        try:
            files, path = fsspec.core.url_to_fs(url, **self._options)
        except (ImportError, ValueError) as error:
            raise BadRequest(
                f"Python cannot access {url}: {error}. Install that package for driver and executors, or name a folder"
                " that they have mounted."
            ) from None
        return files, path

    @contextmanager
    def _reading(self, url: str) -> Iterator[None]:
        try:
            yield
        except (BadRequest, SourceNotReadable):
            raise
        except Exception as error:  # each store's client has errors of its own
            reason = " ".join(str(error).split()) or type(error).__name__
            raise SourceNotReadable(f"{url} cannot be read: {reason}.") from error


def _children(files: Any, path: str) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Path, name and what the store says of what is right inside a folder; some stores list the folder itself too."""
    for info in files.ls(path, detail=True):
        name = info["name"].rstrip("/").rpartition("/")[2]
        if info["name"].rstrip("/") != path.rstrip("/") and name not in _NO_NAMES:
            yield info["name"], name, info


def _modified_ns(files: Any, path: str) -> int:
    modified: datetime = files.modified(path)
    if modified.tzinfo is None:
        modified = modified.replace(tzinfo=UTC)
    return (modified - _EPOCH) // timedelta(microseconds=1) * 1000
