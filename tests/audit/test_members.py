"""Stints of one member id become one row."""

from hypothesis import given
from hypothesis import strategies as st

from rebalance_audit.audit.members import merge_stints
from tests.audit.test_consumer_stories import A_JOINS, B_JOINS, pick, tables


def test_a_fenced_member_that_comes_back_is_one_row() -> None:
    """A Java client keeps its member id after it was fenced: first seen from the first stay, the rest from the last."""
    got = tables(
        A_JOINS,
        B_JOINS,
        (3000, "8t A; 7t A; 5t A; 3 4"),
        (3700, "5 A; 3 5; 7 A 0-2; 6 5; 8 A 4/0 -"),
    )
    assert pick(
        got["members"], "member_id", "first_seen_at", "first_epoch", "left_at", "stints"
    ) == [
        ("A", 1000, 2, None, 2),
        ("B", 2000, 3, None, 1),
    ]


@given(st.permutations(range(4)))
def test_the_order_of_stints_does_not_matter(order: list[int]) -> None:
    """The lake meets stints in any order and must come to the same row."""
    stint = {"group_id": "g", "incarnation": 0, "member_id": "A", "log_partition": 0, "stints": 1}
    rows = [
        {
            **stint,
            "first_epoch": number,
            "first_seen_at": number,
            "first_offset": number,
            "previous_member_id": None,
            "left_at": number + 10,
        }
        for number in range(4)
    ]
    merged = merge_stints([rows[number] for number in order])
    assert pick(merged, "first_epoch", "left_at", "stints") == [(0, 13, 4)]
