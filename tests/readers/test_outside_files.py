"""Tables whose Delta log names files outside of the table are refused, before any of them is opened."""

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from rebalance_audit.cli import exit_codes
from rebalance_audit.delta_folder import check_files
from rebalance_audit.errors import LakeNotReadable
from tests.cli.call import call
from tests.support.lake_without_spark import arrow_table, empty_gold, write_lake

PRECIOUS = "precious"
ROW = {"group_id": PRECIOUS, "incarnation": 0, "epoch": 1, "protocol": "consumer"}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table of a lake, beside which lies a file with rows that would fit."""
    lake = tmp_path / "lake"
    write_lake(lake, {**empty_gold(), "epochs": [{**ROW, "group_id": "ours"}]}, "blue")
    pq.write_table(arrow_table("gold.epochs", [ROW], "blue"), lake / "outside.parquet")
    (lake / "folder").mkdir()
    return lake / "gold" / "epochs"


def commit_of(table: Path) -> Path:
    """Its only commit."""
    return table / "_delta_log" / f"{0:020d}.json"


def name_file(table: Path, name: str) -> None:
    """Let the log name another file."""
    commit = commit_of(table)
    actions = [json.loads(line) for line in commit.read_text().splitlines()]
    for action in actions:
        if "add" in action:
            action["add"]["path"] = name
    commit.write_text("\n".join(map(json.dumps, actions)))


def link_data(table: Path) -> None:
    """A file of the table is a link."""
    (file,) = table.glob("*.parquet")
    file.unlink()
    file.symlink_to(table.parents[1] / "outside.parquet")


def link_commit(table: Path) -> None:
    """A commit is one."""
    commit = commit_of(table)
    commit.replace(table.parents[1] / "outside.json")
    commit.symlink_to(table.parents[1] / "outside.json")


def link_log(table: Path) -> None:
    """The whole log is one."""
    (table / "_delta_log").replace(table.parents[1] / "log")
    (table / "_delta_log").symlink_to(table.parents[1] / "log")


def add_checkpoint(table: Path) -> None:
    """One that names further files."""
    uuid = "80a083e8-7026-4e79-81be-64bd76c43a11"
    (table / "_delta_log" / f"{0:020d}.checkpoint.{uuid}.json").touch()


def refused(table: Path) -> str:
    """What a command says that reads the table; it must show nothing."""
    outcome = call("inspect", "--lake", table.parents[1])
    assert (outcome.code, outcome.out) == (exit_codes.NOT_READABLE, "")
    assert len(outcome.err.splitlines()) == 1
    assert PRECIOUS not in outcome.err
    return outcome.err


@pytest.mark.parametrize(
    "name",
    [
        "../../outside.parquet",
        "..%2F..%2Foutside.parquet",
        "%2e%2e/%2e%2e/outside.parquet",
        "x/../../../outside.parquet",
        "/etc/hostname",
        "file:///etc/hostname",
        "file:/etc/hostname",
        "s3://bucket/other.parquet",
    ],
)
def test_a_log_that_names_a_file_elsewhere(table: Path, name: str) -> None:
    """By going up, by a path from the root, or by a URI."""
    name_file(table, name)
    assert "its Delta log names a file outside of the table" in refused(table)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (link_data, "names a file outside of the table"),
        (link_commit, "names a file outside of the table, '_delta_log/"),
        (link_log, "names a file outside of the table, '_delta_log'"),
        (add_checkpoint, "its log has a checkpoint of version 2, which may name any file"),
    ],
)
def test_files_of_a_table_that_lead_elsewhere(
    table: Path, change: Callable[[Path], None], sentence: str
) -> None:
    """Links, and a checkpoint that can name any file."""
    change(table)
    assert sentence in refused(table)


def test_a_table_may_lie_where_a_link_leads(table: Path) -> None:
    """Somebody has put it on another disk, and its name has what URIs have."""
    table.replace(table.parents[1] / "100% #1: elsewhere")
    table.symlink_to(table.parents[1] / "100% #1: elsewhere")
    outcome = call("inspect", "--lake", table.parents[1], "--json")
    assert [row["group_id"] for row in json.loads(outcome.out)["epochs"]] == ["ours"]


def test_names_are_checked_on_other_storage_too() -> None:
    """As far as they show."""
    check_files("s3://lake/gold/epochs", None, ["part-0.parquet", "a/b c%.parquet"])
    with pytest.raises(LakeNotReadable, match="outside of the table"):
        check_files("s3://lake/gold/epochs", None, ["a.parquet", "../meta/runs/b.parquet"])
