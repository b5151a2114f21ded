"""The pages show the output that the commands print: `python -m tests.cli.readme --write` puts it there.

A fenced block of `console` begins with one command after `$ `. A comment above it may choose parts of the output,
which blank lines separate: `<!-- show #1, Groups = 7 -->` is the first part, and seven lines of the one beginning with
Groups. What is left out becomes a line with an ellipsis.
"""

import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from rich.console import Console

from rebalance_audit.audit.rows import GOLD_OF_LOG
from rebalance_audit.cli import main
from rebalance_audit.cli.commands.demo import print_demo
from rebalance_audit.demo_log import extract_to
from rebalance_audit.local.audit import audit_segments
from tests.cli.call import call, segments
from tests.support.damaged_log import damaged_copy
from workshop import generated_files

ROOT: Final = Path(__file__).parents[2]
PAGES: Final = (
    ROOT / "README.md",
    *(
        ROOT / "docs" / name
        for name in ("tour.md", "runbook.md", "migrate.md", "what-if.md", "verify.md", "recover.md")
    ),
)
LOGS: Final = {"went-there-and-back": segments("migration")}
"""Logs of real brokers that pages show beside that of the demo."""
DAMAGED: Final = "damaged-log"
"""That of the demo with a record that no release can read."""
BLOCK: Final = re.compile(
    r"(?P<head>(?:<!-- show (?P<parts>.+) -->\n)?```console\n\$ (?P<command>.+)\n)(?P<output>(?:.*\n)*?)```\n"
)
WANTED: Final = re.compile(r"(?:#(?P<number>\d+)|(?P<name>.+?))(?: = (?P<limit>\d+))?")
COLUMNS: Final = 96
"""The width that a code block shows without a scroll bar."""

OUT: Final = "demo-audit"


def refreshed(text: str) -> str:
    """The text with the current output of every block."""
    with tempfile.TemporaryDirectory() as folder:
        extract_to(Path(folder) / OUT / "log")
        for name, log in LOGS.items():
            (Path(folder) / name).symlink_to(log)
        damaged_copy(Path(folder) / OUT / "log", Path(folder) / DAMAGED, 6, 0.6)
        return BLOCK.sub(
            lambda block: f"{block['head']}{_output(block, Path(folder))}```\n",
            text,
        )


def commands(text: str) -> list[str]:
    """Command lines of the blocks, in order."""
    return [block["command"] for block in BLOCK.finditer(text)]


def _output(block: re.Match[str], folder: Path) -> str:
    command = block["command"]
    output = _demo(folder) if command.endswith(" demo") else _run(command, folder)
    return "".join(f"{line}\n" for line in _chosen(output, block["parts"]))


def _run(command: str, folder: Path) -> str:
    program, *arguments = shlex.split(command)
    if program == main.PROGRAM and "|" not in arguments:
        with pytest.MonkeyPatch.context() as here:
            here.chdir(folder)
            here.setenv("COLUMNS", str(COLUMNS))
            outcome = call(*arguments)
        if outcome.err or outcome.code:
            raise RuntimeError(f"{command}: exit {outcome.code}: {outcome.err}")
        return outcome.out
    environment = {
        **os.environ,
        "COLUMNS": str(COLUMNS),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.stderr or done.returncode:
        raise RuntimeError(f"{command}: exit {done.returncode}: {done.stderr}")
    return done.stdout


def _demo(folder: Path) -> str:
    """What `rebalance-audit demo` prints."""
    audited = audit_segments(folder / OUT / "log")
    text = io.StringIO()
    console = Console(file=text, width=COLUMNS, color_system=None, highlight=False)
    tables = {name: audited.tables[name] for name in GOLD_OF_LOG}
    print_demo(
        console, Path(OUT), tables, audited.facts.records, audited.log_end_ms(), is_lake=False
    )
    return text.getvalue()


def _chosen(output: str, parts: str | None) -> Iterator[str]:
    if parts is None:
        yield from output.splitlines()
        return
    found = [part.splitlines() for part in re.split(r"\n\n+", output.strip("\n"))]
    shown, cut = -1, False
    for wanted in parts.split(", "):
        at, limit = _part(wanted, found)
        if shown >= 0:
            yield ""
        if at > shown + 1 and not cut:
            yield "…"
        yield from found[at][:limit]
        cut = limit is not None and limit < len(found[at])
        if cut:
            yield "…"
        shown = at
    if shown < len(found) - 1 and not cut:
        yield "…"


def _part(wanted: str, found: list[list[str]]) -> tuple[int, int | None]:
    """Number of the part that the comment names, and how many of its lines are wanted."""
    match = WANTED.fullmatch(wanted)
    assert match is not None, wanted
    limit = int(match["limit"]) if match["limit"] else None
    if match["number"]:
        return int(match["number"]) - 1, limit
    begins = [at for at, part in enumerate(found) if part[0].startswith(match["name"])]
    assert begins, f"no part begins with {match['name']}"
    return begins[0], limit


def due() -> dict[Path, str]:
    """The pages at their paths."""
    return {page: refreshed(page.read_text(encoding="utf-8")) for page in PAGES}


if __name__ == "__main__":
    sys.exit(generated_files.main(due))
