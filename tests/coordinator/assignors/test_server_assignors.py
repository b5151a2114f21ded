"""The coordinator's assignors: tables of cases, and the answers of Kafka's own classes."""

from typing import Any

import pytest

from rebalance_audit.coordinator.assignors.group_spec import (
    AssignorError,
    GroupSpec,
    MemberSpec,
    SubscriptionType,
    member_order,
)
from rebalance_audit.coordinator.assignors.server_assignors import SERVER_ASSIGNORS
from tests.coordinator.assignors.kafka_answers import questions
from tests.coordinator.assignors.server_groups import group, picture

CASES = {
    "H1 a new group": (
        "A foo,bar; B foo,bar; C foo,bar",
        "A foo 0-2; B foo 3-5; C bar 0-2",
        "A foo 0,1 bar 0; B foo 2,3 bar 1; C foo 4,5 bar 2",
    ),
    "H2 C joins": (
        "A foo,bar: foo 0-2 bar 0,1; B foo,bar: foo 3-5 bar 2; C foo,bar",
        "A foo 0-2; B foo 3-5; C bar 0-2",
        "A foo 0,1 bar 0; B foo 2,3 bar 1; C foo 4,5 bar 2",
    ),
    "H3 C left": (
        "A foo,bar: foo 0,1 bar 0; B foo,bar: foo 2,3 bar 1",
        "A foo 0,1,4 bar 0; B foo 2,3,5 bar 1,2",
        "A foo 0-2 bar 0,1; B foo 3-5 bar 2",
    ),
    "H4 balanced with the extras in the middle": (
        "A foo: foo 0; B foo: foo 1,2; C foo: foo 3,4; D foo: foo 5",
        "A foo 0; B foo 1,2; C foo 3,4; D foo 5",
        "A foo 0,1; B foo 2,3; C foo 4; D foo 5",
    ),
    "H5 three join": (
        "A foo: foo 0-2; B foo: foo 3-5; C foo; D foo; E foo",
        "A foo 0,1; B foo 3; C foo 2; D foo 4; E foo 5",
        "A foo 0,1; B foo 2; C foo 3; D foo 4; E foo 5",
    ),
    "H6 static members": (
        "m-a foo; m-b foo; m-y/i1 foo; m-z/i2 foo",
        "m-a foo 0; m-b foo 1; m-y foo 2,3; m-z foo 4,5",
        "m-a foo 4; m-b foo 5; m-y foo 0,1; m-z foo 2,3",
    ),
    "X1 a new group": (
        "A foo; B foo,bar; C bar,zar",
        "A foo 0,2,4,5; B foo 1,3 bar 0,1; C bar 2 zar 0-3",
        "A foo 0-2; B foo 3-5 bar 0,1; C bar 2 zar 0-3",
    ),
    "X2 one member has most": (
        "A foo,zar: foo 0-5 zar 0-3; B foo,bar: bar 0; C bar,zar: bar 1,2",
        "A foo 0,1 zar 0,1; B foo 2-5 bar 0; C bar 1,2 zar 2,3",
        "A foo 0-2 zar 0,1; B foo 3-5 bar 0,1; C bar 2 zar 2,3",
    ),
    "X3 A unsubscribed from foo": (
        "A bar: foo 0-2 bar 0; B foo,bar: foo 3-5 bar 1,2",
        "A bar 0-2; B foo 0-5",
        "A bar 0,1; B foo 0-5 bar 2",
    ),
    "more members than partitions": (
        "A bar; B bar; C bar; D bar; E bar",
        "A -; B -; C bar 0; D bar 1; E bar 2",
        "A bar 0; B bar 1; C bar 2; D -; E -",
    ),
    "no member subscribes": ("A; B: foo 0", "A -; B -", "A -; B -"),
    "one of two subscribes": ("A; B zar", "A -; B zar 0-3", "A -; B zar 0-3"),
}  # fmt: skip


@pytest.mark.parametrize("assignor", ["uniform", "range"])
@pytest.mark.parametrize(("members", "uniform", "ranged"), CASES.values(), ids=CASES.keys())
def test_targets(members: str, uniform: str, ranged: str, assignor: str) -> None:
    """Members with topics and previous targets, and the targets of uniform and range."""
    expected = {"uniform": uniform, "range": ranged}[assignor]
    assert picture(SERVER_ASSIGNORS[assignor](group(members))) == expected


@pytest.mark.parametrize("question", questions("server.jsonl", "server"))
def test_targets_are_those_of_kafka_s_own_classes(question: dict[str, Any]) -> None:
    """Random groups with skewed previous targets, static members, unsubscribed and vanished topics."""
    members = {
        member["id"]: MemberSpec(
            member["id"],
            member["instance"],
            tuple(map(bytes.fromhex, member["topics"])),
            {bytes.fromhex(topic): frozenset(held) for topic, held in member["previous"].items()},
        )
        for member in question["members"]
    }
    order = member_order((), 0, joining=members)
    spec = GroupSpec(
        tuple(members[member_id] for member_id in order),
        {bytes.fromhex(topic): count for topic, count in question["counts"].items()},
        SubscriptionType[question["type"]],
    )
    targets = SERVER_ASSIGNORS[question["assignor"]](spec)
    shown = {
        member_id: {topic.hex(): sorted(held) for topic, held in of_member.items()}  # type: ignore[union-attr]
        for member_id, of_member in targets.items()
    }
    answer = question["answer"]
    assert order == answer["order"]
    assert shown == {member_id: answer["target"].get(member_id, {}) for member_id in order}


@pytest.mark.parametrize("assignor", SERVER_ASSIGNORS)
@pytest.mark.parametrize("subscription_type", SubscriptionType)
def test_a_subscribed_topic_needs_a_partition_count(
    assignor: str, subscription_type: SubscriptionType
) -> None:
    """The caller leaves out topics that do not exist; one that gets through is an error, not an empty target."""
    spec = GroupSpec((MemberSpec("A", None, (bytes(16),), {}),), {}, subscription_type)
    with pytest.raises(AssignorError, match=r"topic 0{32} .* no partition count"):
        SERVER_ASSIGNORS[assignor](spec)


@pytest.mark.parametrize("assignor", SERVER_ASSIGNORS)
def test_an_empty_group_has_no_targets(assignor: str) -> None:
    """There is no member to assign to."""
    assert SERVER_ASSIGNORS[assignor](GroupSpec((), {}, SubscriptionType.HOMOGENEOUS)) == {}
