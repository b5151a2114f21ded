"""Tables of a lake, read without Spark."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyarrow.fs import LocalFileSystem, SubTreeFileSystem

from rebalance_audit.readers.tables import open_table, read_rows
from rebalance_audit.tables.schemas import table_schemas
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
