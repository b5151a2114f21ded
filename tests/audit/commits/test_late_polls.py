"""Members of consumer groups that left because their application did not poll, or that were at work just before."""

import pytest

from tests.audit.commits.test_ends_of_members import A_GOES, SETTLED, commits, end_of


@pytest.mark.parametrize(
    ("poll_ms", "gone_ms", "how"),
    [
        (60_000, 76_000, "member_left"),
        (60_000, 82_000, "member_session_expired"),
        (45_000, 60_030, "member_left"),
        (45_000, 62_000, "member_departed"),
    ],
    ids=["within a pause", "later", "exactly", "or as a session does"],
)
def test_a_member_that_stopped_for_as_long_as_it_may_not_poll_left_by_itself(
    poll_ms: int, gone_ms: int, how: str
) -> None:
    """A client that does not poll for `max.poll.interval.ms` leaves, and it commits as it polls.

    Who goes later did not leave: then it was no longer there.
    """
    others = commits(3, *range(6_000, 400_000, 5_000))
    joins = (1_000, f"5 A timeout={poll_ms}; 3 2; 7 A 0-5; 6 2; 8 A 2/0 0-5")
    writes = [joins, *SETTLED[1:], *others, *commits(0, 5_000, 10_000, 15_000)]
    cause = end_of("A", *writes, (gone_ms, A_GOES))
    assert cause["cause"] == how
    assert ("max.poll.interval.ms" in cause["detail"]) == (how == "member_left")


@pytest.mark.parametrize(
    ("every_ms", "gone_ms", "how"),
    [
        (5_000, 19_600, "member_left"),
        (4_000, 19_600, "member_departed"),
        (5_000, 21_100, "member_departed"),
    ],
    ids=["as usual", "silent for longer than before", "for a session at least"],
)
def test_a_member_that_was_at_work_within_the_shortest_session_left(
    every_ms: int, gone_ms: int, how: str
) -> None:
    """Where the session is not known: a later end may be that of the shortest one."""
    at_work = commits(0, *(15_000 - before * every_ms for before in (2, 1, 0)))
    cause = end_of("A", *SETTLED, *at_work, (gone_ms, A_GOES))
    assert cause["cause"] == how
