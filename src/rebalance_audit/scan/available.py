"""Whether the compiled walk is worth its start, and what this machine has compiled of it.

Compiled functions are kept in a folder of their own, by a digest of whatever decides what they are: their sources, the
releases of Python and Numba, and the processor. A marker beside them says which functions are there.
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
"""Below, starting the compiler's runtime takes longer than the readers of `wire.segments` need for the log."""
UNCOMPILED_FROM_BYTES: Final = 100 << 20
"""The same where the function has yet to be compiled, which takes 3 to 7 s of one core."""
FUNCTIONS: Final = ("walk", "pick", "render")
"""What is compiled: the summary of a log, its columns, its lines of JSON."""
_FOLDER: Final = "NUMBA_CACHE_DIR"


def should_use_compiled_scan(function: str, size_bytes: int) -> bool:
    """Whether this process should read so much of a log with one of `FUNCTIONS`, not with `wire.segments` alone.

    Compiles the function first where that pays for this log alone.
    """
    if size_bytes < FROM_BYTES:
        return False
    try:
        marker = _compiled_folder() / function
    except ImportError:  # Numba is not installed, or not for this machine
        return False
    if not marker.exists() and size_bytes >= UNCOMPILED_FROM_BYTES:
        logging.getLogger(__name__).warning(
            "compiling the reader of large logs, once on this machine (rebalance-audit warmup does it ahead)"
        )
        compile_function(function)
        return True
    return marker.exists()


def compile_function(function: str) -> Path:
    """Compile one of `FUNCTIONS` and keep it; returns the folder. Raises ImportError without Numba.

    Where the folder cannot be written, it is compiled for this process alone.
    """
    folder = _compiled_folder()
    # Loaded on first use: their import takes longer than a short command.
    from rebalance_audit.scan.column_buffers import ColumnBuffers  # noqa: PLC0415
    from rebalance_audit.scan.line_buffers import Chosen, LineBuffers  # noqa: PLC0415
    from rebalance_audit.scan.scan_buffers import ScanBuffers  # noqa: PLC0415
    from rebalance_audit.scan.segment_scan import Walker, scan  # noqa: PLC0415

    walkers: dict[str, Walker[object]] = {
        "walk": ScanBuffers(),
        "pick": ColumnBuffers(),
        "render": LineBuffers(0, Chosen()),
    }
    with TemporaryDirectory() as scratch:
        segment = Path(scratch) / "no-batch.log"
        segment.write_bytes(bytes(100))
        for _ in scan(walkers[function], segment):
            pass
    if os.access(folder, os.W_OK):
        (folder / function).touch()
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
