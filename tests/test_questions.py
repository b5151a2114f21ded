"""docs/questions.md: what it asks people to type works."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import duckdb
import pytest

from rebalance_audit.local.audit import audit_segments
from rebalance_audit.resources import checkout_root
from rebalance_audit.tables.schemas import table_schemas
from tests.cli.call import call, segments
from tests.support.lake_without_spark import arrow_table, write_lake

PAGE: Final = (checkout_root() / "docs" / "questions.md").read_text(encoding="utf-8")
QUESTIONS: Final = 19
CAPTURES: Final = ("consumer-protocol", "classic-static", "migration", "failover", "defaults")

STAND_INS: Final = {
    "copy-of-log": str(segments("consumer-protocol")),
    "checkout": "slow",
    "17": "4",
    "2026-11-21T03:12Z": "2026-11-21T09:25:12Z",
}
"""Word of the page's commands -> what the golden capture has."""

WITHOUT_ROWS: Final = ("outcome = 'open'", "sync_ms >= 1000", "session_timeout_ms is not null")
"""Parts of queries whose answer is nothing in the captures: nothing hangs there, and no migration is left half done."""


def blocks(language: str) -> list[tuple[int, str]]:
    """(number of the question, code) of every block of a language."""
    found = []
    for section in PAGE.split("\n## ")[1:]:
        number = re.match(r"\d+", section)
        if number is not None:
            code = re.findall(rf"```{language}\n(.*?)```", section, re.DOTALL)
            found += [(int(number[0]), block.strip()) for block in code]
    return found


@pytest.fixture(scope="module")
def gold() -> dict[str, list[dict[str, Any]]]:
    """Gold rows of several captures, as if they were one cluster."""
    tables: dict[str, list[dict[str, Any]]] = {}
    for capture in CAPTURES:
        if not segments(capture).is_dir():
            continue
        audited = audit_segments(segments(capture))
        for name, rows in audited.tables.items():
            renamed = [
                row | {"group_id": f"{capture}/{row['group_id']}"} if "group_id" in row else row
                for row in rows
            ]
            tables.setdefault(name, []).extend(renamed)
    return tables


@pytest.fixture(scope="module")
def lake(gold: dict[str, list[dict[str, Any]]]) -> Iterator[duckdb.DuckDBPyConnection]:
    """Every table of the contract, gold with rows, the others empty."""
    connection = duckdb.connect()
    for name, schema in table_schemas().items():
        rows = gold.get(schema.name, []) if schema.layer == "gold" else []
        connection.execute(f"create schema if not exists {schema.layer}")
        connection.register(f"_{schema.layer}_{schema.name}", arrow_table(name, rows, "blue"))
        connection.execute(f"create view {name} as from _{schema.layer}_{schema.name}")
    yield connection
    connection.close()


def test_every_question_has_a_command_or_a_query() -> None:
    """All of them, in order, each with at least one block to run."""
    titles = [int(number) for number in re.findall(r"^## (\d+)\. .*\?$", PAGE, re.MULTILINE)]
    assert titles == list(range(1, QUESTIONS + 1))
    assert {number for number, _ in blocks("sql") + blocks("bash")} == set(titles)


@pytest.mark.parametrize(
    "query", [query for _, query in blocks("sql")], ids=[str(number) for number, _ in blocks("sql")]
)
def test_every_query_runs(query: str, lake: duckdb.DuckDBPyConnection) -> None:
    """Columns and tables are those of the contract; on gold, a real log has rows for it."""
    rows = lake.execute(query).fetchall()
    on_gold = not re.search(r"from (?:silver|bronze)\.|\n *join (?:silver|bronze)\.", query)
    assert bool(rows) == (on_gold and not any(part in query for part in WITHOUT_ROWS)), rows[:3]


COMMITS: Final = (
    # offset of the record, time, transaction, whether it is a tombstone
    (5, 1_000, "none", False),
    (8, 2_000, "committed", False),
    (9, 2_500, "aborted", False),
    (12, 4_000, "none", True),
    (13, 4_100, "open", False),
    (14, 5_000, "none", False),
    (15, 6_000, "none", False),
    (25, 9_000, "none", False),
)
"""Commits of one partition, which B has from offset 10, C from 20, and D from 24 on; C commits nothing."""


def test_the_stop_of_consumption_lies_between_two_commits_that_count() -> None:
    """The last one before a partition changed hands and the first one of its new owner; null where there is none."""
    place = {"group_id": "g", "topic": "orders", "topic_partition": 0, "log_partition": 3}
    owners = [
        place | {"member_id": member_id, "previous_member_id": previous} | interval
        for previous, member_id, interval in (
            (None, "A", {"from_offset": 1, "to_offset": 7, "from_at": 500}),
            ("A", "B", {"from_offset": 10, "to_offset": 20, "from_at": 3_000}),
            ("B", "C", {"from_offset": 20, "to_offset": 24, "from_at": 8_000}),
            ("C", "D", {"from_offset": 24, "to_offset": None, "from_at": 8_500}),
        )
    ] + [
        place
        | {"topic_partition": 1, "member_id": "B", "previous_member_id": "A", "from_offset": 10}
    ]
    commits = [
        {
            "group_id": "g",
            "topic": "orders",
            "topic_partition": 0,
            "partition": 3,
            "offset": log_offset,
            "timestamp": at_ms,
            "transaction_state": state,
            "tombstone": tombstone,
        }
        for log_offset, at_ms, state, tombstone in COMMITS
    ]
    (query,) = (query for _, query in blocks("sql") if "first_commit_after" in query)
    with duckdb.connect() as connection:
        for name, rows in (("gold.ownership", owners), ("silver.offset_commits", commits)):
            connection.execute(f"create schema {name.partition('.')[0]}")
            connection.register("_" + name.replace(".", "_"), arrow_table(name, rows, "blue"))
            connection.execute(f"create view {name} as from _{name.replace('.', '_')}")
        cells = connection.sql(query).project(
            "member_id, topic_partition, epoch_ms(last_commit_before), epoch_ms(first_commit_after)"
        )
        found = cells.fetchall()
    assert found == [
        ("B", 0, 2_000, 5_000),
        ("C", 0, 6_000, None),
        ("D", 0, 6_000, 9_000),
        ("B", 1, None, None),
    ]


@pytest.mark.parametrize(
    "line", sorted({line for _, block in blocks("bash") for line in block.splitlines()})
)
def test_every_command_runs(line: str) -> None:
    """The page's command lines, with the names of a golden capture in them."""
    program, *words = shlex.split(line)
    assert program == "rebalance-audit"
    outcome = call(*(STAND_INS.get(word, word) for word in words))
    assert outcome.code == 0, outcome.err
    assert outcome.out


def test_the_snippet_that_opens_a_lake_runs(
    gold: dict[str, list[dict[str, Any]]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The page's Python opens Delta tables by name, without Spark."""
    write_lake(tmp_path, {"epochs": gold["epochs"]}, "blue")
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, Any] = {}
    exec(code.replace("/data/lake", str(tmp_path)), names)  # noqa: S102 - it is our own page
    names.pop("lake").close()
    assert "classic-static/fleet" in capsys.readouterr().out
