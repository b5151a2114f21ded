import ast
import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from rebalance_audit.audit.verdicts.cause import RebalanceCause
from rebalance_audit.demo_log import extract_to
from tests.cli import readme
from tests.cli.call import call
from tests.support.lake_without_spark import arrow_table
from tests.test_docs import PAGES, command_lines

ROOT = Path(__file__).parents[2]
IN_DEMO_LOG = {
    "checkout": "group-7-consumer",
    "billing": "group-8-coop",
    "17": "12",
    "2026-11-21T03:12Z": "2026-11-21T09:11:00Z",
}
"""Word of a page -> a group, an epoch or a moment of the demo's log, which stands in for `copy-of-log`."""
OTHER_FILES = {"--broker-log", "--deploys", "--end-offsets", "--what-if"}


def commands_on_a_copy() -> Iterator[tuple[str, ...]]:
    """Commands of all pages that read `copy-of-log` and no other file, and end by themselves."""
    for page in PAGES:
        for _, *words in command_lines(page.read_text(encoding="utf-8")):
            is_quick = words[0] not in {"mcp", "what-if"}
            if "copy-of-log" in words and is_quick and OTHER_FILES.isdisjoint(words):
                yield tuple(IN_DEMO_LOG.get(word, word) for word in words)


@pytest.mark.parametrize("words", dict.fromkeys(commands_on_a_copy()), ids=" ".join)
def test_commands_of_pages_run(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They end well on a log that has what they name."""
    monkeypatch.chdir(tmp_path)
    extract_to(tmp_path / "copy-of-log")
    (tmp_path / "key").write_bytes(bytes(range(32)))  # as `head -c 32 /dev/urandom > key`
    outcome = call(*words)
    assert outcome.code == 0, outcome.err


@pytest.mark.parametrize("page", readme.PAGES, ids=lambda page: page.name)
def test_a_page_shows_what_the_commands_print(page: Path) -> None:
    """Every command line works and prints what is shown below it; `python -m tests.cli.readme --write` updates that."""
    text = page.read_text(encoding="utf-8")
    assert readme.commands(text)
    assert readme.refreshed(text) == text


def test_the_runbook_quotes_what_the_program_says() -> None:
    """Who looks for the words of an error finds them."""
    page = (ROOT / "docs" / "runbook.md").read_text(encoding="utf-8")
    cells = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    quoted = [text.strip("… ") for cell in cells for text in re.findall("`([^`]+)`", cell)]
    sources = (ROOT / "src").rglob("*.py")
    said = "\n".join(text for source in sources for text in _texts(source))
    assert len(quoted) > 15
    assert [text for text in quoted if text not in said] == []


def _texts(source: Path) -> Iterator[str]:
    """The strings of a module; what an f-string puts in is an ellipsis."""
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.JoinedStr):
            yield "".join(
                str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values
            )


def test_the_readme_is_short() -> None:
    """It fits on a few screens: longer subjects have a page of their own."""
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 200


def test_every_cause_is_explained() -> None:
    """The first table of the page on causes has a row for each cause of the closed list, and no others."""
    text, _, _ = (ROOT / "docs" / "causes.md").read_text(encoding="utf-8").partition("\n## ")
    rows = [
        line.split("|")[1].strip()
        for line in text.splitlines()
        if line.startswith("| ") and "---" not in line
    ]
    assert rows[0] == "cause"
    assert set(rows[1:]) == {cause.value for cause in RebalanceCause}
    assert len(rows) == len(set(rows))


def test_the_comparison_of_weeks_is_sql_over_the_table_of_hours() -> None:
    """The query of docs/migrate.md knows the columns; two hours of a group under each protocol are two rows."""
    page = (ROOT / "docs" / "migrate.md").read_text(encoding="utf-8")
    (query,) = re.findall(r"```sql\n(.*?)```", page, re.DOTALL)
    figures = {"rebalances": 3, "not_stable_estimate_ms": 4000, "unowned_partition_estimate_ms": 0}
    hours = [
        {"group_id": "g", "hour": hour * 3_600_000, "protocol": protocol, **figures}
        for hour, protocol in enumerate(["classic", "classic", "consumer", "consumer"])
    ]
    with duckdb.connect() as database:
        database.register("hours", arrow_table("gold.group_hours", hours, "blue"))
        database.sql("CREATE SCHEMA gold")
        database.sql("CREATE TABLE gold.group_hours AS SELECT * FROM hours")
        assert database.sql(query).fetchall() == [
            ("g", "classic", 2, 3.0, 4.0, 0.0),
            ("g", "consumer", 2, 3.0, 4.0, 0.0),
        ]
