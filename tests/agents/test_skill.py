"""What agents read before they ask names tools and pages that there are."""

import asyncio
import re
from pathlib import Path
from typing import Final

import yaml
from mcp import Client

from rebalance_audit.agents.server import server_over
from tests.cli.audited import audited_once
from tests.cli.call import segments

ROOT: Final = Path(__file__).parents[2]
SKILL: Final = ROOT / "skills" / "rebalance-audit" / "SKILL.md"


def test_the_skill_names_tools_with_their_arguments() -> None:
    """Its front matter is as the format asks; every call in it is one that the server takes."""
    _, front, body = SKILL.read_text(encoding="utf-8").split("---\n", 2)
    about = yaml.safe_load(front)
    assert about["name"] == SKILL.parent.name
    assert 0 < len(about["description"]) <= 1024

    async def tools() -> dict[str, set[str]]:
        async with Client(server_over(audited_once(segments("classic-static")))) as client:
            found = (await client.list_tools()).tools
            return {tool.name: set(tool.input_schema["properties"]) for tool in found}

    known = asyncio.run(tools())
    calls = dict(re.findall(r"`(\w+)\(([\w, ]*)\)`", body))
    assert len(calls) >= 5
    for name, arguments in calls.items():
        assert set(arguments.split(", ")) <= known[name]
    rows = [line.split("|")[2] for line in body.splitlines() if line.startswith("| ")]
    named = {name for row in rows for name in re.findall(r"`(\w+)[`(]", row)}
    assert named <= set(known)


def test_the_list_of_pages_for_agents_has_pages_that_there_are() -> None:
    """A title, a summary, and links that lead somewhere."""
    page = ROOT / "docs" / "llms.txt"
    lines = page.read_text(encoding="utf-8").splitlines()
    assert (lines[0][:2], lines[2][:2]) == ("# ", "> ")
    links = re.findall(r"\]\(([^)]+)\)", "\n".join(lines))
    assert len(links) > 10
    assert [link for link in links if not (page.parent / link).is_file()] == []
