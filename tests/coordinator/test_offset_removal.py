"""How offsets and groups are removed: OffsetDelete, deleted topics, expiry.

Retention is 7 days from the time that the cases name; the clean-up runs every 10 minutes.
"""

from typing import Any

import pytest

from rebalance_audit.coordinator.handling import ErrorCode
from rebalance_audit.coordinator.requests.offsets import (
    DeletedTopic,
    OffsetDeleteRequest,
    OffsetDeleteRequestTopic,
    TopicsDeleted,
    WriteTxnMarkerRequest,
)
from tests.coordinator.classic.stage import Stage
from tests.coordinator.test_offset_requests import commit, fetched, transactional
from tests.dsl import records
from tests.support.coordinator_driver import CoordinatorDriver

DAY_MS = 86_400_000
STABLE = ("join A topics=foo", "join A", "wait 3000", "sync A A=0-5")
CONSUMER_GROUP = "5 A topics=foo; 3 2; 7 A 0-5; 6 2; 8 A 2/0 STABLE 0-5"
REGEX_GROUP = "5 A topics= regex=f.*; 16 f.* foo; 3 2; 7 A 0-5; 6 2; 8 A 2/0 STABLE 0-5"


def written(stage: Stage, log_length: int) -> list[str]:
    """Records after that point of the log."""
    return [stage.record_text(record) for record in stage.driver.records_since(log_length)]


# --- OffsetDelete ------------------------------------------------------------------------------

DELETIONS: list[tuple[tuple[str, ...], str, str, list[str]]] = [
    # group            topic     answer                          records
    (("commit - foo:0=1",), "foo:0", "NONE", ["[1t] foo:0"]),
    (("commit - foo:0=1",), "foo:1", "NONE", []),
    (("commit - foo:0=1",), "nope:0", "UNKNOWN_TOPIC_OR_PARTITION", []),
    ((*STABLE, "commit A foo:0=1"), "foo:0", "GROUP_SUBSCRIBED_TO_TOPIC", []),
    ((*STABLE, "commit A bar:0=1"), "bar:0", "NONE", ["[1t] bar:0"]),
    ((*STABLE, "commit A foo:0=1", "leave A"), "foo:0", "NONE", ["[1t] foo:0"]),
    (("join A type=connect", "join A", "wait 3000"), "foo:0", "NON_EMPTY_GROUP", []),
    ((), "foo:0", "GROUP_ID_NOT_FOUND", []),
]


@pytest.mark.parametrize(("steps", "place", "expected", "records_expected"), DELETIONS)
def test_an_administrator_deletes_offsets(
    steps: tuple[str, ...], place: str, expected: str, records_expected: list[str]
) -> None:
    """Only for topics that the group does not consume; without an offset there is nothing to write."""
    stage = Stage()
    for step in steps:
        stage.play(step)
    log_length = len(stage.driver.log)
    assert _deleted(stage.driver, place) == expected
    assert written(stage, log_length) == records_expected


@pytest.mark.parametrize(
    ("group", "place", "expected"),
    [
        (CONSUMER_GROUP, "foo:0", "GROUP_SUBSCRIBED_TO_TOPIC"),
        (CONSUMER_GROUP, "bar:0", "NONE"),
        (REGEX_GROUP, "foo:0", "GROUP_SUBSCRIBED_TO_TOPIC"),
        (REGEX_GROUP, "bar:0", "NONE"),
    ],
)
def test_topics_of_a_consumer_group_keep_their_offsets(
    group: str, place: str, expected: str
) -> None:
    """Including topics that a resolved regular expression matches."""
    driver = CoordinatorDriver()
    driver.load(records(group))
    assert _deleted(driver, place) == expected


def _deleted(driver: CoordinatorDriver, place: str, group_id: str = "g") -> str:
    name, _, number = place.partition(":")
    topic = OffsetDeleteRequestTopic(name, (int(number),))
    response: Any = driver.ask(OffsetDeleteRequest(group_id, (topic,)))
    if response.error_code is not ErrorCode.NONE:
        assert not response.topics
        return str(response.error_code.name)
    return str(response.topics[0].partitions[0].error_code.name)


def test_a_deletion_needs_a_group_id() -> None:
    """The empty group id is refused."""
    assert _deleted(CoordinatorDriver(), "foo:0", "") == "INVALID_GROUP_ID"


def test_a_deletion_drops_pending_offsets_too() -> None:
    """A transaction that ends later restores nothing."""
    driver = CoordinatorDriver()
    driver.ask(transactional("foo:0=42"))
    assert _deleted(driver, "foo:0") == "NONE"
    driver.ask(WriteTxnMarkerRequest(7, 0, committed=True))
    assert fetched(driver) == []


# --- deleted topics ----------------------------------------------------------------------------


def test_offsets_of_a_deleted_topic_go() -> None:
    """Committed and pending ones of all groups, each once; those of a topic created again under the name stay."""
    stage = Stage()
    driver = stage.driver
    driver.ask(commit("foo:0=1", "bar:0=1"))
    driver.ask(commit("foo:1=1", group_id="other"))
    driver.ask(transactional("foo:0=2", "foo:5=2"))
    log_length = len(driver.log)
    old = DeletedTopic(b"foo".ljust(16, b"\1"), "foo")
    driver.send(TopicsDeleted((DeletedTopic(b"?" * 16, "bar"), old)))
    assert written(stage, log_length) == ["[1t] foo:0", "[1t] foo:5", "[1t] foo:1"]
    assert fetched(driver) == ["bar:0=1"]


# --- expiry ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("steps", "days", "expected"),
    [
        # A simple group: from the commit.
        (("commit - foo:0=1",), 7, ["[1t] foo:0", "[2t]"]),
        (("commit - foo:0=1",), 6, []),
        # All members have left: from then on, however old the commit.
        ((*STABLE, "commit A foo:0=1", "leave A"), 7, ["[1t] foo:0", "[2t]"]),
        ((*STABLE, "commit A foo:0=1", "leave A"), 6, []),
        # No offset was ever committed: at the next round.
        (("join A", "wait 60000"), 0, ["[2t]"]),
    ],
)
def test_an_empty_group_ends_with_its_last_offset(
    steps: tuple[str, ...], days: int, expected: list[str]
) -> None:
    """Expired offsets are removed, and with the last of them the group."""
    stage = Stage()
    for step in steps:
        stage.play(step)
    log_length = len(stage.driver.log)
    stage.play(f"wait {days * DAY_MS + 600_000}")
    assert written(stage, log_length) == expected
    assert (stage.driver.group() is None) == bool(expected)


def test_retention_counts_from_the_departure_of_the_last_member() -> None:
    """However old the commit is; a fail-over does not change that."""
    stage = Stage()
    for step in ("join A@i1 session=1800000", "wait 3000", "sync A A=0-5", "commit A foo:0=1"):
        stage.play(step)
    stage.play("wait 1500000")
    stage.play("leave A")
    stage.play("failover")
    stage.play(f"wait {7 * DAY_MS - 1}")
    assert fetched(stage.driver) == ["foo:0=1"]
    stage.play("wait 600000")
    assert fetched(stage.driver) == []


@pytest.mark.parametrize(
    ("last_step", "expected"),
    [("beat A", ["[1t] bar:0"]), ("join A", [])],
)
def test_offsets_of_a_group_with_members(last_step: str, expected: list[str]) -> None:
    """What a stable group consumes never expires, the rest does; during a rebalance nothing does."""
    stage = Stage()
    for step in ("join A@i1 session=1800000 rebalance=1800000", "wait 3000", "sync A A=0-5"):
        stage.play(step)
    stage.play("join B@i2 session=1800000 rebalance=1800000")
    stage.play("join A")
    stage.play("sync A A=0-2 B=3-5")
    stage.play("sync B")
    stage.play("commit A foo:0=1 bar:0=1")
    log_length = len(stage.driver.log)
    for _ in range(403):
        for step in ("wait 1500000", "beat A", "beat B"):
            stage.play(step)
    stage.play(last_step)
    assert written(stage, log_length) == []
    assert stage.driver.now_ms == 604_504_000
    # The offsets are 7 days old at 604 804 000; the next clean-up is at 605 401 000.
    stage.play("wait 897000")
    assert written(stage, log_length) == expected


def test_a_commit_with_its_own_expiry_goes_by_that() -> None:
    """Old clients say how long to keep an offset."""
    driver = CoordinatorDriver()
    driver.ask(commit("foo:0=1", retention_time_ms=1_000))
    driver.ask(commit("foo:1=1", retention_time_ms=30 * DAY_MS))
    driver.sleep(600_000)
    assert fetched(driver) == ["foo:1=1"]
    driver.sleep(30 * DAY_MS)
    assert fetched(driver) == []
    assert driver.group() is None


def test_an_open_transaction_keeps_offset_and_group() -> None:
    """What the transaction may replace is not removed before it ends."""
    driver = CoordinatorDriver()
    driver.ask(commit("foo:0=1"))
    driver.ask(transactional("foo:0=2"))
    driver.sleep(8 * DAY_MS)
    assert fetched(driver) == ["foo:0=1"]
    driver.ask(WriteTxnMarkerRequest(7, 0, committed=False))
    driver.sleep(600_000)
    assert driver.group() is None


def test_an_expired_consumer_group_ends_in_the_order_that_replay_demands() -> None:
    """Target metadata, expressions, topic metadata, epoch; a group with members stays."""
    stage = Stage()
    stage.driver.load(records("3 4; 6 4; 16 f.* foo; 1 foo:0 42 at=1000"))
    log_length = len(stage.driver.log)
    stage.driver.sleep(7 * DAY_MS + 600_000)
    assert written(stage, log_length) == ["[1t] foo:0", "[6t]", "[16t]", "[4t]", "[3t]"]
    assert stage.driver.group() is None


def test_the_clean_up_is_no_atomic_write() -> None:
    """Batches may end between its records: each of them is valid alone."""
    driver = CoordinatorDriver()
    driver.ask(commit("foo:0=1"))
    (timer,) = driver.deadlines
    result = driver.coordinator.fire(timer, 8 * DAY_MS)
    assert result.records
    assert not result.atomic
