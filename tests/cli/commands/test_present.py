"""Every output about a group's present agrees with the others, and with Kafka itself."""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pytest

from tests.cli.audited import audited_once
from tests.cli.call import CAPTURES, call, segments
from tests.cli.page import Page
from tests.support.lake_without_spark import write_lake

ALL = sorted(folder.name for folder in CAPTURES.iterdir())
STABLE_IN_THE_LOG = {"PreparingRebalance": "Stable", "CompletingRebalance": "Stable"}
"""A classic group's records show it only between two rebalances."""
STANDING_TEXT = re.compile(
    r"(Empty or gone|[A-Z][A-Za-z]+)(?: \(([\d,]+)\)| with ([\d,]+) members?)?$"
)


class Standing(NamedTuple):
    """What an output says about a group's present."""

    group_state: str
    members: int


GONE = Standing("Empty or gone", 0)


def standing_of(words: str) -> Standing:
    """`Stable (3)`, `Stable with 3 members`, `Empty`, `Empty or gone`."""
    found = STANDING_TEXT.fullmatch(" ".join(words.split()))  # also over spaces that do not break
    assert found, words
    return Standing(found[1], int(found[2] or found[3] or 0))


Cells: TypeAlias = Mapping[str, Sequence[str]]
"""Group id -> the group's line on the page."""


def cells_of(lake: Path, logs: Mapping[str, Path]) -> Cells:
    """What one page says of the groups of all logs, each group id behind the prefix of its log."""
    tables: dict[str, list[dict[str, Any]]] = {}
    for prefix, folder in logs.items():
        for name, rows in audited_once(folder).tables.items():
            tables.setdefault(name, []).extend(
                row | {"group_id": prefix + row["group_id"]} if "group_id" in row else row
                for row in rows
            )
    write_lake(lake, tables, "c")
    out = lake / "page.html"
    assert call("report", "--lake", lake, "--cluster", "c", "--out", out).code == 0
    return {row["cells"][0]: row["cells"] for row in Page(out).data["groups"]}


@pytest.fixture(scope="module")
def cells_of_captures(tmp_path_factory: pytest.TempPathFactory) -> Cells:
    """One page about the groups of all captures, named like `upgrade: fleet`."""
    logs = {f"{capture}: ": segments(capture) for capture in ALL}
    return cells_of(tmp_path_factory.mktemp("lake"), logs)


def every_output(folder: Path, cells: Cells) -> dict[str, dict[str, Standing]]:
    """Group id -> output -> what it says: tables, texts and the page, for groups that left a record."""
    tables = audited_once(folder).tables
    overview = call("inspect", folder, "--all").out
    found: dict[str, dict[str, Standing]] = {}
    for group_id in sorted({row["group_id"] for row in tables["group_states"]}):
        if group_id not in cells:
            continue  # escaped there, for control characters
        current = [
            row
            for row in tables["group_states"]
            if row["group_id"] == group_id and row["is_current"]
        ]
        staying = [
            row
            for row in tables["members"]
            if current
            and row["group_id"] == group_id
            and row["incarnation"] == current[0]["incarnation"]
            and row["left_at"] is None
        ]
        line = re.search(rf"^ *{re.escape(group_id)}  +(.*)$", overview, re.MULTILINE)
        detail = call("inspect", folder, "--group", group_id).out
        headline = re.search(r"group, (.*?) at the end", detail.replace("\n", " "))
        assert headline, detail[:500]
        found[group_id] = {
            "page": standing_of(cells[group_id][2]),
            "inspect --group": standing_of(headline[1]),
            "tables": Standing(current[0]["group_state"], current[0]["members_at_end"])
            if current
            else GONE,
            "members": Standing(current[0]["group_state"], len(staying)) if current else GONE,
        }
        if line is not None:
            state = next(
                part for part in re.split(r"  +", line[1])[1:] if STANDING_TEXT.fullmatch(part)
            )
            found[group_id]["inspect"] = standing_of(state)
        explained = call("explain", folder, group_id)
        if explained.code == 0:
            first = explained.out.replace("\n", " ").partition(" at the end of the log.")[0]
            found[group_id]["explain"] = standing_of(first.partition(f"{group_id} is ")[2])
    return found


def require_alike(
    found: Mapping[str, Mapping[str, Standing]],
    expected: Mapping[str, Standing],
    unreported: Collection[str] = (),
) -> None:
    """Every output says the expected about every group; a group without expectation is deleted."""
    wrong = [
        f"{group_id}: {where} says {said}, it is {expected.get(group_id)}"
        for group_id, places in found.items()
        if group_id not in unreported
        for where, said in places.items()
        # Offsets committed since then keep the name as an Empty group; the tables of groups do not show that.
        if said != expected.get(group_id, GONE)
        and (said, expected.get(group_id)) != (GONE, Standing("Empty", 0))
    ]
    assert not wrong, "\n".join(wrong)
    assert set(expected) & set(found)


@pytest.mark.usefixtures("shared_audits")
@pytest.mark.parametrize("capture", ALL)
def test_every_place_says_of_a_group_what_kafkas_admin_client_saw(
    capture: str, cells_of_captures: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    """State and members in tables, texts and on the page equal the brokers' answer, while clients were idle."""
    described: list[dict[str, Any]] = json.loads(
        (CAPTURES / capture / "describe.json").read_text()
    )["groups"]
    expected = {
        group["group_id"]: Standing(
            STABLE_IN_THE_LOG.get(group["state"], group["state"]), len(group["members"])
        )
        for group in described
        if not group.get("error") and group.get("state", "Dead") != "Dead"
    }
    unreported = {group["group_id"] for group in described if group["group_id"] not in expected}
    monkeypatch.setenv("COLUMNS", "400")
    prefix = f"{capture}: "
    cells = {
        group_id.removeprefix(prefix): standing
        for group_id, standing in cells_of_captures.items()
        if group_id.startswith(prefix)
    }
    require_alike(every_output(segments(capture), cells), expected, unreported)


@pytest.mark.swarm
@pytest.mark.usefixtures("shared_audits")
@pytest.mark.parametrize("seed", [10, 17, 32])
def test_every_place_says_what_state_says_of_groups_with_many_lives(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A simulated log in which groups are deleted and created again under the same name."""
    log = tmp_path / "log"
    assert call("simulate", "--seed", str(seed), "--out", log, "--minutes", "3").code == 0
    assert any(row["incarnation"] > 0 for row in audited_once(log).tables["group_states"])
    standing = json.loads(call("state", log).out)["groups"]
    expected = {
        group["group_id"]: Standing(group["state"], len(group["members"])) for group in standing
    }
    monkeypatch.setenv("COLUMNS", "400")
    cells = cells_of(tmp_path / "lake", {"": log})
    require_alike(every_output(log, cells), expected)
