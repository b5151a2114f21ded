"""A real broker loads logs that the simulator wrote, and shows the state in which the simulation ended."""

from pathlib import Path
from typing import Any

import pytest

from rebalance_audit.coordinator.handling import Dialect
from rebalance_audit.replay.describe import describe_group
from rebalance_audit.replay.shard import Shard
from rebalance_audit.sim.options import GroupPlan, Overrides, Protocol, draw_options
from rebalance_audit.sim.scenario import Simulation
from rebalance_audit.wire.metadata_log import read_topic_names
from rebalance_audit.wire.segments.folder import open_log_folder
from tests.support.broker import running_broker
from tests.support.broker_folder import NEW_OFFSETS_TOPIC, OFFSETS_TOPIC
from tests.support.broker_groups import as_admin_shows, described_groups

pytestmark = pytest.mark.broker

LOG_PARTITIONS = 3
SESSION_MS = 60_000
"""Longer than the look at the broker takes: sessions begin again when it loads."""

TWO = ("topic-0", "topic-1")
GROUPS = (
    GroupPlan("eager", Protocol.CLASSIC, 4, TWO),
    GroupPlan("cooperative", Protocol.CLASSIC, 5, TWO, assignors=("cooperative-sticky",)),
    GroupPlan("classic-static", Protocol.CLASSIC, 3, TWO, static=True, assignors=("sticky",)),
    GroupPlan("consumer", Protocol.CONSUMER, 5, TWO, revoke_ms=3_000),
    GroupPlan("consumer-range", Protocol.CONSUMER, 4, TWO, server_assignor="range"),
    GroupPlan("consumer-static", Protocol.CONSUMER, 3, TWO, static=True),
    GroupPlan("größe", Protocol.STANDALONE, 1, TWO),
    GroupPlan("transactions", Protocol.TRANSACTIONAL, 1, TWO),
)
SINCE_4_0 = (
    GroupPlan("regex", Protocol.CONSUMER, 3, (), regex="topic-.*"),
    GroupPlan("migrating", Protocol.MIGRATING, 4, TWO),
    GroupPlan("migrating-static", Protocol.MIGRATING, 3, TWO, static=True),
)


def simulated(dialect: Dialect) -> Simulation:
    """Every kind of group, with fail-overs and compaction besides all other faults."""
    options = draw_options(7, Overrides(minutes=2, dialect=dialect, partitions=LOG_PARTITIONS))
    options.groups = [*GROUPS, *(() if dialect is Dialect.R3_9 else SINCE_4_0)]
    for plan in options.groups:
        plan.session_timeout_ms = SESSION_MS
    options.cluster.log.segment_bytes = 10_000
    options.faults.fail_overs = options.faults.cleanings = 3.0
    options.faults.deploys = 1.0
    return Simulation(7, options)


def ended_as(simulation: Simulation, log: Path) -> list[dict[str, Any]]:
    """The groups by id, as an admin client should see them."""
    names = read_topic_names(open_log_folder(log))
    living = simulation.cluster.topics.image.names()
    groups: list[dict[str, Any]] = []
    for served in simulation.cluster.partitions.values():
        replayed = served.replayed()
        for slot in (served.shard if served.is_active else replayed).groups():
            described = describe_group(slot, names)
            if described is not None and _is_found(slot.group_id, replayed):
                groups.append(as_admin_shows(_without_deleted_topics(described, living)))
    return sorted(groups, key=lambda group: group["group_id"])


def _is_found(group_id: str, replayed: Shard) -> bool:
    """A simple group is nothing but its offsets: where compaction took them, nothing is left of it."""
    slot = replayed.slot(group_id)
    return slot is not None and slot.group is not None


def _without_deleted_topics(described: dict[str, Any], living: tuple[str, ...]) -> dict[str, Any]:
    """A broker shows topic ids by their names, and leaves out those of topics that are gone."""
    if described["type"] == "Consumer":
        for member in described["members"]:
            for held in ("assignment", "target"):
                member[held] = {
                    topic: numbers for topic, numbers in member[held].items() if topic in living
                }
    return described


@pytest.mark.parametrize(
    ("dialect", "at_rest"),
    [
        (Dialect.R3_9, False),
        (Dialect.R4_1, True),
        (Dialect.R4_3, False),
        (Dialect.R4_4, False),
        (Dialect.R4_4, True),
    ],
    ids=lambda value: value.value if isinstance(value, Dialect) else ("cut", "at rest")[value],
)
def test_a_broker_shows_of_a_simulated_log_how_the_simulation_ended(
    dialect: Dialect, at_rest: bool, tmp_path: Path
) -> None:
    """Groups, states, epochs, members, current and target assignments, offsets; at rest, or cut in the middle.

    Kafka 4.3.1 does not read the layouts of the early access of 3.7.
    """
    simulation = simulated(dialect)
    if at_rest:
        simulation.run()
    else:
        simulation.run_faults()
    simulation.write(tmp_path / "log")
    expected = ended_as(simulation, tmp_path / "log")
    served = simulation.cluster.partitions.values()
    assert any(each.leader_epoch for each in served)
    assert any(each.log.was_cleaned for each in served)
    assert {group["type"] for group in expected} == {"Classic", "Consumer"}
    offsets_topic = NEW_OFFSETS_TOPIC._replace(partition_count=LOG_PARTITIONS)
    with running_broker(
        tmp_path / "broker", tmp_path / "log", {OFFSETS_TOPIC: offsets_topic}
    ) as broker:
        found = described_groups(broker, [group["group_id"] for group in expected])
    assert found == expected
