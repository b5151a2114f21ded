"""What a Delta table in a folder may name, only what lies in the folder, and whether it is whole, with what mends it.

Imports neither Spark nor Arrow. The protocol also allows absolute URIs, `..` and links; whoever can write a lake could
so have its readers open any other file that they may read.
"""

import json
import os
import re
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from shlex import quote
from typing import Final
from urllib.parse import unquote

from rebalance_audit.errors import LakeNotReadable

LOG: Final = "_delta_log"
SIDECARS: Final = re.compile(r"\d{20}\.checkpoint\.[0-9a-fA-F-]{36}\.(json|parquet)")
"""A checkpoint of version 2: tables have them on request alone."""
COMMIT: Final = re.compile(r"([0-9]{20})\.json")
CHECKPOINT: Final = re.compile(r"([0-9]{20})\.checkpoint\..*parquet")
PARQUET_END: Final = b"PAR1"
RECORDS: Final = "bronze.records"
ONLY_THERE: Final = frozenset(
    {
        "bronze.end_offsets",
        "gold.deploys",
        "gold.what_if",
        "meta.broker_log",
        "meta.checks",
        "meta.runs",
    }
)
"""Tables whose rows bronze.records cannot give again."""
_SHOWN: Final = 120
"""Characters of a name in a sentence."""
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def check_log(folder: Path) -> None:
    """Raises LakeNotReadable for a log, not opened yet, that leads out of the table by links, or is not whole."""
    log, base = folder / LOG, folder.resolve()
    if not log.resolve().is_relative_to(base):
        raise _outside(folder, LOG)
    names = []
    for entry in _entries(log):
        if entry.is_symlink() and not Path(entry).resolve().is_relative_to(base):
            raise _outside(folder, f"{LOG}/{entry.name}")
        names.append(entry.name)
    _check_whole(folder, names)


def _check_whole(folder: Path, names: Iterable[str]) -> None:
    """Readers take a commit without a byte for one that changed nothing, and Spark passes over half a line."""
    commits, checkpoints = (
        sorted(int(found[1]) for found in map(pattern.fullmatch, names) if found)
        for pattern in (COMMIT, CHECKPOINT)
    )
    if not commits:
        return
    first = checkpoints[-1] + 1 if checkpoints else 0
    lacking = set(range(first, commits[-1])).difference(commits)
    if lacking:
        file = folder / LOG / f"{min(lacking):020d}.json"
        raise LakeNotReadable(f"The commit {file} of {_name(folder)} is gone: {_remedy(folder)}")
    newest = folder / LOG / f"{commits[-1]:020d}.json"
    if not _is_complete(newest):
        raise LakeNotReadable(
            f"The commit {newest} of {_name(folder)} is only half written: remove that file"
            f" (`rm {quote(str(newest))}`) and run again, which writes its rows again."
        )


def _is_complete(commit: Path) -> bool:
    """Whether a file of the log ends with a whole line."""
    lines = commit.read_bytes().rstrip().rsplit(b"\n", 1)
    try:
        return isinstance(json.loads(lines[-1]), dict)
    except (ValueError, RecursionError):
        return False


def check_data(table: str, folder: Path, names: Iterable[str]) -> None:
    """Raises LakeNotReadable for a data file that is gone, or whose end is; `names` as in `check_files`."""
    for name in names:
        try:
            is_whole = (folder / name).is_file() and _ends_well(folder / name)
        except OSError:
            is_whole = False
        if not is_whole:
            raise LakeNotReadable(unreadable_file(_name(folder), f"{table}/{name}"))


def _ends_well(file: Path) -> bool:
    with file.open("rb") as content:
        content.seek(-len(PARQUET_END), os.SEEK_END)
        return content.read() == PARQUET_END


def unreadable_file(table: str, file: str) -> str:
    """The sentence about a data file of a table (`gold.epochs`), the same for readers and runs."""
    what = f"The file {file} of {table} is gone or damaged"
    if table == RECORDS:
        return f"{what}: {_FROM_SOURCE}"
    return f"{what}: run with --full, which makes {table} again from bronze."


_FROM_SOURCE: Final = (
    "restore it from a backup. Without one, remove the table and run over the source: what Kafka has compacted since"
    " then is lost."
)


def _name(folder: Path) -> str:
    """A table's full name, by its folder."""
    return ".".join(folder.parts[-2:])


def _remedy(folder: Path) -> str:
    """What to do about a table whose log cannot be read."""
    name, remove = _name(folder), f"`rm -r {quote(str(folder))}`"
    if name == RECORDS:
        return _FROM_SOURCE
    if name in ONLY_THERE:
        return f"restore it from a backup, or remove the table ({remove}), whose rows no other table has."
    return f"remove the table ({remove}) and run with --full, which makes {name} again from bronze."


def names_sidecars(folder: Path) -> bool:
    """Whether a log, not opened yet, has a checkpoint that names further files of the log."""
    return any(SIDECARS.fullmatch(entry.name) for entry in _entries(folder / LOG))


def _entries(log: Path) -> list[os.DirEntry[str]]:
    """Without asking for each file what it is: a log may have a hundred thousand."""
    if not log.is_dir():
        return []
    with os.scandir(log) as found:
        return list(found)


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
