"""What offset commits show of members that were removed, or went while the coordinator moved."""

import pytest

from tests.audit.commits.test_ends_of_members import (
    CLASSIC,
    commits,
    end_of,
)


@pytest.mark.parametrize(
    ("last_ms", "after", "how"),
    [
        (42_000, "-", "member_left"),
        (45_000, "range B=0-5", "member_left"),
        (42_000, "range B=0-5", "member_left"),
    ],
)
def test_who_commits_on_closing_and_did_not_was_removed(last_ms: int, after: str, how: str) -> None:
    """A Java client commits as it closes, out of its rhythm; one that is removed at work has no time for that.

    Kafka's Admin removes all dynamic members at once. One that goes alone without a commit unsubscribed.
    """
    cause = end_of(
        "A",
        CLASSIC,
        *commits(0, *range(5_000, 41_000, 5_000), last_ms),
        *commits(3, *range(5_000, 41_000, 5_000), last_ms, *([48_900] if after != "-" else [])),
        (50_000, f"2 2 {after} session=10000 timeout=300000 state_at=49990"),
    )
    assert cause["cause"] == how


@pytest.mark.parametrize(
    ("before", "after", "how"),
    [("C=2 F=3", "D=0 E=1 C=2 F=3", "member_left"), ("C=2 F=3", "F=0-3", "member_left")],
    ids=["two of many", "none is back"],
)
def test_members_that_go_together_and_are_back_at_once_had_been_removed(
    before: str, after: str, how: str
) -> None:
    """Clients that are removed join again within the join phase; all had committed in the middle of their work.

    Two of many are rather instances that somebody restarts: Kafka's Admin removes all dynamic members at once.
    """
    settings = "session=10000 timeout=30000"
    writes = (
        (1_000, f"2 1 range A=0 B=1 {before} {settings} state_at=1000"),
        *commits(0, 4_000, 5_500),
        *commits(1, 4_300, 6_100),
        *commits(2, 4_200, 6_000, 7_000),
    )
    cause = end_of("A", *writes, (8_000, f"2 2 range {after} {settings} state_at=7990"))
    assert cause["cause"] == how
