"""Subscriptions by regular expression: syntax, matching, when they are resolved, and the records of that."""

import pytest

from rebalance_audit.coordinator.consumer.regexes import compiled, matching
from rebalance_audit.coordinator.handling import Dialect, RefusedError
from rebalance_audit.coordinator.reasons import Trigger
from tests.coordinator.consumer.play import Scenario, perform, play
from tests.support.coordinator_driver import Topics

MATCHES = [
    ("foo", "foo"),
    ("fo.*", "foo foo-2"),
    ("o.*", ""),
    ("(?i)FOO", "foo"),
    ("foo|bar", "bar foo"),
    (r"[a-z]+(-\d)?", "bar foo foo-2"),
    (r"\Qfoo-2\E", "foo-2"),
    ("", ""),
]


@pytest.mark.parametrize(("expression", "topics"), MATCHES)
def test_an_expression_matches_whole_names(expression: str, topics: str) -> None:
    """RE2's syntax; a match inside a name does not count."""
    assert " ".join(sorted(matching(expression, ("foo", "foo-2", "bar")))) == topics


@pytest.mark.parametrize("expression", ["(", "a{1001}", "(?=a)", r"\1", "[z-a]", "\ud800"])
def test_what_is_no_expression_of_re2(expression: str) -> None:
    """Refused when a member brings it; in a log it matches nothing."""
    with pytest.raises(RefusedError):
        compiled(expression)
    assert matching(expression, ("a",)) == frozenset()


def test_a_second_subscriber_of_a_resolved_expression_gets_its_topics_at_once() -> None:
    """The heartbeat bumps the epoch; an expression that is not resolved yet does not."""
    scenario: Scenario = [
        ("A joins regex=fo.*", "5 A; 8 A 1/0 STABLE -"),
        ("wait 0", "16 fo.* foo v1 t1000; 3 2 hA"),
        ("B joins regex=fo.*", "5 B; 3 3 hA; 7 A 0-2; 7 B 3-5; 6 3 t1000; 8 B 3/0 STABLE 3-5@3"),
        ("A beats", "8 A 3/1 STABLE 0-2@3"),
        ("A leaves", "8t A; 7t A; 5t A; 3 4 hA"),
        ("B leaves", "8t B; 7t B; 5t B; 16t fo.*; 3 5 h0; 6 5 t0"),
    ]
    perform(play(), scenario)


def test_expressions_are_resolved_again_for_new_topics_and_after_ten_minutes() -> None:
    """At most every 10 s; a topic that only grows starts no search; every search writes all expressions again."""
    acting = play(Topics.of(1, foo=6), consumer_session_timeout_ms=3_600_000)
    acting.run("A joins regex=fo.*")
    acting.run("wait 0")
    acting.run("A beats")
    assert acting.run("topics foo=6 foo2=1") == ""
    assert acting.run("A beats") == "", "a new topic concerns no member before the search"
    assert acting.run("wait 10000") == ""
    assert acting.run("A beats") == "", "10 s are not over"
    acting.run("wait 1")
    assert acting.run("A beats") == ""
    assert acting.run("wait 0") == "16 fo.* foo,foo2 v2 t11001; 3 3 hB"
    acting.run("A beats")
    acting.run("topics foo=7 foo2=1")
    acting.run("wait 20000")
    acting.run("A beats")
    assert acting.run("wait 0") == "", "no topic is new"
    acting.run("wait 580002")
    acting.run("A beats")
    assert acting.run("wait 0") == "16 fo.* foo,foo2 v3 t611003"


def test_before_4_1_no_search_comes_by_time_alone() -> None:
    """Only new topics cause it."""
    acting = play(dialect=Dialect.R4_0, consumer_session_timeout_ms=3_600_000)
    acting.run("A joins regex=fo.*")
    acting.run("wait 0")
    acting.run("wait 1200000")
    acting.run("A beats")
    assert acting.run("wait 0") == ""


def test_a_search_under_way_is_lost_with_the_coordinator_and_asked_for_again() -> None:
    """The next heartbeat of any member finds the expression unresolved."""
    acting = play()
    acting.run("A joins regex=fo.*")
    acting.run("fail over")
    assert acting.run("wait 0") == ""
    assert acting.run("A beats") == ""
    assert acting.run("wait 0") == "16 fo.* foo v1 t1000; 3 2 hA"


def test_an_expression_without_members_is_not_recorded() -> None:
    """The member changed its expression while the search was under way."""
    acting = play()
    acting.run("A joins regex=fo.*")
    acting.run("B joins topics=bar")
    assert acting.run("A beats regex=ba.*") == "5 A; 16t fo.*; 8 A 2/1 STABLE -"
    assert acting.run("wait 0") == ""


def test_names_and_expressions_can_be_mixed() -> None:
    """A member gets the topics of both, each once."""
    acting = play()
    acting.run("A joins regex=fo.* topics=bar")
    assert acting.answer() == "2 has bar:0-2"
    acting.run("wait 0")
    acting.run("A beats")
    assert acting.answer() == "3 has 0-5+bar:0-2"


def test_a_topic_made_again_is_another_topic() -> None:
    """Its old id is given up and the new one assigned, under the same name."""
    acting = play(Topics.of(1, foo=2))
    acting.run("A joins")
    old = acting.driver.topics.by_name["foo"]
    assert acting.run("topics bar=1") == ""
    assert acting.run("A beats").startswith("3 3 h0; 7 A -; 6 3")
    again = old._replace(topic_id=b"2" * 16)
    acting.driver.change_topics(Topics({"foo": again}, 3))
    acting.run("A beats owns=-")
    acting.run("A beats")
    assert acting.answer() == "4"
    group = acting.driver.group()
    assert group is not None
    assert list(group.members["A"].assigned) == [b"2" * 16]


def test_a_given_up_expression_bumps_nothing_until_the_topics_are_compared_again() -> None:
    """Its topics stay in the hash of the newest epoch; a fail-over compares, a topic of no member does not."""
    acting = play(Topics.of(1, foo=6, bar=3))
    for command in ("A joins regex=fo.*", "wait 1", "A beats", "B joins topics=bar"):
        acting.run(command)
    assert acting.run("A beats regex=fo*bar") == "5 A; 16t fo.*; 8 A 2/2 UNREVOKED -|0-5@2"
    acting.run("topics foo=6 bar=3 baz=1")
    assert acting.run("B beats") == ""
    acting.run("fail over")
    assert acting.run("B beats").startswith("3 4 hC; 7 A -; 6 4 ")
    [reason] = acting.driver.bumps[-1].reasons
    assert reason.trigger is Trigger.TOPICS_DIFFER
