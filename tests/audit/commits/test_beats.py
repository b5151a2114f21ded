"""Heartbeats and commits that come as a clock does, until one is missing."""

import pytest

from tests.audit.commits.test_ends_of_members import A_GOES, SETTLED, commits, end_of


@pytest.mark.parametrize(
    ("before", "other_ms", "how"),
    [
        (range(5_000, 41_000, 5_000), 43_000, "member_session_expired"),
        (range(5_000, 41_000, 5_000), 39_000, "member_departed"),
        (range(25_000, 41_000, 5_000), 43_000, "member_departed"),
    ],
    ids=["many", "the other one stopped too", "few"],
)
def test_a_single_commit_that_is_missing_tells_after_many_that_came_in_time(
    before: range, other_ms: int, how: str
) -> None:
    """A has always had something to commit. B is at work a moment before A goes, but within A's interval."""
    others = commits(3, *range(4_000, other_ms, 5_000), other_ms)
    assert end_of("A", *SETTLED, *others, *commits(0, *before), (47_000, A_GOES))["cause"] == how


@pytest.mark.parametrize(
    ("after_ms", "silent_ms", "how"),
    [
        (16_040, 3_000, "member_session_expired"),
        (16_040, 150, "member_left"),
        (17_000, 3_000, "member_left"),
        (60_060, 3_000, "member_left"),
    ],
    ids=[
        "two heartbeats and a session",
        "it closed",
        "at another time",
        "no request takes as long",
    ],
)
def test_a_client_that_waits_for_the_answer_to_a_heartbeat_expires_though_it_commits(
    after_ms: int, silent_ms: int, how: str
) -> None:
    """It sends no other heartbeat meanwhile, and commits are other requests. Its last record is of second 2.5."""
    gone_ms = 2_500 + after_ms
    cause = end_of("A", *SETTLED, *commits(0, gone_ms - silent_ms), (gone_ms, A_GOES))
    assert cause["cause"] == how
