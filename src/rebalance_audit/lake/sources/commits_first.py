"""The order in which records of segments are stored: offset commits first, then the few others together.

Parquet keeps the smallest and largest value of each page of a column. With 99 of 100 records offset commits, every page
would have others among them; in this order a reader of group records skips nearly all pages
(`records.routing.is_other`).
"""

from collections.abc import Iterable, Iterator
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from rebalance_audit.lake.records.commit_packs import are_commits

HELD_BYTES: Final = 8 << 20
"""At most so many bytes of others are held: a log may have no commits."""


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
