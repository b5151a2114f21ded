from pathlib import Path

from rebalance_audit.audit.causes.cause import RebalanceCause
from tests.cli import readme

ROOT = Path(__file__).parents[2]


def test_readme_shows_what_the_commands_print() -> None:
    """Every command line works and prints what stands below it; `python -m tests.cli.readme --write` refreshes that."""
    text = readme.README.read_text(encoding="utf-8")
    commands = readme.commands(text)
    assert "make demo" in commands
    assert len(commands) >= 4
    assert readme.refreshed(text) == text


def test_every_cause_is_explained() -> None:
    """The page on causes has a row for each of the closed list, and none besides."""
    rows = [
        line.split("|")[1].strip()
        for line in (ROOT / "docs" / "causes.md").read_text(encoding="utf-8").splitlines()
        if line.startswith("| ") and "---" not in line
    ]
    assert rows[0] == "cause"
    assert set(rows[1:]) == {cause.value for cause in RebalanceCause}
    assert len(rows) == len(set(rows))
