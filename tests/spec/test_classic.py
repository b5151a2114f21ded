"""The classic protocol: properties of its specification, and traces of it in the handlers."""

import os
from collections.abc import Sequence
from typing import Any, Final

import pytest

from rebalance_audit.coordinator.classic import membership
from rebalance_audit.coordinator.classic.live_group import LiveGroup
from rebalance_audit.coordinator.classic.rebalance import RebalancePhases
from rebalance_audit.coordinator.classic.states import ClassicState
from rebalance_audit.coordinator.handling import ErrorCode
from tests.spec.classic_player import play_classic
from tests.spec.consumer_player import DifferenceError
from tests.spec.engine import CLASSIC, ask, traces

pytestmark = pytest.mark.spec

RUNS: Final = "classicRuns"
TRACES: Final = 2_000 if os.environ.get("SPEC_FULL") else 60
STEPS: Final = 50


def test_properties_hold_in_random_runs() -> None:
    """Ownership, generations, leaders, records, static returns; and each state converges without further faults."""
    found = ask(
        "check", RUNS, CLASSIC, traces=TRACES // 5, steps=STEPS, properties="safe,converges"
    )
    assert found["broken"] is None, found


@pytest.fixture(scope="module")
def recorded() -> Sequence[Any]:
    """Random runs of the specification."""
    return list(traces(RUNS, CLASSIC, TRACES, 1, STEPS))


def test_the_handlers_do_what_the_specification_does(recorded: Sequence[Any]) -> None:
    """Step by step: every answer that becomes due, the live group, and what is recorded."""
    assert sum(map(play_classic, recorded)) == TRACES * STEPS


def _no_sync_is_owed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(RebalancePhases, "sync_time_is_up", lambda *_: None)


def _the_leader_stays(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(LiveGroup, "elect_joined_leader", lambda live: bool(live.parked_joins))


def _every_generation_may_sync(patch: pytest.MonkeyPatch) -> None:
    def error(live: LiveGroup, request: Any) -> ErrorCode:
        if live.state is ClassicState.PREPARING_REBALANCE:
            return ErrorCode.REBALANCE_IN_PROGRESS
        return live.member_error(request.member_id, request.group_instance_id)

    patch.setattr(membership, "_sync_error", error)


@pytest.mark.parametrize(
    "mistake", [_no_sync_is_owed, _the_leader_stays, _every_generation_may_sync]
)
def test_a_mistake_in_the_handlers_is_seen(
    mistake: Any, recorded: Sequence[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A trace tells it from the specification."""
    mistake(monkeypatch)
    with pytest.raises(DifferenceError):
        sum(map(play_classic, recorded))
