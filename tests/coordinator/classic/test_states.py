"""The state table of classic groups: every state with every event, and what each state answers."""

from collections.abc import Iterator
from itertools import product

import pytest

from rebalance_audit.coordinator.classic.states import (
    TRANSITIONS,
    ClassicEvent,
    ClassicState,
    IllegalTransitionError,
    can_rebalance,
    next_state,
)
from rebalance_audit.resources import checkout_root
from tests.coordinator.classic.stage import Stage

MATRIX = """
                     rebalance needed     all joined            no member left   leader synced   group removed
Empty                PreparingRebalance   -                     -             -               Dead
PreparingRebalance   -                    CompletingRebalance   Empty         -               Dead
CompletingRebalance  PreparingRebalance   -                     -             Stable          Dead
Stable               PreparingRebalance   -                     -             -               Dead
Dead                 -                    -                     -             -               -
"""

ROWS = {row.split()[0]: row.split()[1:] for row in MATRIX.strip().splitlines()[1:]}


@pytest.mark.parametrize(("state", "event"), list(product(ClassicState, ClassicEvent)))
def test_every_state_with_every_event(state: ClassicState, event: ClassicEvent) -> None:
    """An event leads to the state that the matrix says, and is a bug where the matrix has a dash."""
    expected = ROWS[state.value][list(ClassicEvent).index(event)]
    if expected == "-":
        with pytest.raises(IllegalTransitionError, match=event.value):
            next_state(state, event)
    else:
        assert next_state(state, event).value == expected


def test_a_rebalance_starts_where_the_table_has_a_way() -> None:
    """In the join phase, and in a group that is gone, no rebalance can start."""
    assert {state.value for state in ClassicState if can_rebalance(state)} == {
        "Empty",
        "CompletingRebalance",
        "Stable",
    }


def diagram() -> Iterator[str]:
    """The table as lines of a Mermaid state diagram."""
    yield "stateDiagram-v2"
    yield f"    [*] --> {ClassicState.EMPTY.value}"
    for (state, event), following in TRANSITIONS.items():
        yield f"    {state.value} --> {following.value}: {event.value}"
    yield f"    {ClassicState.DEAD.value} --> [*]"


def test_the_diagram_of_the_documentation_is_the_table() -> None:
    """docs/protocol-map.md shows this same table."""
    lines = list(diagram())
    assert len(lines) == len(TRANSITIONS) + 3
    text = (checkout_root() / "docs" / "protocol-map.md").read_text(encoding="utf-8")
    assert "\n".join(lines) in text


TO_STATE = {
    ClassicState.EMPTY: ["join A", "wait 45000"],
    ClassicState.PREPARING_REBALANCE: [
        "join A@i1",
        "wait 3000",
        "sync A A=0-5",
        "join B",
        "join B",
    ],
    ClassicState.COMPLETING_REBALANCE: ["join A@i1", "wait 3000"],
    ClassicState.STABLE: ["join A@i1", "wait 3000", "sync A A=0-5"],
}
"""State -> steps that lead to it with A as a member of generation 1, or without members."""

ANSWERS = {
    # request              Empty                PreparingRebalance      CompletingRebalance     Stable
    "beat A":           "UNKNOWN_MEMBER_ID     REBALANCE_IN_PROGRESS   ok                      ok",
    "sync A":           "UNKNOWN_MEMBER_ID     REBALANCE_IN_PROGRESS   synced                  synced",
    "commit A foo:0=1": "ok                    ok                      REBALANCE_IN_PROGRESS   ok",
    "commit - foo:0=1": "ok                    UNKNOWN_MEMBER_ID       UNKNOWN_MEMBER_ID       UNKNOWN_MEMBER_ID",
    "leave A":          "UNKNOWN_MEMBER_ID     ok                      ok                      ok",
}  # fmt: skip


@pytest.mark.parametrize(("state", "request_text"), list(product(TO_STATE, ANSWERS)))
def test_what_each_state_answers(state: ClassicState, request_text: str) -> None:
    """The answer to a member's request depends on its group's state."""
    stage = Stage()
    for step in TO_STATE[state]:
        stage.play(step)
    live = stage.live()
    assert live is not None
    assert live.state is state
    answers = stage.play(request_text).split(" | ")[1].split("; ")
    expected = ANSWERS[request_text].split()[list(TO_STATE).index(state)]
    assert answers[-1].split()[1] == expected
