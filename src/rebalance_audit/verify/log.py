"""All partitions of a folder of segments."""

from collections.abc import Collection
from pathlib import Path

from rebalance_audit.errors import UnknownPartition
from rebalance_audit.verify.coordinators import DEFAULT, Coordinator
from rebalance_audit.verify.loading import Verification
from rebalance_audit.verify.partition_load import load_segments
from rebalance_audit.wire.segments.folder import LogFolder, open_log_folder


def verify_log(
    path: str | Path,
    coordinator: Coordinator = DEFAULT,
    log_partitions: Collection[int] | None = None,
    *,
    after_crash: bool = False,
) -> Verification:
    """What the coordinator does with each partition of a folder of segments, or with `log_partitions` alone.

    `after_crash`: the broker recovers the log first, see `loader_bytes.loader_items`.
    Raises SourceNotReadable, UnknownPartition, BadRequest for an unknown coordinator, and OSError that names the file.
    """
    return verify_folder(
        open_log_folder(path), coordinator, log_partitions, after_crash=after_crash
    )


def verify_folder(
    folder: LogFolder,
    coordinator: Coordinator,
    log_partitions: Collection[int] | None = None,
    *,
    after_crash: bool = False,
    with_groups: bool = False,
) -> Verification:
    """The same for a folder that is open. `with_groups`: also list the groups of partitions that load."""
    loadings = (
        load_segments(
            folder.segments[number], coordinator, after_crash=after_crash, with_groups=with_groups
        )
        for number in chosen_partitions(folder.segments, log_partitions)
    )
    return Verification(coordinator, tuple(loadings))


def chosen_partitions(present: Collection[int], wanted: Collection[int] | None) -> list[int]:
    """The wanted ones, or else all, in their order. Raises UnknownPartition for one that is not present."""
    chosen = sorted({*(present if wanted is None else wanted)})
    missing = [number for number in chosen if number not in present]
    if missing:
        raise UnknownPartition(missing, sorted(present))
    return chosen
