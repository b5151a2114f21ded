"""A lake of several clusters that have groups of the same ids: each answer keeps them apart."""

import asyncio
import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from mcp import Client
from mcp.types import TextContent

from rebalance_audit.agents.server import server_over
from rebalance_audit.cli import exit_codes
from rebalance_audit.readers.lake_reader import open_lake
from rebalance_audit.tables.fleet_names import cluster_and_group, fleet_name
from tests.cli.call import call
from tests.cli.page import Page
from tests.support.fleet import LASTED_MS, WORST_FIRST, write_fleet

MOMENT = "2026-09-22T00:00Z"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake of three clusters."""
    lake = tmp_path_factory.mktemp("fleet") / "lake"
    write_fleet(lake)
    return lake


@pytest.mark.parametrize(
    ("cluster", "group_id"), [("blue", "a/b"), ("blue/a", "b"), ("~1", "/"), ("", ""), ("~01", "~")]
)
def test_names_of_a_fleet_never_collide(cluster: str, group_id: str) -> None:
    """A name leads back to the cluster and the group that it was made of, whatever characters these have."""
    assert cluster_and_group(fleet_name(cluster, group_id)) == (cluster, group_id)


def test_inspect_lists_all_clusters_worst_first(fleet: Path) -> None:
    """One table of groups, each by its cluster and id; one cluster alone goes without the name."""
    text = call("inspect", "--lake", fleet).out
    assert f"{fleet}, 3 clusters" in text
    assert "4 groups, 4 epochs, 4 rebalances" in text
    groups = text.partition("\nGroups\n")[2].partition("\nCauses")[0]
    assert [line.split()[0] for line in groups.splitlines() if "/" in line] == WORST_FIRST
    assert "blue/" not in call("inspect", "--lake", fleet, "--cluster", "blue").out


def test_inspect_shows_a_group_of_each_cluster_that_has_it(fleet: Path) -> None:
    """With its own rebalance and its own member, none of another cluster."""
    text = call("inspect", "--lake", fleet, "--group", "checkout", "--group", "billing").out
    parts = dict(
        zip(
            ("blue/checkout", "eu~11/checkout", "green/checkout", "blue/billing"),
            text.split("a consumer group")[1:],
            strict=True,
        )
    )
    for name, part in parts.items():
        cluster, _ = cluster_and_group(name)
        others = {other for other, _ in LASTED_MS} - {cluster}
        assert f"{cluster}-member" in part
        assert not any(f"{other}-member" in part for other in others)


def test_inspect_for_programs_has_the_cluster_of_each_row(fleet: Path) -> None:
    """In order of the key, whose first column is the cluster."""
    rows = json.loads(call("inspect", "--lake", fleet, "--json").out)["rebalances"]
    found = [(row["cluster"], row["group_id"], row["duration_ms"]) for row in rows]
    assert found == [(*key, lasted_ms) for key, lasted_ms in sorted(LASTED_MS.items())]


@pytest.mark.parametrize(
    "command",
    [["explain"], ["what-if", "--group"], ["report", "--out", "page.png", "--png"]],
    ids=["explain", "what-if", "report --png"],
)
def test_a_command_about_one_group_chooses_no_cluster(fleet: Path, command: list[str]) -> None:
    """The clusters that have the group are named."""
    outcome = call(*command, "checkout", "--lake", fleet)
    assert outcome.code == exit_codes.BAD_ARGUMENTS
    assert (
        "Group 'checkout' is in 3 clusters (blue, eu/1, green): give --cluster NAME." in outcome.err
    )


def test_a_group_of_one_cluster_needs_no_name_of_it(fleet: Path) -> None:
    """No other cluster can be meant."""
    assert "took 5.0 s" in call("explain", "--lake", fleet, "billing").out
    assert "no group 'missing'" in call("explain", "--lake", fleet, "missing").err
    assert "1 min" in call("explain", "--lake", fleet, "--cluster", "green", "checkout").out


def test_what_needs_one_cluster_names_all(fleet: Path) -> None:
    """A state, and a summary of one cluster."""
    for command in (["state"], ["inspect", "--json", "--brief"]):
        outcome = call(*command, "--lake", fleet)
        assert outcome.code == exit_codes.BAD_ARGUMENTS
        assert "blue, eu/1, green" in outcome.err


def test_one_page_has_all_clusters(fleet: Path, tmp_path: Path) -> None:
    """Worst first, a filter by cluster, and for each group an address and a command of its own."""
    outcome = call("report", "--lake", fleet, "--out", tmp_path / "page.html", "--json")
    assert json.loads(outcome.out)["groups"] == len(LASTED_MS)
    page = Page(tmp_path / "page.html")
    groups = page.data["groups"]
    assert [group["cells"][0] for group in groups] == WORST_FIRST
    assert [group["cluster"] for group in groups] == ["green", "eu/1", "blue", "blue"]
    assert [unquote(group["link"]) for group in groups] == [
        f"#group={name}" for name in WORST_FIRST
    ]
    assert len(page.sections) == len(WORST_FIRST)
    assert '<select id="filter-cluster">' in page.source
    for cluster, group_id in LASTED_MS:
        command = f"inspect --lake {fleet} --cluster {cluster} --group {group_id} --epochs"
        assert command in page.text


def test_a_page_of_one_cluster_has_no_filter_by_cluster(fleet: Path, tmp_path: Path) -> None:
    """Nor names of clusters in front of groups."""
    out = tmp_path / "page.html"
    assert call("report", "--lake", fleet, "--cluster", "blue", "--out", out).code == 0
    page = Page(out)
    assert [group["cells"][0] for group in page.data["groups"]] == ["billing", "checkout"]
    assert '<select id="filter-cluster">' not in page.source


def test_agents_are_asked_which_cluster_they_mean(fleet: Path) -> None:
    """For a group that several have; with the cluster the answer is about that one alone."""

    async def talk() -> None:
        async with Client(server_over(open_lake(fleet))) as client:

            async def ask(tool: str, **arguments: object) -> Any:
                (content,) = (answer := await client.call_tool(tool, arguments)).content
                assert isinstance(content, TextContent)
                return content.text if answer.is_error else json.loads(content.text)

            about = {
                "why": {"moment": MOMENT},
                "incident": {"start": "2026-09-01", "end": "2026-10-01"},
                "explain": {},
            }
            for tool, arguments in about.items():
                refusal = await ask(tool, group="checkout", **arguments)
                assert "'checkout' is in 3 clusters (blue, eu/1, green)" in refusal, tool
                of_one = json.dumps(await ask(tool, group="checkout", cluster="eu/1", **arguments))
                assert "eu/1-member" in of_one, tool
                assert "green-member" not in of_one, tool
                assert "blue-member" in json.dumps(await ask(tool, group="billing", **arguments))
            worst = (await ask("worst_rebalances"))["rebalances"]
            assert [row["cluster"] for row in worst] == ["green", "eu/1", "blue", "blue"]
            worst = await ask("worst_rebalances", group="checkout", cluster="blue")
            assert [row["duration_estimate_ms"] for row in worst["rebalances"]] == [2_000]
            assert worst["more"][0]["arguments"]["cluster"] == "blue"
            found = await ask("findings", group="checkout", cluster="green")
            assert [row["cluster"] for row in found["findings"]] == ["green"]
            assert "no run of cluster nowhere" in await ask(
                "why", group="checkout", moment=MOMENT, cluster="nowhere"
            )

    asyncio.run(talk())
