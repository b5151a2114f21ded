"""Members of consumer groups that left because their application did not poll, or that were at work just before."""

import pytest

from tests.audit.commits.test_ends_of_members import A_GOES, SETTLED, commits, end_of


@pytest.mark.parametrize(
    ("every_ms", "gone_ms", "how"),
    [(4_000, 19_600, "member_departed"), (5_000, 21_100, "member_departed")],
    ids=["silent for longer than before", "for a session at least"],
)
def test_a_member_that_was_at_work_within_the_shortest_session_left(
    every_ms: int, gone_ms: int, how: str
) -> None:
    """Where the session is not known: a later end may be that of the shortest one."""
    at_work = commits(0, *(15_000 - before * every_ms for before in (2, 1, 0)))
    cause = end_of("A", *SETTLED, *at_work, (gone_ms, A_GOES))
    assert cause["cause"] == how
