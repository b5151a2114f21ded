"""Tables of a lake, read without Spark."""

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyarrow.fs import LocalFileSystem, SubTreeFileSystem

from rebalance_audit.errors import LakeNotReadable
from rebalance_audit.readers.tables import open_table, read_rows, unfinished_run
from rebalance_audit.tables.schemas import table_schemas
from tests.support.lake_without_spark import write_lake
from tests.support.long_ids import CLUSTER, IDS

ROWS = [
    {"cluster": "blue", "group_id": "checkout"},
    {"cluster": "blue", "group_id": "büro"},
    {"cluster": "green", "group_id": "checkout"},
]


def lake_in(folder: Path) -> Path:
    """A lake with one table."""
    table = folder / "gold" / "epochs"
    table.mkdir(parents=True)
    write_deltalake(table, pa.Table.from_pylist(ROWS))
    return folder


def read(lake: str, **wanted: Any) -> list[dict[str, Any]]:
    """The columns that the lake has; every other column of the contract came later, and is None."""
    rows = read_rows(lake, "gold.epochs", **wanted)
    for row in rows:
        assert set(row) == set(table_schemas()["gold.epochs"].column_names)
        assert {value for name, value in row.items() if name not in ROWS[0]} == {None}
    return [{name: row[name] for name in ROWS[0]} for row in rows]


def test_rows_of_a_cluster_and_of_groups(tmp_path: Path) -> None:
    """By the folder's path and by its URL, whatever is in its name: Spark takes it as it stands, too."""
    folder = lake_in(tmp_path / "lake: 100 %, größer #2?")
    for lake in (str(folder), f"{folder}/", f"file:{folder}", f"file://{folder}/"):
        assert sorted(read(lake), key=ROWS.index) == ROWS
        found = read(lake, cluster="blue", group_ids=["büro"])
        assert found == [ROWS[1]]


def test_a_folder_is_read_without_python_in_the_threads_of_arrow(tmp_path: Path) -> None:
    """They may outlive the interpreter: a command would sometimes be aborted when it has printed everything."""
    system = open_table(str(lake_in(tmp_path)), "gold.epochs").filesystem
    assert isinstance(system, SubTreeFileSystem)
    assert isinstance(system.base_fs, LocalFileSystem)


@pytest.mark.parametrize(
    "lacking", [(), ("minValues",), ("maxValues",), ("minValues", "maxValues")]
)
def test_no_bound_that_is_missing_hides_rows(tmp_path: Path, lacking: tuple[str, ...]) -> None:
    """Whatever a writer leaves out of the log's statistics of a file, each of its groups is found."""
    folder = tmp_path / "gold" / "epochs"
    rows = [{"cluster": CLUSTER, "group_id": group_id} for group_id in IDS.values()]
    write_deltalake(folder, pa.Table.from_pylist(rows))
    commit = folder / "_delta_log" / f"{0:020d}.json"
    actions = [json.loads(line) for line in commit.read_text().splitlines()]
    (added,) = (action["add"] for action in actions if "add" in action)
    stats = json.loads(added["stats"])
    for end in lacking:
        del stats[end]["group_id"]
    added["stats"] = json.dumps(stats)
    commit.write_text("\n".join(map(json.dumps, actions)))
    for row in rows:
        assert read(str(tmp_path), cluster=CLUSTER, group_ids=[row["group_id"]]) == [row]


def halve(file: Path) -> None:
    """Cut a file in the middle, as a full disk does."""
    os.truncate(file, file.stat().st_size // 2)


def commit(table: Path, number: int) -> Path:
    """A file of a table's log."""
    return table / "_delta_log" / f"{number:020d}.json"


def data(table: Path) -> Path:
    """The data file that a table's log names first."""
    return table / str(pa.table(DeltaTable(table).get_add_actions())["path"][0])


HALF = r"The commit \S+/0{19}2\.json of {name} is only half written: remove that file \(`rm \S+2\.json`\)"
GONE = r"The commit \S+/0{19}1\.json of {name} is gone: remove the table .* run with --full"
NO_FILE = (
    r"The file \S+\.parquet of {name} is gone or damaged: run with --full, which makes {name} again"
)
DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "half a commit": (lambda table: halve(commit(table, 2)), HALF),
    "an empty commit": (lambda table: os.truncate(commit(table, 2), 0), HALF),
    "a commit less": (lambda table: commit(table, 1).unlink(), GONE),
    "a file less": (lambda table: data(table).unlink(), NO_FILE),
    "half a file": (lambda table: halve(data(table)), NO_FILE),
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("name", ["gold.epochs", "gold.members"])
def test_what_is_wrong_with_a_table_and_what_mends_it(
    name: str, damage: str, tmp_path: Path
) -> None:
    """One sentence with the file and the command. delta-rs reads an empty commit as one that changed nothing."""
    table = tmp_path.joinpath(*name.split("."))
    table.mkdir(parents=True)
    for row in ROWS:
        write_deltalake(table, pa.Table.from_pylist([row]), mode="append")
    harm, sentence = DAMAGE[damage]
    harm(table)
    with pytest.raises(LakeNotReadable, match=sentence.replace("{name}", re.escape(name))):
        open_table(str(tmp_path), name)


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("bronze.records", "restore it from a backup. Without one, remove the table and run over the source"),
        ("meta.runs", r"restore it from a backup, or remove the table \(`rm -r \S+`\), whose rows no other table has"),
    ],
)  # fmt: skip
def test_tables_that_bronze_cannot_give_again(name: str, remedy: str, tmp_path: Path) -> None:
    """No command makes up for their rows, and the sentence does not say so."""
    table = tmp_path.joinpath(*name.split("."))
    table.mkdir(parents=True)
    for _ in range(3):
        write_deltalake(table, pa.Table.from_pylist(ROWS), mode="append")
    commit(table, 0).unlink()
    with pytest.raises(LakeNotReadable, match=remedy):
        open_table(str(tmp_path), name)


DONE = {"run_id": "r1", "run_number": 1, "started_at": 0, "ended_at": 60_000, "outcome": "done"}
LATER = {"run_id": "r2", "run_number": 2, "started_at": 90_000}
AGREE = "all agree as of 1970-01-01 00:01:00 UTC, when run r1 ended."


@pytest.mark.parametrize(
    ("runs", "sentence"),
    [
        ([DONE], None),
        ([DONE, {**LATER, "outcome": "running"}], f"has not finished: some tables may be newer than others; {AGREE}"),
        ([DONE, {**LATER, "outcome": "failed"}], f"failed: some tables may be newer than others; {AGREE}"),
        ([{**LATER, "outcome": "running"}], "no run has finished yet."),
        ([DONE, {**LATER, "run_number": None, "outcome": "running"}], None),
    ],
    ids=["done", "running", "failed", "first", "an ingest"],
)  # fmt: skip
def test_a_run_that_has_not_finished(
    runs: list[dict[str, Any]], sentence: str | None, tmp_path: Path
) -> None:
    """Readers say so, and as of when the tables agree; an ingest changes none that they read."""
    write_lake(tmp_path, {}, "blue", runs)
    said = unfinished_run(str(tmp_path), "blue")
    assert (said is None) == (sentence is None)
    assert sentence is None or str(said).endswith(sentence)
    assert unfinished_run(str(tmp_path), "green") is None
