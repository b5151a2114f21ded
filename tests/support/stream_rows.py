"""What the reducer's stream holds: tables, marks and rows."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import pyarrow as pa

from rebalance_audit.lake.gold.packed_rows import PACKED, batches_in


class Unpacked(NamedTuple):
    """One row of the stream."""

    table: str
    mark: str
    rows: pa.RecordBatch


def unpacked_stream(batches: Iterable[pa.RecordBatch]) -> Iterator[Unpacked]:
    """Rows of tables, batch by batch; not what is told of files."""
    for batch in batches:
        found = batch.filter(batch[PACKED].is_valid())
        tables, marks = (found[name].to_pylist() for name in ("table", "mark"))
        yield from map(Unpacked, tables, marks, batches_in(found[PACKED]))
