"""Mistakes for the handlers of consumer groups; tests/sim/test_planted_bugs.py has others."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

import pytest

from rebalance_audit.coordinator import offset_commits
from rebalance_audit.coordinator.consumer import (
    departure,
    handlers,
    heartbeat,
    reconciliation,
)
from rebalance_audit.coordinator.consumer.handlers import ConsumerHandlers
from rebalance_audit.coordinator.consumer.release import RELEASES
from rebalance_audit.coordinator.consumer.work import Work
from rebalance_audit.coordinator.handling import Result, TimerKind

Patch = Callable[[pytest.MonkeyPatch], None]


def any_epoch_is_accepted(patch: pytest.MonkeyPatch) -> None:
    """No member is fenced."""
    patch.setattr(heartbeat, "_require_epoch", lambda *_: None)


def a_lost_answer_fences(patch: pytest.MonkeyPatch) -> None:
    """The previous epoch is never accepted."""
    require = heartbeat._require_epoch

    def required(work: Work, member: Any, request: Any) -> None:
        require(work, replace(member, previous_member_epoch=-1), request)

    patch.setattr(heartbeat, "_require_epoch", required)


def a_known_member_cannot_join_again(patch: pytest.MonkeyPatch) -> None:
    """Epoch 0 is fenced in every release."""
    _change_releases(patch, zero_epoch_rejoins=False)


def a_static_member_that_goes_keeps_what_it_revokes(patch: pytest.MonkeyPatch) -> None:
    """The record of a temporary leave still has partitions to be revoked."""

    def leave(work: Work, member: Any) -> None:
        work.records.append(
            work.drafts.current(replace(member, member_epoch=-2, assignment_epochs={}))
        )

    patch.setattr(handlers, "leave_for_a_while", leave)


def who_returns_has_no_target(patch: pytest.MonkeyPatch) -> None:
    """A static member that returns is recorded without its predecessor's target."""
    replaced = departure.replace_member

    def replace_member(work: Work, old: Any, new_member_id: str) -> Any:
        new = replaced(work, old, new_member_id)
        work.records[-2] = work.drafts.target(new_member_id, {})
        return new

    patch.setattr(heartbeat, "replace_member", replace_member)


def the_previous_epoch_stays(patch: pytest.MonkeyPatch) -> None:
    """It moves only when the member's epoch does."""
    moved = reconciliation._moved

    def move(member: Any, *arguments: Any, **named: Any) -> Any:
        after = moved(member, *arguments, **named)
        if after.member_epoch == member.member_epoch:
            return replace(after, previous_member_epoch=member.previous_member_epoch)
        return after

    patch.setattr(reconciliation, "_moved", move)


def no_member_steps_while_revoking(patch: pytest.MonkeyPatch) -> None:
    """The mistake that the handlers had for releases up to 4.1."""
    _change_releases(patch, steps_while_revoking=False)


def a_rebalance_timer_runs_on(patch: pytest.MonkeyPatch) -> None:
    """It is not disarmed when the member has given its partitions up."""

    def watch(work: Work, member: Any) -> None:
        if member.member_state == "UNREVOKED":
            watched(work, member)

    watched = Work.watch_revocation
    patch.setattr(Work, "watch_revocation", watch)


def every_older_epoch_may_commit(patch: pytest.MonkeyPatch) -> None:
    """Whatever the epoch at which the partition was assigned."""
    patch.setattr(offset_commits, "_held_since", lambda *_: True)


def a_timeout_forgets_the_epoch(patch: pytest.MonkeyPatch) -> None:
    """Who left the epoch in which its rebalance timeout began is removed all the same."""
    time_is_up = ConsumerHandlers._revocation_time_is_up

    def up(self: ConsumerHandlers, work: Work, member: Any) -> None:
        work.soft.revoking_epochs[member.member_id] = member.member_epoch
        time_is_up(self, work, member)

    patch.setattr(ConsumerHandlers, "_revocation_time_is_up", up)


def targets_do_not_wait(patch: pytest.MonkeyPatch) -> None:
    """The assignment interval is not kept."""
    patch.setattr(Work, "may_compute", lambda _: True)


def duplicates_of_an_instance_go_on(patch: pytest.MonkeyPatch) -> None:
    """An instance id may come with any member id that is known."""
    patch.setattr(Work, "instance_holder", lambda self, _, member_id: self.member(member_id))


def a_fail_over_forgets_revocations(patch: pytest.MonkeyPatch) -> None:
    """After a load no rebalance timeout runs."""
    loads = ConsumerHandlers.loaded

    def loaded(self: ConsumerHandlers, now_ms: int) -> Result:
        result = loads(self, now_ms)
        kept = (each for each in result.timers if each.timer.kind is not TimerKind.REBALANCE)
        return replace(result, timers=tuple(kept))

    patch.setattr(ConsumerHandlers, "loaded", loaded)


def an_emptied_group_keeps_its_target_epoch(patch: pytest.MonkeyPatch) -> None:
    """As before 4.4."""
    _change_releases(patch, emptied_group_has_target=False)


def a_joining_member_gets_no_assignment(patch: pytest.MonkeyPatch) -> None:
    """A JoinGroup that changes nothing is answered without the assignment."""
    original = heartbeat.response_to

    def respond(work: Work, request: Any, before: Any, after: Any, **named: Any) -> Any:
        response = original(work, request, before, after, **named)
        changed = after.assigned != before.assigned
        return response if changed else response._replace(assignment=None)

    patch.setattr(handlers, "response_to", respond)


def _change_releases(patch: pytest.MonkeyPatch, **fields: bool) -> None:
    changed = MappingProxyType({name: each._replace(**fields) for name, each in RELEASES.items()})
    for module in ("consumer.modern", "consumer.handlers", "offset_commits"):
        path = f"rebalance_audit.coordinator.{module}.RELEASES"
        patch.setattr(path, changed, raising=False)


HANDLER_MISTAKES: Final[Sequence[Patch]] = (
    any_epoch_is_accepted,
    a_lost_answer_fences,
    a_known_member_cannot_join_again,
    a_static_member_that_goes_keeps_what_it_revokes,
    who_returns_has_no_target,
    the_previous_epoch_stays,
    a_rebalance_timer_runs_on,
    every_older_epoch_may_commit,
    a_timeout_forgets_the_epoch,
    targets_do_not_wait,
    duplicates_of_an_instance_go_on,
    a_fail_over_forgets_revocations,
    an_emptied_group_keeps_its_target_epoch,
    a_joining_member_gets_no_assignment,
)

RARELY_SEEN: Final[Sequence[tuple[Patch, int]]] = ((no_member_steps_while_revoking, 679),)
"""With the seed of a trace that sees it."""
