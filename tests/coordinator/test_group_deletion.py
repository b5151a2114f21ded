"""DeleteGroups."""

from typing import Any

import pytest

from rebalance_audit.coordinator.handling import ErrorCode
from rebalance_audit.coordinator.requests.offsets import (
    DeleteGroupsRequest,
)
from tests.coordinator.classic.stage import Stage
from tests.coordinator.test_offset_requests import commit, transactional
from tests.dsl import records

STABLE = ("join A", "join A", "wait 3000", "sync A A=0-5")
CONSUMER_GROUP = "5 A topics=foo; 3 2; 7 A 0-5; 6 2; 8 A 2/0 STABLE 0-5"


def staged(*steps: str) -> Stage:
    """A stage after these steps."""
    stage = Stage()
    for step in steps:
        stage.play(step)
    return stage


DELETIONS: list[tuple[tuple[str, ...], str, list[str]]] = [
    ((), "GROUP_ID_NOT_FOUND", []),
    (("join A", "join A"), "NON_EMPTY_GROUP", []),
    (("join A", "join A", "wait 3000"), "NON_EMPTY_GROUP", []),
    (STABLE, "NON_EMPTY_GROUP", []),
    ((*STABLE, "leave A"), "NONE", ["[2t]"]),
    ((*STABLE, "commit A foo:0=1", "leave A"), "NONE", ["[1t] foo:0", "[2t]"]),
    (("commit - foo:0=1",), "NONE", ["[1t] foo:0", "[2t]"]),
    (("join A",), "NONE", ["[2t]"]),
]


@pytest.mark.parametrize(("steps", "expected", "records_expected"), DELETIONS)
def test_deletion_of_a_group(
    steps: tuple[str, ...], expected: str, records_expected: list[str]
) -> None:
    """A group without members is deleted with its offsets in one write."""
    stage = staged(*steps)
    log_length = len(stage.driver.log)
    response: Any = stage.driver.ask(DeleteGroupsRequest(("g",)))
    assert [(each.group_id, each.error_code.name) for each in response.results] == [("g", expected)]
    written = [stage.record_text(record) for record in stage.driver.records_since(log_length)]
    assert written == records_expected
    assert (stage.driver.group() is None) == (expected != "NON_EMPTY_GROUP")
    stage.check_invariants()


def test_deletion_of_a_pending_members_group() -> None:
    """The group may be deleted between the two JoinGroups; the member has to start again."""
    stage = staged("join A")
    stage.driver.ask(DeleteGroupsRequest(("g",)))
    assert [timer.kind.name for timer in stage.driver.deadlines] == ["EXPIRY"]


def test_deletion_drops_pending_offsets_too() -> None:
    """One tombstone per partition, whether its offset is committed, pending or both."""
    stage = Stage()
    stage.driver.ask(commit("foo:0=1"))
    stage.driver.ask(transactional("foo:0=2", "foo:1=2"))
    log_length = len(stage.driver.log)
    stage.driver.ask(DeleteGroupsRequest(("g",)))
    written = [stage.record_text(record) for record in stage.driver.records_since(log_length)]
    assert written == ["[1t] foo:0", "[1t] foo:1", "[2t]"]


def test_deletion_of_consumer_groups() -> None:
    """With members it stays; without members it is deleted in the order that replay requires."""
    stage = Stage()
    stage.driver.load(records(CONSUMER_GROUP))
    response: Any = stage.driver.ask(DeleteGroupsRequest(("g",)))
    assert response.results[0].error_code is ErrorCode.NON_EMPTY_GROUP
    stage.driver.load(records("8t A; 7t A; 5t A; 3 3"))
    log_length = len(stage.driver.log)
    response = stage.driver.ask(DeleteGroupsRequest(("g", "g", "missing")))
    assert [each.error_code.name for each in response.results] == ["NONE", "GROUP_ID_NOT_FOUND"]
    written = [stage.record_text(record) for record in stage.driver.records_since(log_length)]
    assert written == ["[6t]", "[4t]", "[3t]"]


def test_an_empty_consumer_group_becomes_classic_with_the_first_classic_join() -> None:
    """The tombstones of the old group and the record of the new one are one write."""
    stage = Stage()
    stage.driver.load(records("5 A; 3 2; 6 2; 8 A 2/0 STABLE -; 8t A; 5t A; 3 3; 6 3"))
    assert stage.play("join B") == "join B | B=B | [6t]; [4t]; [3t]; [2] 0 empty @1000"
    stage.play("join B")
    stage.play("wait 3000")
    assert stage.play("sync B B=0-5").endswith("[2] 1 range B: B=0-5 @4000")
