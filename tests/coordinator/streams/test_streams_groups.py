"""Streams groups (KIP-1071): which records a heartbeat writes, what bumps, and why."""

from typing import Any

import pytest

from rebalance_audit.coordinator.handling import CoordinatorConfig, Dialect, ErrorCode
from rebalance_audit.coordinator.reasons import Trigger
from rebalance_audit.coordinator.requests.streams import (
    Endpoint,
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    Subtopology,
    TaskIds,
    Topology,
)
from rebalance_audit.replay.groups import LEFT_EPOCH, STATIC_LEAVE_EPOCH, ModernGroup
from rebalance_audit.wire.generated.messages import StreamsGroupMetadataValue
from tests.support.coordinator_driver import CoordinatorDriver, Topics
from tests.support.written import record_types

READS_FOO = Topology(0, (Subtopology("0", ("foo",)),))
KEEPS_STATE = Topology(0, (Subtopology("0", ("foo",), ("store",)),))
DELAY_MS = 3_000
TASKS = (TaskIds("0", (0, 1)),)


def started(dialect: Dialect = Dialect.R4_4, **settings: Any) -> CoordinatorDriver:
    """A coordinator with one topic of two partitions, without delays unless a test asks for them."""
    settings = {"streams_initial_delay_ms": 0, **settings}
    config = CoordinatorConfig(dialect=dialect, consumer_assignment_interval_ms=0, **settings)
    return CoordinatorDriver(config, Topics.of(foo=2))


def beat(
    driver: CoordinatorDriver, member_id: str, epoch: int, **fields: Any
) -> StreamsGroupHeartbeatResponse:
    """Send a heartbeat; one that joins has every field."""
    if epoch == 0:
        owned = {"active_tasks": (), "standby_tasks": (), "warmup_tasks": ()}
        everything = {
            "rebalance_timeout_ms": 30_000,
            "topology": READS_FOO,
            "process_id": member_id,
        }
        fields = {**everything, **owned, **fields}
    response = driver.ask(
        StreamsGroupHeartbeatRequest("g", member_id, epoch, client_id=member_id, **fields)
    )
    assert isinstance(response, StreamsGroupHeartbeatResponse)
    return response


def last_triggers(driver: CoordinatorDriver) -> list[Trigger]:
    """The conditions that began the newest epoch."""
    return [reason.trigger for reason in driver.bumps[-1].reasons]


def hashes(driver: CoordinatorDriver) -> list[int]:
    """The metadata hash of every epoch."""
    return [
        record.value.metadata_hash
        for record in driver.records_since(0)
        if isinstance(record.value, StreamsGroupMetadataValue)
    ]


@pytest.mark.parametrize(("dialect", "first_epoch"), [(Dialect.R4_1, 1), (Dialect.R4_4, 2)])
def test_the_first_member_brings_the_topology(dialect: Dialect, first_epoch: int) -> None:
    """Member, topology, epoch, target, assignment: one write."""
    driver = started(dialect)
    joined = beat(driver, "A", 0)
    assert record_types(driver) == "19 23 17 21 20 22"
    assert (joined.member_epoch, joined.active_tasks) == (first_epoch, TASKS)
    assert record_types(driver, lambda: beat(driver, "A", first_epoch)) == ""


def test_members_of_an_empty_group_wait_for_each_other() -> None:
    """Their joins bump; the one target comes from a timer (4.2 and later)."""
    driver = started(streams_initial_delay_ms=DELAY_MS)
    assert beat(driver, "A", 0).active_tasks == ()
    beat(driver, "B", 0)
    assert record_types(driver) == "19 23 17 22 19 17 22"
    assert record_types(driver, lambda: driver.sleep(DELAY_MS)) == "21 21 20"
    assert beat(driver, "A", 1).active_tasks == (TaskIds("0", (0,)),)


def test_a_task_moves_when_its_owner_has_closed_it() -> None:
    """Revocation, then release, as in consumer groups."""
    driver = started()
    beat(driver, "A", 0)
    assert beat(driver, "B", 0).active_tasks == ()
    assert beat(driver, "A", 2, active_tasks=TASKS, standby_tasks=(), warmup_tasks=()).active_tasks
    kept = (TaskIds("0", (0,)),)
    closed = beat(driver, "A", 2, active_tasks=kept, standby_tasks=(), warmup_tasks=())
    assert closed.member_epoch == 3
    assert beat(driver, "B", 3).active_tasks == (TaskIds("0", (1,)),)
    group = driver.group()
    assert isinstance(group, ModernGroup)
    assert not group.unconverged


@pytest.mark.parametrize(("instance_id", "expected"), [(None, "19 17 20 22"), ("i", "19")])
def test_any_metadata_of_a_dynamic_member_bumps(instance_id: str | None, expected: str) -> None:
    """A changed endpoint is enough; a static member's is not (4.4)."""
    driver = started()
    beat(driver, "A", 0, instance_id=instance_id)
    moved = {"user_endpoint": Endpoint("host", 9_000), "instance_id": instance_id}
    assert record_types(driver, lambda: beat(driver, "A", 2, **moved)) == expected


def test_a_topology_is_not_assigned_before_its_internal_topics_exist() -> None:
    """The answer names what the broker has to create; then the topics differ, and the next heartbeat bumps."""
    driver = started()
    joined = beat(driver, "A", 0, topology=KEEPS_STATE)
    assert (joined.active_tasks, joined.missing_internal_topics) == ((), (("store", 2),))
    driver.change_topics(Topics.of(2, foo=2, store=2))
    assert beat(driver, "A", 2).active_tasks == TASKS
    assert last_triggers(driver) == [Trigger.TOPICS_DIFFER]


@pytest.mark.parametrize(("dialect", "expected"), [(Dialect.R4_1, ""), (Dialect.R4_3, "17 20 22")])
def test_other_assignment_configurations_bump(dialect: Dialect, expected: str) -> None:
    """From 4.2 on; in 4.1 they take effect with the next epoch."""
    driver = started(dialect)
    epoch = beat(driver, "A", 0).member_epoch
    driver.config.group_overrides["g"] = {"streams.num.standby.replicas": 1}
    assert record_types(driver, lambda: beat(driver, "A", epoch)) == expected


@pytest.mark.parametrize("dialect", [Dialect.R4_1, Dialect.R4_3, Dialect.R4_4])
def test_a_departure_in_4_1_forgets_the_hash(dialect: Dialect) -> None:
    """It writes 0. After a fail-over the hash is computed again, differs, and bumps though no topic changed."""
    driver = started(dialect)
    beat(driver, "A", 0)
    beat(driver, "B", 0)
    beat(driver, "B", LEFT_EPOCH)
    beat(driver, "C", 0)
    forgets = dialect is Dialect.R4_1
    assert [each == 0 for each in hashes(driver)] == [False, False, forgets, forgets]
    driver.fail_over()
    number = len(driver.bumps)
    beat(driver, "A", 0)
    assert len(driver.bumps) == number + forgets
    if forgets:
        assert last_triggers(driver) == [Trigger.TOPICS_DIFFER]


@pytest.mark.parametrize(("dialect", "also"), [(Dialect.R4_3, ""), (Dialect.R4_4, " 20")])
def test_the_last_departure_moves_the_assignment_epoch_from_4_4_on(
    dialect: Dialect, also: str
) -> None:
    """So that the next member does not wait for the assignment interval."""
    driver = started(dialect)
    beat(driver, "A", 0)
    left = record_types(driver, lambda: beat(driver, "A", LEFT_EPOCH))
    assert left == f"22t 21t 19t 17{also}"


def test_a_static_member_returns_under_another_id() -> None:
    """Its tasks move with it, without an epoch: the process is the same."""
    driver = started()
    beat(driver, "A", 0, instance_id="i", process_id="p")
    assert (
        record_types(driver, lambda: beat(driver, "A", STATIC_LEAVE_EPOCH, instance_id="i")) == "22"
    )
    back = record_types(driver, lambda: beat(driver, "B", 0, instance_id="i", process_id="p"))
    assert back == "22t 21t 19t 19 21 22 19 22"
    assert len(driver.bumps) == 1


def test_refusals() -> None:
    """Other topologies, unknown members, epochs out of date, static members before 4.4, early releases."""
    assert beat(started(Dialect.R4_0), "A", 0).error_code is ErrorCode.UNSUPPORTED_VERSION
    static = beat(started(Dialect.R4_3), "A", 0, instance_id="i")
    assert static.error_code is ErrorCode.UNSUPPORTED_VERSION
    driver = started()
    beat(driver, "A", 0)
    other = beat(driver, "B", 0, topology=Topology(0, (Subtopology("0", ("bar",)),)))
    assert other.error_code is ErrorCode.INVALID_REQUEST
    assert beat(driver, "B", 1).error_code is ErrorCode.UNKNOWN_MEMBER_ID
    assert beat(driver, "A", 9).error_code is ErrorCode.FENCED_MEMBER_EPOCH
