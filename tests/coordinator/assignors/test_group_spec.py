"""How a group's assignor, its subscription type and the order of its members are determined."""

from typing import Any

import pytest

from rebalance_audit.coordinator.assignors.group_spec import (
    Subscribing,
    SubscriptionType,
    effective_assignor,
    member_order,
    subscription_type,
)
from rebalance_audit.replay.modern.preferred_assignor import PreferenceChange
from tests.coordinator.assignors.kafka_answers import questions

CONFIGURED = ("uniform", "range")


@pytest.mark.parametrize(
    ("members", "homogeneous"),
    [
        ([], True),
        ([("foo", "")], True),
        ([("foo,bar", ""), ("bar,foo", "")], True),
        ([("", ""), ("", "")], True),
        ([("foo", ""), ("bar", "")], False),
        ([("foo,bar", ""), ("bar", "")], False),
        ([("foo", ""), ("", "")], False),
        ([("", "f.*"), ("", "f.*")], True),
        ([("", "f.*"), ("", "fo.*")], False),
        ([("", "f.*"), ("", "")], False),
        ([("", "f.*"), ("foo", "")], False),
        ([("foo", "f.*"), ("foo", "f.*")], False),
    ],
)
def test_a_group_is_homogeneous_when_all_ask_for_the_same(
    members: list[tuple[str, str]], homogeneous: bool
) -> None:
    """Names must be the same for all, or one regular expression and no name; what they resolve to does not matter."""
    asked = [
        Subscribing([name for name in names.split(",") if name], regex) for names, regex in members
    ]
    assert (subscription_type(asked) is SubscriptionType.HOMOGENEOUS) == homogeneous


@pytest.mark.parametrize(
    ("recorded", "change", "assignor"),
    [
        ([], None, "uniform"),
        ([None, None], None, "uniform"),
        ([None, "range"], None, "range"),
        (["range", "range", "uniform"], None, "range"),
        (["uniform"], (None, "range"), "range"),
        (["range"], (None, "uniform"), "uniform"),
        (["range"], ("range", None), "uniform"),
        (["uniform", "range", "range"], ("range", "uniform"), "uniform"),
    ],
)
def test_the_assignor_is_what_most_members_prefer(
    recorded: list[str | None], change: tuple[str | None, str | None] | None, assignor: str
) -> None:
    """Without a preference it is the broker's first; between two with one vote each the newcomer's choice wins."""
    changing = PreferenceChange(*change) if change else None
    assert effective_assignor(recorded, CONFIGURED, changing) == assignor


@pytest.mark.parametrize("question", questions("preferences.jsonl", "preferences"))
def test_ties_between_assignors_go_as_in_kafka_s_own_class(question: dict[str, Any]) -> None:
    """From the members' records alone, and with a member that joins or changes its choice."""
    recorded, changing = question["recorded"], question["changing"]
    change = PreferenceChange(recorded[changing] if changing >= 0 else None, question["wanted"])
    answer = question["answer"]
    assert effective_assignor(recorded, ["none"]) == (answer["recorded"] or "none")
    assert effective_assignor(recorded, ["none"], change) == (answer["changed"] or "none")


@pytest.mark.parametrize(
    ("known", "joining", "leaving", "order"),
    [
        ("A B", "", "", "A B"),
        ("B A", "", "", "A B"),
        ("A B", "C", "", "A B C"),
        ("A B C", "", "B", "A C"),
        ("A B", "B C", "A", "B C"),
        # Q and a share a slot of 16: there the group's own table decides, and members not in it yet come last.
        ("a Q", "", "", "Q a"),
        ("Q a", "", "", "Q a"),
        ("a", "Q", "", "a Q"),
    ],
)
def test_members_come_in_the_order_of_kafka_s_tables(
    known: str, joining: str, leaving: str, order: str
) -> None:
    """Members by their slots; inside a slot the group's own table decides, and new members come last."""
    members = known.split()
    found = member_order(members, len(members) + 1, joining.split(), leaving.split())
    assert found == order.split()
