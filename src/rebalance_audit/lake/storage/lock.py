"""One run at a time per cluster of a lake.

A lock of the operating system on a file in the lake: it is gone with the process that holds it, however that ends, so
nobody has to clean up behind a run that was killed. Object stores have no such thing; there two runs that overlap are
told apart by Delta, which refuses the second of two commits that were made from the same version.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EAGAIN, EWOULDBLOCK
from pathlib import Path
from urllib.parse import quote

from rebalance_audit.errors import LakeBusy, LakeNotWritable
from rebalance_audit.location import is_catalog, local_path


@contextmanager
def sole_run(lake: str, cluster: str, run_id: str) -> Iterator[None]:
    """Hold the cluster's lock while the run lasts. Raises LakeBusy, with what is known of the other run."""
    folder = None if is_catalog(lake) else local_path(lake)
    if folder is None:
        yield
        return
    path = folder / "meta" / f".running-{quote(cluster, safe='')}"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise LakeNotWritable(f"{path} cannot be written: {error.strerror}.") from error
    try:
        _take(descriptor, path, cluster)
        os.truncate(descriptor, 0)
        os.pwrite(descriptor, f"{run_id} in process {os.getpid()}".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _take(descriptor: int, path: Path, cluster: str) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in {EAGAIN, EWOULDBLOCK}:
            other = path.read_text() or "a run that has only begun"
            raise LakeBusy(
                f"Cluster {cluster} of this lake is being written by {other}; try again when that has ended."
            ) from None
        # A file system without locks: as an object store.
