"""What the reducer costs by the number of groups and members: `python -m workshop.bench.reducer_shapes`.

No Spark: Arrow batches of a log of workshop.bench.scale_log in, Arrow batches of all tables out, as one Spark task has
it, each shape in a process of its own. Records are sorted by group, as the task gets them.
"""

import argparse
import resource
import sys
import time
from collections.abc import Iterator
from multiprocessing import get_context
from typing import Final

import pyarrow as pa

from rebalance_audit.lake.gold.group_memory import ReducerOptions
from rebalance_audit.lake.gold.reducer import reduced
from rebalance_audit.lake.records.commit_packs import INPUT
from rebalance_audit.lake.storage.stage import ROWS
from rebalance_audit.tables.arrow_types import column_of
from workshop.bench.reducer_speed import ARROW_ROWS, INPUT_KINDS
from workshop.bench.scale_log import KEY_HEAD, group_id, history

SHAPES: Final = (
    # groups, members, rounds
    (1, 3, 1_400),
    (100, 3, 12),
    (2_500, 3, 0),
    (80, 30, 3),
    (9, 300, 3),
    (1, 3_000, 3),
)
"""About as many records in each; they differ in the number of groups and of members."""
Row = tuple[int, str, int, int, int, None, None, bytes, bytes | None, None]
"""The columns INPUT."""
BATCH_BYTES: Final = 64 << 20
"""The most that Spark puts into one batch, see lake.session."""


def main() -> None:
    """Measure each shape for each protocol."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--protocols", nargs="+", default=["consumer", "classic"])
    parser.add_argument(
        "--shape", type=int, nargs=3, action="append", help="groups, members, rounds of your own"
    )
    asked = parser.parse_args()
    for protocol in asked.protocols:
        for groups, members, rounds in asked.shape or SHAPES:
            process = get_context("fork").Process(
                target=measure, args=(protocol, groups, members, rounds)
            )
            process.start()
            process.join()


def measure(protocol: str, groups: int, members: int, rounds: int) -> None:
    """Print a line."""
    batches = list(batches_of(protocol, groups, members, rounds))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    records = sum(map(len, batches))
    rows, began = 0, time.process_time()
    for batch in reduced(batches, ReducerOptions()):
        rows += sum(batch[ROWS].to_pylist())
    spent = time.process_time() - began
    more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    sys.stdout.write(
        f"{protocol:9} {groups:7,} groups {members:6,} members {records:9,} records"
        f" {sum(batch.nbytes for batch in batches) / 1e6:6.1f} MB {rows:9,} rows {spent:6.1f} s"
        f" {spent / records * 1e6:9.1f} us/record {spent / rows * 1e6:6.1f} us/row"
        f" {spent / groups * 1e6:12,.0f} us/group {more >> 10:6,} MiB more\n"
    )
    sys.stdout.flush()


def batches_of(protocol: str, groups: int, members: int, rounds: int) -> Iterator[pa.RecordBatch]:
    """The records of all groups as Spark hands them over, one group after the other."""
    rows: list[Row] = []
    size = 0
    for row in rows_of(protocol, groups, members, rounds):
        rows.append(row)
        size += len(row[-2] or b"")
        if len(rows) == ARROW_ROWS or size > BATCH_BYTES:
            yield _batch(rows)
            rows, size = [], 0
    if rows:
        yield _batch(rows)


def rows_of(protocol: str, groups: int, members: int, rounds: int) -> Iterator[Row]:
    """Rows with the columns INPUT; every write of a group comes after those of others."""
    writes = history(protocol, members, rounds, 0)
    for number in range(groups):
        name = group_id(number)
        head, log_offset = name.encode(), 0
        for at_ms, entries in writes:
            for kind, tail, value in entries:
                key = KEY_HEAD.pack(kind, len(head)) + head + tail
                yield 0, name, log_offset, at_ms, 0, None, None, key, value, None
                log_offset += 1
            log_offset += 3


def _batch(rows: list[Row]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    arrays = [column_of(kind, column) for kind, column in zip(INPUT_KINDS, columns, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, names=[*INPUT])


if __name__ == "__main__":
    main()
