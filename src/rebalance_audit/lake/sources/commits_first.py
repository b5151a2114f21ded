"""The order in which records of segments are stored: offset commits as they come, the few others together after them.

Parquet keeps the least and the greatest value of each page of a column. Where 99 of 100 records are offset commits,
every page would have others among them; so laid out, a reader of group records passes over nearly all pages
(`records.routing.is_other`).
"""

from collections.abc import Iterable, Iterator
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from rebalance_audit.lake.records.commit_packs import are_commits

HELD_BYTES: Final = 8 << 20
"""Others leave after so many bytes at most: a log may have nothing else."""


def commits_first(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of one task, which will be one file; they have the columns `key` and `is_control`."""
    held: list[pa.RecordBatch] = []
    held_bytes = 0
    for batch in batches:
        is_commit = are_commits(batch)
        yield batch.filter(is_commit)
        others = batch.filter(pc.invert(is_commit))
        if others.num_rows:
            held.append(others)
            held_bytes += others.nbytes
            if held_bytes > HELD_BYTES:
                yield from held
                held, held_bytes = [], 0
    yield from held
