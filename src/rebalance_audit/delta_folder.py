"""What a Delta table in a folder may name: only what lies in the folder. Imports neither Spark nor Arrow.

The protocol also allows absolute URIs, `..` and links; whoever can write a lake could so have its readers open any
other file that they may read.
"""

import json
import re
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Final
from urllib.parse import unquote

from rebalance_audit.errors import LakeNotReadable

LOG: Final = "_delta_log"
SIDECARS: Final = re.compile(r"\d{20}\.checkpoint\.[0-9a-fA-F-]{36}\.(json|parquet)")
"""A checkpoint of version 2: tables have them on request alone."""
_SHOWN: Final = 120
"""Characters of a name in a sentence."""
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def check_log(folder: Path) -> None:
    """Raises LakeNotReadable for a log, not opened yet, that leads out of the table by links."""
    log, base = folder / LOG, folder.resolve()
    if not log.resolve().is_relative_to(base):
        raise _outside(folder, LOG)
    for entry in _entries(log):
        if entry.is_symlink() and not entry.resolve().is_relative_to(base):
            raise _outside(folder, f"{LOG}/{entry.name}")


def names_sidecars(folder: Path) -> bool:
    """Whether a log, not opened yet, has a checkpoint that names further files of the log."""
    return any(SIDECARS.fullmatch(entry.name) for entry in _entries(folder / LOG))


def _entries(log: Path) -> Iterable[Path]:
    return log.iterdir() if log.is_dir() else ()


def check_files(table: str, folder: Path | None, names: Iterable[str]) -> None:
    """Raises LakeNotReadable if a table's log names a data file outside of the table.

    `names` are decoded, and relative to the table unless they are URIs. `folder`: of a table on this machine.
    """
    base = None if folder is None else folder.resolve()
    for name in names:
        if is_outside(name) or not (
            folder is None or base is None or (folder / name).resolve().is_relative_to(base)
        ):
            raise _outside(table, name)


def check_commits(folder: Path, versions: Iterable[int]) -> None:
    """Raises LakeNotReadable if commits name files, also of the change feed, that lie outside of the table.

    Delta's own reader would open them. Commits that the log has forgotten name none.
    """
    check_log(folder)
    for version in versions:
        commit = folder / LOG / f"{version:020d}.json"
        lines = commit.read_text(encoding="utf-8").splitlines() if commit.is_file() else []
        found = map(json.loads, filter(None, lines))
        changes = (action.get("add") or action.get("cdc") for action in found)
        names = [unquote(change["path"]) for change in changes if change is not None]
        check_files(str(folder), folder, names)


def is_outside(name: str) -> bool:
    """Whether the name of a file leads out of the folder that it is relative to, links aside."""
    path = PurePosixPath(name)
    return path.is_absolute() or ".." in path.parts or bool(_SCHEME.match(name))


def _outside(table: object, name: str) -> LakeNotReadable:
    shown = name if len(name) <= _SHOWN else f"{name[:_SHOWN]}…"
    return LakeNotReadable(
        f"{table} cannot be read: its Delta log names a file outside of the table, {shown!r}."
    )
