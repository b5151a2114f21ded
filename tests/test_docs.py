"""What README.md and docs/ ask people to type, click and open is there."""

import re
import shlex
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import pytest

from rebalance_audit.cli import main
from rebalance_audit.cli.invocation import Invocation
from rebalance_audit.resources import checkout_root

ROOT: Final = checkout_root()
PAGES: Final = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE: Final = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
CODE: Final = re.compile(r"`([^`\n]+)`")
LINK: Final = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
JOB: Final = re.compile(r"\bjobs/(\w+)\.py (.+)")
COMMAND_OF_JOB: Final = {"audit": "run"}
"""All other jobs are named as their command."""
PLACES: Final = ("", "src/rebalance_audit")
BUILT: Final = (".venv/", "build/", "dist/", "jars/")


@pytest.fixture(params=PAGES, ids=lambda page: page.name)
def page(request: pytest.FixtureRequest) -> Path:
    """One of the pages."""
    path = request.param
    assert isinstance(path, Path)
    return path


def test_every_command_line_is_understood(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commands and options exist, and values are of their kind; nothing is run."""
    monkeypatch.chdir(tmp_path)
    for folder in ("logs", "broker-1", "broker-2", "copies", "to-share/broker-logs"):
        (tmp_path / folder).mkdir(parents=True)
    for file in (
        "broker-1/server.log",
        "slack-url",
        "pagerduty-key",
        "key",
        "mcp-token",
        "samples.jsonl",
        "checkout.json",
        "events.json",
    ):
        (tmp_path / file).touch()
    for _, *words in command_lines(page.read_text(encoding="utf-8")):
        group = main.commands.make_context(main.PROGRAM, [*words], obj=Invocation())
        if words[0].startswith("-"):
            continue
        command = main.commands.get_command(group, words[0])
        assert command is not None, words
        # A sentence may speak of a command without its arguments.
        if len(words) > 1:
            command.make_context(words[0], words[1:], parent=group)


def test_every_link_leads_somewhere(page: Path) -> None:
    """To a file or folder of the project, and to a heading that is there."""
    for target in LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
        path, _, anchor = target.partition("#")
        if ":" in path:
            continue
        file = page.parent / path if path else page
        assert file.exists(), target
        assert not anchor or anchor in anchors(file), target


def test_every_page_is_reachable_from_the_readme() -> None:
    """By its own list of links: each page can be found."""
    linked = set(LINK.findall((ROOT / "README.md").read_text(encoding="utf-8")))
    assert {f"docs/{page.name}" for page in PAGES[1:]} <= linked


def test_everything_that_is_named_is_there(page: Path) -> None:
    """Paths of the project, targets of make, modules to run, configuration files."""
    text = page.read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for code in code_of(text):
        for target in re.findall(r"\bmake ([a-z][a-z-]+)", code):
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), code
        for module in re.findall(r"python -m ([\w.]+)", code):
            assert find_spec(module), code
        for path in re.findall(r"(?:^|[ :])((?:[\w.-]+/)+[\w.-]*\w)", code):
            first = path.partition("/")[0]
            known = any((ROOT / place / first).is_dir() for place in PLACES)
            if known and not path.startswith(BUILT):
                assert any((ROOT / place / path).exists() for place in PLACES), code


def command_lines(text: str) -> Iterator[list[str]]:
    """Words of each command line, in code blocks and in sentences."""
    for code in code_of(text):
        line = code.removeprefix("$ ").strip().strip("…").strip()
        if job := JOB.search(line):
            name = COMMAND_OF_JOB.get(job[1], job[1])
            line = f"{main.PROGRAM} {name} {job[2]}"
        for part in re.split(r"\||&&|>", line):
            if part.strip().startswith(f"{main.PROGRAM} "):
                yield shlex.split(part, comments=True)


def code_of(text: str) -> Iterator[str]:
    """Lines of code blocks, fenced or indented, and code in sentences; a line that goes on is put together."""
    joined = re.sub(r" *\\\n *", " ", text)
    for block in FENCE.findall(joined):
        yield from block.splitlines()[1:-1]
    prose = FENCE.sub("", joined)
    for line in prose.splitlines():
        if line.startswith("    "):
            yield line.strip()
        else:
            yield from CODE.findall(line)


def anchors(page: Path) -> set[str]:
    """Names of the headings, as GitHub makes them."""
    headings = re.findall(
        r"^#+ (.+)$", FENCE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE
    )
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
