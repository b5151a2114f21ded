"""Runs of small scripts: what each protocol does to the same restart, death, freeze or growth."""

from dataclasses import replace

import pytest

from rebalance_audit.whatif.script import (
    CoordinatorMove,
    ProcessEnd,
    Script,
    Settings,
    SlowRevocation,
    SubscriptionChange,
    TopicDeletion,
    TopicExpansion,
    exactly,
)
from rebalance_audit.whatif.script_run import ScriptRun
from rebalance_audit.whatif.tracker import RunOutcome
from tests.whatif.scripts import CLASSIC, CONSUMER, STATIC, at, instance, script

COOPERATIVE = replace(CLASSIC, assignors=("cooperative-sticky",))
STATIC_CONSUMER = replace(CONSUMER, is_static=True)


def play(of: Script, settings: Settings = CLASSIC, seed: int = 0) -> RunOutcome:
    """One run."""
    return ScriptRun(of, settings, seed).run()


RESTART = script(
    instance("pod-0", (100, ProcessEnd.CLOSED, 105)), instance("pod-1"), instance("pod-2")
)
"""A clean restart that takes five seconds."""
DEATH = script(
    instance("pod-0", (100, ProcessEnd.KILLED, 130)), instance("pod-1"), instance("pod-2")
)
"""A process that dies and is back after its session has ended."""


@pytest.mark.parametrize(
    ("settings", "rebalances"),
    [(CLASSIC, 2), (COOPERATIVE, 3), (CONSUMER, 2), (STATIC, 0), (STATIC_CONSUMER, 0)],
    ids=["eager", "cooperative", "consumer", "static", "static consumer"],
)
def test_a_restart_rebalances_as_each_protocol_does(settings: Settings, rebalances: int) -> None:
    """Leave and join; a cooperative join hands out in a second generation; a static member comes back in silence."""
    assert play(RESTART, settings).rebalances == rebalances


@pytest.mark.parametrize("settings", [STATIC, STATIC_CONSUMER], ids=["classic", "consumer"])
def test_partitions_of_a_static_member_wait_for_it_and_do_not_move(settings: Settings) -> None:
    """Its four partitions have no owner for the five seconds, and somewhat longer."""
    found = play(RESTART, settings)
    assert found.partitions_moved == 0
    assert 4 * 5_000 <= found.unowned_ms < 4 * 6_500
    assert 5_000 <= found.longest_stop_ms < 6_500


def test_an_eager_rebalance_stops_all_partitions_and_an_incremental_one_those_that_move() -> None:
    """Twice twelve partitions wait for the slowest heartbeat; in the others only what moves does."""
    restart = script(instance("pod-0", (100, ProcessEnd.CLOSED, 105)), *map(instance, "abcdefg"))
    eager, cooperative, consumer = (
        play(restart, settings).unowned_ms for settings in (CLASSIC, COOPERATIVE, CONSUMER)
    )
    assert consumer < eager
    assert cooperative < eager


def test_a_death_is_noticed_after_the_session() -> None:
    """The partitions of the dead process wait for up to a session, a longer one with a longer session."""
    short, long = play(DEATH), play(DEATH, replace(CLASSIC, session_timeout_ms=20_000))
    assert 4 * 8_000 <= short.unowned_by_reason["killed"] <= 4 * 12_500
    assert 4 * 18_000 <= long.unowned_by_reason["killed"] <= 4 * 22_500
    assert short.rebalances == long.rebalances == 2


def test_a_killed_static_member_of_a_consumer_group_is_refused_until_its_session_ends() -> None:
    """UNRELEASED_INSTANCE_ID ends the Java client; a classic static member takes over at once."""
    killed = script(instance("pod-0", (100, ProcessEnd.KILLED, 103)), instance("pod-1"))
    consumer, classic = play(killed, STATIC_CONSUMER), play(killed, STATIC)
    assert consumer.refused_returns > 0
    assert consumer.rebalances == 2
    assert (classic.refused_returns, classic.rebalances) == (0, 0)


def test_a_frozen_process_goes_on_with_what_it_had() -> None:
    """Shorter than the session no one notices; longer, the group goes on without it, and it joins again."""
    short = script(instance("pod-0", (100, ProcessEnd.FROZEN, 105)), instance("pod-1"))
    long = script(instance("pod-0", (100, ProcessEnd.FROZEN, 120)), instance("pod-1"))
    assert (play(short).rebalances, play(short).unowned_ms) == (0, 0)
    assert play(long).rebalances == 2


def test_moved_is_what_another_instance_gets() -> None:
    """A leave and a return with range: partitions go to others and come back; without others they stay."""
    assert play(RESTART).partitions_moved > 0
    alone = script(instance("pod-0", (100, ProcessEnd.CLOSED, 105)))
    assert play(alone).partitions_moved == 0


def test_an_empty_group_loses_time_while_it_is_skipped() -> None:
    """All instances are down for an hour: twelve partitions without owner for all of it."""
    hour = 3_600
    down = script(instance("pod-0", (100, ProcessEnd.CLOSED, 100 + hour)), seconds=2 * hour)
    lost_ms = play(down).unowned_ms
    assert 12 * hour * 1_000 <= lost_ms <= 12 * (hour + 10) * 1_000


def test_calm_stretches_cost_no_events() -> None:
    """A year with one restart takes as few events as ten minutes with one."""
    year = 365 * 24 * 3_600
    short, long = (
        ScriptRun(
            script(
                instance("pod-0", (100, ProcessEnd.CLOSED, 105)), instance("pod-1"), seconds=seconds
            ),
            CLASSIC,
            0,
        )
        for seconds in (600, year)
    )
    assert short.run().rebalances == long.run().rebalances == 2
    assert long._scheduler.executed < 2 * short._scheduler.executed


def test_the_same_seed_gives_the_same_outcome_and_another_seed_another() -> None:
    """All that is drawn comes from the seed."""
    assert play(DEATH, seed=3) == play(DEATH, seed=3)
    assert play(DEATH, seed=3) != play(DEATH, seed=4)


def test_a_slow_revocation_holds_up_an_eager_group_and_one_member_of_a_consumer_group() -> None:
    """All partitions wait for the slow one, or only what it gives up."""
    slow = SlowRevocation(at(95), at(140), "pod-1", exactly(8_000))
    leave = (instance("pod-0", (100, ProcessEnd.CLOSED, 130)), instance("pod-1"), instance("pod-2"))
    calm, held = (script(*leave, events=events) for events in ((), (slow,)))
    assert play(held).unowned_ms > play(calm).unowned_ms + 4 * 7_000
    assert play(held, CONSUMER).unowned_ms < play(held).unowned_ms


def test_topics_that_grow_come_and_go() -> None:
    """New partitions wait for a rebalance; those of a deleted topic no longer count."""
    grown = script(instance("pod-0"), events=(TopicExpansion(at(100), "orders", 16),))
    found = play(grown)
    assert found.rebalances == 1
    assert found.unowned_by_reason["new_partition"] > 0
    gone = script(
        instance("pod-0", (150, ProcessEnd.CLOSED, None)),
        events=(TopicDeletion(at(100), "orders"),),
    )
    assert play(gone).unowned_ms == 0


def test_a_changed_subscription_rebalances() -> None:
    """The member subscribes to a topic that existed before and had no reader."""
    of = script(
        instance("pod-0"),
        instance("pod-1"),
        events=(SubscriptionChange(at(100), "pod-0", ("orders", "other")),),
    )
    of.topics["other"] = 2
    assert play(of).rebalances >= 1
    assert play(of, CONSUMER).rebalances >= 1


def test_a_short_move_of_the_coordinator_changes_nothing() -> None:
    """Members retry until the next one has loaded the log."""
    moved = script(
        instance("pod-0"), instance("pod-1"), events=(CoordinatorMove(at(100), exactly(500)),)
    )
    assert play(moved).rebalances == 0
    assert play(moved, CONSUMER).rebalances == 0


def test_what_lies_before_the_window_only_prepares_the_group() -> None:
    """A restart before it does not count, and the group is whole when it begins."""
    earlier = script(instance("pod-0", (-400, ProcessEnd.CLOSED, -390)), instance("pod-1"))
    assert play(earlier) == RunOutcome()


def test_a_topic_without_subscribers_lacks_no_owner() -> None:
    """Its partitions count from the subscription on."""
    of = script(
        instance("pod-0"), events=(SubscriptionChange(at(300), "pod-0", ("orders", "other")),)
    )
    of.topics["other"] = 2
    found = play(of)
    assert 0 < found.unowned_by_reason["new_partition"] < 2 * 10_000
