"""What offset commits cost on their way into the reducer: `python -m workshop.bench.commit_packs`.

No Spark: a log of workshop.bench.scale_log is read and packed as a task of `segments:` does, then reduced with its
commits and without them, gold alone. Packs of 32,768 commits are those of bronze that many small ingests have made.
"""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from rebalance_audit.lake.gold.group_memory import ReducerOptions
from rebalance_audit.lake.gold.reducer import reduced
from rebalance_audit.lake.records.commit_packs import (
    GROUP_RECORD,
    INPUT,
    are_commits,
    pack_commits,
    packed,
)
from rebalance_audit.lake.sources.segments_source import Reading, read_split
from rebalance_audit.lake.sources.segments_source import pack as cut
from rebalance_audit.tables.arrow_types import arrow_type
from rebalance_audit.wire.key_bytes import group_bytes
from rebalance_audit.wire.segments.folder import open_log_folder
from workshop.bench.reducer_speed import ARROW_ROWS, INPUT_KINDS
from workshop.bench.scale_log import Shape, scale_log

LOG: Final = Shape(
    200_000,
    groups=40,
    rounds=16,
    partitions=1,
    committed=25,
    commits_per_batch=5,
    commit_version=4,
)
SMALL: Final = 1 << 15
ORDER: Final = [(name, "ascending") for name in ("partition", "group_id", "offset")]
SCHEMA: Final = pa.schema(
    [(name, arrow_type(kind)) for name, kind in zip(INPUT, INPUT_KINDS, strict=True)]
)
Made = TypeVar("Made")


def main() -> None:
    """Print a line for each step."""
    folder = scale_log(LOG)
    commits = [*commits_of(folder)]
    count = sum(len(batch) for batch in commits)
    groups = group_records(folder)
    _, seconds = timed(lambda: [*packed(commits_of(folder))])
    print_rate("read and packed", seconds, count)
    without = reducing(groups, [])
    table = pa.Table.from_batches(commits).combine_chunks()
    for size in (count, SMALL):
        packs = [pack_commits([batch]) for batch in table.to_batches(size)]
        print_rate(f"reduced, packs of {size:,}", reducing(groups, packs) - without, count)


def reducing(groups: pa.Table, packs: Sequence[pa.RecordBatch]) -> float:
    """Seconds that the reducer takes, the lesser of two."""
    given = pa.concat_tables([groups, *(pa.table(batch).cast(SCHEMA) for batch in packs)])
    batches = given.sort_by(ORDER).combine_chunks().to_batches(ARROW_ROWS)
    options = ReducerOptions(with_silver=False)
    return min(timed(lambda: [*reduced(batches, options)])[1] for _ in range(2))


def group_records(folder: Path) -> pa.Table:
    """All but the commits, with the columns INPUT."""
    batches = [batch.filter(pc.invert(are_commits(batch))) for batch in read(folder)]
    table = pa.Table.from_batches(batches)
    ids = [(group_bytes(key) or b"").decode() for key in table["key"].to_pylist()]
    table = table.append_column("group_id", pa.array(ids))
    return table.append_column("kind", pa.nulls(len(ids), pa.string())).select(INPUT).cast(SCHEMA)


def commits_of(folder: Path) -> Iterator[pa.RecordBatch]:
    """The commits of the log."""
    for batch in read(folder):
        yield batch.filter(are_commits(batch))


def read(folder: Path) -> Iterator[pa.RecordBatch]:
    """The rows of the log."""
    columns = (*(name for name in GROUP_RECORD if name != "group_id"), "is_control")
    segments = [each for found in open_log_folder(folder).segments.values() for each in found]
    for piece in cut(segments, 1 << 40):
        yield from read_split(piece, columns, Reading(1 << 40))


def timed(work: Callable[[], Made]) -> tuple[Made, float]:
    """What the work makes, and its processor seconds."""
    began = time.process_time()
    made = work()
    return made, time.process_time() - began


def print_rate(step: str, seconds: float, count: int) -> None:
    """A line."""
    sys.stdout.write(f"{step:30} {count:9,} commits {seconds / count * 1e6:6.2f} us each\n")


if __name__ == "__main__":
    main()
