"""The assignors that classic consumers can be configured with, by the name of their protocol."""

from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum
from typing import Final, NamedTuple

from rebalance_audit.coordinator.assignors import client_stateless, client_sticky
from rebalance_audit.coordinator.assignors.client_members import Assign
from rebalance_audit.coordinator.assignors.client_user_data import (
    NO_GENERATION,
    Claim,
    encode_generation,
    encode_sticky,
)


class RebalanceProtocol(IntEnum):
    """What members do with their partitions while they join (KIP-429); of two, the higher number is preferred."""

    EAGER = 0
    """Give up all partitions before joining; the subscription lists none as owned."""
    COOPERATIVE = 1
    """Keep all partitions, give up those missing from the new assignment, and join again if there were any."""


class PartitionAssignor(NamedTuple):
    """One assignor as a classic consumer uses it."""

    protocols: frozenset[RebalanceProtocol]
    """The rebalance protocols that it supports."""
    assign: Assign
    """What the leader computes."""
    user_data: Callable[[Claim | None], bytes | None]
    """User data that a member adds to its subscription, from its last assignment and generation (None = none yet)."""


def _no_user_data(_: Claim | None) -> None:
    return None


def _last_assignment(last: Claim | None) -> bytes | None:
    return None if last is None else encode_sticky(last)


def _last_generation(last: Claim | None) -> bytes:
    return encode_generation(NO_GENERATION if last is None else last.generation)


_EAGER: Final = frozenset({RebalanceProtocol.EAGER})

CLIENT_ASSIGNORS: Final[Mapping[str, PartitionAssignor]] = {
    "range": PartitionAssignor(_EAGER, client_stateless.assign_ranges, _no_user_data),
    "roundrobin": PartitionAssignor(_EAGER, client_stateless.assign_in_turn, _no_user_data),
    "sticky": PartitionAssignor(_EAGER, client_sticky.assign, _last_assignment),
    "cooperative-sticky": PartitionAssignor(
        frozenset(RebalanceProtocol), client_sticky.assign_cooperatively, _last_generation
    ),
}


def rebalance_protocol(names: Iterable[str]) -> RebalanceProtocol:
    """The protocol of a consumer configured with these assignors: the highest one that all of them support.

    So `cooperative-sticky` next to `range` is eager, whichever the group selects; that is how a rolling change of
    strategy works. Raises KeyError for an unknown assignor, ValueError for none at all.
    """
    supported = [CLIENT_ASSIGNORS[name].protocols for name in names]
    if not supported:
        raise ValueError("a consumer needs at least one assignor")
    return max(frozenset.intersection(*supported))
