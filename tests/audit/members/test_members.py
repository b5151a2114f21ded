"""Stints of one member id become one row."""

from hypothesis import given
from hypothesis import strategies as st

from rebalance_audit.audit.members.stint import merge_stints
from rebalance_audit.audit.rows import Row
from tests.audit.group.test_consumer_stories import A_JOINS, B_JOINS, pick, tables


def test_a_fenced_member_that_comes_back_is_one_row() -> None:
    """A fenced Java client keeps its member id: first seen is from the first stint, the rest from the last one."""
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


def stint(number: int, left_at: int | None) -> Row:
    """A stint that began with the record at offset `number`."""
    return {
        "group_id": "g",
        "incarnation": 0,
        "member_id": "A",
        "log_partition": 0,
        "stints": 1,
        "first_epoch": number,
        "first_seen_at": number,
        "first_offset": number,
        "latest_offset": number,
        "previous_member_id": None,
        "left_at": left_at,
    }


@given(st.permutations(range(4)))
def test_the_order_of_stints_does_not_matter(order: list[int]) -> None:
    """The lake gets stints in any order and must make the same row."""
    merged = merge_stints([stint(number, number + 10) for number in order])
    assert pick(merged, "first_epoch", "left_at", "stints") == [(0, 13, 4)]


@given(st.integers(0, 4), st.integers(0, 4), st.booleans())
def test_a_row_merged_before_takes_what_is_new(known: int, repeated: int, grown: bool) -> None:
    """Stints in the row of an earlier run count once; its last stint may have gone on since."""
    stints = [stint(number, number + 10) for number in range(5)]
    before = merge_stints([*stints[:known], stint(known, None if grown else known + 10)])
    again = stints[min(known, repeated) :]
    assert merge_stints([*before, *again]) == merge_stints(stints)
