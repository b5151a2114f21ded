"""Clients that commit as measured ones do."""

from pathlib import Path

import pytest

from rebalance_audit.sim.clients.client_config import (
    COMMIT_HABITS,
    CommitHabit,
    CommitScope,
    Traffic,
)
from rebalance_audit.sim.options import GroupPlan, Protocol
from rebalance_audit.wire.generated.messages import OffsetCommitKey
from tests.sim.one_group import after_a_minute
from tests.support.log_entries import records_of


@pytest.mark.parametrize("habit", COMMIT_HABITS, ids=lambda habit: habit.name)
@pytest.mark.parametrize("traffic", [Traffic.STEADY, Traffic.IDLE])
def test_clients_commit_as_measured(habit: CommitHabit, traffic: Traffic, tmp_path: Path) -> None:
    """On the interval and on closing, and with nothing to consume only those that commit unchanged positions."""
    plan = GroupPlan(
        "g",
        Protocol.CLASSIC,
        1,
        ("t",),
        commit_interval_ms=habit.interval_ms,
        traffic=traffic,
        habit=habit,
    )
    simulation = after_a_minute(plan, 3)
    stopped_ms = simulation.scheduler.now_ms
    simulation.fleets[0].clients[0].stop()
    simulation.cluster.flush()
    simulation.write(tmp_path)
    times = {
        position.record_timestamp_ms
        for record, position in records_of(tmp_path)
        if isinstance(record.key, OffsetCommitKey)
    }
    commits = (
        {CommitScope.ALL} if traffic is Traffic.IDLE else {*CommitScope} - {CommitScope.NOTHING}
    )
    assert bool(times - {stopped_ms}) is (bool(habit.interval_ms) and habit.on_interval in commits)
    if habit.on_close not in commits:
        assert stopped_ms not in times
