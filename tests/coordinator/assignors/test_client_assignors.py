"""The assignors of classic consumers: tables of cases, and the answers of Kafka's own classes."""

from typing import Any

import pytest

from rebalance_audit.coordinator.assignors.client_assignors import (
    CLIENT_ASSIGNORS,
    RebalanceProtocol,
    rebalance_protocol,
)
from rebalance_audit.coordinator.assignors.client_members import JoinedMember, grouped
from rebalance_audit.wire.consumer_protocol import Subscription, encode_assignment
from tests.coordinator.assignors.client_groups import group, picture
from tests.coordinator.assignors.kafka_answers import questions, topic_partitions

SHORT = {"t0": 1, "t1": 2, "t2": 3}
THREES = {"t0": 3, "t1": 3}
TWOS = {"t0": 2, "t1": 2, "t2": 2, "t3": 2}
ONE = {"foo": 6}


@pytest.mark.parametrize(
    ("assignor", "counts", "members", "expected"),
    [
        ("range", THREES, "A t0,t1; B t0,t1", "A t0 0,1 t1 0,1; B t0 2 t1 2"),
        ("range", THREES, "A t0,t1; B/i t0,t1", "A t0 2 t1 2; B t0 0,1 t1 0,1"),
        ("range", THREES, "A t0; B t0,t1", "A t0 0,1; B t0 2 t1 0-2"),
        ("range", THREES, "A t0; B t0; C t0; D t0", "A t0 0; B t0 1; C t0 2; D -"),
        ("range", THREES, "A t0,gone; B gone", "A t0 0-2; B -"),
        ("range", ONE, "A foo: foo 3-5; B foo: foo 0-2", "A foo 0-2; B foo 3-5"),
        ("roundrobin", THREES, "A t0,t1; B t0,t1", "A t0 0,2 t1 1; B t0 1 t1 0,2"),
        ("roundrobin", THREES, "A t0,t1; B/i t0,t1", "A t0 1 t1 0,2; B t0 0,2 t1 1"),
        ("roundrobin", SHORT, "A t0; B t0,t1; C t0,t1,t2", "A t0 0; B t1 0; C t1 1 t2 0-2"),
        ("roundrobin", SHORT, "A gone; B t0", "A -; B t0 0"),
        (
            "sticky",
            TWOS,
            "A t0,t1,t2,t3; B t0,t1,t2,t3; C t0,t1,t2,t3",
            "A t0 0 t1 1 t3 0; B t0 1 t2 0 t3 1; C t1 0 t2 1",
        ),
        (
            "sticky",
            TWOS,
            "A t0,t1,t2,t3: t0 0 t1 1 t3 0; C t0,t1,t2,t3: t1 0 t2 1",
            "A t0 0,1 t1 1 t3 0; C t1 0 t2 0,1 t3 1",
        ),
        ("sticky", SHORT, "A t0; B t0,t1; C t0,t1,t2", "A t0 0; B t1 0,1; C t2 0-2"),
        (
            "sticky",
            SHORT,
            "B t0,t1: t1 0,1; C t0,t1,t2: t2 0-2",
            "B t0 0 t1 0,1; C t2 0-2",
        ),
        # Two members claim foo 2: the newer generation keeps it; within one generation neither does.
        ("sticky", ONE, "A foo: foo 0-2 @4; B foo: foo 2-5 @5", "A foo 0,1,5; B foo 2-4"),
        ("sticky", ONE, "A foo: foo 0-2 @5; B foo: foo 2-5 @5", "A foo 0-2; B foo 3-5"),
        ("sticky", ONE, "A foo: foo 0-2; B foo: foo 3-5; C foo", "A foo 0,1; B foo 3,4; C foo 2,5"),
        # The same members, cooperatively: A and B first give up what C will have, then C gets it.
        (
            "cooperative-sticky",
            ONE,
            "A foo: foo 0-2; B foo: foo 3-5; C foo",
            "A foo 0,1; B foo 3,4; C -",
        ),
        (
            "cooperative-sticky",
            ONE,
            "A foo: foo 0,1 @2; B foo: foo 3,4 @2; C foo",
            "A foo 0,1; B foo 3,4; C foo 2,5",
        ),
        # No member owns what D had: it moves at once.
        ("cooperative-sticky", ONE, "A foo: foo 0,1; C foo", "A foo 0-2; C foo 3-5"),
        # A partition that two members own in one generation is withheld from both.
        (
            "cooperative-sticky",
            ONE,
            "A foo: foo 0-2; B foo: foo 2-5",
            "A foo 0,1; B foo 3-5",
        ),
        # Different subscriptions: t1 moves from C to B over two generations.
        (
            "cooperative-sticky",
            SHORT,
            "A t0: t0 0; B t0,t1; C t1,t2: t1 0,1 t2 0-2",
            "A t0 0; B -; C t2 0-2",
        ),
        (
            "cooperative-sticky",
            SHORT,
            "A t0: t0 0 @2; B t0,t1; C t1,t2: t2 0-2 @2",
            "A t0 0; B t1 0,1; C t2 0-2",
        ),
    ],
)  # fmt: skip
def test_assignments(assignor: str, counts: dict[str, int], members: str, expected: str) -> None:
    """Members with topics, what they owned in which generation, and the leader's assignment."""
    assign = CLIENT_ASSIGNORS[assignor].assign
    assert picture(assign(group(members, assignor), counts)) == expected


@pytest.mark.parametrize("question", questions("client.jsonl", "client"))
def test_assignments_are_those_of_kafka_s_own_classes(question: dict[str, Any]) -> None:
    """Random groups with rival claims, older generations, static members, unknown topics: the same SyncGroup bytes."""
    members = [
        JoinedMember(
            member["id"],
            member["instance"],
            Subscription(
                tuple(member["topics"]),
                None if member["user_data"] is None else bytes.fromhex(member["user_data"]),
                grouped(topic_partitions(member["owned"])),
                member["generation"],
            ),
        )
        for member in question["members"]
    ]
    assignments = CLIENT_ASSIGNORS[question["assignor"]].assign(members, question["counts"])
    encoded = {each: encode_assignment(found).hex() for each, found in assignments.items()}
    assert encoded == question["answer"]


def test_a_member_gets_no_topic_that_it_left_in_an_older_generation() -> None:
    """Kafka's own class of 4.3.1 gives t1 to A here, though A no longer subscribes to it."""
    members = group("A t0: t0 0 t1 0,1 @1; B t1,t2: t1 0,1 t2 0-2 @2; C t1,t2", "sticky")
    found = CLIENT_ASSIGNORS["sticky"].assign(members, SHORT)
    assert picture(found) == "A t0 0; B t2 0-2; C t1 0,1"


@pytest.mark.parametrize(
    ("assignors", "protocol"),
    [
        ("range", RebalanceProtocol.EAGER),
        ("cooperative-sticky", RebalanceProtocol.COOPERATIVE),
        ("cooperative-sticky range", RebalanceProtocol.EAGER),
        ("range cooperative-sticky", RebalanceProtocol.EAGER),
        ("sticky roundrobin", RebalanceProtocol.EAGER),
    ],
)
def test_a_consumer_is_cooperative_when_all_its_assignors_are(
    assignors: str, protocol: RebalanceProtocol
) -> None:
    """The first step of a rolling change adds cooperative-sticky next to range and stays eager."""
    assert rebalance_protocol(assignors.split()) is protocol


def test_a_consumer_without_assignors_is_refused() -> None:
    """An empty list of assignors supports no protocol."""
    with pytest.raises(ValueError, match="at least one assignor"):
        rebalance_protocol([])
