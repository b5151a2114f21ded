import io
from pathlib import Path

from rich.console import Console

from rebalance_audit.cli.commands.demo import print_demo
from rebalance_audit.demo_log import extract_to
from tests.cli.audited import audited_once

SCREEN_LINES = 50
COLUMNS = 120
OTHER_LINES = 5
"""What `make` and the shell's prompts take."""


def test_the_demo_fits_two_screens(tmp_path: Path) -> None:
    """Nobody scrolls back to learn what happened."""
    audited = audited_once(extract_to(tmp_path / "log"))
    text = io.StringIO()
    console = Console(file=text, width=COLUMNS, color_system=None)
    print_demo(console, Path("demo-lake"), audited.tables, audited.facts.records)
    lines = text.getvalue().splitlines()
    assert "What to look at next:" in lines
    assert max(map(len, lines)) <= COLUMNS
    assert len(lines) <= 2 * SCREEN_LINES - OTHER_LINES
