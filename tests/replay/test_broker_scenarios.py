"""Scenarios that Kafka's own GroupMetadataManager ran: the records it wrote, and the state after each event.

Topic foo has 6 partitions. Each row is one event of a client or timer, its records in the shorthand, and the state.
"""

import pytest

from rebalance_audit.replay.groups import GroupSlot
from rebalance_audit.replay.step import Policy
from tests.dsl import GROUP_ID, anomalies, picture, replay

Scenario = list[tuple[str, str, str]]

TWO_MEMBERS_AT_ONCE: Scenario = [
    (
        "A joins",
        "5 A; 3 2; 7 A 0-5; 6 2 t=1000; 8 A 2/0 STABLE 0-5@2",
        "Consumer Stable 2/2 | A 2/0 STABLE 0-5",
    ),
    (
        "B joins",
        "5 B; 3 3; 7 A 0-2; 7 B 3-5; 6 3 t=1000; 8 B 3/0 UNRELEASED -",
        "Consumer Reconciling 3/3 | A 2/0 STABLE 0-5 wants 0-2 | B 3/0 UNRELEASED - wants 3-5",
    ),
    (
        "A hears of it",
        "8 A 2/2 UNREVOKED 0-2@2|3-5@2",
        (
            "Consumer Reconciling 3/3 | A 2/2 UNREVOKED 0-2 gives up 3-5 wants 0-2"
            " | B 3/0 UNRELEASED - wants 3-5"
        ),
    ),
    (
        "B asks again: the same once more",
        "8 B 3/3 UNRELEASED -",
        (
            "Consumer Reconciling 3/3 | A 2/2 UNREVOKED 0-2 gives up 3-5 wants 0-2"
            " | B 3/3 UNRELEASED - wants 3-5"
        ),
    ),
    (
        "A has let go",
        "8 A 3/2 STABLE 0-2@2",
        "Consumer Reconciling 3/3 | A 3/2 STABLE 0-2 | B 3/3 UNRELEASED - wants 3-5",
    ),
    (
        "B takes",
        "8 B 3/3 STABLE 3-5@3",
        "Consumer Stable 3/3 | A 3/2 STABLE 0-2 | B 3/3 STABLE 3-5",
    ),
    (
        "A leaves",
        "8t A; 7t A; 5t A; 3 4",
        "Consumer Assigning 4/3 | B 3/3 STABLE 3-5",
    ),
    (
        "B takes all",
        "7 B 0-5; 6 4 t=1000; 8 B 4/3 STABLE 0-2@4,3-5@3",
        "Consumer Stable 4/4 | B 4/3 STABLE 0-5",
    ),
    (
        "B prefers range",
        "5 B assignor=range; 3 5; 6 5 t=1000; 8 B 5/4 STABLE 0-2@4,3-5@3",
        "Consumer Stable 5/5 | B 5/4 STABLE 0-5",
    ),
    (
        "B moves to another rack",
        "5 B assignor=range rack=r",
        "Consumer Stable 5/5 | B 5/4 STABLE 0-5",
    ),
    (
        "B subscribes to bar too",
        (
            "5 B assignor=range rack=r topics=bar,foo; 3 6 h2; 7 B 0-5+bar:0-2; 6 6 t=1000;"
            " 8 B 6/5 STABLE 0-2@4,3-5@3+bar:0-2@6"
        ),
        "Consumer Stable 6/6 | B 6/5 STABLE 0-5+bar:0-2",
    ),
    (
        "foo grows to 7 partitions",
        "3 7 h3; 7 B 0-6+bar:0-2; 6 7 t=1000; 8 B 7/6 STABLE 0-2@4,3-5@3,6@7+bar:0-2@6",
        "Consumer Stable 7/7 | B 7/6 STABLE 0-6+bar:0-2",
    ),
    ("B is silent for 45 s", "8t B; 7t B; 5t B; 3 8 h0; 6 8", "Consumer Empty 8/8"),
    ("deleted", "6t; 4t; 3t", "gone"),
]

WITH_ASSIGNMENT_INTERVAL: Scenario = [
    (
        "A joins",
        "5 A; 3 2; 7 A 0-5; 6 2 t=1000; 8 A 2/0 STABLE 0-5@2",
        "Consumer Stable 2/2 | A 2/0 STABLE 0-5",
    ),
    (
        "B joins in the same ms",
        "5 B; 3 3; 8 B 2/0 STABLE -",
        "Consumer Assigning 3/2 | A 2/0 STABLE 0-5 | B 2/0 STABLE -",
    ),
    (
        "A asks after 1 s",
        "7 A 0-2; 7 B 3-5; 6 3 t=2000; 8 A 2/2 UNREVOKED 0-2@2|3-5@2",
        (
            "Consumer Reconciling 3/3 | A 2/2 UNREVOKED 0-2 gives up 3-5 wants 0-2"
            " | B 2/0 STABLE - wants 3-5"
        ),
    ),
    (
        "B waits",
        "8 B 3/2 UNRELEASED -; 8 B 3/3 UNRELEASED -",
        (
            "Consumer Reconciling 3/3 | A 2/2 UNREVOKED 0-2 gives up 3-5 wants 0-2"
            " | B 3/3 UNRELEASED - wants 3-5"
        ),
    ),
    (
        "A did not let go for 300 s",
        "8t A; 7t A; 5t A; 3 4",
        "Consumer Assigning 4/3 | B 3/3 UNRELEASED - wants 3-5",
    ),
    (
        "B takes all",
        "7 B 0-5; 6 4 t=300000; 8 B 4/3 STABLE 0-5@4",
        "Consumer Stable 4/4 | B 4/3 STABLE 0-5",
    ),
]

REGEX_ON_A_NEW_GROUP: Scenario = [
    (
        "A joins with an expression: no epoch record, the implicit epochs are 1",
        "5 A regex=fo.*; 8 A 1/0 STABLE -",
        "Consumer Stable 1/1 | A 1/0 STABLE -",
    ),
    ("it is resolved", "16 fo.* foo v=7; 3 2", "Consumer Assigning 2/1 | A 1/0 STABLE -"),
    (
        "A asks",
        "7 A 0-5; 6 2 t=1000; 8 A 2/1 STABLE 0-5@2",
        "Consumer Stable 2/2 | A 2/1 STABLE 0-5",
    ),
    (
        "A changes its expression",
        "5 A regex=none.*; 16t fo.*; 8 A 2/2 UNREVOKED -|0-5@2",
        "Consumer Reconciling 2/2 | A 2/2 UNREVOKED - gives up 0-5 wants 0-5",
    ),
    (
        "A has let go",
        "8 A 2/2 STABLE -; 16 none.*; 3 3 h0",
        "Consumer Assigning 3/2 | A 2/2 STABLE - wants 0-5",
    ),
    ("A asks again", "7 A -; 6 3 t=1000; 8 A 3/2 STABLE -", "Consumer Stable 3/3 | A 3/2 STABLE -"),
]

STATIC_MEMBER: Scenario = [
    (
        "m1 joins as i1",
        "5 m1 instance=i1; 3 2; 7 m1 0-5; 6 2 t=1000; 8 m1 2/0 STABLE 0-5@2",
        "Consumer Stable 2/2 | m1 2/0 STABLE 0-5",
    ),
    (
        "m1 leaves for a while",
        "8 m1 -2/0 STABLE 0-5@0",
        "Consumer Reconciling 2/2 | m1 -2/0 STABLE 0-5",
    ),
    (
        "m2 returns as i1: no bump",
        (
            "8t m1; 7t m1; 5t m1; 5 m2 instance=i1; 7 m2 0-5; 8 m2 0/0 STABLE 0-5@0;"
            " 8 m2 2/0 STABLE 0-5@0"
        ),
        "Consumer Stable 2/2 | m2 2/0 STABLE 0-5",
    ),
    (
        "m2 leaves for a while",
        "8 m2 -2/0 STABLE 0-5@0",
        "Consumer Reconciling 2/2 | m2 -2/0 STABLE 0-5",
    ),
    ("and does not return", "8t m2; 7t m2; 5t m2; 3 3; 6 3", "Consumer Empty 3/3"),
]

MIGRATION: Scenario = [
    ("C asks for a member id", "2 0 state_at=1000", "Classic Empty 0"),
    (
        "C's assignment is stored",
        "2 1 range C=0-5 state_at=4000",
        "Classic Stable 1 | C 0-5",
    ),
    (
        "D joins with the consumer protocol: upgrade",
        (
            "2t; 5 C classic=range; 3 1; 7 C 0-5; 6 1; 8 C 1/1 STABLE 0-5@1;"
            " 5 D; 3 2; 7 C 0-2; 7 D 3-5; 6 2 t=4300; 8 D 2/0 UNRELEASED -"
        ),
        "Consumer Reconciling 2/2 | C 1/1 STABLE 0-5 wants 0-2 | D 2/0 UNRELEASED - wants 3-5",
    ),
    (
        "D leaves: downgrade",
        "8t D; 8t C; 7t D; 7t C; 6t; 5t D; 5t C; 4t; 3t; 2 2 range C=0-2 state_at=4300",
        "Classic Stable 2 | C 0-2",
    ),
]

EMPTY_GROUP_BECOMES_CLASSIC: Scenario = [
    (
        "A joins",
        "5 A; 3 2; 7 A 0-5; 6 2 t=1000; 8 A 2/0 STABLE 0-5@2",
        "Consumer Stable 2/2 | A 2/0 STABLE 0-5",
    ),
    ("A leaves", "8t A; 7t A; 5t A; 3 3 h0; 6 3", "Consumer Empty 3/3"),
    (
        "A returns",
        "5 A; 3 4; 7 A 0-5; 6 4 t=1000; 8 A 4/0 STABLE 0-5@4",
        "Consumer Stable 4/4 | A 4/0 STABLE 0-5",
    ),
    ("A leaves", "8t A; 7t A; 5t A; 3 5 h0; 6 5", "Consumer Empty 5/5"),
    ("a classic consumer joins", "6t; 4t; 3t; 2 0 state_at=1000", "Classic Empty 0"),
]

SCENARIOS = {
    "two members, targets at once": TWO_MEMBERS_AT_ONCE,
    "targets at most every second": WITH_ASSIGNMENT_INTERVAL,
    "an expression on a new group": REGEX_ON_A_NEW_GROUP,
    "a static member comes and goes": STATIC_MEMBER,
    "to the consumer protocol and back": MIGRATION,
    "an empty group becomes classic": EMPTY_GROUP_BECOMES_CLASSIC,
}


@pytest.mark.parametrize("policy", Policy)
@pytest.mark.parametrize("name", SCENARIOS)
def test_state_after_each_event_is_the_brokers(name: str, policy: Policy) -> None:
    """What the broker's state machine wrote replays to the broker's state, event by event, and nothing is odd in it."""
    slot = GroupSlot(GROUP_ID)
    for event, written, expected in SCENARIOS[name]:
        changes = replay(slot, written, policy)
        assert picture(slot) == expected, event
        assert anomalies(changes) == [], event
