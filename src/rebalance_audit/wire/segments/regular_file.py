"""Opens segment files: a pipe or a device in their place would block for ever, or never end."""

import errno
import os
import stat
from pathlib import Path
from types import TracebackType
from typing import Final, Self

_FLAGS: Final = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
_KINDS: Final = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def open_regular(path: str | Path) -> int:
    """The descriptor of a regular file that is opened to read; a link is followed to one.

    Raises OSError that names the file, also if it is of another kind.
    """
    require_regular(path, Path(path).stat().st_mode)
    descriptor = os.open(path, _FLAGS)
    try:
        require_regular(path, os.fstat(descriptor).st_mode)  # it may have been replaced meanwhile
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


class OpenSegment:
    """A segment file that is open to be read. A context manager; raises OSError that names the file."""

    size_bytes: int
    """Size of the file when it was opened, less what a running broker was seen to have truncated since."""

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)

    def __enter__(self) -> Self:
        self._file = open_regular(self.path)
        self.size_bytes = os.fstat(self._file).st_size
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._file)


def require_regular(path: str | Path, mode: int) -> None:
    """Raises OSError that names the file unless a regular file has this mode."""
    if stat.S_ISREG(mode):
        return
    kind = next((kind for is_kind, kind in _KINDS if is_kind(mode)), "something else")
    raise OSError(errno.EINVAL, f"it is {kind}, not a regular file", str(path))
