"""What a script takes from the audit's weights, and what only a bound of the log decides."""

import pytest

from rebalance_audit.whatif.habits import consumer_session_ms
from rebalance_audit.whatif.lives import Clues, story_of
from rebalance_audit.whatif.memberships import MemberStint, Slot
from tests.whatif.test_removals import member

LEFT, EXPIRED, LATE = "member_left", "member_session_expired", "member_rebalance_timeout"


@pytest.mark.parametrize(
    ("how", "weights", "was_awaited", "slow"),
    [
        (LATE, {LATE: 1.0}, False, 1),
        ("member_departed", {LEFT: 0.54, LATE: 0.31, EXPIRED: 0.15}, True, 1),
        ("member_departed", {LEFT: 0.54, LATE: 0.31, EXPIRED: 0.15}, False, 0),
        ("member_departed", {LEFT: 0.3, LATE: 0.2, EXPIRED: 0.5}, True, 0),  # its session ended it
        ("member_departed", {LEFT: 0.9, LATE: 0.07, EXPIRED: 0.03}, True, 0),  # too unlikely
    ],
)
def test_who_was_slow_is_what_the_audit_says(
    how: str, weights: dict[str, float], was_awaited: bool, slow: int
) -> None:
    """By the weights of its end, and by whom the join phase waited for; one process then, else two."""
    stints = [
        MemberStint(member("a", 400_000), 0, 400_000, how, weights, was_awaited=was_awaited),
        MemberStint(member("b", 999_000), 420_000),
    ]
    story = story_of(Slot("pod-0", stints), Clues(45_000, 3_000, 5_000, False))
    assert len(story.slow) == slow
    assert len(story.instance.lives) == 2 - slow


@pytest.mark.parametrize(
    ("most_ms", "session_ms"),
    [
        (None, 45_000),
        (100_000, 45_000),
        (44_500, 45_000),  # two steps of the coordinator stamp the two
        (34_100, 30_000),
        (6_050, 6_000),
        (4_000, 4_000),
    ],
)
def test_a_session_is_the_default_unless_one_ended_sooner(
    most_ms: int | None, session_ms: int
) -> None:
    """No longer one is guessed because none ended sooner."""
    assert consumer_session_ms(most_ms) == session_ms
