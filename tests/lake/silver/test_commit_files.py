"""Offset commits that tasks decode and write."""

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from rebalance_audit.lake.records.record_columns import RECORD
from rebalance_audit.lake.silver.commit_files import READ, written_commits
from rebalance_audit.lake.storage.data_files import DataFiles
from rebalance_audit.tables.arrow_types import column_of
from rebalance_audit.tables.schemas import TableName, table_schemas
from rebalance_audit.wire.records import encode_key, encode_value
from tests.dsl import record_of

COMMIT = record_of("1 foo:0 42 m=text")
assert COMMIT.value is not None
KEY, VALUE = encode_key(COMMIT.key), encode_value(COMMIT.value, 4)
BATCH: dict[str, list[object]] = {
    "partition": [7, 7, 7, 7],
    "offset": [1, 2, 3, 4],
    "timestamp": [1_000, None, 1_002, 1_003],
    "producer_id": [None, None, None, None],
    "is_transactional": [False, None, False, False],
    "key": [KEY, KEY, KEY[:-1], KEY],
    "value": [VALUE, VALUE, VALUE, None],
}


def files_of(folder: Path) -> DataFiles:
    """silver.offset_commits in a folder."""
    schema = table_schemas()[TableName.OFFSET_COMMITS]
    columns = {column.name: (column.type, column.nullable) for column in schema.columns}
    return DataFiles(str(folder), columns, ("offset",), "zstd")


def batch_of(columns: Mapping[str, list[object]]) -> pa.RecordBatch:
    """Records as Spark or a file of bronze gives them."""
    arrays = [column_of(RECORD[name], columns[name]) for name in READ]
    return pa.RecordBatch.from_arrays(arrays, names=[*READ])


def test_what_is_no_commit_after_all_is_counted(tmp_path: Path) -> None:
    """A key that is cut has no row; a tombstone and a record without a time have one; an unknown flag stays unknown."""
    (told,) = written_commits([batch_of(BATCH)], files=files_of(tmp_path), cluster="blue")
    assert (told["rows"].to_pylist(), told["noted"].to_pylist()) == ([3], ["1"])
    (path,) = tmp_path.iterdir()
    rows = pq.read_table(path).to_pylist()
    shown = ("cluster", "offset", "group_id", "committed_offset", "tombstone", "transaction_state")
    assert [tuple(row[name] for name in shown) for row in rows] == [
        ("blue", 1, "g", 42, False, "none"),
        ("blue", 2, "g", 42, False, "unknown"),
        ("blue", 4, "g", None, True, "none"),
    ]
