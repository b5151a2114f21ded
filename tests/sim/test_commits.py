"""What simulated clients commit: as their library does, as the application asks, and as much as there is."""

from pathlib import Path

import pytest

from rebalance_audit.sim.clients.client_config import Committing, Library, Traffic
from rebalance_audit.sim.options import GroupPlan, Protocol
from rebalance_audit.wire.generated.messages import OffsetCommitKey
from tests.sim.one_group import after_a_minute
from tests.support.log_entries import records_of

JAVA, RDKAFKA, AUTO, MANUAL = Library.JAVA, Library.LIBRDKAFKA, Committing.AUTO, Committing.MANUAL


@pytest.mark.parametrize("protocol", [Protocol.CLASSIC, Protocol.CONSUMER])
@pytest.mark.parametrize(
    ("library", "committing", "traffic", "rounds", "on_close"),
    [
        (JAVA, AUTO, Traffic.IDLE, range(9, 13), True),
        (RDKAFKA, AUTO, Traffic.IDLE, range(1), False),
        (RDKAFKA, AUTO, Traffic.STEADY, range(9, 13), True),
        (JAVA, MANUAL, Traffic.IDLE, range(1), False),
        (JAVA, MANUAL, Traffic.STEADY, range(4, 24), False),
        (JAVA, Committing.ON_WAKE_UP, Traffic.STEADY, range(4, 24), True),
        (JAVA, Committing.TRANSACTIONAL, Traffic.STEADY, range(4, 24), False),
    ],
)
def test_clients_commit_as_their_library_does(
    protocol: Protocol,
    library: Library,
    committing: Committing,
    traffic: Traffic,
    rounds: range,
    on_close: bool,
    tmp_path: Path,
) -> None:
    """For a minute every 5 s or so, and once more as it closes, before it leaves."""
    plan = GroupPlan(
        "g", protocol, 1, ("t",), library=library, committing=committing, traffic=traffic
    )
    simulation = after_a_minute(plan, 3)
    stopped_ms = simulation.scheduler.now_ms
    simulation.fleets[0].clients[0].stop()
    simulation.cluster.flush()
    simulation.write(tmp_path)
    times = [
        position.record_timestamp_ms
        for record, position in records_of(tmp_path)
        if isinstance(record.key, OffsetCommitKey)
    ]
    assert (stopped_ms in times) is on_close
    assert len(set(times) - {stopped_ms}) in rounds


@pytest.mark.parametrize(("library", "commits"), [(JAVA, False), (RDKAFKA, True)])
def test_java_clients_commit_nothing_while_they_wait_for_a_generation(
    library: Library, commits: bool, tmp_path: Path
) -> None:
    """Of three cooperative members one leaves and one stands still; the third waits for that one with what it has."""
    plan = GroupPlan(
        "g",
        Protocol.CLASSIC,
        3,
        ("t",),
        assignors=("cooperative-sticky",),
        library=library,
        commit_interval_ms=1_000,
    )
    simulation = after_a_minute(plan, 3)
    stays, leaves, stands_still = simulation.fleets[0].clients
    stays.config.library = library
    stands_still.freeze()
    leaves.stop()
    left_ms = simulation.scheduler.now_ms
    heartbeat_ms = stays.config.heartbeat_interval_ms
    simulation.scheduler.run_until_ms(left_ms + 2 * heartbeat_ms)
    assert stays.is_settled() == "g-0 is joining"
    simulation.cluster.flush()
    simulation.write(tmp_path)
    waiting = [
        position.record_timestamp_ms
        for record, position in records_of(tmp_path)
        if isinstance(record.key, OffsetCommitKey)
        and position.record_timestamp_ms > left_ms + heartbeat_ms + 100
    ]
    assert bool(waiting) is commits
