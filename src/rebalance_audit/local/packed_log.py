"""A log of segments in an archive, or with compressed segments: unpacked into a temporary folder, within bounds."""

import os
import shutil
import weakref
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from tempfile import mkdtemp
from typing import Final

from rebalance_audit import limits
from rebalance_audit.carriers.archives import BrokerLogNotReadable, Content, contents_of
from rebalance_audit.wire.segments.folder import (
    ARCHIVE_SUFFIXES,
    COMPRESSED_SUFFIXES,
    METADATA_TOPIC,
    OFFSETS_TOPIC,
    PARTITION_FOLDER,
    SEGMENT_NAME,
    SNAPSHOT_NAME,
    LogFolder,
    SourceNotReadable,
    open_log_folder,
)

_COPY_BYTES: Final = 1 << 20


def open_log(path: str | Path) -> LogFolder:
    """Open a log: a folder of segments, plain or compressed, or an archive (tar, zip, gzip, bzip2, xz, zstd) of one.

    What is packed is unpacked into a temporary folder, which is removed with the LogFolder and at the end of the
    process. Raises SourceNotReadable, also for an archive that exceeds a limit or holds a segment twice.
    """
    path = Path(os.path.abspath(path))  # noqa: PTH100 - resolve() would follow links and lose the name
    packed = list(_packed_files(path))
    if not packed:
        return open_log_folder(path)
    root = Path(mkdtemp(prefix="rebalance-audit-"))
    try:
        unpacked = _Unpacked(path, root / path.name)
        for file in packed:
            unpacked.add(file)
        if path.is_dir():
            unpacked.link_others()
        folder = open_log_folder(unpacked.folder)
    except OSError as error:
        _remove(root, os.getpid())
        raise SourceNotReadable(
            f"{path} cannot be unpacked into {root}: {error.strerror or error}."
        ) from error
    except BaseException:
        _remove(root, os.getpid())
        raise
    weakref.finalize(folder, _remove, root, os.getpid())
    return folder


def _packed_files(path: Path) -> Iterator[Path]:
    """The archive at a path, or the compressed segments of the partitions in a folder."""
    if path.is_file():
        if path.suffix in ARCHIVE_SUFFIXES:
            yield path
        return
    beside = path.parent / f"{METADATA_TOPIC}-0"
    folders = (path, beside) if _is_wanted(path.name) else path.glob("__*-*")
    for folder in sorted(folders):
        if folder.is_dir() and _is_wanted(folder.name):
            for file in sorted(folder.iterdir()):
                if file.suffix in COMPRESSED_SUFFIXES and _target(str(file)) is not None:
                    yield file


def _remove(root: Path, process_id: int) -> None:
    """Remove what this process unpacked; copies of it, forked for the audit, leave it alone."""
    if os.getpid() == process_id:
        shutil.rmtree(root, ignore_errors=True)


class _Unpacked:
    """Segments as files, in partition folders."""

    def __init__(self, path: Path, folder: Path) -> None:
        self._path = path
        self._root = folder.parent
        self._found: dict[PurePosixPath, str] = {}
        self._bytes = 0
        # One partition folder stays one; anything else becomes a folder of them.
        self.folder = folder
        self._holds = folder.parent if _is_wanted(path.name) else folder

    def add(self, file: Path) -> None:
        packed_bytes = file.stat().st_size
        most = limits.BROKER_LOG_BYTES_FREE + limits.BROKER_LOG_EXPANSION.most * packed_bytes
        before = self._bytes
        try:
            for content in contents_of(file):
                self._write(content, before + most)
        except BrokerLogNotReadable as error:
            raise SourceNotReadable(str(error)) from error
        if not self._found:
            raise SourceNotReadable(
                f"{file} holds no segments of {OFFSETS_TOPIC}; looked for"
                f" {OFFSETS_TOPIC}-<partition>/<20-digit base offset>.log."
            )

    def link_others(self) -> None:
        """The segments of the folder that are not compressed, where they lie."""
        folders = [self._path, *self._path.parent.glob(f"{METADATA_TOPIC}-0")]
        if not _is_wanted(self._path.name):
            folders = [each for each in self._path.iterdir() if each.is_dir()]
        for folder in folders:
            for file in folder.iterdir() if _is_wanted(folder.name) else ():
                target = None if file.suffix in COMPRESSED_SUFFIXES else _target(str(file))
                if target is not None:
                    self._take(target, str(file)).symlink_to(file)

    def _write(self, content: Content, most: int) -> None:
        target = _target(content.name)
        if target is None:
            return
        with self._take(target, content.name).open("wb") as file:
            while data := content.file.read(_COPY_BYTES):
                self._bytes += len(data)
                if self._bytes > most:
                    raise SourceNotReadable(
                        f"{self._path} unpacks to more than {limits.BROKER_LOG_EXPANSION.most} times its size,"
                        " as no log does: not read."
                    )
                file.write(data)

    def _take(self, target: PurePosixPath, name: str) -> Path:
        """Where a segment goes; its folder exists."""
        if target in self._found:
            raise SourceNotReadable(
                f"{self._path} holds {target} twice, as {self._found[target]} and {name}:"
                " give one replica of each partition."
            )
        if len(self._found) == limits.ARCHIVE_SEGMENTS.most:
            raise SourceNotReadable(
                f"{self._path} holds more than {limits.ARCHIVE_SEGMENTS.most:,} segments: unpack it first."
            )
        self._found[target] = name
        file = self._holds / target
        file.parent.mkdir(parents=True, exist_ok=True)
        return file


def _target(name: str) -> PurePosixPath | None:
    """`__consumer_offsets-3/00000000000000000000.log` of any path that ends so, packed or not; None for other files."""
    parts = PurePosixPath(name.replace("!", "/").replace("\\", "/")).parts[-2:]
    if len(parts) < 2 or not _is_wanted(parts[0]):
        return None
    file = parts[1]
    while PurePosixPath(file).suffix in COMPRESSED_SUFFIXES:
        file = PurePosixPath(file).stem
    is_segment = SEGMENT_NAME.fullmatch(file) or (
        parts[0].startswith(METADATA_TOPIC) and SNAPSHOT_NAME.fullmatch(file)
    )
    return PurePosixPath(parts[0], file) if is_segment else None


def _is_wanted(folder: str) -> bool:
    """Whether a name is that of a partition folder of the log, or of the metadata log's."""
    match = PARTITION_FOLDER.fullmatch(folder)
    return match is not None and (
        match["topic"] == OFFSETS_TOPIC or folder == f"{METADATA_TOPIC}-0"
    )
