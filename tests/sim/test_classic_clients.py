"""Simulated members of classic groups do what real ones can do, and when these can do it."""

from pathlib import Path

import pytest

from rebalance_audit.sim import fleet
from rebalance_audit.sim.clients.client_config import Library, Traffic
from rebalance_audit.sim.options import GroupPlan, Overrides, Protocol, draw_options
from rebalance_audit.sim.scenario import Simulation
from rebalance_audit.wire.generated.messages import GroupMetadataValue, OffsetCommitKey
from tests.sim.one_group import after_a_minute
from tests.support.log_entries import records_of


def go_on(simulation: Simulation, duration_ms: int, folder: Path) -> list[int]:
    """Times of the commits from now on, in ms from now."""
    now_ms = simulation.scheduler.now_ms
    simulation.scheduler.run_until_ms(now_ms + duration_ms)
    simulation.cluster.flush()
    simulation.write(folder)
    return [
        position.record_timestamp_ms - now_ms
        for record, position in records_of(folder)
        if isinstance(record.key, OffsetCommitKey) and position.record_timestamp_ms >= now_ms
    ]


def test_a_callback_that_takes_its_time_lets_nothing_be_committed(tmp_path: Path) -> None:
    """An eager member commits, gives up its partitions for 4 s, and joins. Its timer starts anew with what it gets."""
    plan = GroupPlan("g", Protocol.CLASSIC, 1, ("t",), revoke_ms=4_000, commit_interval_ms=1_000)
    simulation = after_a_minute(plan, 6)
    (client,) = simulation.fleets[0].clients
    client.subscribe(("t", "other"))
    times = sorted(set(go_on(simulation, 6_000, tmp_path)))
    assert times[0] < 100
    assert times[1] > 5_000


def test_a_busy_member_rejoins_with_its_next_poll(tmp_path: Path) -> None:
    """Both commit as they rejoin; the one that works for 8 s does so afterwards."""
    plan = GroupPlan("g", Protocol.CLASSIC, 2, ("t",), commit_interval_ms=1_000)
    simulation = after_a_minute(plan, 6)
    idle, busy = simulation.fleets[0].clients
    busy.process_slowly(8_000)
    idle.subscribe(("t", "other"))
    times = go_on(simulation, 9_000, tmp_path)
    assert [each for each in times if each < 100]
    assert not [each for each in times if 100 < each < 8_000]
    assert [each for each in times if 8_000 <= each < 8_200]


def test_an_administrator_removes_dynamic_members_all_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kafka's Admin names members by their instance id, or none at all. They join again."""
    monkeypatch.setattr(fleet, "_BY_OTHER_TOOLS", 0.0)
    simulation = after_a_minute(GroupPlan("g", Protocol.CLASSIC, 4, ("t",)), 6)
    now_ms = simulation.scheduler.now_ms
    simulation.fleets[0].remove_by_admin()
    go_on(simulation, 20_000, tmp_path)
    sizes = [
        len(record.value.members)
        for record, position in records_of(tmp_path)
        if isinstance(record.value, GroupMetadataValue) and position.record_timestamp_ms >= now_ms
    ]
    assert (sizes[0], sizes[-1]) == (0, 4)


@pytest.mark.parametrize(("traffic", "is_busy"), [(Traffic.STEADY, True), (Traffic.IDLE, False)])
def test_who_polled_nothing_has_nothing_to_process(traffic: Traffic, is_busy: bool) -> None:
    """No application takes long over no messages."""
    simulation = after_a_minute(GroupPlan("g", Protocol.CLASSIC, 1, ("t",), traffic=traffic), 6)
    simulation.fleets[0].poll_slowly()
    (client,) = simulation.fleets[0].clients
    assert (client.busy_until_ms > simulation.scheduler.now_ms) is is_busy


def test_librdkafka_does_not_start_with_a_session_longer_than_its_poll_interval() -> None:
    """It refuses the configuration; Java clients of their own take it."""
    plans = [
        plan
        for seed in range(100)
        for plan in draw_options(seed, Overrides()).groups
        if plan.protocol in {Protocol.CLASSIC, Protocol.MIGRATING}
    ]
    shorter = {
        plan.library for plan in plans if plan.max_poll_interval_ms < plan.session_timeout_ms
    }
    assert shorter == {Library.JAVA}
