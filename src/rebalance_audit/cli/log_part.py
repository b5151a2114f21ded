"""The first part of a log: its segments as they were before the brokers wrote the rest."""

import os
from pathlib import Path

from rebalance_audit.wire.segments.batches import Batch
from rebalance_audit.wire.segments.segment_file import read_batches


def leave_part(folder: Path, part: float) -> None:
    """Of each segment below a folder leave at most this part of its bytes, in whole batches."""
    for segment in folder.glob("*/*.log"):
        batches = [found.header for found in read_batches(segment) if isinstance(found, Batch)]
        ends = [batch.byte_position + batch.size_bytes for batch in batches]
        bytes_max = segment.stat().st_size * part
        os.truncate(segment, max((end for end in ends if end <= bytes_max), default=0))
