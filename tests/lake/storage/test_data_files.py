"""Files that tasks write, and read, without Spark."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rebalance_audit.lake.runs.error_translation import UNREADABLE_FILE
from rebalance_audit.lake.storage.data_files import PAGE_ROWS, DataFiles
from rebalance_audit.lake.storage.table_files import DataFileNotReadable, TableFiles

AT = datetime(2026, 11, 21, 9, 6, 35, 510_999, tzinfo=UTC)
COLUMNS = {
    "cluster": ("string", False),
    "offset": ("bigint", False),
    "timestamp": ("timestamp", True),
    "key": ("binary", True),
    "metadata": ("string", True),
}
TYPES = {name: kind for name, (kind, _) in COLUMNS.items()}


def files(folder: Path) -> DataFiles:
    """A table in a folder."""
    return DataFiles(str(folder), COLUMNS, ("cluster", "offset", "timestamp", "metadata"), "zstd")


def batch(*rows: tuple[int, datetime | None, bytes | None, str | None]) -> pa.RecordBatch:
    """Offset, time, key and metadata."""
    offsets, times, keys, texts = zip(*rows, strict=True)
    return pa.RecordBatch.from_arrays(
        [
            pa.array(offsets, pa.int64()),
            pa.array(times, pa.timestamp("us", "UTC")),
            pa.array(keys, pa.binary()),
            pa.array(texts, pa.string()),
        ],
        names=["offset", "timestamp", "key", "metadata"],
    )


def written(folder: Path, *batches: pa.RecordBatch, cluster: str = "blue") -> dict[str, Any]:
    """What the task told."""
    (told,) = files(folder).write(iter(batches), {"cluster": cluster}, lambda: 7)
    (row,) = told.to_pylist()
    return dict(row)


def test_a_file_has_all_rows_and_its_line_says_what_they_are(tmp_path: Path) -> None:
    """Statistics as Delta keeps them: times in milliseconds, nulls counted, of a long text the beginning."""
    told = written(
        tmp_path, batch((5, AT, b"k", "x" * 40), (3, None, None, None)), batch((9, AT, b"", "é"))
    )
    add = json.loads(told["line"])["add"]
    (path,) = tmp_path.iterdir()
    assert (add["path"], add["size"]) == (path.name, path.stat().st_size)
    assert (told["rows"], told["size_bytes"], told["noted"]) == (3, add["size"], "7")
    at = "2026-11-21T09:06:35.510Z"
    assert json.loads(add["stats"]) == {
        "numRecords": 3,
        "minValues": {"cluster": "blue", "offset": 3, "timestamp": at, "metadata": "x" * 32},
        "maxValues": {"cluster": "blue", "offset": 9, "timestamp": at, "metadata": "é"},
        "nullCount": {"cluster": 0, "offset": 0, "timestamp": 1, "metadata": 1},
    }
    assert pq.read_table(path).to_pylist() == [
        {"cluster": "blue", "offset": 5, "timestamp": AT, "key": b"k", "metadata": "x" * 40},
        {"cluster": "blue", "offset": 3, "timestamp": None, "key": None, "metadata": None},
        {"cluster": "blue", "offset": 9, "timestamp": AT, "key": b"", "metadata": "é"},
    ]


def test_no_rows_are_no_file(tmp_path: Path) -> None:
    """What the task noted is told nevertheless."""
    told = written(tmp_path, batch((1, None, None, None)).slice(1))
    assert told == {"line": None, "rows": 0, "size_bytes": 0, "noted": "7"}
    assert [*tmp_path.iterdir()] == []


def test_pages_are_small_enough_to_pass_over(tmp_path: Path) -> None:
    """A reader finds the least and greatest key of each page in the file's index."""
    written(tmp_path, *[batch(*[(at, None, b"k", None)] * 9_000) for at in range(5)])
    (path,) = tmp_path.iterdir()
    column = pq.ParquetFile(path).metadata.row_group(0).column(3)
    assert (column.path_in_schema, column.has_column_index) == ("key", True)
    assert column.num_values == 45_000 > 2 * PAGE_ROWS


def test_a_task_that_fails_leaves_nothing(tmp_path: Path) -> None:
    """Neither where the rows come from, nor a row that the table does not take."""

    def cut_short() -> Iterator[pa.RecordBatch]:
        yield batch((1, None, None, None))
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        list(files(tmp_path).write(cut_short(), {"cluster": "blue"}))
    with pytest.raises(pa.ArrowInvalid, match="cluster"):
        list(files(tmp_path).write([batch((1, None, None, None))], {"cluster": None}))
    assert [*tmp_path.iterdir()] == []


def rows_of(*paths: Path) -> list[dict[str, Any]]:
    """Offset and metadata of cluster blue in files."""
    table = TableFiles("blue", tuple(map(str, paths)), TYPES)
    found = table._rows(table.paths, ["offset", "metadata"])  # what a task calls
    return [row for batch in found for row in batch.to_pylist()]


def test_a_task_reads_the_rows_of_its_cluster(tmp_path: Path) -> None:
    """Also where a file has rows of several, and where one of an earlier release lacks a column."""
    both = pa.table({"cluster": ["blue", "green"], "offset": [1, 2], "metadata": ["a", "b"]})
    earlier = pa.table({"cluster": ["blue"], "offset": pa.array([3], pa.int32())})
    for name, rows in (("both", both), ("earlier", earlier)):
        pq.write_table(rows, tmp_path / f"{name}.parquet")
    assert rows_of(tmp_path / "both.parquet", tmp_path / "earlier.parquet") == [
        {"offset": 1, "metadata": "a"},
        {"offset": 3, "metadata": None},
    ]


@pytest.mark.parametrize("content", [b"", b"PAR1 this is no table PAR1", None])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, content: bytes | None) -> None:
    """Whether it is empty, damaged or gone; the sentence for the user is made of what the worker's trace says."""
    path = tmp_path / "part.parquet"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataFileNotReadable) as reading:
        rows_of(path)
    trace = f"Traceback …\n{DataFileNotReadable.__module__}.DataFileNotReadable: {reading.value}\n"
    found = UNREADABLE_FILE.search(trace)
    assert found is not None
    assert found[1] == str(path)
