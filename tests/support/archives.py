"""Packed captures."""

import tarfile
from pathlib import Path


def unpack(packed: Path, folder: Path) -> None:
    """All files of an archive of ours; later releases of Python ask which filter, 3.11.3 and before know none."""
    with tarfile.open(packed) as archive:
        if hasattr(tarfile, "data_filter"):
            archive.extractall(folder, filter="data")
        else:
            archive.extractall(folder)  # noqa: S202 - our own, see above
