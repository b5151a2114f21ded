import io
import json
import shlex
from pathlib import Path

import pytest
from rich.console import Console

from rebalance_audit.cli.commands.demo import print_demo
from rebalance_audit.demo_log import extract_to
from tests.cli.audited import audited_once
from tests.cli.call import call
from tests.cli.page import Page
from tests.workshop.test_json_schemas import checked

SCREEN_LINES = 50
COLUMNS = 120
OTHER_LINES = 5
"""What `make` and the shell's prompts take."""


@pytest.mark.parametrize("is_lake", [False, True])
def test_the_demo_fits_two_screens(tmp_path: Path, *, is_lake: bool) -> None:
    """The answer is on screen without scrolling far."""
    audited = audited_once(extract_to(tmp_path / "log"))
    text = io.StringIO()
    console = Console(file=text, width=COLUMNS, color_system=None)
    records, end_ms = audited.facts.records, audited.log_end_ms()
    print_demo(console, Path("demo-audit"), audited.tables, records, end_ms, is_lake=is_lake)
    lines = text.getvalue().splitlines()
    assert "What to look at next:" in lines
    assert max(map(len, lines)) <= COLUMNS
    assert len(lines) <= 2 * SCREEN_LINES - OTHER_LINES


def test_the_demo_needs_no_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It writes the log, the report and the page; the commands that it names work on them."""
    monkeypatch.setenv("JAVA_HOME", "/nonexistent")
    out = tmp_path / "out"
    done = call("demo", "--out", out, "--summary", out / "summary.json")
    assert done.code == 0, done.err
    assert "10 groups, 168 epochs" in done.out
    lines = [line for line in done.out.splitlines() if line.startswith("  rebalance-audit ")]
    commands = [shlex.split(line)[1:] for line in lines]
    assert [command[0] for command in commands] == ["explain", "inspect", "inspect", "demo"]
    for command in commands[:2]:
        assert call(*command).code == 0
    summary = json.loads((out / "summary.json").read_bytes())
    checked("demo", summary)
    assert summary["run"] is None
    assert "10 groups" in (out / "report.txt").read_text()
    assert "10 groups" in Page(out / "report.html").text
    assert {path.name for path in out.iterdir()} == {
        "log",
        "report.txt",
        "report.html",
        "summary.json",
    }
