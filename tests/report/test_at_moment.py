"""How a group stood at a moment."""

import itertools
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from rebalance_audit.local.state import segment_state
from rebalance_audit.report.at_moment import MEMBERS_SHOWN, sentences_at
from rebalance_audit.report.epoch_sentences import partitions_text
from rebalance_audit.wire.segments.folder import open_log_folder
from tests.cli.audited import audited_once
from tests.cli.call import CAPTURES

OWN = {"incarnation": 0}


def member(member_id: str, first_ms: int, left_ms: int | None, stints: int = 1) -> dict[str, Any]:
    """A row of gold.members."""
    return OWN | {
        "member_id": member_id,
        "first_seen_at": first_ms,
        "first_epoch": 0,
        "left_at": left_ms,
        "stints": stints,
    }


def owned(member_id: str, topic: str, number: int) -> dict[str, Any]:
    """A row of gold.ownership that lasts."""
    return OWN | {
        "member_id": member_id,
        "topic": topic,
        "topic_partition": number,
        "from_at": 100,
        "to_at": None,
    }


def test_members_without_partitions_are_listed_too() -> None:
    """Every member of that moment and no other; of those that left and came back, whom the epoch of the time has."""
    state = OWN | {"protocol": "consumer", "group_state": "Stable", "epoch": 1}
    own: dict[str, list[dict[str, Any]]] = {
        "group_states": [state | {"from_at": 100, "to_at": None, "from_offset": 0}],
        "epochs": [OWN | {"protocol": "consumer", "epoch": 1, "started_at": 100}],
        "convergence": [OWN | {"epoch": 1, "member_id": "back", "outcome": "reached"}],
        "rebalance_causes": [],
        "members": [
            member("busy", 100, None),
            member("idle", 100, None),
            member("left", 100, 150),
            member("later", 300, None),
            member("back", 50, None, stints=2),
            member("away", 50, None, stints=2),
        ],
        "ownership": [owned("busy", "orders", n) for n in (0, 1, 3)] + [owned("busy", "pay", 2)],
    }
    assert list(sentences_at(own, 200))[1:] == [
        "back had no partition.",
        "busy had orders 0-1,3; pay 2.",
        "idle had no partition.",
    ]


MOMENTS = 8
"""Of each capture, spread over its epochs."""


def partitions_of(assigned: Iterable[tuple[str, int]]) -> str:
    """Topics and partition numbers in the words of a sentence."""
    rows = [{"topic": topic, "topic_partition": number} for topic, number in assigned]
    return partitions_text(rows) or "no partition"


def owned_at(tables: dict[str, list[dict[str, Any]]], group_id: str, at_ms: int) -> dict[str, str]:
    """Member id -> what it had then, as printed."""
    own = {
        name: [row for row in rows if row.get("group_id") == group_id]
        for name, rows in tables.items()
    }
    sentences = list(sentences_at(own, at_ms))[1:]
    return dict(sentence.removesuffix(".").split(" had ", 1) for sentence in sentences)


def with_members(groups: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The groups that list their members with what each has."""
    return [
        group
        for group in groups
        if 0 < len(group.get("members") or ()) <= MEMBERS_SHOWN
        and (group.get("type") or "").lower() not in {"share", "streams"}
    ]


@pytest.mark.parametrize("folder", sorted(CAPTURES.iterdir()), ids=lambda folder: folder.name)
def test_who_had_what_is_what_state_says(folder: Path) -> None:
    """At moments of every capture, between the epochs; members that left and came back among them."""
    log = open_log_folder(folder / "segments")
    tables = audited_once(folder / "segments").tables
    begun = sorted({row["converged_at"] or row["started_at"] or 0 for row in tables["epochs"]})
    for earlier, later in list(itertools.pairwise(begun))[:: len(begun) // MOMENTS + 1]:
        at_ms = (earlier + later) // 2
        for group in with_members(segment_state(log, (), at_ms).groups):
            expected = {
                member["member_id"]: partitions_of(
                    (topic, number)
                    for topic, numbers in member["assignment"].items()
                    for number in numbers
                )
                for member in group["members"]
            }
            assert owned_at(tables, group["group_id"], at_ms) == expected, (
                group["group_id"],
                at_ms,
            )


@pytest.mark.parametrize("folder", sorted(CAPTURES.iterdir()), ids=lambda folder: folder.name)
def test_who_has_what_at_the_end_is_what_kafkas_admin_client_saw(folder: Path) -> None:
    """Of groups that were stable when the brokers were asked."""
    tables = audited_once(folder / "segments").tables
    at_ms = max(row["last_seen_at"] or 0 for row in tables["members"]) + 1
    groups = json.loads((folder / "describe.json").read_text())["groups"]
    for group in with_members(groups):
        if group["state"].lower() != "stable":
            continue
        expected = {
            member["member_id"]: partitions_of(member["assignment"]) for member in group["members"]
        }
        assert owned_at(tables, group["group_id"], at_ms) == expected, group["group_id"]
