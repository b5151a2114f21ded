"""How the members of two generations differ."""

import pytest

from rebalance_audit.audit.epochs.generation_delta import delta_of
from rebalance_audit.replay.classic.rules import read_member
from rebalance_audit.replay.groups.classic_group import ClassicMember


def generation(text: str) -> dict[str, ClassicMember]:
    """Members by id; `a1 b2` are a and b, with the byte 1 or 2 as their assignment."""
    return {
        each[0]: read_member(
            each[0], None, "app", "/h", 1, 1, b"", each[1:].encode(), is_consumer=False
        )
        for each in text.split()
    }


@pytest.mark.parametrize(
    ("old", "new", "differing", "gone"),
    [
        ("", "", [], []),
        ("", "a1 b1", [(None, "a"), (None, "b")], []),
        ("a1 b1", "b1 a1", [], []),
        ("a1 b1 c1", "c2 a1 b2", [("c", "c"), ("b", "b")], []),
        ("a1 b1 c1", "d1 b2", [(None, "d"), ("b", "b")], ["a", "c"]),
        ("a1 b1", "", [], ["a", "b"]),
        ("a1", "b1", [(None, "b")], ["a"]),
    ],
)
def test_members_that_are_as_before_are_left_out(
    old: str, new: str, differing: list[tuple[str | None, str]], gone: list[str]
) -> None:
    """In the order of the new generation, and those that are gone in that of the old one."""
    delta = delta_of(generation(old), generation(new))
    found = [(known and known.member_id, now.member_id) for known, now in delta.differing]
    assert found == differing
    assert [each.member_id for each in delta.gone] == gone
    assert [each.member_id for each in delta.joined] == [
        now for before, now in differing if not before
    ]
