"""Share groups (KIP-932): which records a heartbeat writes, what bumps, and why."""

from typing import Any

import pytest

from rebalance_audit.coordinator.handling import CoordinatorConfig, Dialect, ErrorCode
from rebalance_audit.coordinator.reasons import Trigger
from rebalance_audit.coordinator.requests.share import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)
from rebalance_audit.replay.groups import LEFT_EPOCH, ModernGroup
from tests.support.coordinator_driver import CoordinatorDriver, Topics
from tests.support.written import record_types

SINCE_4_1 = [Dialect.R4_1, Dialect.R4_3, Dialect.R4_4]
INITIALISATION_MS = 50


def started(dialect: Dialect = Dialect.R4_4, **settings: Any) -> CoordinatorDriver:
    """A coordinator with one topic of two partitions, and targets that need not wait."""
    config = CoordinatorConfig(dialect=dialect, consumer_assignment_interval_ms=0, **settings)
    return CoordinatorDriver(config, Topics.of(foo=2))


def beat(
    driver: CoordinatorDriver, member_id: str, epoch: int, *topics: str
) -> ShareGroupHeartbeatResponse:
    """Send a heartbeat, with topics as a full one."""
    request = ShareGroupHeartbeatRequest(
        "g", member_id, epoch, subscribed_topic_names=topics or None, client_id=member_id
    )
    response = driver.ask(request)
    assert isinstance(response, ShareGroupHeartbeatResponse)
    return response


def triggers(driver: CoordinatorDriver) -> list[tuple[int, list[str]]]:
    """Every epoch with the conditions that began it."""
    return [
        (bump.epoch, [reason.trigger.value for reason in bump.reasons]) for bump in driver.bumps
    ]


@pytest.mark.parametrize(("dialect", "first_epoch"), [(Dialect.R4_1, 1), (Dialect.R4_4, 2)])
def test_partitions_are_assigned_once_they_are_initialised(
    dialect: Dialect, first_epoch: int
) -> None:
    """The first target is empty; the next heartbeat after the initialisation bumps for it alone."""
    driver = started(dialect)
    joined = beat(driver, "A", 0, "foo")
    assert record_types(driver) == "10 11 13 12 14 15"
    assert (joined.member_epoch, joined.assignment) == (first_epoch, ())
    assert record_types(driver, lambda: driver.sleep(INITIALISATION_MS)) == "15"
    assert record_types(driver, lambda: beat(driver, "A", first_epoch)) == "11 13 12 14"
    assert triggers(driver)[-1] == (first_epoch + 1, [Trigger.SHARE_PARTITIONS_PENDING])
    (assigned,) = beat(driver, "A", first_epoch + 1, "foo").assignment or ()
    assert assigned.partitions == (0, 1)


def test_members_share_partitions() -> None:
    """Three members of a topic with two partitions: none waits for another."""
    driver = started()
    for member_id in "ABC":
        beat(driver, member_id, 0, "foo")
    driver.sleep(INITIALISATION_MS)
    for _ in range(2):
        for member_id in "ABC":
            group = driver.group()
            assert isinstance(group, ModernGroup)
            beat(driver, member_id, group.members[member_id].member_epoch)
    assert isinstance(group, ModernGroup)
    assert sorted(
        number for each in group.members.values() for n in each.assigned.values() for number in n
    ) == [0, 0, 1]
    assert not group.unconverged


def test_an_identical_rejoin_bumps_nothing() -> None:
    """A known member comes with epoch 0 and the same subscription."""
    driver = started()
    beat(driver, "A", 0, "foo")
    assert record_types(driver, lambda: beat(driver, "A", 0, "foo")) == ""


@pytest.mark.parametrize("dialect", SINCE_4_1)
def test_the_last_departure(dialect: Dialect) -> None:
    """From 4.4 on the assignment epoch follows when no member is left."""
    driver = started(dialect)
    beat(driver, "A", 0, "foo")
    expected = "14t 13t 10t 11 12" if dialect is Dialect.R4_4 else "14t 13t 10t 11"
    assert record_types(driver, lambda: beat(driver, "A", LEFT_EPOCH)) == expected
    assert triggers(driver)[-1][1] == [Trigger.MEMBER_LEFT, Trigger.GROUP_EMPTIED]


def test_a_departure_in_4_1_bumps_again_for_the_partitions_that_it_freed() -> None:
    """That release looks at the targets even while the next one is pending; 4.3 does not."""
    for dialect, expected in ((Dialect.R4_1, ["share_partitions_pending"]), (Dialect.R4_3, [])):
        driver = started(dialect)
        beat(driver, "A", 0, "foo")
        beat(driver, "B", 0, "foo")
        driver.sleep(INITIALISATION_MS)
        beat(driver, "B", 0)
        beat(driver, "A", LEFT_EPOCH)
        number = len(driver.bumps)
        beat(driver, "B", 0)
        assert [why for _, each in triggers(driver)[number:] for why in each] == expected


def test_a_deleted_topic_leaves_the_state_at_once() -> None:
    """The next heartbeat bumps because the topics differ."""
    driver = started()
    driver.change_topics(Topics.of(1, foo=2, bar=1))
    beat(driver, "A", 0, "foo", "bar")
    driver.sleep(INITIALISATION_MS)
    assert record_types(driver, lambda: driver.change_topics(Topics.of(2, foo=2))) == "15"
    beat(driver, "A", 2)
    assert triggers(driver)[-1][1] == [Trigger.SHARE_PARTITIONS_PENDING, Trigger.TOPICS_DIFFER]


def test_a_fail_over_forgets_what_was_asked_for_and_asks_again_after_a_while() -> None:
    """The log has the partitions that are being initialised; the answer is lost with the broker."""
    driver = started(share_retry_interval_ms=30_000)
    beat(driver, "A", 0, "foo")
    driver.fail_over()
    assert record_types(driver, lambda: beat(driver, "A", 0)) == ""
    driver.sleep(30_000)
    assert record_types(driver, lambda: beat(driver, "A", 0)) == "15"
    assert record_types(driver, lambda: driver.sleep(INITIALISATION_MS)) == "15"


def test_refusals() -> None:
    """Unknown groups and members, epochs out of date, releases without share groups."""
    assert beat(started(Dialect.R4_0), "A", 0, "foo").error_code is ErrorCode.UNSUPPORTED_VERSION
    driver = started()
    assert beat(driver, "A", 1).error_code is ErrorCode.GROUP_ID_NOT_FOUND
    beat(driver, "A", 0, "foo")
    assert beat(driver, "B", 1).error_code is ErrorCode.UNKNOWN_MEMBER_ID
    assert beat(driver, "A", 9).error_code is ErrorCode.FENCED_MEMBER_EPOCH


def test_a_silent_member_is_fenced() -> None:
    """After its session."""
    driver = started()
    beat(driver, "A", 0, "foo")
    driver.sleep(driver.config.consumer_session_timeout_ms)
    assert triggers(driver)[-1][1] == [Trigger.SESSION_ENDED, Trigger.GROUP_EMPTIED]
