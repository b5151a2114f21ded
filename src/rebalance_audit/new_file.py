"""Files that readers see whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from stat import S_IMODE


@contextmanager
def replacing(file: Path) -> Iterator[Path]:
    """An empty file that takes the place of `file` when the block has ended; its folder is made. Raises OSError.

    A new file may be read by whom the process's umask says; one that takes another's place has its permissions.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_name(f".{file.name}.{token_hex(8)}")
    # Not by tempfile, whose files are the owner's alone: whoever reads a result is often another user than the job's.
    os.close(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666))
    try:
        yield new
        if file.is_file() and not file.is_symlink():
            new.chmod(S_IMODE(file.stat().st_mode))
        new.replace(file)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
