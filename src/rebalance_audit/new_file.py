"""Files that readers see whole or not at all."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

READABLE_BY_ALL: Final = 0o644
"""Temporary files are the owner's alone; whoever reads a result is often another user than the job's."""


@contextmanager
def replacing(file: Path) -> Iterator[Path]:
    """An empty file that takes the place of `file` when the block has ended; its folder is made. Raises OSError."""
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    os.close(handle)
    new = Path(name)
    try:
        yield new
        new.chmod(READABLE_BY_ALL)
        new.replace(file)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
