"""States of a classic group and what moves it between them.

The table is the code, the diagram of the documentation, and the matrix of the tests. The log only ever shows Empty and
Stable; the two phases between them live in the coordinator's memory.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class ClassicState(StrEnum):
    """States under Kafka's names; the client-side assignment proposal calls some of them otherwise."""

    EMPTY = "Empty"
    """No members (the proposal's Stable without members). Committed offsets may remain."""
    PREPARING_REBALANCE = "PreparingRebalance"
    """Members are asked to join again (the proposal's Joining)."""
    COMPLETING_REBALANCE = "CompletingRebalance"
    """The members are known and the leader's assignment is awaited (the proposal's AwaitingSync)."""
    STABLE = "Stable"
    """The leader's assignment is stored."""
    DEAD = "Dead"
    """Deleted, expired or converted (the proposal's Down); nothing leads back."""


class ClassicEvent(StrEnum):
    """What moves a group."""

    REBALANCE_NEEDED = "rebalance needed"
    """A member joins, joins again with something new, leaves, expires or fails to sync."""
    ALL_JOINED = "all joined"
    """All expected members joined, or the time for it is up and some did."""
    NO_MEMBER_JOINED = "no member left"
    """The join phase ended and the group has no members."""
    LEADER_SYNCED = "leader synced"
    """The leader's SyncGroup was stored."""
    GROUP_REMOVED = "group removed"
    """Deletion, expiry, conversion to another protocol, or the coordinator moved away."""


TRANSITIONS: Final[Mapping[tuple[ClassicState, ClassicEvent], ClassicState]] = {
    (ClassicState.EMPTY, ClassicEvent.REBALANCE_NEEDED): ClassicState.PREPARING_REBALANCE,
    (ClassicState.STABLE, ClassicEvent.REBALANCE_NEEDED): ClassicState.PREPARING_REBALANCE,
    (ClassicState.COMPLETING_REBALANCE, ClassicEvent.REBALANCE_NEEDED): (
        ClassicState.PREPARING_REBALANCE
    ),
    (ClassicState.PREPARING_REBALANCE, ClassicEvent.ALL_JOINED): ClassicState.COMPLETING_REBALANCE,
    (ClassicState.PREPARING_REBALANCE, ClassicEvent.NO_MEMBER_JOINED): ClassicState.EMPTY,
    (ClassicState.COMPLETING_REBALANCE, ClassicEvent.LEADER_SYNCED): ClassicState.STABLE,
    **{
        (state, ClassicEvent.GROUP_REMOVED): ClassicState.DEAD
        for state in ClassicState
        if state is not ClassicState.DEAD
    },
}
"""(state, event) -> next state; what is not here cannot happen."""


class IllegalTransitionError(Exception):
    """An event that the state excludes: a bug of a handler."""


def next_state(state: ClassicState, event: ClassicEvent) -> ClassicState:
    """The state after the event. Raises IllegalTransitionError where the table has no row."""
    try:
        return TRANSITIONS[state, event]
    except KeyError:
        raise IllegalTransitionError(f"{event.value!r} in state {state.value}") from None


def can_rebalance(state: ClassicState) -> bool:
    """Whether a need for a rebalance starts one; else one is under way already, or the group is gone."""
    return (state, ClassicEvent.REBALANCE_NEEDED) in TRANSITIONS
