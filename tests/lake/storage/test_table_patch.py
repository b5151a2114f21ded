"""A small table changed by one task: the same rows, and the same change feed, as a plain dict would have."""

import json
import tempfile
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_audit.lake.storage.data_files import DataFiles
from rebalance_audit.lake.storage.table_files import DataFileNotReadable
from rebalance_audit.lake.storage.table_patch import PatchableTable, PatchedTable, TablePatch
from rebalance_audit.tables.arrow_types import arrow_type

COLUMNS = {
    "cluster": "string",
    "group_id": "string",
    "seq": "bigint",
    "kind": "string",
    "ended_at": "timestamp",
    "evidence": "array<struct<at: timestamp, fact: string>>",
}
SCHEMA = pa.schema([(name, arrow_type(kind)) for name, kind in COLUMNS.items()])
OURS = {"cluster": "blue"}
AT = datetime(2026, 11, 21, 9, 6, 35, 510_999, tzinfo=UTC)
NAMES = [name for name in COLUMNS if name != "cluster"]
Row = dict[str, Any]


def row(group_id: str, seq: int | None, kind: str = "a", **more: Any) -> Row:
    """A row of our cluster."""
    absent = dict.fromkeys(COLUMNS)
    return {**absent, **OURS, "group_id": group_id, "seq": seq, "kind": kind, **more}


def batch(rows: Iterable[Row]) -> pa.RecordBatch:
    """Rows as the task gets them, without the cluster."""
    schema = pa.schema([SCHEMA.field(name) for name in NAMES])
    return pa.RecordBatch.from_pylist(
        [{name: each[name] for name in NAMES} for each in rows], schema
    )


def key_of(row: Row) -> tuple[Any, ...]:
    """What identifies a row of a cluster."""
    return row["cluster"], row["group_id"], row["seq"]


class Table:
    """Files in a folder, and which of them the table has."""

    def __init__(self, folder: Path, *files: list[Row]) -> None:
        """Each file has some rows."""
        self.folder = folder
        columns = {name: (kind, True) for name, kind in COLUMNS.items()}
        self._files = DataFiles(str(folder), columns, ("cluster", "group_id"), "zstd")
        self.names = [
            self._files.written(pa.Table.from_pylist(rows, SCHEMA)).name for rows in files
        ]

    @property
    def patchable(self) -> PatchableTable:
        """As the driver describes it."""
        key = ("cluster", "group_id", "seq")
        return PatchableTable(
            self._files, tuple(self.names), key, "ended_at", has_feed=True, version=0
        )

    @property
    def rows(self) -> list[Row]:
        """All of them, by key."""
        return _sorted(row for name in self.names for row in _read(self.folder / name))

    def change(self, patch: TablePatch) -> tuple[PatchedTable, list[Row]]:
        """Take what a task has done; gives what it told, and the rows of the change feed."""
        told, _ = patch.close()
        done = PatchedTable.from_told(json.loads(json.dumps(told)))
        self.names = [name for name in self.names if name not in done.removed]
        self.names += [file.name for file in done.added]
        if done.changes is None:
            return done, []
        cdc = json.loads(done.changes)["cdc"]
        file = self.folder / cdc["path"]
        assert (cdc["size"], cdc["dataChange"]) == (file.stat().st_size, False)
        return done, _read(file)


def _read(file: Path) -> list[Row]:
    rows: list[Row] = pq.read_table(file).to_pylist()
    return rows


def _sorted(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: json.dumps(row, default=str, sort_keys=True))


GROUPS = st.sampled_from("gh")
ROWS = st.builds(
    row,
    GROUPS,
    st.sampled_from([None, 1, 2, 3]),
    st.sampled_from("ab"),
    ended_at=st.sampled_from([None, AT]),
    evidence=st.sampled_from([None, [], [{"at": AT, "fact": "x"}], [{"at": None, "fact": "x"}]]),
)
UNIQUE = st.lists(ROWS, unique_by=key_of, max_size=6)


@settings(deadline=None, max_examples=60)
@given(there=UNIQUE, put=UNIQUE, drop=UNIQUE, replaced=st.sets(GROUPS, max_size=1), parts=st.data())
def test_a_task_changes_a_table_as_a_dict_would_be_changed(
    there: list[Row], put: list[Row], drop: list[Row], replaced: set[str], parts: st.DataObject
) -> None:
    """Rows of other clusters stay; replaced groups keep rows of a spared kind; what is the same costs nothing."""
    others = [{**each, "cluster": "green"} for each in there]
    cut = parts.draw(st.integers(0, len(there)))
    files = [rows for rows in (there[:cut] + others, there[cut:]) if rows]
    expected = {key_of(each): each for each in there + others}
    wanted = {key_of(each) for each in put}
    gone = [
        key
        for key, each in expected.items()
        if key[0] == "blue"
        and key not in wanted
        and (
            key in {key_of(each) for each in drop}
            or (each["group_id"] in replaced and each["kind"] != "b")
        )
    ]
    counts = (
        sum(key_of(each) not in expected for each in put),
        sum(each != expected.get(key_of(each), each) for each in put),
        len(gone),
    )
    expected |= {key_of(each): each for each in put}
    expected = {key: each for key, each in expected.items() if key not in gone}
    with tempfile.TemporaryDirectory() as folder:
        table = Table(Path(folder), *files)
        before = list(table.names)
        patch = TablePatch(table.patchable, OURS, replaced=replaced, spared=("kind", ["b"]))
        patch.put(batch(put))
        patch.drop(batch(drop).select(["group_id", "seq"]))
        done, feed = table.change(patch)
        assert table.rows == _sorted(expected.values())
        assert (done.inserted, done.updated, done.deleted) == counts
        assert bool(table.names != before) == bool(done.rows)
        if done.removed:
            _check_feed(feed, there + others, expected.values())


def _check_feed(feed: list[Row], before: Iterable[Row], after: Iterable[Row]) -> None:
    """The feed leads from the rows before to those after it."""
    rows = {key_of(each): each for each in before}
    for kinds in (("delete", "update_preimage"), ("insert", "update_postimage")):
        for each in feed:
            kind = each.get("_change_type")
            plain = {name: each[name] for name in COLUMNS}
            if kind in kinds and kind in {"delete", "update_preimage"}:
                assert rows.pop(key_of(each)) == plain
            elif kind in kinds:
                assert key_of(each) not in rows
                rows[key_of(each)] = plain
    assert _sorted(rows.values()) == _sorted(after)


def test_rows_that_only_come_lie_apart_from_those_that_go_on(tmp_path: Path) -> None:
    """As in every commit: few rows may still change, and a change leaves the files of the others alone."""
    table = Table(tmp_path, [row("g", 1, ended_at=AT)])
    patch = TablePatch(table.patchable, OURS)
    patch.put(batch([row("g", 2), row("g", 3, ended_at=AT), row("g", 4)]))
    done, feed = table.change(patch)
    assert sorted(file.rows for file in done.added) == [1, 2]
    assert (done.removed, feed) == ([], [])


def test_rows_known_to_differ_are_not_read(tmp_path: Path) -> None:
    """Snapshots always differ: they are put in place of the old ones without a look at these."""
    table = Table(tmp_path, [row("g", 1), row("h", 1)])
    patch = TablePatch(table.patchable, OURS, compares=False)
    patch.put(batch([row("g", 1), row("i", 1)]))
    done, feed = table.change(patch)
    assert (done.inserted, done.updated, feed) == (1, 1, [])
    assert [each["group_id"] for each in table.rows] == ["g", "h", "i"]


def test_rows_go_on_from_those_of_the_table(tmp_path: Path) -> None:
    """A member's row is made of what the table has of it and of what is new; a replaced group begins anew."""
    table = Table(tmp_path, [row("g", 1, "x"), row("h", 1, "x")])

    def merge(rows: list[Row]) -> list[Row]:
        merged: dict[tuple[Any, ...], Row] = {}
        for each in rows:
            kind = merged.get(key_of(each), {"kind": ""})["kind"] + each["kind"]
            merged[key_of(each)] = {**each, "kind": kind}
        return [*merged.values()]

    patch = TablePatch(table.patchable, OURS, merge=merge, replaced={"h"})
    patch.put(
        batch([row("g", 1, "y", ended_at=AT), row("g", 1, "z", ended_at=AT), row("h", 1, "y")])
    )
    table.change(patch)
    assert [(each["group_id"], each["kind"], each["ended_at"]) for each in table.rows] == [
        ("g", "xyz", AT),
        ("h", "y", None),
    ]


def test_a_file_of_an_earlier_release_gets_the_columns_that_it_lacks(tmp_path: Path) -> None:
    """A table was given a column since the file was written."""
    table = Table(tmp_path, [row("g", 1), row("g", 2)])
    file = tmp_path / table.names[0]
    pq.write_table(pq.read_table(file).drop_columns(["kind"]), file)
    patch = TablePatch(table.patchable, OURS)
    patch.put(batch([row("g", 1)]))
    table.change(patch)
    assert [each["kind"] for each in table.rows] == ["a", None]


@pytest.mark.parametrize("broken", [b"no Parquet", None])
def test_a_damaged_file_is_named_and_nothing_is_left(tmp_path: Path, broken: bytes | None) -> None:
    """The error says which file to mend; the files that the task had begun are gone."""
    table = Table(tmp_path, [row("g", 1)])
    file = tmp_path / table.names[0]
    file.unlink() if broken is None else file.write_bytes(broken)
    patch = TablePatch(table.patchable, OURS)
    patch.put(batch([row("g", 1, "b")]))
    with pytest.raises(DataFileNotReadable, match=file.name):
        patch.close()
    assert [path.name for path in tmp_path.iterdir() if path != file] == []
