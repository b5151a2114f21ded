"""Writes simulated logs into folders as brokers keep them."""

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from rebalance_audit.sim.brokers.partition_log import PartitionLog, segment_name, segment_path

METADATA_FOLDER: Final = "__cluster_metadata-0"


def write_log(log: PartitionLog, folder: Path) -> None:
    """Write the segments of one partition, or what the files there lack of them; empty segments get no file."""
    for segment in log.segments:
        if log.folder == folder:
            segment.spill()
        if log.folder == folder or not segment.size_bytes:
            continue
        target = segment_path(folder, log.log_partition, segment.base_offset)
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("wb") as file:
            if segment.has_file and segment.path is not None:
                with segment.path.open("rb") as spilled:
                    shutil.copyfileobj(spilled, file)
            file.writelines(batch.encoded() for batch in segment.batches)


def write_folder(logs: Iterable[PartitionLog], metadata_log: bytes, folder: Path) -> None:
    """Write every partition that holds anything, and the metadata log for topic names."""
    for log in logs:
        write_log(log, folder)
    if metadata_log:
        target = folder / METADATA_FOLDER
        target.mkdir(parents=True, exist_ok=True)
        (target / segment_name(0)).write_bytes(metadata_log)
