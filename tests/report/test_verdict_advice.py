"""The answer gives the advice on what it names, and counts rebalances in one way."""

from typing import Any

import pytest

from rebalance_audit.bounds import Bounds, bounds_columns
from rebalance_audit.figures.ranking import longest_of
from rebalance_audit.report.answer import advice_on
from tests.cli.audited import audited_once
from tests.cli.call import call, segments

Row = dict[str, Any]


def rebalance(seq: int = 1, **other: object) -> Row:
    """A rebalance of a consumer group from 10 s to 20 s, which `m` held up for 8 s."""
    row: Row = {
        "group_id": "g",
        "incarnation": 0,
        "rebalance_seq": seq,
        "protocol": "consumer",
        "completeness": "complete",
        "first_epoch": seq + 1,
        "last_epoch": seq + 1,
        "members_left": 0,
        "started_at": 10_000,
        "ended_at": 20_000,
        **Bounds.exactly(10_000).columns("duration"),
        "held_up_member_ids": ["m"],
        "held_up_by": ["pod-3"],
        "held_up_why": ["kept_partitions"],
        "held_up_ms": [8000],
        "held_up_to": [19_000],
    }
    return row | other


def finding(**other: object) -> Row:
    """A slow revoker `m` from 11 s to 19 s."""
    row: Row = {
        "kind": "slow_revoker",
        "group_id": "g",
        "incarnation": 0,
        "member_ids": ["m"],
        "from_at": 11_000,
        "to_at": 19_000,
        "advice": "Shorten it.",
    }
    return row | other


NO_HOLDER: Row = {f"held_up_{name}": [] for name in ("member_ids", "by", "why", "ms", "to")}


@pytest.mark.parametrize(
    ("held_up", "found", "is_given"),
    [
        ({}, {}, True),
        ({"held_up_why": ["had_left"]}, {}, False),
        ({"held_up_why": ["had_left"]}, {"kind": "flapping_member"}, True),
        ({}, {"kind": "rebalance_storm"}, False),
        ({}, {"member_ids": ["other"]}, False),
        ({}, {"from_at": 1000, "to_at": 9000}, False),
        ({}, {"from_at": 21_000, "to_at": None}, False),
        (
            {"ended_at": None, "held_up_why": ["silent"]},
            {"kind": "silent_member", "to_at": None},
            True,
        ),
        # What goes on has advice of its own.
        ({"ended_at": None}, {"from_at": 21_000, "to_at": None}, False),
        ({}, {"incarnation": 1}, False),
        ({}, {"group_id": "other"}, False),
        # Waited for until 9 s, which set the rebalance off.
        (
            {"held_up_why": ["silent"], "held_up_to": [9000]},
            {"kind": "session_expiries", "from_at": 2000, "to_at": 9000},
            True,
        ),
        (
            {"held_up_why": ["coordinator"], "held_up_member_ids": [None]},
            {"kind": "coordinator_moved", "member_ids": []},
            True,
        ),
        ({"held_up_why": ["did_not_rejoin"]}, {"kind": "coordinator_moved"}, True),
        ({"held_up_why": ["kept_partitions"]}, {"kind": "coordinator_moved"}, False),
        ({"held_up_member_ids": [], "held_up_why": []}, {}, False),
    ],
)
def test_advice_is_about_the_member_and_what_it_did(
    held_up: Row, found: Row, is_given: bool
) -> None:
    """Of a finding with the same group, time, member and way of holding others up; else a general one."""
    if held_up.get("held_up_member_ids") == []:
        held_up = held_up | NO_HOLDER
    advice = advice_on(rebalance(**held_up), [finding(**found)])
    assert advice is not None
    assert (advice == "Shorten it.") is is_given


@pytest.mark.parametrize(
    ("row", "kind", "advice"),
    [
        ({}, None, "Find out what m did then: "),
        ({"held_up_why": ["silent"]}, None, "Look at the log of m for a crash, "),
        ({"held_up_why": ["did_not_rejoin"]}, "deploy_wave", "Look at the log of m for a crash, "),
        ({"held_up_why": ["of a later release"]}, None, "Read the log of the broker "),
        (NO_HOLDER | {"primary_cause": "member_left"}, None, "Start and stop members together"),
        (NO_HOLDER | {"primary_cause": "member_left"}, "deploy_wave", "Shorten it."),
        (NO_HOLDER | {"primary_cause": "static_member_joined"}, None, "Start members together"),
        (NO_HOLDER | {"primary_cause": "topic_metadata_changed"}, "deploy_wave", "Change topics"),
        (NO_HOLDER | {"primary_cause": "member_departed"}, None, "Look at the logs of the members"),
        (NO_HOLDER | {"primary_cause": "unknown"}, None, "Read the log of the broker "),
        (Bounds.exactly(900).columns("duration"), None, None),
        (
            {"ended_at": None, **bounds_columns(None, "duration")},
            None,
            "Take a thread dump of m: ",
        ),
    ],
)
def test_a_rebalance_that_took_long_always_has_advice(
    row: Row, kind: str | None, advice: str | None
) -> None:
    """By how it was held up, by the rollout that it falls into, or by what set it off."""
    findings = [] if kind is None else [finding(kind=kind, member_ids=[])]
    found = advice_on(rebalance(**row), findings)
    assert found is None if advice is None else found is not None and found.startswith(advice)


@pytest.mark.parametrize(
    ("rows", "of", "leaves_creation_aside"),
    [
        ([rebalance(0)], 1, False),
        ([rebalance(0), rebalance(1)], 2, True),
        ([rebalance(1), rebalance(2)], 2, False),
        ([rebalance(0), rebalance(1, ended_at=None)], 2, False),
        ([rebalance(0), rebalance(1), rebalance(2, ended_at=None)], 3, True),
    ],
)
def test_the_creation_counts_as_a_rebalance(
    rows: list[Row], of: int, leaves_creation_aside: bool
) -> None:
    """It is only not compared with others."""
    found = longest_of(rows)
    assert found is not None
    assert (found.of, found.leaves_creation_aside) == (of, leaves_creation_aside)


def took(seq: int, least: int, most: int | None, estimate: int | None) -> Row:
    """A classic rebalance whose bounds are known, in ms."""
    bounds = {"duration_min_ms": least, "duration_max_ms": most, "duration_estimate_ms": estimate}
    return rebalance(seq, protocol="classic", duration_ms=least, **bounds)


@pytest.mark.parametrize(
    ("rows", "named", "stands_out", "is_likely", "most_ms", "rival"),
    [
        # The likeliest comes first, though less of it is certain.
        ([(1200, 1200, 1200), (3, 60_000, 6000)], 2, False, True, 60_000, 1),
        ([(5000, 7000, 6000), (3, 60_000, 6000)], 1, True, True, 60_000, 2),
        ([(900, 900, 900), (3, 60_000, 6000)], 2, False, True, 60_000, 1),
        # Upper bounds decide whether one stands out, not estimates; two may have been longer.
        ([(3, 9000, 6000), (2, 63_000, 900), (4, 8000, 900)], 1, False, True, 63_000, 2),
        ([(3, 9000, 2000), (2, 63_000, 1900), (4, 8000, 1800)], 1, False, False, 63_000, 2),
        ([(3, None, 3), (2, 8, 2), (4, 8, 4)], 3, False, False, None, 1),
        # One without an estimate may be alike as far as its upper bound shows; one that is alike is the rival.
        ([(3, 9000, 6000), (2, 63_000, None), (4, 8000, None)], 1, False, False, 63_000, 2),
        ([(3, 9000, 6000), (2, 63_000, 900), (4, 8000, 5500)], 1, False, True, 63_000, 3),
        ([(5000, 5000, 5000), (2, 5000, 3000), (4, 300, 4)], 1, True, True, 5000, None),
        # Of two that are equal but for their upper bound, the one that can have been longer.
        ([(0, 0, 0), (0, 7000, None)], 2, True, True, 7000, None),
    ],
)
def test_the_longest_is_the_one_with_the_largest_estimate(
    rows: list[tuple[int, int | None, int | None]],
    named: int,
    stands_out: bool,
    is_likely: bool,
    most_ms: int | None,
    rival: int | None,
) -> None:
    """Of rebalances as (lower bound, upper bound, estimate) in ms, numbered from 1."""
    found = longest_of([took(seq, *bounds) for seq, bounds in enumerate(rows, 1)])
    assert found is not None
    assert found.rebalance["rebalance_seq"] == named
    assert (found.stands_out, found.is_likely, found.most_ms) == (stands_out, is_likely, most_ms)
    assert (found.rival and found.rival["rebalance_seq"]) == rival


@pytest.mark.parametrize("capture", ["consumer-protocol", "consumer-static", "migration"])
def test_an_answer_has_one_number_of_rebalances(
    capture: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is the longest of so many is so many in the summary; the only one has no others."""
    monkeypatch.setenv("COLUMNS", "1000")
    log = segments(capture)
    audit = audited_once(log)
    for group_id in audit.group_ids:
        total = len(audit.rows_of_group(group_id)["rebalances"])
        text = call("explain", log, group_id).out
        assert (" only rebalance " in text) <= (total == 1)
        if "This was the longest of " in text:
            assert f"This was the longest of {total} rebalances" in text


def test_a_rival_is_named_so_that_it_can_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Generation 2 of one life of a group is not generation 2 of another one."""
    monkeypatch.setenv("COLUMNS", "1000")
    text = call("explain", segments("oddities"), "again").out
    assert ": generation 2, between 3 ms and 3.9 s until 2026-11-21 09:27:23.665 UTC." in text
    assert "May have been longer: generation 2, up to 3.9 s until 2026-11-21 09:27:36.004" in text
