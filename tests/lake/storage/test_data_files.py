"""Data files that workers write: what Delta's log says of them, and whether every reader finds their rows."""

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import orjson
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from deltalake import DeltaTable

from rebalance_audit.errors import LakeNotWritable
from rebalance_audit.lake.storage.data_files import DataFolder, lower_bound, upper_bound
from rebalance_audit.readers.tables import open_table
from tests.support.data_files import AT, COMMITS, committed, empty_table, rows_of, written
from tests.support.long_ids import CLUSTER, ENDLESS, IDS, LAST


@pytest.fixture
def folder(tmp_path: Path) -> DataFolder:
    """An empty table."""
    return empty_table(tmp_path)


def statistics(description: Mapping[str, Any]) -> dict[str, Any]:
    """What Delta's log has of a file."""
    found: dict[str, Any] = orjson.loads(description["statistics"])
    return found


def test_no_reader_sees_a_file_before_a_commit_names_it(folder: DataFolder) -> None:
    """One file for a task; VACUUM finds what no commit names."""
    (known,) = written(folder, rows_of("a", "b"), rows_of("c"))
    (orphan,) = written(folder, rows_of("a"))
    assert not written(folder, rows_of())
    assert DeltaTable(folder.root).to_pyarrow_dataset().count_rows() == 0
    table = committed(folder, known)
    assert known["rows"] == table.to_pyarrow_dataset().count_rows() == 3
    unused = table.vacuum(0, dry_run=True, enforce_retention_duration=False, full=True)
    assert unused == [orphan["path"]]


def test_files_that_are_gone_are_not_committed(folder: DataFolder) -> None:
    """The table would be unreadable."""
    (known,) = written(folder, rows_of("a"))
    Path(folder.root, known["path"]).unlink()
    with pytest.raises(LakeNotWritable, match="are gone: another program"):
        committed(folder, known)
    assert DeltaTable(folder.root).version() == 0


def test_a_null_where_none_may_be_is_refused(folder: DataFolder) -> None:
    """As every writer of the table does."""
    with pytest.raises(ValueError, match="offset"):
        written(folder, rows_of("a", offset=None))


def test_statistics_hold_for_the_whole_file(folder: DataFolder) -> None:
    """Of each batch, and of the columns that queries filter by alone; moments by milliseconds."""
    later = rows_of("c", timestamp=AT + timedelta(days=1))
    (known,) = written(folder, later, rows_of("b", "a"), rows_of("b", timestamp=None))
    assert statistics(known) == {
        "numRecords": 4,
        "minValues": {
            "cluster": CLUSTER[:32],
            "partition": 0,
            "offset": 0,
            "timestamp": "2026-11-28T12:00:00.001Z",
            "group_id": "a",
            "topic": "a",
            "transaction_state": "none",
        },
        "maxValues": {
            "cluster": f"{CLUSTER[:31]}{chr(ord(CLUSTER[31]) + 1)}",
            "partition": 0,
            "offset": 1,
            "timestamp": "2026-11-29T12:00:00.002Z",
            "group_id": "c",
            "topic": "c",
            "transaction_state": "none",
        },
        "nullCount": {
            "cluster": 0,
            "partition": 0,
            "offset": 0,
            "timestamp": 1,
            "group_id": 0,
            "topic": 0,
            "transaction_state": 0,
        },
    }


@pytest.mark.parametrize(
    ("text", "most"),
    [
        ("", ""),
        ("b" * 32, "b" * 32),
        ("b" * 33, "b" * 31 + "c"),
        ("\0" * 33, "\0" * 31 + "\1"),
        ("b" * 31 + "\ud7ff" * 2, "b" * 31 + "\ue000"),
        ("b" * 31 + LAST * 2, "b" * 30 + "c"),
        (LAST * 32, LAST * 32),
        (LAST * 33, None),
    ],
)
def test_bounds_of_text_hold_for_all_of_it(text: str, most: str | None) -> None:
    """By code points, which UTF-8 keeps in order; surrogates are none."""
    assert upper_bound(text) == most
    assert lower_bound(text) <= text
    assert most is None or text.encode() <= most.encode()


@pytest.mark.parametrize("name", IDS)
def test_every_reader_finds_each_group(folder: DataFolder, name: str) -> None:
    """In a file of its own, and in one with all others; delta-rs' dataset, DuckDB and our readers."""
    group = IDS[name]
    alone, among = written(folder, rows_of(group)), written(folder, rows_of(*IDS.values()))
    table = committed(folder, *alone, *among)
    wanted = (ds.field("group_id") == group) & (ds.field("cluster") == CLUSTER)
    wanted &= ds.field("timestamp") == pa.scalar(AT)
    lake = str(Path(folder.root).parents[1])
    for dataset in (table.to_pyarrow_dataset(), open_table(lake, COMMITS)):
        assert dataset.count_rows(filter=wanted) == 2
    with duckdb.connect() as database:
        database.register("commits", table.to_pyarrow_dataset())
        database.register("ours", open_table(lake, COMMITS))
        for view in ("commits", "ours"):
            query = f"select count(*) from {view} where group_id = ? and topic = ?"  # noqa: S608 - our own names
            assert database.execute(query, [group, group]).fetchall() == [(2,)]


def test_a_file_without_an_upper_bound_has_none_at_all(folder: DataFolder) -> None:
    """delta-rs' dataset would find none of its groups."""
    (known,) = written(folder, rows_of(IDS[ENDLESS], "a"))
    assert statistics(known) == {"numRecords": 2}
