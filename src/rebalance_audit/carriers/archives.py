"""Opens a broker log whatever it is packed in: compressed files and archives, nested up to three deep.

Everything is streamed, so memory does not grow with what a file expands to, and a file that expands far more than logs
do is not read to its end.
"""

import bz2
import gzip
import io
import lzma
import stat
import tarfile
import tempfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO, Any, Final, NamedTuple, cast

import cramjam

from rebalance_audit import limits
from rebalance_audit.wire.segments.folder import SourceNotReadable

_COPY_BYTES: Final = 1 << 20
_HEAD_BYTES: Final = 512
_TAR_MAGIC: Final = (257, b"ustar")
_TAR_KIND: Final = 156
"""Place of the type in a header of a tar (POSIX.1-1988, ustar)."""
_TAR_EXTENDED: Final = (
    *(tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, tarfile.XHDTYPE, tarfile.XGLTYPE),
    tarfile.SOLARIS_XHDTYPE,
)
_TAR_KINDS: Final = frozenset(b"".join(_TAR_EXTENDED) + b"0123456S")
_ZSTD_BLOCK_BYTES_MAX: Final = 128 << 10
_ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
_ZSTD_SKIPPABLE: Final = range(0x184D2A50, 0x184D2A60)


class BrokerLogNotReadable(SourceNotReadable):
    """A broker log file cannot be read; the message is a sentence that names the file."""


class Content(NamedTuple):
    """One log: a file, or a file in an archive."""

    name: str
    """The file's path; in an archive `logs.tar!server.log.1`."""
    file: IO[bytes]


_FAILURES: Final = (
    OSError,
    EOFError,
    zlib.error,
    lzma.LZMAError,
    tarfile.TarError,
    zipfile.BadZipFile,
    cramjam.DecompressionError,
    NotImplementedError,  # a zip with a compression that Python lacks
    RuntimeError,  # an encrypted zip
    ValueError,  # a damaged tar header
)


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Failures to read or to unpack `path` become BrokerLogNotReadable."""
    try:
        yield
    except BrokerLogNotReadable:
        raise
    except _FAILURES as error:
        raise BrokerLogNotReadable(
            f"{path}: cannot be read: {str(error) or type(error).__name__}."
        ) from error


def contents_of(path: Path) -> Iterator[Content]:
    """What is in a file, each content to be read before the next. Raises BrokerLogNotReadable.

    A FIFO or a device is refused, since reading it may never end.
    """
    with readable(path):
        if not stat.S_ISREG(path.stat().st_mode):
            raise BrokerLogNotReadable(f"{path}: not a regular file.")
        with path.open("rb") as file:
            packed = _Counted(file, path.stat().st_size)
            budget = _Budget(packed, path)
            for content in _unpacked(str(path), _buffered(packed), 0, budget):
                budget.take_file()
                limited = _Observed(content.file, budget.counter(0))
                yield content._replace(file=_buffered(limited, _COPY_BYTES))


def _buffered(file: Any, size: int = io.DEFAULT_BUFFER_SIZE) -> IO[bytes]:
    return cast("IO[bytes]", io.BufferedReader(file, size))


class _Observed(io.RawIOBase):
    """A file whose bytes `look` sees as they are read."""

    def __init__(self, file: IO[bytes], look: Callable[[bytes], None]) -> None:
        self._file = file
        self._look = look

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        self._look(data)
        return len(data)


class _Counted(_Observed):
    """A file that knows how many of its bytes were read, each counted once."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        super().__init__(file, self._count)
        self._size = size
        self.bytes_read = 0

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def _count(self, data: bytes) -> None:
        # A zip's entries may share their bytes.
        self.bytes_read = min(self._size, self.bytes_read + len(data))


class _Budget:
    """What all contents of one file may take."""

    def __init__(self, packed: _Counted, path: Path) -> None:
        self._packed = packed
        self._path = path
        self._bytes: Counter[int] = Counter()
        self._files = 0

    def counter(self, layer: int) -> Callable[[bytes], None]:
        """What takes the bytes of a layer as they are unpacked."""
        return lambda data: self.take(layer, len(data))

    def take(self, layer: int, unpacked: int) -> None:
        """Count bytes of contents (layer 0), or of what is unpacked so deep.

        Raises BrokerLogNotReadable beyond the largest ratio.
        """
        self._bytes[layer] += unpacked
        most = limits.BROKER_LOG_EXPANSION.most * self._packed.bytes_read
        if self._bytes[layer] > limits.BROKER_LOG_BYTES_FREE + most:
            raise BrokerLogNotReadable(
                f"{self._path}: unpacks to more than {limits.BROKER_LOG_EXPANSION.most} times its size,"
                " as no log does: not read."
            )

    def take_file(self) -> None:
        """Count a content. Raises BrokerLogNotReadable beyond the limit."""
        self._files += 1
        if self._files > limits.ARCHIVE_FILES.most:
            raise BrokerLogNotReadable(
                f"{self._path}: more than {limits.ARCHIVE_FILES.most:,} files: not read."
            )


class _TarHeaders:
    """The headers of a tar, as they are read: one that claims a long name or many fields would be read whole."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._rest = b""
        self._headers = 0

    def look(self, data: bytes) -> None:
        blocks = self._rest + data
        whole = len(blocks) - len(blocks) % tarfile.BLOCKSIZE
        self._rest = blocks[whole:]
        # Wherever they are: what a header says of the next one's place may be wrong.
        for place, kind in enumerate(blocks[_TAR_KIND : whole : tarfile.BLOCKSIZE]):
            if kind in _TAR_KINDS:
                begin = place * tarfile.BLOCKSIZE
                self._look_at(blocks[begin : begin + tarfile.BLOCKSIZE])

    def _look_at(self, block: bytes) -> None:
        try:
            header = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        except tarfile.HeaderError:
            return
        self._headers += 1
        if self._headers > limits.ARCHIVE_FILES.most:
            raise BrokerLogNotReadable(
                f"{self._name}: more than {limits.ARCHIVE_FILES.most:,} files: not read."
            )
        if header.type in _TAR_EXTENDED and header.size > limits.ARCHIVE_HEADER_BYTES.most:
            raise BrokerLogNotReadable(
                f"{self._name}: a header of {header.size:,} bytes, as no log's archive has: not read."
            )


class _ZipBytes(io.BufferedReader):
    """A zip; its directory is read whole, at whatever size it claims."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > limits.ARCHIVE_DIRECTORY_BYTES.most:
            raise OSError(f"a directory of {size:,} bytes, as no log's archive has")
        return super().read(size)


def _unpacked(name: str, file: IO[bytes], depth: int, budget: _Budget) -> Iterator[Content]:
    head = cast("io.BufferedReader", file).peek(_HEAD_BYTES)[:_HEAD_BYTES]
    opener = next((found for magic, found in _COMPRESSED.items() if head.startswith(magic)), None)
    at, magic = _TAR_MAGIC
    is_tar = head[at : at + len(magic)] == magic
    is_zip = head.startswith(b"PK\x03\x04")
    is_zstd = head.startswith(_ZSTD_MAGIC)
    if not (opener or is_zstd or is_tar or is_zip):
        yield Content(name, file)
        return
    deepest = limits.BROKER_LOG_NESTING.most
    if depth == deepest:
        raise BrokerLogNotReadable(f"{name}: archives more than {deepest} deep: unpack it first.")
    if opener or is_zstd:
        layer = depth + 1
        counted = _Observed(opener(file), budget.counter(layer)) if opener else None
        with closing(counted or _unzstd(file, budget, layer)) as opened:
            yield from _unpacked(name, _buffered(opened, _COPY_BYTES), layer, budget)
    elif is_tar:
        yield from _in_tar(name, file, depth, budget)
    else:
        yield from _in_zip(name, file, depth, budget)


def _in_tar(name: str, file: IO[bytes], depth: int, budget: _Budget) -> Iterator[Content]:
    blocks = _buffered(_Observed(file, _TarHeaders(name).look), _COPY_BYTES)
    with tarfile.open(fileobj=blocks, mode="r|") as archive:
        for member in archive:
            content = archive.extractfile(member) if member.isfile() else None
            if content is not None:
                inner = _buffered(content)
                yield from _unpacked(f"{name}!{member.name}", inner, depth + 1, budget)


def _in_zip(name: str, file: IO[bytes], depth: int, budget: _Budget) -> Iterator[Content]:
    if depth:
        raise BrokerLogNotReadable(f"{name}: a zip in another archive: unpack it first.")
    with zipfile.ZipFile(_ZipBytes(cast("Any", file))) as archive:
        for member in archive.infolist():
            if member.is_dir():
                continue
            with archive.open(member) as content:
                inner = _buffered(content)
                yield from _unpacked(f"{name}!{member.filename}", inner, depth + 1, budget)


def _unzstd(file: IO[bytes], budget: _Budget, layer: int) -> Any:
    """What a zstd file holds. The codec takes whole frames, so it goes through a file that is deleted at once."""
    # The files have names: the codec opens them itself.
    with tempfile.NamedTemporaryFile() as packed, tempfile.NamedTemporaryFile() as unpacked:
        while data := file.read(_COPY_BYTES):
            packed.write(data)
        packed.flush()
        packed.seek(0)
        budget.take(layer, _zstd_bytes_max(packed))
        cramjam.zstd.decompress_into(
            cramjam.File(packed.name, truncate=False),
            cramjam.File(unpacked.name),
        )
        return Path(unpacked.name).open("rb", buffering=0)


def _zstd_bytes_max(file: Any) -> int:
    """What the frames can unpack to at most, by the headers of their blocks (RFC 8878, 3.1.1); 0 if they end early."""
    total = 0
    while len(magic := file.read(4)) == len(_ZSTD_MAGIC):
        if int.from_bytes(magic, "little") in _ZSTD_SKIPPABLE:
            file.seek(int.from_bytes(file.read(4), "little"), io.SEEK_CUR)
            continue
        if magic != _ZSTD_MAGIC:
            return total
        descriptor = file.read(1)
        if not descriptor:
            return total
        flags = descriptor[0]
        is_single = bool(flags & 0x20)
        dictionary = (0, 1, 2, 4)[flags & 3]
        content_size = (1 if is_single else 0, 2, 4, 8)[flags >> 6]
        file.seek((not is_single) + dictionary + content_size, io.SEEK_CUR)
        is_last = False
        while not is_last:
            header = file.read(3)
            if len(header) < 3:
                return total
            bits = int.from_bytes(header, "little")
            is_last, kind, size = bool(bits & 1), bits >> 1 & 3, bits >> 3
            # Raw blocks and runs say their size; a run is stored as one byte.
            total += _ZSTD_BLOCK_BYTES_MAX if kind == 2 else size
            file.seek(1 if kind == 1 else size, io.SEEK_CUR)
        if flags & 4:
            file.seek(4, io.SEEK_CUR)
    return total


_COMPRESSED: Final[dict[bytes, Callable[[IO[bytes]], Any]]] = {
    b"\x1f\x8b": lambda file: gzip.GzipFile(filename="", mode="rb", fileobj=file),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\x00": lzma.LZMAFile,
}
"""First bytes -> what unpacks the file as it is read."""
