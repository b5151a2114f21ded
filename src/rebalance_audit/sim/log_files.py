"""Writes simulated logs into folders as brokers keep them."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from rebalance_audit.sim.partition_log import PartitionLog

OFFSETS_TOPIC: Final = "__consumer_offsets"
METADATA_FOLDER: Final = "__cluster_metadata-0"


def segment_name(base_offset: int) -> str:
    """Name of a segment file: 20 digits."""
    return f"{base_offset:020d}.log"


def write_log(log: PartitionLog, folder: Path) -> None:
    """Write the segments of one partition; empty segments get no file."""
    target = folder / f"{OFFSETS_TOPIC}-{log.log_partition}"
    for segment in log.segments:
        if not segment.batches:
            continue
        target.mkdir(parents=True, exist_ok=True)
        with (target / segment_name(segment.base_offset)).open("wb") as file:
            for batch in segment.batches:
                file.write(batch.encoded())


def write_folder(logs: Iterable[PartitionLog], metadata_log: bytes, folder: Path) -> None:
    """Write every partition that holds anything, and the metadata log for the names of topics."""
    for log in logs:
        write_log(log, folder)
    if metadata_log:
        target = folder / METADATA_FOLDER
        target.mkdir(parents=True, exist_ok=True)
        (target / segment_name(0)).write_bytes(metadata_log)
