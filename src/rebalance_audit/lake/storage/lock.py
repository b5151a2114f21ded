"""Locks of a lake: one run and one ingest at a time per cluster, one process that makes tables, one owner of a stage.

Each is a lock of the operating system on a file in the lake. It ends with the process that holds it, so a killed run
leaves nothing to clean up. Object stores have no such locks: there, of two overlapping runs, Delta refuses the second
commit that builds on the same version.
"""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from errno import EAGAIN, ELOOP, EWOULDBLOCK
from hashlib import sha256
from pathlib import Path
from typing import Final
from urllib.parse import quote

from rebalance_audit.errors import LakeBusy, LakeNotWritable
from rebalance_audit.lake.storage.table_log import RUN_ID
from rebalance_audit.location import is_catalog, local_path

OWNER: Final = ".owner"
"""File in a folder that belongs to one process: its lock."""
NAME_MAX: Final = 150
"""Characters of a cluster's name in the name of its lock; a digest replaces the rest of a longer one."""


@contextmanager
def sole_run(lake: str, cluster: str, run_id: str) -> Iterator[None]:
    """Hold the cluster's lock for the block. Raises LakeBusy with the id of the other run."""
    path = _lock_file(lake, f".running-{_in_file_name(cluster)}")
    if path is None:
        yield
        return
    try:
        descriptor = _open(path)
    except OSError as error:
        raise LakeNotWritable(f"{path} cannot be written: {error.strerror}.") from error
    try:
        _take(descriptor, path, cluster)
        os.truncate(descriptor, 0)
        os.pwrite(descriptor, f"{run_id} in process {os.getpid()}".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def sole_ingest(lake: str, cluster: str, run_id: str) -> AbstractContextManager[None]:
    """Hold the lock of the cluster's ingests, which a run of the cluster does not hold. Raises LakeBusy."""
    return sole_run(lake, f"{cluster} (ingest)", run_id)


def sole_table_maker(lake: str) -> AbstractContextManager[None]:
    """Let no other process on this machine make tables of the lake during the block: it waits. Raises OSError."""
    path = _lock_file(lake, ".making-tables")
    return nullcontext() if path is None else _waiting_for(path)


@contextmanager
def sole_owner(folder: Path | None, name: str) -> Iterator[None]:
    """Own one of the folders in a folder for the block; those of runs that have ended are removed first.

    Others in it are left alone: a configured folder may have any. None for a folder that is not on this machine: it has
    no locks. Raises LakeNotWritable.
    """
    if folder is None:
        yield
        return
    path = folder / name / OWNER
    try:
        with _waiting_for(folder / OWNER):
            for other in folder.iterdir():
                if RUN_ID.fullmatch(other.name) and other.is_dir() and is_abandoned(other):
                    shutil.rmtree(other, ignore_errors=True)
            descriptor = _open(path)
            with suppress(OSError):  # a file system without locks
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise LakeNotWritable(f"{path} cannot be written: {error.strerror}.") from error
    try:
        yield
    finally:
        os.close(descriptor)


def is_abandoned(folder: Path) -> bool | None:
    """Whether the process that owned a folder has ended; None in a file system without locks."""
    if not (folder / OWNER).exists():
        return True
    try:
        descriptor = _open(folder / OWNER)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return False if error.errno in {EAGAIN, EWOULDBLOCK} else None
    finally:
        os.close(descriptor)
    return True


@contextmanager
def _waiting_for(path: Path) -> Iterator[None]:
    """Hold a lock for the block, however long others hold it. Raises OSError."""
    descriptor = _open(path)
    try:
        with suppress(OSError):  # a file system without locks: as an object store
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _lock_file(lake: str, name: str) -> Path | None:
    """None for a lake that is not in a file system of this machine."""
    folder = None if is_catalog(lake) else local_path(lake)
    return None if folder is None else folder / "meta" / name


def _in_file_name(cluster: str) -> str:
    """A cluster's name as part of a file's, which file systems limit to 255 bytes."""
    name = quote(cluster, safe="")
    if len(name) <= NAME_MAX:
        return name
    return f"{name[:NAME_MAX]}-{sha256(cluster.encode()).hexdigest()}"


def _open(path: Path) -> int:
    """Follows no link: taking the lock truncates the file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
    except OSError as error:
        if error.errno == ELOOP:
            raise OSError(ELOOP, "it is a symbolic link", str(path)) from None
        raise


def _take(descriptor: int, path: Path, cluster: str) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in {EAGAIN, EWOULDBLOCK}:
            other = path.read_text() or "a run that has just started"
            raise LakeBusy(
                f"Cluster {cluster} of this lake is being written by {other}; try again when it has ended."
            ) from None
        # A file system without locks: as an object store.
