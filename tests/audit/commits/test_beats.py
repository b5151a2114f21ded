"""Heartbeats and commits that come as a clock does, until one is missing."""

import pytest

from tests.audit.commits.test_ends_of_members import A_GOES, SETTLED, commits, end_of


@pytest.mark.parametrize(
    ("before", "other_ms", "how"),
    [
        (range(5_000, 41_000, 5_000), 39_000, "member_departed"),
        (range(25_000, 41_000, 5_000), 43_000, "member_departed"),
    ],
    ids=["the other one stopped too", "few"],
)
def test_a_single_missing_commit_counts_after_many_that_came_in_time(
    before: range, other_ms: int, how: str
) -> None:
    """A has always had something to commit. B is at work a moment before A goes, but within A's interval."""
    others = commits(3, *range(4_000, other_ms, 5_000), other_ms)
    assert end_of("A", *SETTLED, *others, *commits(0, *before), (47_000, A_GOES))["cause"] == how
