"""Rows of one output as one cell of the reducer's stream.

A Spark stage has one schema, and the outputs have some 250 columns together. If each row had all of them, most of an
increment would go into taking rows apart and putting them together again. So a batch of rows travels as bytes, in
Arrow's own form, and whoever needs rows of an output unpacks those alone.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from rebalance_audit.lake.gold.outputs import OUTPUTS
from rebalance_audit.lake.storage.key_range import LISTED_GROUPS, ranged_columns
from rebalance_audit.tables.arrow_types import ddl_of_columns
from rebalance_audit.tables.schemas import table_schemas

PACKED: Final = "packed"
ROWS: Final = "rows"
OPTIONS: Final = pa.ipc.IpcWriteOptions(compression="lz4")
GROUP: Final = "group_id"


@cache
def ranged_of(output: str) -> tuple[str, ...]:
    """Columns of the key of an output's table whose range is told of each batch."""
    return tuple(ranged_columns(table_schemas()[OUTPUTS[output]]))


NUMBERS: Final = max(len(ranged_of(output)) for output in OUTPUTS)
"""The most such columns of an output."""
ENDS: Final = tuple(f"{end}_{place}" for place in range(NUMBERS) for end in ("low", "high"))
TOLD: Final[Mapping[str, str]] = {
    ROWS: "bigint",
    **dict.fromkeys(ENDS, "bigint"),
    "groups": "array<string>",
    "first": "string",
    "last": "string",
}
"""What the stream tells of a batch beside its rows: their number, and the range of their keys, see `key_range`."""


def as_cell(rows: pa.RecordBatch) -> bytes:
    """A batch as a cell."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema, options=OPTIONS) as stream:
        stream.write_batch(rows)
    return bytes(sink.getvalue())


def batches_in(cells: pa.Array) -> Iterator[pa.RecordBatch]:
    """The batches in cells."""
    for cell in cells:
        yield from pa.ipc.open_stream(cell.as_buffer())


def unpacked(packed: DataFrame, columns: Mapping[str, str]) -> DataFrame:
    """The rows with these columns, name -> type, from rows of the stream that have batches of them."""

    def rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield from batches_in(batch[PACKED])

    return packed.select(PACKED).mapInArrow(rows, ddl_of_columns(columns))


def told_of(output: str, rows: pa.RecordBatch) -> dict[str, Any]:
    """TOLD of a batch of an output's rows."""
    told: dict[str, Any] = {ROWS: rows.num_rows}
    for place, name in enumerate(ranged_of(output)):
        ends = pc.min_max(rows[name]).as_py()
        told |= {f"low_{place}": ends["min"], f"high_{place}": ends["max"]}
    if GROUP in rows.schema.names:
        ends = pc.min_max(rows[GROUP]).as_py()
        groups = pc.unique(rows[GROUP]).drop_null()[: LISTED_GROUPS + 1]
        told |= {"groups": groups.to_pylist(), "first": ends["min"], "last": ends["max"]}
    return told
