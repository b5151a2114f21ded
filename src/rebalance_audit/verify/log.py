"""All partitions of a folder of segments."""

from collections.abc import Collection, Iterator
from pathlib import Path

from rebalance_audit.errors import UnknownPartition
from rebalance_audit.verify.coordinators import DEFAULT, Coordinator
from rebalance_audit.verify.loading import Verification
from rebalance_audit.verify.partition_load import LogItem, load_partition
from rebalance_audit.wire.segments.columns import read_columns
from rebalance_audit.wire.segments.folder import LogFolder, Segment, open_log_folder


def verify_log(
    path: str | Path,
    coordinator: Coordinator = DEFAULT,
    log_partitions: Collection[int] | None = None,
) -> Verification:
    """What the coordinator does with each partition of a folder of segments, or with `log_partitions` alone.

    Raises SourceNotReadable, UnknownPartition, BadRequest for an unknown coordinator, and OSError that names the file.
    """
    return verify_folder(open_log_folder(path), coordinator, log_partitions)


def verify_folder(
    folder: LogFolder, coordinator: Coordinator, log_partitions: Collection[int] | None = None
) -> Verification:
    """The same for a folder that is open."""
    wanted = sorted(folder.segments if log_partitions is None else set(log_partitions))
    missing = [number for number in wanted if number not in folder.segments]
    if missing:
        raise UnknownPartition(missing, list(folder.segments))
    loadings = (
        load_partition(_items(folder.segments[number]), coordinator, number) for number in wanted
    )
    return Verification(coordinator, tuple(loadings))


def _items(segments: tuple[Segment, ...]) -> Iterator[LogItem]:
    for segment in segments:
        yield from read_columns(segment.path, end_offset=segment.end_offset)
