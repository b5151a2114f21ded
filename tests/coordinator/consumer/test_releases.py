"""The same events in each release's form: starting epochs, metadata records or hashes, order and content."""

import pytest

from rebalance_audit.coordinator.handling import Dialect
from tests.coordinator.consumer.play import Scenario, perform, play

JOINS: dict[Dialect, Scenario] = {
    Dialect.R3_7: [
        (
            "A joins",
            "5 A; 4 foo:6; 3 1 h0; 7 A 0-5; 6 1 t0; 8 A 1/0 to=1 0-5 waits=-",
            "1 has 0-5",
        ),
        (
            "B joins",
            "5 B; 3 2 h0; 7 A 0-2; 7 B 3-5; 6 2 t0; 8 B 2/0 to=2 - waits=3-5",
            "2 has -",
        ),
        ("A beats", "8 A 1/0 to=2 0-2|3-5 waits=-", "1 has 0-2"),
        ("B beats", "", "2"),
        ("A beats owns=0-2", "8 A 2/1 to=2 0-2 waits=-", "2 has 0-2"),
        ("B beats", "8 B 2/2 to=2 3-5 waits=-", "2 has 3-5"),
        ("topics foo=7 bar=3", ""),
        (
            "B beats",
            "4 foo:7; 3 3 h0; 7 B 3-6; 6 3 t0; 8 B 3/2 to=3 3-6 waits=-",
            "3 has 3-6",
        ),
        ("A leaves", "8t A; 7t A; 5t A; 3 4 h0", "-1"),
        ("B leaves", "8t B; 7t B; 5t B; 4; 3 5 h0", "-1"),
    ],
    Dialect.R3_9: [
        (
            "A joins",
            "5 A; 4 foo:6; 3 1 h0; 7 A 0-5; 6 1 t0; 8 A 1/0 STABLE 0-5",
            "1 has 0-5",
        ),
        (
            "B joins",
            "5 B; 3 2 h0; 7 A 0-2; 7 B 3-5; 6 2 t0; 8 B 2/0 UNRELEASED -",
            "2 has -",
        ),
        ("A beats", "8 A 1/1 UNREVOKED 0-2|3-5", "1 has 0-2"),
        ("A beats owns=0-2", "8 A 2/1 STABLE 0-2", "2"),
        ("B beats", "8 B 2/2 STABLE 3-5", "2 has 3-5"),
        ("B leaves", "8t B; 7t B; 5t B; 3 3 h0"),
        ("A leaves", "8t A; 7t A; 5t A; 4; 3 4 h0"),
    ],
    Dialect.R4_0: [
        ("A joins regex=fo.*", "5 A; 3 1 h0; 7 A -; 6 1 t0; 8 A 1/0 STABLE -", "1 has -"),
        ("wait 0", "16 fo.* foo v1 t1000; 4 foo:6; 3 2 h0"),
        ("A beats", "7 A 0-5; 6 2 t0; 8 A 2/1 STABLE 0-5", "2 has 0-5"),
        ("topics foo=7 bar=3", ""),
        ("A beats", "4 foo:7; 3 3 h0; 7 A 0-6; 6 3 t0; 8 A 3/2 STABLE 0-6"),
        ("A beats regex= topics=", "5 A; 16t fo.*", "3"),
    ],
    Dialect.R4_1: [
        ("A joins", "5 A; 3 1 hA; 7 A 0-5; 6 1 t0; 8 A 1/0 STABLE 0-5", "1 has 0-5"),
        ("B joins", "5 B; 3 2 hA; 7 A 0-2; 7 B 3-5; 6 2 t0; 8 B 2/0 UNRELEASED -"),
        ("B beats topics=bar", "5 B; 3 3 hB; 7 A 0-5; 7 B bar:0-2; 6 3 t0; 8 B 3/2 STABLE bar:0-2"),
        ("B leaves", "8t B; 7t B; 5t B; 3 4 hA"),
        ("A leaves", "8t A; 7t A; 5t A; 3 5 h0"),
    ],
    Dialect.R4_3: [
        ("A joins", "5 A; 3 2 hA; 7 A 0-5; 6 2 t1000; 8 A 2/0 STABLE 0-5@2", "2 has 0-5"),
        ("A beats assignor=range", "5 A", "2"),
        ("A leaves", "8t A; 7t A; 5t A; 3 3 h0"),
    ],
}


@pytest.mark.parametrize("dialect", JOINS, ids=lambda dialect: dialect.value)
def test_each_release_writes_its_own_records(dialect: Dialect) -> None:
    """Epochs start at 1 or 2; [4] or a hash; states or target epochs; assignment times and epochs from 4.3 on."""
    perform(play(dialect=dialect), JOINS[dialect])


def test_the_first_refresh_after_4_0_replaces_the_topic_metadata_record() -> None:
    """A broker of 4.1 that takes over bumps the epoch for the hash and removes [4]."""
    acting = play(dialect=Dialect.R4_0)
    acting.run("A joins")
    acting.driver.config.dialect = Dialect.R4_1
    acting.driver.fail_over()
    assert acting.run("A beats") == "3 2 hA; 4t; 6 2 t0; 8 A 2/1 STABLE 0-5"
    assert acting.run("A beats") == ""


STATIC_RETURN: dict[Dialect, str] = {
    Dialect.R3_7: "8t m1; 7t m1; 5t m1; 5 m2; 7 m2 0-5; 6 1 t0; 8 m2 1/0 to=1 0-5 waits=-",
    Dialect.R3_9: ("8t m1; 7t m1; 5t m1; 5 m2; 7 m2 0-5; 8 m2 0/0 STABLE 0-5; 8 m2 1/0 STABLE 0-5"),
}


@pytest.mark.parametrize("dialect", STATIC_RETURN, ids=lambda dialect: dialect.value)
def test_a_static_member_comes_back_in_the_form_of_its_release(dialect: Dialect) -> None:
    """3.7 computes the target again under the new id; later releases hand the records over."""
    acting = play(dialect=dialect)
    acting.run("m1 joins instance=i")
    acting.run("m1 pauses")
    assert acting.run("m2 joins instance=i") == STATIC_RETURN[dialect]


def test_a_full_group_lets_its_static_members_back_in_from_4_3_on() -> None:
    """In earlier releases, the returning member is one too many."""
    for dialect, answer in ((Dialect.R4_4, "2 has 0-5"), (Dialect.R4_1, "GROUP_MAX_SIZE_REACHED")):
        acting = play(dialect=dialect, consumer_max_size=1)
        acting.run("m1 joins instance=i")
        acting.run("m1 pauses")
        acting.run("m2 joins instance=i")
        assert acting.answer() == answer


def test_a_member_follows_its_new_subscription_at_once_from_4_2_on() -> None:
    """While the target waits for its interval, the dropped topics are given up in the same write."""
    acting = play(consumer_assignment_interval_ms=1000)
    acting.run("A joins topics=foo,bar")
    records = "5 A; 3 3 hB; 8 A 2/2 UNREVOKED 0-5@2|bar:0-2@2"
    assert acting.run("A beats topics=foo") == records
