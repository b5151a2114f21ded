"""Rollouts over a lake of several clusters: from files, or as runs stored them, for all clusters or for one."""

import json
from pathlib import Path

import pytest

from rebalance_audit.local.given_files import read_deploys
from rebalance_audit.readers.gold import matched_deploys
from tests.cli.call import call
from tests.cli.page import Page
from tests.support.fleet import LASTED_MS, write_fleet
from tests.support.lake_without_spark import write_lake

# The only rebalance of each group begins at 14:13:20.
CSV = """\
name,started_at,ended_at,group,client
green app,2026-09-21T14:13:00Z,2026-09-21T14:14:00Z,checkout,green-*
everywhere,2026-09-21T14:13:10Z,2026-09-21T14:14:00Z,checkout,
backup,2026-09-21T14:13:10Z,2026-09-21T14:14:00Z,billing,another-client
idle,2026-09-21T14:13:10Z,2026-09-21T14:14:00Z,another-group,
"""
ALL = [
    ("blue", "billing", "backup", "during"),
    ("blue", "checkout", "everywhere", "likely"),
    ("eu/1", "checkout", "everywhere", "likely"),
    ("green", "checkout", "everywhere", "likely"),
    ("green", "checkout", "green app", "likely"),
]
EVERYWHERE = "Rollout everywhere likely cost 3 rebalances of 3 groups, 1 min 32 s in total."
GREEN_APP = "Rollout green app likely cost 1 rebalance of green/checkout, 1 min in total."
BACKUP = "1 rollout may have been under way during 1 other rebalance;"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four rollouts."""
    path = tmp_path_factory.mktemp("deploys") / "deploys.csv"
    path.write_text(CSV, encoding="utf-8")
    return path


@pytest.fixture(scope="module", params=["files", "stored"])
def source(
    request: pytest.FixtureRequest, file: Path, tmp_path_factory: pytest.TempPathFactory
) -> list[str]:
    """What names the lake and its rollouts: given now, or stored by a run of each cluster."""
    lake = tmp_path_factory.mktemp(request.param) / "lake"
    write_fleet(lake)
    if request.param == "files":
        return ["--lake", str(lake), "--deploys", str(file)]
    for cluster in {cluster for cluster, _ in LASTED_MS}:
        rows = matched_deploys(str(lake), cluster, read_deploys([file]).deploys)
        write_lake(lake, {"deploys": rows}, cluster)
    return ["--lake", str(lake)]


@pytest.mark.parametrize(
    ("arguments", "rows", "present", "absent"),
    [
        ([], ALL, [EVERYWHERE, GREEN_APP, BACKUP], ["Rollout idle", "Rollout backup"]),
        (
            ["--cluster", "green"],
            ALL[3:],
            [
                "Rollout everywhere likely cost 1 rebalance of checkout, 1 min in total.",
                "Rollout green app likely cost 1 rebalance of checkout, 1 min in total.",
            ],
            ["under way", "green/checkout"],
        ),
        (
            ["--group", "billing"],
            ALL[:1],
            ["Rollout backup was under way during 1 rebalance;"],
            ["everywhere", "green app"],
        ),
        (
            ["--group", "checkout"],
            ALL[1:],
            ["Rollout green app likely cost 1 rebalance, 1 min in total."],
            ["backup"],
        ),
    ],
    ids=["all", "one cluster", "a group of one cluster", "a group of each cluster"],
)
def test_inspect_keeps_the_rollouts_of_clusters_apart(
    source: list[str],
    arguments: list[str],
    rows: list[tuple[str, str, str, str]],
    present: list[str],
    absent: list[str],
) -> None:
    """A rollout that costs groups of several clusters is one; each row has its cluster."""
    found = json.loads(call("inspect", *source, *arguments, "--json").out)["deploys"]
    keys = ("cluster", "group_id", "workload", "certainty")
    assert sorted(tuple(row[key] for key in keys) for row in found) == rows
    text = " ".join(call("inspect", *source, *arguments).out.split())
    for sentence in present:
        assert sentence in text
    for word in absent:
        assert word not in text


@pytest.mark.parametrize(
    ("arguments", "groups"),
    [
        ([], ["blue/checkout", "eu~11/checkout", "green/checkout"]),
        (["--cluster", "green"], ["checkout"]),
    ],
    ids=["all", "one cluster"],
)
def test_the_page_links_each_rollout_to_groups_by_their_names(
    source: list[str], arguments: list[str], groups: list[str], tmp_path: Path
) -> None:
    """One row for a rollout, with every group that it cost something."""
    out = tmp_path / "page.html"
    assert call("report", *source, *arguments, "--out", out).code == 0
    _, _, after = Page(out).text.partition("What deploys cost")
    row = after.partition("everywhere")[2].partition("likely")[0]
    assert [word for word in row.split() if word.endswith("checkout")] == groups


def test_explain_has_the_rollouts_of_its_cluster_alone(source: list[str]) -> None:
    """The only cluster with the group needs no name; another one is asked for."""
    assert "Rollout backup was under way" in call("explain", *source, "billing").out
    assert "in 3 clusters" in call("explain", *source, "checkout").err
    of_blue = call("explain", *source, "--cluster", "blue", "checkout").out
    assert "Rollout everywhere likely cost 1 rebalance, 2.0 s in total" in " ".join(of_blue.split())
    assert "green app" not in of_blue


def test_rollouts_that_fit_no_rebalance_are_answered(tmp_path: Path) -> None:
    """Otherwise a reader cannot separate them from rollouts that were not read."""
    lake, late = tmp_path / "lake", tmp_path / "late.csv"
    write_fleet(lake)
    late.write_text("name,started_at\nlater,2026-09-23T00:00:00Z\n", encoding="utf-8")
    sentence = "No rebalance fits any of the rollouts that were given."
    assert sentence in call("inspect", "--lake", lake, "--deploys", late).out
    assert sentence not in call("inspect", "--lake", lake).out
