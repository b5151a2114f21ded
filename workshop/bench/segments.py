"""How fast one core reads a segment of offset commits.

    python -m workshop.bench.segments --records 2000000 --per-batch 5

writes the segment to a temporary folder, reads it in every way and prints records a second of processor time, the best
of three, and the largest memory of the process.
"""

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

from rebalance_audit.wire.segments.bad_bytes import BadBytes, TailNote
from rebalance_audit.wire.segments.columns import ColumnChunk, read_columns
from rebalance_audit.wire.segments.folder import open_log_folder
from rebalance_audit.wire.segments.walk import split_points
from tests.support.batches import read_batches
from tests.support.log_entries import log_entries
from tests.wire.segments.hand_made import CODEC_NUMBERS, batch, commits


def write(path: Path, record_count: int, per_batch: int, codec: str) -> None:
    """A segment of offset commits in batches of one size."""
    path.parent.mkdir(parents=True)
    with path.open("wb") as file:
        for first in range(0, record_count, per_batch):
            file.write(batch(commits(per_batch, first), codec))


def columns(path: Path) -> int:
    """Records by the bulk path."""
    return sum(
        len(found.log_offsets) for found in read_columns(path) if isinstance(found, ColumnChunk)
    )


def batch_records(path: Path) -> int:
    """Records by batches."""
    count = 0
    for found in read_batches(path):
        assert not isinstance(found, BadBytes | TailNote)
        count += len(found.records())
    return count


def ways(path: Path) -> dict[str, Callable[[], int]]:
    """What is measured."""
    return {
        "columns": lambda: columns(path),
        "records of the folder": lambda: sum(1 for _ in log_entries(open_log_folder(path))),
        "records of batches": lambda: batch_records(path),
        "split points": lambda: len(list(pairwise(split_points(path, 8 << 20)))),
    }


def main() -> None:
    """Measure as asked on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--per-batch", type=int, default=5)
    parser.add_argument("--codec", choices=CODEC_NUMBERS, default="none")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "__consumer_offsets-0" / f"{0:020d}.log"
        write(path, asked.records, asked.per_batch, asked.codec)
        for name, way in ways(path).items():
            seconds = []
            for _ in range(3):
                begun = time.process_time()
                count = way()
                seconds.append(time.process_time() - begun)
            rate = asked.records / min(seconds) / 1e6
            size = path.stat().st_size / min(seconds) / 1e6
            sys.stdout.write(f"{name:32} {rate:6.2f} M records/s  {size:6.0f} MB/s  ({count})\n")
    sys.stdout.write(
        f"largest memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MiB\n"
    )


if __name__ == "__main__":
    main()
