"""What the reducer makes: tables, marks and rows."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import pyarrow as pa


class Unpacked(NamedTuple):
    """A batch of one table."""

    table: str
    mark: str
    rows: pa.RecordBatch


def unpacked_stream(batches: Iterable[pa.RecordBatch]) -> Iterator[Unpacked]:
    """Rows of tables, batch by batch."""
    for batch in batches:
        (table,), (mark,) = (set(batch[name].to_pylist()) for name in ("table", "mark"))
        assert not any(
            batch[name].null_count < batch.num_rows
            for name in batch.schema.names
            if name not in {"table", "mark", "rows", table}
        )
        assert batch["rows"].to_pylist() == [*map(len, batch[table].to_pylist())]
        yield Unpacked(table, mark, pa.RecordBatch.from_struct_array(batch[table].flatten()))
