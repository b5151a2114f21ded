"""Members that go as their whole application is stopped: one that shows how it ended explains the others."""

import pytest

from tests.audit.commits.test_ends_of_members import A_GOES, SETTLED, commits, end_of


@pytest.mark.parametrize(
    ("last_ms", "after", "how"),
    [(59_990, "range D=0-5", "member_departed"), (20_000, "", "member_departed")],
    ids=["a member is there", "no member shows a leave"],
)
def test_a_classic_member_left_if_all_went_and_another_one_left(
    last_ms: int, after: str, how: str
) -> None:
    """A commits as it closes; B had nothing to commit for half a minute, longer than a session, as before."""
    settings = "session=10000 timeout=300000"
    cause = end_of(
        "B",
        (1_000, f"2 1 range A=0-2 B=3-5 {settings} state_at=1000"),
        *commits(0, 5_000, 15_000, 20_000, *({last_ms} - {20_000})),
        *commits(3, 2_000, 31_000),
        (60_000, f"2 2 {after} {settings if after else ''} state_at=60000"),
    )
    assert cause["cause"] == how
    assert ("the application was shut down" in cause["detail"]) == (how == "member_left")


@pytest.mark.parametrize(
    ("later_ms", "last_ms", "how"),
    [(30, 15_990, "member_left"), (300, 15_990, "member_departed"), (30, 9_000, "member_departed")],
    ids=["at once", "later", "no member shows a leave"],
)
def test_a_member_of_a_consumer_group_left_if_another_one_had_just_done_so(
    later_ms: int, last_ms: int, how: str
) -> None:
    """A commits as it closes; B last committed 8 s before, which may be longer than a session."""
    cause = end_of(
        "B",
        *SETTLED,
        *commits(0, last_ms),
        *commits(3, 8_000),
        (16_000, A_GOES),
        (16_000 + later_ms, "8t B; 7t B; 5t B; 3 5"),
    )
    assert cause["cause"] == how
    assert ("the application was shut down" in cause["detail"]) == (how == "member_left")
