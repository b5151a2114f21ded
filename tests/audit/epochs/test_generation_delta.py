"""How the members of two generations differ."""

import pytest

from rebalance_audit.audit.epochs.generation_delta import delta_of
from rebalance_audit.replay.classic import read_member
from rebalance_audit.replay.groups import ClassicMember
from rebalance_audit.wire.consumer_protocol import Subscription, encode_subscription


def generation(text: str) -> dict[str, ClassicMember]:
    """Members by id; `a1 b2` are a and b, with the byte 1 or 2 as their assignment."""
    return {
        each[0]: read_member(
            (each[0], None, "app", "/h", 1, 1, b"", each[1:].encode()), is_consumer=False
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


FIRST = Subscription(("orders",), None)


@pytest.mark.parametrize(
    ("says", "is_consumer", "differs"),
    [
        (FIRST._replace(generation_id=7), True, False),
        (FIRST._replace(owned_partitions=(("orders", (0, 1)),)), True, False),
        (FIRST._replace(topics=("orders", "payments")), True, True),
        (FIRST._replace(generation_id=7), False, True),
    ],
)
def test_rejoining_changes_no_member(
    says: Subscription, *, is_consumer: bool, differs: bool
) -> None:
    """Consumers name their last generation and what they owned; bytes of other clients are compared as they are."""
    before, now = (
        read_member(
            ("a", None, "app", "/h", 1, 1, encode_subscription(said), b""), is_consumer=is_consumer
        )
        for said in (FIRST, says)
    )
    assert bool(delta_of({"a": before}, {"a": now}).differing) == differs
