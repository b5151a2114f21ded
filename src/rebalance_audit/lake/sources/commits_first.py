"""The order in which records of segments are stored: offset commits as they come, the few others together behind them.

Parquet keeps the least and the greatest value of each page of a column. Where 99 of 100 records are offset commits,
every page would have others among them; so laid out, a reader of group records passes over nearly all pages
(`records.routing.is_other`).
"""

from collections.abc import Iterable, Iterator
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from rebalance_audit.wire.key_bytes import OFFSET_COMMIT_PREFIXES, TYPE_BYTES

HELD_BYTES: Final = 8 << 20
"""Others leave after so many bytes at most: a log may have nothing else."""
_TYPES: Final = pa.array(OFFSET_COMMIT_PREFIXES, pa.binary())


def commits_first(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of one task, which will be one file; they have the columns `key` and `is_control`."""
    held: list[pa.RecordBatch] = []
    held_bytes = 0
    for batch in batches:
        is_commit = _are_commits(batch)
        yield batch.filter(is_commit)
        others = batch.filter(pc.invert(is_commit))
        if others.num_rows:
            held.append(others)
            held_bytes += others.nbytes
            if held_bytes > HELD_BYTES:
                yield from held
                held, held_bytes = [], 0
    yield from held


def _are_commits(batch: pa.RecordBatch) -> pa.BooleanArray:
    """As `records.routing.is_commit`; never null."""
    types = pc.binary_slice(batch["key"], 0, TYPE_BYTES)
    control = pc.fill_null(batch["is_control"], False)
    return pc.and_not(pc.is_in(types, value_set=_TYPES), control)
