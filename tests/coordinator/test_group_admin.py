"""ListGroups, DescribeGroups, DeleteGroups."""

from typing import Any

import pytest

from rebalance_audit.coordinator.handling import CoordinatorConfig, ErrorCode
from rebalance_audit.coordinator.requests.admin import (
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    ListGroupsRequest,
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


def listed(stage: Stage, **filters: tuple[str, ...]) -> list[str]:
    """The list as `id type state protocol-type`."""
    response: Any = stage.driver.ask(ListGroupsRequest(**filters))
    assert response.error_code is ErrorCode.NONE
    return [
        f"{each.group_id} {each.group_type} {each.group_state} {each.protocol_type or '-'}"
        for each in response.groups
    ]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, ["g Classic PreparingRebalance consumer", "simple Classic Empty -"]),
        ({"states_filter": ("empty",)}, ["simple Classic Empty -"]),
        (
            {"states_filter": ("PreparingRebalance", "stable")},
            ["g Classic PreparingRebalance consumer"],
        ),
        ({"states_filter": ("Reconciling",)}, []),
        (
            {"types_filter": ("CLASSIC",)},
            ["g Classic PreparingRebalance consumer", "simple Classic Empty -"],
        ),
        ({"types_filter": ("consumer",)}, []),
        ({"types_filter": ("classic",), "states_filter": ("Empty",)}, ["simple Classic Empty -"]),
    ],
)
def test_list_of_classic_groups(filters: dict[str, tuple[str, ...]], expected: list[str]) -> None:
    """Groups with their current state; filters ignore case, and both must match."""
    stage = staged("join A", "join A")
    stage.driver.ask(commit("foo:0=1", group_id="simple"))
    assert listed(stage, **filters) == expected


def test_list_of_a_consumer_group() -> None:
    """It is listed with its derived state."""
    stage = Stage()
    stage.driver.load(records(CONSUMER_GROUP))
    assert listed(stage) == ["g Consumer Stable consumer"]
    assert listed(stage, types_filter=("Classic",)) == []


def test_a_group_without_a_record_is_listed() -> None:
    """A coordinator that does not record the creation of groups knows its groups all the same."""
    stage = Stage(CoordinatorConfig(classic_creation_recorded=False))
    stage.play("join A")
    assert listed(stage) == ["g Classic Empty -"]


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (("join A", "join A"), "PreparingRebalance/- A:no assignment,no metadata"),
        (("join A", "join A", "wait 3000"), "CompletingRebalance/- A:no assignment,no metadata"),
        (STABLE, "Stable/range A:assignment,metadata"),
        ((*STABLE, "leave A"), "Empty/-"),
        (("commit - foo:0=1",), "Empty/-"),
    ],
)
def test_description_of_a_classic_group(steps: tuple[str, ...], expected: str) -> None:
    """Members are described in every phase; the protocol and their metadata only in a stable group."""
    stage = staged(*steps)
    response: Any = stage.driver.ask(DescribeGroupsRequest(("g",)))
    (group,) = response.groups
    assert group.error_code is ErrorCode.NONE
    members = [
        f"{member.client_id}:{'' if member.member_assignment else 'no '}assignment,"
        f"{'' if member.member_metadata else 'no '}metadata"
        for member in group.members
    ]
    assert " ".join([f"{group.group_state}/{group.protocol_data or '-'}", *members]) == expected


@pytest.mark.parametrize(
    ("api_version", "expected"), [(6, ErrorCode.GROUP_ID_NOT_FOUND), (5, ErrorCode.NONE)]
)
def test_description_of_what_is_no_classic_group(api_version: int, expected: ErrorCode) -> None:
    """A group that does not exist or has another type is Dead; from version 6 on that is an error."""
    stage = Stage()
    stage.driver.load(records(CONSUMER_GROUP))
    response: Any = stage.driver.ask(DescribeGroupsRequest(("g", "missing"), api_version))
    assert [(group.group_state, group.error_code) for group in response.groups] == [
        ("Dead", expected),
        ("Dead", expected),
    ]


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
