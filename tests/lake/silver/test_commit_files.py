"""Offset commits that tasks decode and write."""

from collections.abc import Mapping
from pathlib import Path
from uuid import uuid4

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from rebalance_audit.lake.records.record_columns import RECORD
from rebalance_audit.lake.silver.commit_files import (
    READ,
    first_names,
    groups_noted,
    written_commits,
)
from rebalance_audit.lake.storage.data_files import DataFiles
from rebalance_audit.tables.arrow_types import column_of
from rebalance_audit.tables.schemas import TableName, table_schemas
from rebalance_audit.wire.generated.messages import OffsetCommitKey, OffsetCommitValue
from rebalance_audit.wire.records import encode_key, encode_value
from rebalance_audit.wire.topic_names import topic_id_text
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
    assert (told["rows"].to_pylist(), told["noted"].to_pylist()) == ([3], ['[1, [], [[7, "g"]]]'])
    (path,) = tmp_path.iterdir()
    rows = pq.read_table(path).to_pylist()
    shown = ("cluster", "offset", "group_id", "committed_offset", "tombstone", "transaction_state")
    assert [tuple(row[name] for name in shown) for row in rows] == [
        ("blue", 1, "g", 42, False, "none"),
        ("blue", 2, "g", 42, False, "unknown"),
        ("blue", 4, "g", None, True, "none"),
    ]


def test_tasks_note_groups_and_the_first_name_of_each_topic(tmp_path: Path) -> None:
    """A topic that was made anew has another id; of an id with two names, which no broker writes, the first counts."""
    first, second = (uuid4().bytes for _ in range(2))

    def commits(*topics: tuple[int, int, str, bytes]) -> pa.RecordBatch:
        keys: list[object] = [
            encode_key(OffsetCommitKey(group="g", topic=name, partition=0))
            for *_, name, _ in topics
        ]
        values: list[object] = [
            encode_value(OffsetCommitValue(42, "", 500, topic_id=each), 4) for *_, each in topics
        ]
        count = len(topics)
        return batch_of(
            {
                "partition": [partition for partition, *_ in topics],
                "offset": [offset for _, offset, *_ in topics],
                "timestamp": [1_000] * count,
                "producer_id": [None] * count,
                "is_transactional": [False] * count,
                "key": keys,
                "value": values,
            }
        )

    tasks = [
        [commits((1, 9, "b", first), (1, 4, "a", first))],
        [commits((0, 7, "c", first)), commits((0, 8, "d", first), (0, 8, "d", second))],
    ]
    noted = []
    for task in tasks:
        (told,) = written_commits(task, files=files_of(tmp_path), cluster="blue")
        noted.append(orjson.loads(told["noted"][0].as_py()))
    assert first_names(noted[:1]) == {topic_id_text(first): "a"}
    assert first_names(noted) == {topic_id_text(first): "c", topic_id_text(second): "d"}
    assert groups_noted(noted) == [(0, "g"), (1, "g")]
    assert first_names([*noted, [0, None, None]]) is None
    assert groups_noted([*noted, [0, None, None]]) is None
