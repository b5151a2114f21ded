"""docs/questions.md: what it tells people to type works."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import duckdb
import pytest

from rebalance_audit.audit.departures import DepartureRules
from rebalance_audit.cli.segment_audit import audit_segments
from rebalance_audit.resources import checkout_root
from rebalance_audit.table_schemas import table_schemas
from rebalance_audit.wire.log_folder import open_log_folder
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
        audited = audit_segments(open_log_folder(segments(capture)), DepartureRules())
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
    on_gold = not re.search(r"\b(?:silver|bronze)\.", query)
    assert bool(rows) == (on_gold and not any(part in query for part in WITHOUT_ROWS)), rows[:3]


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
