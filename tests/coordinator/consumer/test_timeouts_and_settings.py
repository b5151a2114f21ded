"""Sessions, rebalance timeouts, fail-overs, dynamic group settings, and the answers to heartbeats."""

from rebalance_audit.coordinator.handling import Dialect, TimerKind
from tests.coordinator.consumer.play import Scenario, perform, play


def test_any_heartbeat_keeps_the_session_and_a_refused_one_does_not() -> None:
    """45 s from the last accepted heartbeat."""
    scenario: Scenario = [
        ("A joins", "5 A; 3 2 hA; 7 A 0-5; 6 2 t1000; 8 A 2/0 STABLE 0-5@2"),
        ("wait 44999", ""),
        ("A beats", "", "2"),
        ("wait 44999", ""),
        ("A beats epoch=9", "", "FENCED_MEMBER_EPOCH"),
        ("wait 1", "8t A; 7t A; 5t A; 3 3 h0; 6 3 t0"),
        ("A beats epoch=2", "", "UNKNOWN_MEMBER_ID"),
    ]
    perform(play(), scenario)


def test_a_revoking_member_has_its_own_rebalance_timeout() -> None:
    """The timer starts with the record that asks for revocation, and starts again with each such record."""
    scenario: Scenario = [
        ("A joins timeout=20000", "5 A; 3 2 hA; 7 A 0-5; 6 2 t1000; 8 A 2/0 STABLE 0-5@2"),
        ("B joins", "5 B; 3 3 hA; 7 A 0-2; 7 B 3-5; 6 3 t1000; 8 B 3/0 UNRELEASED -"),
        ("wait 5000", ""),
        ("A beats", "8 A 2/2 UNREVOKED 0-2@2|3-5@2"),
        ("wait 19999", ""),
        ("A beats", "", "2"),
        ("wait 1", "8t A; 7t A; 5t A; 3 4 hA"),
    ]
    perform(play(), scenario)


def test_a_member_that_revoked_in_time_stays() -> None:
    """The acknowledgement ends the timer."""
    acting = play()
    for step in ("A joins timeout=20000", "B joins", "A beats", "wait 19999", "A beats owns=0-2"):
        acting.run(step)
    assert TimerKind.REBALANCE not in {timer.kind for timer in acting.driver.deadlines}
    assert acting.run("wait 20000") == ""


def test_a_static_member_that_pauses_is_not_held_to_its_revocation() -> None:
    """It left the epoch in which it had to revoke; only its session counts."""
    acting = play()
    for step in ("A joins timeout=20000 instance=i", "B joins", "wait 30000", "A beats"):
        acting.run(step)
    assert acting.run("A pauses") == "8 A -2/2 UNREVOKED 0-2@0"
    acting.run("B beats")
    assert acting.run("wait 44999") == ""
    assert acting.run("wait 1").startswith("8t A; 7t A; 5t A")


def test_timers_start_again_with_a_new_coordinator() -> None:
    """Sessions run from the load, and so does the time to revoke."""
    acting = play()
    for step in ("A joins timeout=20000", "B joins", "A beats", "wait 19000", "fail over"):
        acting.run(step)
    assert acting.run("wait 19999") == ""
    assert acting.run("wait 1") == "8t A; 7t A; 5t A; 3 4 hA"
    assert acting.run("wait 24999") == ""
    assert acting.run("wait 1") == "8t B; 7t B; 5t B; 3 5 h0; 6 5 t0"


def test_a_fail_over_writes_nothing_and_changes_nothing() -> None:
    """The next heartbeat of a settled member finds nothing changed."""
    acting = play()
    acting.run("A joins")
    assert acting.run("fail over") == ""
    assert acting.run("A beats") == ""
    assert acting.answer() == "2"


def test_a_change_of_topics_during_a_fail_over_is_found_by_the_next_heartbeat() -> None:
    """The new coordinator compares the topics once, whether or not it saw them change."""
    acting = play()
    acting.run("A joins")
    acting.run("topics foo=7 bar=3")
    acting.run("fail over")
    assert acting.run("A beats") == "3 3 hB; 7 A 0-6; 6 3 t1000; 8 A 3/2 STABLE 0-5@2,6@3"


def test_topics_of_others_bring_nothing() -> None:
    """Only the subscribed topics are compared."""
    acting = play()
    acting.run("A joins")
    assert acting.run("topics foo=6 bar=9 zar=1") == ""
    assert acting.run("A beats") == ""


def test_racks_of_a_topic_are_part_of_its_metadata() -> None:
    """Replicas that move to another rack bump the epoch, and the target stays."""
    acting = play()
    acting.run("A joins")
    topics = acting.driver.topics
    foo = topics.by_name["foo"]._replace(partition_racks=(("r1",),) * 6)
    acting.driver.change_topics(
        type(topics)({**topics.by_name, "foo": foo}, topics.metadata_version + 1)
    )
    assert acting.run("A beats") == "3 3 hB; 6 3 t1000; 8 A 3/2 STABLE 0-5@2"


def test_a_group_can_have_settings_of_its_own() -> None:
    """Dynamic group configuration overrides the broker's, for its group alone, from the next request on."""
    acting = play(
        group_overrides={
            "g": {
                "consumer.session.timeout.ms": 50_000,
                "consumer.heartbeat.interval.ms": 7_000,
                "consumer.assignment.interval.ms": 2_000,
            }
        }
    )
    acting.run("A joins")
    assert acting.last.heartbeat_interval_ms == 7_000
    assert acting.run("B joins") == "5 B; 3 3 hA; 8 B 2/0 STABLE -"
    acting.run("wait 1999")
    assert acting.run("A beats") == ""
    acting.run("wait 1")
    assert acting.run("A beats").startswith("7 A 0-2; 7 B 3-5; 6 3 t3000")
    assert acting.run("wait 47999") == ""
    assert acting.run("wait 1").startswith("8t B")
    acting.driver.config.group_overrides.clear()
    acting.run("A beats")
    assert acting.last.heartbeat_interval_ms == 5_000


def test_the_assignment_interval_came_with_4_3() -> None:
    """In earlier releases every bump computes a target, whatever is configured."""
    acting = play(dialect=Dialect.R4_1, consumer_assignment_interval_ms=1000)
    acting.run("A joins")
    assert "6 2 t0" in acting.run("B joins")


ANSWERS: Scenario = [
    ("A joins", "5 A; 3 2 hA; 7 A 0-5; 6 2 t1000; 8 A 2/0 STABLE 0-5@2", "2 has 0-5"),
    ("A beats", "", "2"),
    ("A beats owns=0-5", "", "2"),
    ("A beats full owns=0-5", "", "2 has 0-5"),
    ("A joins", "", "2 has 0-5"),
    ("A beats topics=foo", "", "2"),
    ("A beats timeout=1000", "5 A", "2"),
]


def test_an_assignment_is_sent_when_it_is_new_or_the_member_may_lack_it() -> None:
    """To a member that joins, that sends everything (after an error), or whose assignment changed."""
    perform(play(), ANSWERS)


def test_a_client_of_the_first_version_gets_its_member_id_from_the_coordinator() -> None:
    """Version 0 joins without one."""
    acting = play()
    acting.run("A joins id= version=0")
    assert acting.last.member_id == "id-1"
    assert acting.answer() == "2 has 0-5"


def test_an_empty_subscription_takes_part_without_partitions() -> None:
    """A member without topics is in the group; it gets partitions when it subscribes."""
    scenario: Scenario = [
        ("A joins topics=", "5 A; 8 A 1/0 STABLE -", "1 has -"),
        (
            "A beats topics=foo",
            "5 A; 3 2 hA; 7 A 0-5; 6 2 t1000; 8 A 2/1 STABLE 0-5@2",
            "2 has 0-5",
        ),
        ("A beats topics=gone", "5 A; 3 3 h0; 7 A -; 6 3 t1000; 8 A 2/2 UNREVOKED -|0-5@2"),
    ]
    perform(play(), scenario)


def test_the_preferred_assignor_is_that_of_most_members() -> None:
    """Range for two of three: the epoch is bumped when the majority changes, not earlier."""
    acting = play()
    acting.run("A joins topics=foo,bar assignor=uniform")
    acting.run("B joins topics=foo,bar assignor=uniform")
    acting.run("C joins topics=foo,bar assignor=uniform")
    assert acting.run("A beats assignor=range").split("; ")[0] == "5 A"
    group = acting.driver.group()
    assert group is not None
    records = acting.run("B beats assignor=range")
    assert records.startswith("5 B; 3 5 hA")
    assert "7 A 0-1+bar:0" in records
    assert "7 C 4-5+bar:2" in records


def test_groups_expire_when_they_are_empty() -> None:
    """An empty group without offsets is deleted at the next clean-up; one with members stays."""
    acting = play()
    acting.run("A joins")
    acting.run("wait 40000")
    acting.run("A leaves")
    assert acting.run("wait 559999") == ""
    assert acting.run("wait 1") == "6t; 4t; 3t"
    assert acting.driver.group() is None
    assert acting.run("A joins").startswith("5 A; 3 2 hA")
