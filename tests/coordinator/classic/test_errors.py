"""Every error code of the classic requests, provoked: which request to which group gets which code."""

from typing import Any

import pytest

from rebalance_audit.coordinator.handling import CoordinatorConfig, ErrorCode
from rebalance_audit.coordinator.requests.classic import (
    HeartbeatRequest,
    JoinGroupProtocol,
    JoinGroupRequest,
    LeaveGroupRequest,
    MemberIdentity,
    SyncGroupRequest,
)
from tests.coordinator.classic.stage import Stage

RANGE = (JoinGroupProtocol("range", b"\0\0"),)
STABLE = ("join A@i1", "wait 3000", "sync A A=0-5")
JOINING = (*STABLE, "join B topics=bar", "join B topics=bar")
NO_MEMBER: tuple[str, ...] = ()


def join(member_id: str = "", **fields: Any) -> JoinGroupRequest:
    """A JoinGroup of the newest version, valid but for the given fields."""
    request = JoinGroupRequest("g", 45_000, 300_000, member_id, "consumer", RANGE)
    return request._replace(**fields)


CASES: list[tuple[tuple[str, ...], tuple[object, ...], ErrorCode]] = [
    # JoinGroup
    (NO_MEMBER, join(), ErrorCode.MEMBER_ID_REQUIRED),
    (NO_MEMBER, join("x"), ErrorCode.UNKNOWN_MEMBER_ID),
    (NO_MEMBER, join(group_id=""), ErrorCode.INVALID_GROUP_ID),
    (NO_MEMBER, join(session_timeout_ms=5_999), ErrorCode.INVALID_SESSION_TIMEOUT),
    (NO_MEMBER, join(session_timeout_ms=1_800_001), ErrorCode.INVALID_SESSION_TIMEOUT),
    (NO_MEMBER, join(protocol_type=""), ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    (NO_MEMBER, join(protocols=()), ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    (STABLE, join("x"), ErrorCode.UNKNOWN_MEMBER_ID),
    (STABLE, join("x", group_instance_id="i1"), ErrorCode.FENCED_INSTANCE_ID),
    (STABLE, join("x", group_instance_id="i2"), ErrorCode.UNKNOWN_MEMBER_ID),
    (STABLE, join(protocol_type="connect"), ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    (
        STABLE,
        join(protocols=(JoinGroupProtocol("sticky", b""),)),
        ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
    ),
    ((*STABLE, "join B@i2", "join A"), join(), ErrorCode.GROUP_MAX_SIZE_REACHED),
    # SyncGroup
    (NO_MEMBER, SyncGroupRequest("", 1, "x"), ErrorCode.INVALID_GROUP_ID),
    (NO_MEMBER, SyncGroupRequest("g", 1, "x"), ErrorCode.UNKNOWN_MEMBER_ID),
    (STABLE, SyncGroupRequest("g", 1, "x"), ErrorCode.UNKNOWN_MEMBER_ID),
    (STABLE, SyncGroupRequest("g", 1, "x", "i1"), ErrorCode.FENCED_INSTANCE_ID),
    (STABLE, SyncGroupRequest("g", 2, "A"), ErrorCode.ILLEGAL_GENERATION),
    (STABLE, SyncGroupRequest("g", 1, "A", None, "connect"), ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    (
        STABLE,
        SyncGroupRequest("g", 1, "A", None, "consumer", "sticky"),
        ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
    ),
    (JOINING, SyncGroupRequest("g", 1, "A"), ErrorCode.REBALANCE_IN_PROGRESS),
    # Heartbeat
    (NO_MEMBER, HeartbeatRequest("", 1, "x"), ErrorCode.INVALID_GROUP_ID),
    (NO_MEMBER, HeartbeatRequest("g", 1, "x"), ErrorCode.UNKNOWN_MEMBER_ID),
    (STABLE, HeartbeatRequest("g", 1, "x"), ErrorCode.UNKNOWN_MEMBER_ID),
    (STABLE, HeartbeatRequest("g", 1, "x", "i1"), ErrorCode.FENCED_INSTANCE_ID),
    (STABLE, HeartbeatRequest("g", 0, "A"), ErrorCode.ILLEGAL_GENERATION),
    (JOINING, HeartbeatRequest("g", 1, "A"), ErrorCode.REBALANCE_IN_PROGRESS),
    # LeaveGroup; before version 3 the member's error is the response's
    (NO_MEMBER, LeaveGroupRequest("", ()), ErrorCode.INVALID_GROUP_ID),
    (NO_MEMBER, LeaveGroupRequest("g", (MemberIdentity("x"),), 2), ErrorCode.UNKNOWN_MEMBER_ID),
    (STABLE, LeaveGroupRequest("g", (MemberIdentity("x"),), 2), ErrorCode.UNKNOWN_MEMBER_ID),
]


@pytest.mark.parametrize(("steps", "request_sent", "expected"), CASES)
def test_refused_requests(steps: tuple[str, ...], request_sent: Any, expected: ErrorCode) -> None:
    """The group does not exist, is stable with member A (instance i1, generation 1), or is joining because of B."""
    stage = Stage(CoordinatorConfig(group_max_size=2))
    for step in steps:
        stage.play(step)
    if getattr(request_sent, "member_id", "") == "A":
        request_sent = request_sent._replace(member_id=stage.clients["A"].member_id)
    log_length = len(stage.driver.log)
    response: Any = stage.driver.ask(request_sent)
    assert response.error_code is expected
    # A refused request writes nothing, but the first request for a group creates it.
    creates = steps == NO_MEMBER and isinstance(request_sent, JoinGroupRequest)
    written = len(stage.driver.log) - log_length
    assert written == (creates and not request_sent.member_id and _is_valid(request_sent))


def _is_valid(request: JoinGroupRequest) -> bool:
    return bool(request.group_id) and 6_000 <= request.session_timeout_ms <= 1_800_000


LEAVES: list[tuple[MemberIdentity, ErrorCode]] = [
    (MemberIdentity("", None), ErrorCode.UNKNOWN_MEMBER_ID),
    (MemberIdentity("", "i9"), ErrorCode.UNKNOWN_MEMBER_ID),
    (MemberIdentity("x", None), ErrorCode.UNKNOWN_MEMBER_ID),
    (MemberIdentity("x", "i9"), ErrorCode.UNKNOWN_MEMBER_ID),
    (MemberIdentity("x", "i1"), ErrorCode.FENCED_INSTANCE_ID),
    (MemberIdentity("A", "i1"), ErrorCode.NONE),
    (MemberIdentity("A", None), ErrorCode.NONE),
    (MemberIdentity("", "i1"), ErrorCode.NONE),
]


@pytest.mark.parametrize(("identity", "expected"), LEAVES)
def test_who_can_leave(identity: MemberIdentity, expected: ErrorCode) -> None:
    """Each member of a LeaveGroup has its own error; a given member id must hold a given instance id."""
    stage = Stage()
    for step in STABLE:
        stage.play(step)
    if identity.member_id == "A":
        identity = identity._replace(member_id=stage.clients["A"].member_id)
    response: Any = stage.driver.ask(LeaveGroupRequest("g", (identity,)))
    assert response.error_code is ErrorCode.NONE
    assert [member.error_code for member in response.members] == [expected]


def test_a_batch_of_empty_identities_is_unknown() -> None:
    """An administrator's request without any id is refused for each member, and no member leaves."""
    stage = Stage()
    for step in STABLE:
        stage.play(step)
    response: Any = stage.driver.ask(LeaveGroupRequest("g", (MemberIdentity(), MemberIdentity())))
    assert [member.error_code for member in response.members] == [ErrorCode.UNKNOWN_MEMBER_ID] * 2
    live = stage.live()
    assert live is not None
    assert list(live.members) == [stage.clients["A"].member_id]


def test_one_retry_takes_the_place_of_the_other() -> None:
    """A client that repeats its parked JoinGroup gets one answer, to the last request."""
    stage = Stage()
    first: Any = stage.driver.ask(join())
    tokens = [stage.driver.send(join(first.member_id)) for _ in range(3)]
    stage.driver.sleep(3_000)
    assert [token in stage.driver.replies for token in tokens] == [False, False, True]
