"""Mistakes for the handlers of classic groups; tests/sim/test_planted_bugs.py has others."""

from collections.abc import Sequence
from typing import Any, Final

import pytest

from rebalance_audit.coordinator.classic import joining, membership
from rebalance_audit.coordinator.classic.live_group import NO_ASSIGNMENT, LiveGroup
from rebalance_audit.coordinator.classic.rebalance import ClassicWork
from rebalance_audit.coordinator.classic.states import ClassicState
from rebalance_audit.coordinator.handling import ErrorCode
from tests.spec.handler_mistakes import Patch


def no_sync_is_owed(patch: pytest.MonkeyPatch) -> None:
    """Who never sends SyncGroup stays."""
    patch.setattr(ClassicWork, "sync_time_is_up", lambda *_: None)


def the_leader_stays(patch: pytest.MonkeyPatch) -> None:
    """Whether it has joined or not."""
    patch.setattr(LiveGroup, "elect_joined_leader", lambda live: bool(live.parked_joins))


def every_generation_may_sync(patch: pytest.MonkeyPatch) -> None:
    """A SyncGroup's generation is not checked."""

    def error(live: LiveGroup, request: Any) -> ErrorCode:
        if live.state is ClassicState.PREPARING_REBALANCE:
            return ErrorCode.REBALANCE_IN_PROGRESS
        return live.member_error(request.member_id, request.group_instance_id)

    patch.setattr(membership, "_sync_error", error)


def ignores_pending_members(patch: pytest.MonkeyPatch) -> None:
    """A join phase ends although an id was given out that has not joined."""
    patch.setattr(LiveGroup, "all_joined", lambda live: len(live.parked_joins) == len(live.members))


def heartbeats_fail_in_the_sync_phase(patch: pytest.MonkeyPatch) -> None:
    """As the text has it, and not Kafka."""
    error = ErrorCode.REBALANCE_IN_PROGRESS
    changed = {**membership.ALIVE_ANSWERS, ClassicState.COMPLETING_REBALANCE: error}
    patch.setattr(membership, "ALIVE_ANSWERS", changed)


def any_member_may_use_an_instance(patch: pytest.MonkeyPatch) -> None:
    """An instance id may come with any member id that is known."""

    def error(live: LiveGroup, member_id: str, _: str | None) -> ErrorCode:
        return ErrorCode.NONE if member_id in live.members else ErrorCode.UNKNOWN_MEMBER_ID

    patch.setattr(LiveGroup, "member_error", error)


def a_return_is_not_recorded(patch: pytest.MonkeyPatch) -> None:
    """After a fail-over the group has the old member id."""
    gives_back = joining._give_back

    def give_back(work: ClassicWork, *arguments: Any) -> None:
        gives_back(work, *arguments)
        work.records.pop()

    patch.setattr(joining, "_give_back", give_back)


def who_returns_has_nothing(patch: pytest.MonkeyPatch) -> None:
    """A static member that is back loses its assignment."""
    replaces = LiveGroup.replace_static

    def replace_static(live: LiveGroup, *ids: str) -> Any:
        member = replaces(live, *ids)
        member.assignment = NO_ASSIGNMENT
        return member

    patch.setattr(LiveGroup, "replace_static", replace_static)


def a_leader_that_joins_again_changes_nothing(patch: pytest.MonkeyPatch) -> None:
    """It is taken for a follower."""
    changed = {**joining._REJOIN_COUNTS, ClassicState.STABLE: joining._is_changed}
    patch.setattr(joining, "_REJOIN_COUNTS", changed)


def who_waits_must_send_heartbeats(patch: pytest.MonkeyPatch) -> None:
    """Members are removed while their requests wait for an answer."""
    ends = membership.session_ended

    def session_ended(work: ClassicWork, kind: Any, member_id: str) -> None:
        if member_id in work.live.members:
            work.live.members[member_id].is_new = True
        ends(work, kind, member_id)

    patch.setattr(membership, "session_ended", session_ended)


CLASSIC_HANDLER_MISTAKES: Final[Sequence[Patch]] = (
    no_sync_is_owed,
    the_leader_stays,
    every_generation_may_sync,
    ignores_pending_members,
    heartbeats_fail_in_the_sync_phase,
    any_member_may_use_an_instance,
    a_return_is_not_recorded,
    who_returns_has_nothing,
    a_leader_that_joins_again_changes_nothing,
    who_waits_must_send_heartbeats,
)
