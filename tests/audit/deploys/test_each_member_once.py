"""A rollout replaces each of its members once."""

import pytest

from tests.audit.deploys.test_match import Member, rollout, rows_of


@pytest.mark.parametrize(
    ("story", "cause", "came", "earlier", "ended", "expected"),
    [
        ("an old member leaves right after the end", "member_left", -900, [], 10, ["likely"]),
        ("one that it started leaves while it goes on", "member_left", 5, [], 40, ["likely"]),
        ("one that it started leaves after the end", "member_left", 5, [], 10, []),
        ("the same where no end is known", "member_left", 5, [], None, ["during"]),
        ("a member returns right after the end", "member_joined", 30, [-900], 10, ["likely"]),
        ("two of one client id return", "member_joined", 30, [-900, -800, 5], 10, ["likely"]),
        ("a member returns once more", "member_joined", 30, [-900, 5], 10, []),
        ("the same where no end is known", "member_joined", 30, [-900, 5], None, ["during"]),
    ],
)
def test_a_rollout_replaces_each_member_once(
    story: str,
    cause: str,
    came: float,
    earlier: list[float],
    ended: float | None,
    expected: list[str],
) -> None:
    """What happens to its members after that belongs to the next rollout, or to none."""
    shop = rollout(tool="csv", ended=ended)
    rows = rows_of(Member(cause, "shop-3"), [shop], *earlier, came=came)
    assert [row["certainty"] for row in rows] == expected, story
