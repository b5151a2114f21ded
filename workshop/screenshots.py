"""`python -m workshop.screenshots`: pictures of a terminal and of the page for docs/, from the bundled log.

The page needs Chromium on the path. The files are not compared with what is there: fonts and browsers differ.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from rich.console import Console
from rich.terminal_theme import DIMMED_MONOKAI
from rich.text import Text

from rebalance_audit.demo_log import extract_to
from rebalance_audit.resources import checkout_root
from workshop.chromium import NoBrowserError, chromium

FOLDER: Final = "docs/img"
COLUMNS: Final = 100
LINES: Final = 32
TERMINAL: Final = {
    "inspect.svg": ("inspect", "log"),
    "explain.svg": ("explain", "log", "group-3-consumer"),
}
"""Picture -> the command line that it shows, in its first lines."""
PAGE_SIZE: Final = (1280, 1500)
SVG: Final = """\
<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: monospace; font-size: {char_height}px; line-height: {line_height}px; }}
{styles}
</style>
<defs>{lines}</defs>
<rect fill="#0c0c0c" width="{width}" height="{height}" rx="8"/>
<g transform="translate(9, 9)"><g class="{unique_id}-matrix">{matrix}</g></g>
</svg>
"""
"""Rich's own frame loads a font from another host."""


def main() -> int:
    """Write all pictures; 1 without Chromium."""
    try:
        browser = chromium()
    except NoBrowserError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    folder = checkout_root() / FOLDER
    folder.mkdir(exist_ok=True)
    with TemporaryDirectory() as made:
        here = Path(made)
        extract_to(here / "log")
        for name, words in TERMINAL.items():
            (folder / name).write_text(terminal(words, here), encoding="utf-8")
        _run(("report", "log", "--out", "page.html"), here)
        _run(("report", "log", "--png", "group-3-consumer", "--out", folder / "group.png"), here)
        screen(browser, here, folder / "page.png")
    return 0


def terminal(words: Sequence[str], folder: Path) -> str:
    """An SVG of the first lines that a command prints, in a terminal that shows colours."""
    console = Console(
        record=True, width=COLUMNS, file=StringIO(), force_terminal=True, color_system="truecolor"
    )
    console.print(Text.from_markup(f"[green]$[/] rebalance-audit {' '.join(words)}"))
    lines = _run(words, folder).splitlines()
    for line in lines[:LINES]:
        console.print(Text.from_ansi(line))
    if len(lines) > LINES:
        console.print("…")
    return console.export_svg(theme=DIMMED_MONOKAI, code_format=SVG, unique_id="terminal")


def screen(browser: str, folder: Path, out: Path) -> None:
    """A PNG of the page as a browser shows it."""
    width, height = PAGE_SIZE
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    options += [f"--window-size={width},{height}", f"--user-data-dir={folder / 'browser'}"]
    options += ["--virtual-time-budget=5000", f"--screenshot={out}"]
    subprocess.run(
        [browser, *options, (folder / "page.html").as_uri()], check=True, capture_output=True
    )


def _run(words: Sequence[str | Path], folder: Path) -> str:
    command = [sys.executable, "-m", "rebalance_audit.cli.main", *map(str, words)]
    environment = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": str(COLUMNS)}
    done = subprocess.run(
        command, cwd=folder, env=environment, check=True, capture_output=True, text=True
    )
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
