"""Groups with long and odd ids, found by every reader, in a lake whose files lack the bounds of long texts.

An earlier release wrote it (tests/golden/PROVENANCE.md): delta-rs' own dataset finds none of these groups.
"""

import json
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.dataset as ds
import pytest
from deltalake import DeltaTable

from rebalance_audit.agents.query_answer import answer_query
from rebalance_audit.readers.export import export_gold
from rebalance_audit.readers.lake_reader import LakeReader, open_lake
from rebalance_audit.readers.tables import open_table
from tests.cli.call import call
from tests.support.long_ids import (
    CLUSTER,
    OF_EARLIER_LAKE,
    TABLES,
    named_columns,
    unpack_earlier_lake,
)

every_id = pytest.mark.parametrize("group_id", OF_EARLIER_LAKE.values(), ids=OF_EARLIER_LAKE)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The lake, unpacked; no test changes it."""
    return unpack_earlier_lake(tmp_path_factory.mktemp("long-ids"))


@pytest.fixture(scope="module")
def reader(lake: Path) -> LakeReader:
    """The cluster, whose name is long, too."""
    return open_lake(lake, CLUSTER)


def rows_of_query(reader: LakeReader, query: str, **values: str) -> list[dict[str, Any]]:
    """Rows that an agent's query is answered with."""
    asked = {"lake": reader.path, "cluster": reader.cluster, "sql": query, "values": values}
    bounds = {"rows_max": 10, "bytes_max": 1_000_000, "memory_bytes": 1 << 30}
    rows: list[dict[str, Any]] = answer_query({**asked, **bounds})["rows"]
    return rows


def test_the_lake_hides_its_groups_from_a_reader_that_trusts_statistics(lake: Path) -> None:
    """Otherwise the other tests would show nothing."""
    dataset = DeltaTable(str(lake / "gold" / "epochs")).to_pyarrow_dataset()
    assert dataset.count_rows() == len(OF_EARLIER_LAKE)
    assert dataset.count_rows(filter=ds.field("group_id") == OF_EARLIER_LAKE["1 byte"]) == 0


@every_id
def test_each_column_can_be_filtered_by(lake: Path, group_id: str) -> None:
    """In every table, also by the long name of the cluster."""
    for name in TABLES:
        dataset = open_table(str(lake), name)
        of_cluster = ds.field("cluster") == CLUSTER
        count = dataset.count_rows(filter=of_cluster)
        assert count == dataset.count_rows() > 0
        for column in named_columns(name):
            found = dataset.to_table(filter=of_cluster & (ds.field(column) == group_id))
            known = dataset.to_table([column]).column(column).drop_null()
            assert len(found) == len(known) / len(OF_EARLIER_LAKE), (name, column)
            assert set(found.column(column).to_pylist()) <= {group_id}


@every_id
def test_commands_find_the_group(lake: Path, group_id: str) -> None:
    """As their JSON and text say, with the only cluster named or not."""
    inspected = call("inspect", "--lake", lake, "--json", "--group", group_id)
    assert {row["group_id"] for row in json.loads(inspected.out)["epochs"]} == {group_id}
    state = call("state", "--lake", lake, "--cluster", CLUSTER, "--group", group_id)
    assert [group["group_id"] for group in json.loads(state.out)["groups"]] == [group_id]
    explained = call("explain", group_id, "--lake", lake, "--cluster", CLUSTER, "--epoch", "1")
    assert (explained.code, explained.err) == (0, "")


@every_id
def test_agents_find_the_group(reader: LakeReader, group_id: str) -> None:
    """In tables and views, by a parameter and by a literal, and explained."""
    for query in (
        "select group_id from gold.epochs where group_id = $name",
        "select group_id from views.groups_now where group_id = $name",
        "select group_id from gold.members where member_id = $name and client_id = $name",
        "select distinct group_id from gold.ownership where topic = $name or topic is null and group_id = $name",
    ):
        assert rows_of_query(reader, query, name=group_id) == [{"group_id": group_id}]
    if "\0" not in group_id:
        literal = f"select group_id from gold.epochs where group_id = '{group_id}'"  # noqa: S608 - our own names
        assert rows_of_query(reader, literal) == [{"group_id": group_id}]
    assert reader.explain(group_id).sections


@every_id
def test_python_finds_the_group(reader: LakeReader, group_id: str) -> None:
    """By the filter of rows, and without one."""
    for name in ("epochs", "members", "rebalances"):
        rows = reader.table(f"gold.{name}")
        assert len(rows) == len(OF_EARLIER_LAKE)
        assert [row["group_id"] for row in rows.where([group_id])] == [group_id]
    (commit,) = reader.table("silver.offset_commits").where([group_id])
    assert (commit["topic"], commit["metadata"]) == (group_id, group_id)


def test_exports_have_all_groups(reader: LakeReader, tmp_path: Path) -> None:
    """Tables and views."""
    counts = export_gold(reader, "duckdb", tmp_path / "out.duckdb")
    assert counts["gold.epochs"] == counts["views.groups_now"] == len(OF_EARLIER_LAKE)
    with duckdb.connect(str(tmp_path / "out.duckdb"), read_only=True) as exported:
        for name in ("gold.members", "views.groups_now"):
            found = exported.table(name).project("group_id").fetchall()
            assert {group_id for (group_id,) in found} == set(OF_EARLIER_LAKE.values())
