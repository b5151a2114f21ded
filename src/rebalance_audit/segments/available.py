"""Whether the compiled walk is worth its start, and whether this machine has compiled it.

Compiled code is kept in a folder of its own, by a digest of whatever decides what it is: the sources, the releases of
Python and Numba, and the processor. A marker beside it says that it is complete.
"""

import logging
import os
import sys
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from rebalance_audit.resources import caches_folder

FROM_BYTES: Final = 16 << 20
"""Below, starting the compiler's runtime takes longer than the plain reader needs for the log."""
UNCOMPILED_FROM_BYTES: Final = 100 << 20
"""The limit where the walk has yet to be compiled, which takes 3 to 6 s of one core."""
_FOLDER: Final = "NUMBA_CACHE_DIR"
_MARKER: Final = "compiled"


def should_use_compiled_walk(size_bytes: int) -> bool:
    """Whether this process should read so much of a log with the compiled walk.

    Compiles it first where that pays for this log alone.
    """
    if size_bytes < FROM_BYTES:
        return False
    try:
        folder = _compiled_folder()
    except ImportError:  # Numba is not installed, or not for this machine
        return False
    if size_bytes < UNCOMPILED_FROM_BYTES and not (folder / _MARKER).exists():
        return False
    _load()
    return True


@cache
def _load() -> None:
    """Compile the walk or load it, before other processes are forked off."""
    if not (_compiled_folder() / _MARKER).exists():
        logging.getLogger(__name__).warning(
            "compiling the reader of large logs, once on this machine (rebalance-audit warmup does it ahead)"
        )
    compile_walk()


def compile_walk() -> Path:
    """Compile the walk and keep it, or load what is kept; returns the folder. Raises ImportError without Numba.

    Where the folder cannot be written, it is compiled for this process alone.
    """
    folder = _compiled_folder()
    from rebalance_audit.segments.reader import read_segment  # noqa: PLC0415 - imports numpy

    with TemporaryDirectory() as scratch:
        segment = Path(scratch) / "no-batch.log"
        segment.write_bytes(bytes(100))
        for _ in read_segment(segment, compiled=True):
            pass
    if os.access(folder, os.W_OK):
        (folder / _MARKER).touch()
    return folder


@cache
def _compiled_folder() -> Path:
    """Where Numba keeps what it compiles; Numba reads the name of the folder when it is imported."""
    from llvmlite.binding import get_host_cpu_name  # noqa: PLC0415

    package = files(__package__ or "").iterdir()
    sources = {each.name: each.read_bytes() for each in package if each.name.endswith(".py")}
    releases = (sys.version, version("numba"), get_host_cpu_name())
    digest = sha256(repr((sorted(sources.items()), releases)).encode()).hexdigest()[:16]
    folder = Path(os.environ.get(_FOLDER) or caches_folder() / "compiled")
    if folder.name != digest:  # a parent process may have named it already
        folder /= digest
    os.environ[_FOLDER] = str(folder)
    return folder
