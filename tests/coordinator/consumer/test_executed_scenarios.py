"""What Kafka's own GroupMetadataManager wrote in these scenarios (release 4.4), event for event."""

from rebalance_audit.replay.groups import ClassicGroup
from tests.coordinator.consumer.mixed_play import MixedPlay, perform_mixed
from tests.coordinator.consumer.play import Scenario, perform, play
from tests.support.coordinator_driver import Topics

AT_ONCE: Scenario = [
    (
        "A joins",
        "5 A; 3 2 hA; 7 A 0-5; 6 2 t1000; 8 A 2/0 STABLE 0-5@2",
        "2 has 0-5",
    ),
    (
        "B joins",
        "5 B; 3 3 hA; 7 A 0-2; 7 B 3-5; 6 3 t1000; 8 B 3/0 UNRELEASED -",
        "3 has -",
    ),
    ("A beats", "8 A 2/2 UNREVOKED 0-2@2|3-5@2", "2 has 0-2"),
    ("B beats", "8 B 3/3 UNRELEASED -", "3"),
    ("B beats", "", "3"),
    ("A beats owns=0-2", "8 A 3/2 STABLE 0-2@2", "3"),
    ("B beats", "8 B 3/3 STABLE 3-5@3", "3 has 3-5"),
    ("A leaves", "8t A; 7t A; 5t A; 3 4 hA", "-1"),
    ("B beats", "7 B 0-5; 6 4 t1000; 8 B 4/3 STABLE 0-2@4,3-5@3", "4 has 0-5"),
    (
        "B beats assignor=range",
        "5 B; 3 5 hA; 6 5 t1000; 8 B 5/4 STABLE 0-2@4,3-5@3",
        "5",
    ),
    ("B beats rack=r", "5 B", "5"),
    (
        "B beats topics=foo,bar",
        "5 B; 3 6 hB; 7 B 0-5+bar:0-2; 6 6 t1000; 8 B 6/5 STABLE 0-2@4,3-5@3+bar:0-2@6",
        "6 has 0-5+bar:0-2",
    ),
    ("topics foo=7 bar=3", ""),
    (
        "B beats",
        "3 7 hC; 7 B 0-6+bar:0-2; 6 7 t1000; 8 B 7/6 STABLE 0-2@4,3-5@3,6@7+bar:0-2@6",
        "7 has 0-6+bar:0-2",
    ),
    ("wait 44999", ""),
    ("wait 1", "8t B; 7t B; 5t B; 3 8 h0; 6 8 t0"),
    ("delete", "6t; 4t; 3t"),
]


def test_joins_revocation_leave_and_changes_without_an_assignment_interval() -> None:
    """Two members share, one leaves, the other changes assignor, rack and topics, the topic grows, a session ends."""
    perform(play(), AT_ONCE)


INTERVAL: Scenario = [
    ("A joins", "5 A; 3 2 hA; 7 A 0-5; 6 2 t1000; 8 A 2/0 STABLE 0-5@2", "2 has 0-5"),
    ("B joins", "5 B; 3 3 hA; 8 B 2/0 STABLE -", "2 has -"),
    ("A beats", "", "2"),
    ("wait 1000", ""),
    ("A beats", "7 A 0-2; 7 B 3-5; 6 3 t2000; 8 A 2/2 UNREVOKED 0-2@2|3-5@2", "2 has 0-2"),
    ("B beats", "8 B 3/2 UNRELEASED -", "3"),
    ("B beats", "8 B 3/3 UNRELEASED -", "3"),
    ("B beats", "", "3"),
    *[
        row
        for _ in range(9)
        for row in (("wait 30000", ""), ("A beats", "", "2"), ("B beats", "", "3"))
    ],
    ("wait 29999", ""),
    ("wait 1", "8t A; 7t A; 5t A; 3 4 hA"),
    ("B beats", "7 B 0-5; 6 4 t302000; 8 B 4/3 STABLE 0-5@4", "4 has 0-5"),
]


def test_the_assignment_interval_delays_the_target_and_the_rebalance_timeout_ends_a_member() -> (
    None
):
    """A target waits for the interval of a second; a member that never revokes is removed 300 s after the request."""
    perform(play(consumer_assignment_interval_ms=1000), INTERVAL)


REGEX: Scenario = [
    ("A joins regex=fo.*", "5 A; 8 A 1/0 STABLE -", "1 has -"),
    ("wait 0", "16 fo.* foo v7 t1000; 3 2 hA"),
    ("A beats", "7 A 0-5; 6 2 t1000; 8 A 2/1 STABLE 0-5@2", "2 has 0-5"),
    ("A beats regex=none.*", "5 A; 16t fo.*; 8 A 2/2 UNREVOKED -|0-5@2", "2 has -"),
    ("wait 10000", ""),
    ("A beats owns=-", "8 A 2/2 STABLE -", "2"),
    ("wait 0", "16 none.* - v7 t11000; 3 3 h0"),
    ("A beats", "7 A -; 6 3 t11000; 8 A 3/2 STABLE -", "3"),
]


def test_an_expression_is_resolved_away_from_the_heartbeat() -> None:
    """A new group with an expression has no epoch record until the expression is resolved."""
    perform(play(Topics.of(7, foo=6, bar=3)), REGEX)


STATIC: Scenario = [
    (
        "m1 joins instance=i1",
        "5 m1; 3 2 hA; 7 m1 0-5; 6 2 t1000; 8 m1 2/0 STABLE 0-5@2",
        "2 has 0-5",
    ),
    ("m1 pauses", "8 m1 -2/0 STABLE 0-5@0", "-2"),
    (
        "m2 joins instance=i1",
        ("8t m1; 7t m1; 5t m1; 5 m2; 7 m2 0-5; 8 m2 0/0 STABLE 0-5@0; 8 m2 2/0 STABLE 0-5@0"),
        "2 has 0-5",
    ),
    ("wait 10000", ""),
    ("m2 pauses", "8 m2 -2/0 STABLE 0-5@0", "-2"),
    ("wait 34999", ""),
    ("wait 1", "8t m2; 7t m2; 5t m2; 3 3 h0; 6 3 t0"),
]


def test_a_static_member_comes_back_to_its_partitions_and_expires_from_its_last_heartbeat() -> None:
    """The pause does not extend the session: 45 s run from the last normal heartbeat."""
    perform(play(), STATIC)


MIGRATION: Scenario = [
    ("C asks", "2 0 at1000", "MEMBER_ID_REQUIRED"),
    ("C asks", "", "parked"),
    ("wait 3000", "", "generation 1"),
    ("wait 250", ""),
    ("C syncs gives=C:0-5", "2 1 at4000 C", "0-5"),
    (
        "D joins",
        (
            "2t; 5 C; 3 1 hA; 7 C 0-5; 6 1 t0; 8 C 1/1 STABLE 0-5@1"
            "; 5 D; 3 2 hA; 7 C 0-2; 7 D 3-5; 6 2 t4250; 8 D 2/0 UNRELEASED -"
        ),
        "2 has -",
    ),
    ("D leaves", "8t D; 8t C; 7t D; 7t C; 6t; 5t D; 5t C; 4t; 3t; 2 2 at4250 C"),
    ("C pings", "", "ILLEGAL_GENERATION"),
]


def test_a_classic_group_becomes_a_consumer_group_and_back() -> None:
    """Upgrade with the first member of the consumer protocol, downgrade when it leaves."""
    mixed = MixedPlay(play())
    perform_mixed(mixed, MIGRATION)
    group = mixed.driver.group()
    assert isinstance(group, ClassicGroup)
    (member,) = group.members.values()
    assert member.assigned == {"foo": frozenset({0, 1, 2})}


EMPTIED: Scenario = [
    ("A joins", "5 A; 3 2 hA; 7 A 0-5; 6 2 t1000; 8 A 2/0 STABLE 0-5@2"),
    ("A leaves", "8t A; 7t A; 5t A; 3 3 h0; 6 3 t0"),
    ("A joins", "5 A; 3 4 hA; 7 A 0-5; 6 4 t1000; 8 A 4/0 STABLE 0-5@4"),
    ("A leaves", "8t A; 7t A; 5t A; 3 5 h0; 6 5 t0"),
    ("C asks", "6t; 4t; 3t; 2 0 at1000", "MEMBER_ID_REQUIRED"),
]


def test_an_emptied_group_goes_on_counting_or_is_taken_by_the_classic_protocol() -> None:
    """An empty consumer group keeps its epochs; a classic JoinGroup replaces it."""
    perform_mixed(MixedPlay(play()), EMPTIED)
