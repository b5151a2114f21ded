import json
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest

from rebalance_audit.audit.verdicts.cause import Certainty, RebalanceCause
from rebalance_audit.replay.changes import GroupType
from rebalance_audit.tables.checks import Check, TableSchemaError, Where
from rebalance_audit.tables.schemas import (
    GOLD_TABLES,
    TableName,
    TableSchema,
    parse_table,
    table_schemas,
    value_lists,
)
from workshop.pages.tables import BEGIN, END, due

TABLE: dict[str, Any] = {
    "layer": "gold",
    "name": "sample",
    "description": "A sample.",
    "grain": "one thing",
    "key": ["cluster", "id"],
    "columns": [
        {"name": "cluster", "type": "string", "nullable": False, "meaning": "Cluster."},
        {"name": "id", "type": "string", "nullable": False, "meaning": "Id."},
        {"name": "size_ms", "type": "bigint", "nullable": True, "meaning": "Size."},
    ],
    "checks": [],
}


def parsed(**changes: Any) -> TableSchema:
    """The sample table with some of its keys changed."""
    text = json.dumps(TABLE | changes)
    return parse_table("schemas/tables/gold.sample.json", text, {"kind": ("a", "b")})


def column(**changes: Any) -> list[dict[str, Any]]:
    """The sample's columns, the last one changed."""
    return [*TABLE["columns"][:2], TABLE["columns"][2] | changes]


def check(**given: Any) -> list[dict[str, Any]]:
    """One check on the id."""
    return [{"columns": ["id"], "severity": "fail"} | given]


@pytest.mark.parametrize(
    ("name", "expected_key"),
    [
        ("bronze.records", "cluster partition offset"),
        ("silver.group_records", "cluster partition offset"),
        ("silver.offset_commits", "cluster partition offset"),
        ("gold.epochs", "cluster group_id incarnation epoch"),
        ("gold.rebalance_causes", "cluster group_id incarnation epoch cause_seq"),
        ("gold.convergence", "cluster group_id incarnation epoch member_id"),
        ("gold.rebalances", "cluster group_id incarnation rebalance_seq"),
        ("gold.members", "cluster group_id incarnation member_id"),
        ("gold.group_states", "cluster group_id incarnation from_offset"),
        ("gold.findings", "cluster finding_id"),
        ("gold.group_hours", "cluster group_id hour"),
        ("gold.progress", "cluster group_id topic topic_partition minute log_partition"),
        ("gold.topics", "cluster topic_id"),
        ("gold.what_if", "cluster group_id from_at to_at label"),
        ("gold.deploys", "cluster group_id incarnation deploy_id started_at certainty"),
        ("meta.progress", "cluster partition"),
        ("meta.snapshots", "cluster group_id log_partition"),
    ],
)
def test_a_table_has_the_key_that_its_readers_join_on(name: str, expected_key: str) -> None:
    """Keys are a promise: joins and merges of others break when one changes."""
    assert table_schemas()[name].key == tuple(expected_key.split())


def test_every_table_starts_with_the_cluster_and_says_what_it_holds() -> None:
    """All tables load; each begins with cluster, and each column has a type and a sentence."""
    tables = table_schemas()
    assert len(tables) >= 18
    for table in tables.values():
        assert table.columns[0].name == "cluster"
        assert table.description.endswith(".")
        assert all(column.meaning.endswith(".") for column in table.columns)


def test_durations_are_bigint_and_times_are_timestamps() -> None:
    """A column whose name ends in _ms is a bigint, one that ends in _at or _before holds a moment."""
    columns = [column for table in table_schemas().values() for column in table.columns]
    for found in columns:
        if found.name.endswith(("_ms", "_ms_max")):
            assert found.type in {"bigint", "array<bigint>"}, found
        if found.name.endswith("_at") or found.name == "at":
            assert found.type == "timestamp", found


@pytest.mark.parametrize(
    ("list_name", "words"),
    [("cause", RebalanceCause), ("certainty", Certainty), ("protocol", GroupType)],
)
def test_closed_lists_equal_the_words_of_the_code(list_name: str, words: type[StrEnum]) -> None:
    """The audit writes exactly the words that the checks allow."""
    assert sorted(value_lists()[list_name]) == sorted(words)


def test_key_and_nulls_are_checked_without_being_listed() -> None:
    """Each table's first two checks follow from its key and its columns."""
    assert parsed().checks == (
        Check("unique", "fail", ("cluster", "id")),
        Check("not_null", "fail", ("cluster", "id")),
    )


def test_a_check_is_read_with_all_it_says() -> None:
    """List, bounds and condition arrive resolved."""
    conditions = {"where": {"column": "id", "null": True}}
    checks = [
        {"kind": "in_set", "severity": "warn", "columns": ["id"], "list": "kind"},
        {"kind": "range", "severity": "fail", "columns": ["size_ms"], "min": 0} | conditions,
    ]
    assert parsed(checks=checks).checks[2:] == (
        Check("in_set", "warn", ("id",), values=("a", "b")),
        Check("range", "fail", ("size_ms",), minimum=0, where=(Where("id", is_null=True),)),
    )


@pytest.mark.parametrize(
    "type_text",
    [
        "string",
        "array<string>",
        "map<string,bigint>",
        "array<struct<partition:int, offset:bigint, at:timestamp>>",
        "struct<a:array<int>>",
    ],
)
def test_spark_types_are_accepted(type_text: str) -> None:
    """Atomic types and their arrays, maps and structs, however nested."""
    assert parsed(columns=column(type=type_text)).columns[2].type == type_text


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"colour": 1}, "unknown key colour"),
        ({"columns": column(colour=1)}, "unknown key colour"),
        ({"columns": column(type="text")}, "no type"),
        ({"columns": column(type="array<text>")}, "no type"),
        ({"columns": column(type="array<int")}, "no type"),
        ({"columns": column(type="array<int,int>")}, "no type"),
        ({"columns": column(type="map<string>")}, "no type"),
        ({"columns": column(type="struct<int>")}, "no type"),
        ({"columns": column(type="int>")}, "no type"),
        ({"columns": column(name="id")}, "named twice"),
        ({"key": ["cluster", "nothing"]}, "nothing is not a column"),
        ({"clustered_by": ["nothing"]}, "nothing is not a column"),
        ({"name": "other"}, "must be named by its layer and name, gold.other"),
        ({"layer": "golden"}, "must be named"),
        ({"checks": check(kind="in_set", list="none")}, "there is no list none"),
        ({"checks": check(kind="in_set")}, "takes list"),
        ({"checks": check(kind="range")}, "takes min or max"),
        ({"checks": check(kind="not_null", min=1)}, "takes no min"),
        ({"checks": check(kind="chain", columns=["id"], within=["cluster"])}, "of 1 columns"),
        ({"checks": check(kind="no_holes")}, "takes within"),
        ({"checks": check(kind="no_holes", within=["nothing"])}, "nothing is not a column"),
        ({"checks": check(kind="refers", table="gold.x", there=["a", "b"])}, "2 columns there"),
        ({"begins_at": "nothing"}, "nothing is not a column"),
        ({"written": ["rename"]}, "no way to write rename"),
        ({"written": ["replace"], "replaced_by": "nothing"}, "nothing is not a column"),
        ({"checks": check(kind="odd")}, "no such kind"),
        ({"checks": check(kind="not_null", severity="info")}, "no such kind or severity"),
        ({"checks": check(kind="not_null", columns=["nothing"])}, "nothing is not a column"),
        ({"checks": check(kind="not_null", where={"column": "id"})}, "either values or null"),
        ({"checks": check(kind="not_null", where={"column": "no", "null": True})}, "no is not"),
        ({"checks": [{"kind": "not_null"}]}, "severity, columns missing"),
        ({"checks": ["unique"]}, "not an object"),
    ],
)
def test_a_malformed_table_is_refused_by_name(changes: dict[str, Any], complaint: str) -> None:
    """A misspelt key, type, column or list is an error that names the file, never ignored."""
    with pytest.raises(TableSchemaError, match=complaint) as caught:
        parsed(**changes)
    assert "gold.sample" in str(caught.value)


def test_the_readme_keeps_what_is_around_the_list(tmp_path: Path) -> None:
    """Only the text between the markers is replaced; without markers there is an error."""
    readme = tmp_path / "README.md"
    readme.write_text(f"# Top\n{BEGIN}\nold\n{END}\nrest\n")
    text = due(tmp_path)[readme]
    assert text.startswith(f"# Top\n{BEGIN}\n")
    assert text.endswith(f"{END}\nrest\n")
    assert "\nold\n" not in text
    readme.write_text("# Top\n")
    with pytest.raises(TableSchemaError, match=r"README\.md lacks"):
        due(tmp_path)


def test_every_table_has_a_name_and_every_name_a_table() -> None:
    """The names that modules use are those of the files."""
    named = {name for word, name in vars(TableName).items() if word.isupper()}
    assert named == {*table_schemas()}
    gold = {name for name in named if name.startswith("gold.")}
    assert {*GOLD_TABLES} == gold - {TableName.WHAT_IF, TableName.DEPLOYS}
