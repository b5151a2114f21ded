"""Staged rows of several tables, as both readers give them and as they are counted."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from rebalance_audit.lake.gold.outputs import (
    BATCH_ROWS,
    GONE,
    NEW,
    QUARANTINE,
    REBUILT,
    OutputRows,
    frame_columns,
    output_columns,
)
from rebalance_audit.lake.storage.stage import ROW_GROUP, Stage
from rebalance_audit.tables.arrow_types import ddl_of_columns

COUNTS = {REBUILT: 2 * BATCH_ROWS + 3, NEW: 70, GONE: 5}
LARGE = 1 << 20
LARGE_ROWS = 60


def _epochs(_: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    rows = OutputRows({})
    for mark, count in COUNTS.items():
        for number in range(count):
            rows.add("epochs", mark, {"group_id": mark, "incarnation": 0, "epoch": number})
    rows.add("members", NEW, {"group_id": "g"})
    yield from rows.take_rest()


def _large(_: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    rows = OutputRows({})
    for number in range(LARGE_ROWS):
        raw = Random(number).randbytes(LARGE)
        rows.add(QUARANTINE, NEW, {"partition": 0, "offset": number, "raw": raw})
    yield from rows.take_rest()


def test_rows_are_counted_and_read_by_their_marks(spark: SparkSession, stage: Stage) -> None:
    """A list of a thousand rows counts as a thousand, and each of its rows has its mark."""
    given = spark.range(0, 1, 1, 1).mapInArrow(_epochs, ddl_of_columns(frame_columns()))
    staged = stage.put_tables(given, output_columns(), GONE)
    assert {mark: staged.count("epochs", mark) for mark in COUNTS} == COUNTS
    assert (staged.count("epochs"), staged.count("members")) == (sum(COUNTS.values()), 1)
    for marks in ((REBUILT,), (NEW, GONE), ()):
        each = staged.of("epochs", *marks)
        expected = sorted((mark, at) for mark in marks or COUNTS for at in range(COUNTS[mark]))
        by_arrow = each.batches().read_all().select(["group_id", "epoch"])
        by_spark = each.frame.select("group_id", "epoch").collect()
        assert sorted(zip(*by_arrow.to_pydict().values(), strict=True)) == expected
        assert sorted(map(tuple, by_spark)) == expected
        assert each.count() == len(expected)
    changes = staged.changes_of("epochs")
    by_arrow = changes.batches().read_all()
    gone = by_arrow.filter(by_arrow["_gone"])["group_id"].to_pylist()
    assert gone == [GONE] * COUNTS[GONE]
    assert changes.frame.where("_gone").count() == COUNTS[GONE]


def test_row_groups_of_large_rows_are_bounded(
    spark: SparkSession, stage: Stage, tmp_path: Path
) -> None:
    """The writer looks at its size before it holds a hundred rows of a megabyte each."""
    given = spark.range(0, 1, 1, 1).mapInArrow(_large, ddl_of_columns(frame_columns()))
    staged = stage.put_tables(given, output_columns(), GONE)
    assert staged.count(QUARANTINE) == LARGE_ROWS
    (path,) = tmp_path.rglob(f"table={QUARANTINE}/*.parquet")
    footer = pq.ParquetFile(path).metadata
    sizes = [footer.row_group(at).total_byte_size for at in range(footer.num_row_groups)]
    assert max(sizes) <= ROW_GROUP["parquet.block.size"] + 2 * LARGE
    rows = staged.of(QUARANTINE).batches().read_all()
    assert all(row["raw"] == Random(row["offset"]).randbytes(LARGE) for row in rows.to_pylist())
