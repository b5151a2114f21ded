"""Members that an administrator removes: they go on and join again, under every kind of membership."""

from dataclasses import replace

import pytest

from rebalance_audit.audit.rows import Row
from rebalance_audit.whatif.lives import Clues, story_of
from rebalance_audit.whatif.memberships import MemberStint, Slot
from rebalance_audit.whatif.script import ProcessEnd, Settings
from rebalance_audit.whatif.script_run import ScriptRun
from tests.whatif.scripts import CLASSIC, CONSUMER, STATIC, instance, script

REMOVAL = script(
    *(instance(f"pod-{n}", (100, ProcessEnd.REMOVED, 101)) for n in range(2)),
    *(instance(f"pod-{n}") for n in range(2, 5)),
)
"""One request removes two of five members; their processes go on."""


@pytest.mark.parametrize(
    "settings",
    [CLASSIC, STATIC, CONSUMER, replace(CONSUMER, is_static=True)],
    ids=["classic", "static", "consumer", "static consumer"],
)
def test_removed_members_join_again(settings: Settings) -> None:
    """A rebalance, and up to two more as they come back; static members that close would cause none."""
    found = ScriptRun(REMOVAL, settings, 0).run()
    assert 1 <= found.rebalances <= 3
    assert found.longest_stop_ms < 5_000
    assert found.refused_returns == 0


def member(member_id: str, seen_ms: int) -> Row:
    """A row of gold.members, as far as a life depends on it."""
    return {
        "member_id": member_id,
        "protocol": "consumer",
        "instance_id": None,
        "closed_weight": None,
        "session_timeout_ms": None,
        "rebalance_timeout_ms": 300_000,
        "last_seen_at": seen_ms,
        "subscribed_topics": ["orders"],
        "subscribed_regex": None,
    }


@pytest.mark.parametrize(
    ("how", "back_ms", "end"),
    [
        ("member_removed_by_admin", 11_000, ProcessEnd.REMOVED),
        (
            "member_removed_by_admin",
            60_000,
            ProcessEnd.CLOSED,
        ),  # too late for a process that goes on
        ("member_left", 11_000, ProcessEnd.CLOSED),
    ],
)
def test_who_is_back_with_its_next_heartbeats_was_removed_alive(
    how: str, back_ms: int, end: ProcessEnd
) -> None:
    """By the cause that the audit gives, and by when the next membership of the instance began."""
    stints = [
        MemberStint(member("a", 10_000), 0, 10_000, how, {how: 1.0}),
        MemberStint(member("b", 99_000), back_ms),
    ]
    clues = Clues(45_000, 3_000, 5_000, False)
    first, second = story_of(Slot("pod-0", stints), clues).instance.lives
    assert first.ends == {end: 1.0}
    assert second.end is None
