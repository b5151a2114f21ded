"""Whether static members that come back in a new generation had been dropped before.

A stable group takes an instance back under a new member id without a generation. So one that comes with a generation
came while something else held a join phase, or the coordinator had dropped its old member id, by expiry or removal.
"""

from collections.abc import Set as AbstractSet
from typing import Final

from rebalance_audit.audit.causes.cause import RebalanceCause

_SEVERAL: Final = 3
"""So many instances do not come back by chance in one join phase."""
_OF_ONE_REMOVAL: Final = frozenset(
    {RebalanceCause.STATIC_MEMBER_JOINED, RebalanceCause.MEMBER_REMOVED_BY_ADMIN}
)
"""What else an administrator's removal of several static members leaves: those that had none before, or stay away."""


def had_been_dropped(
    returns: int, beside: AbstractSet[RebalanceCause], end: RebalanceCause, *, moved: bool
) -> bool:
    """Whether an instance that came back with `returns - 1` others ended before by `end`, as its old id's times tell.

    `beside`: what else happened in the generation. `moved`: whether it shares other partitions than the one before.
    """
    if beside:
        one_removal = beside <= _OF_ONE_REMOVAL and end is RebalanceCause.MEMBER_REMOVED_BY_ADMIN
        return returns >= _SEVERAL and one_removal
    return not moved or returns >= _SEVERAL or end is RebalanceCause.MEMBER_SESSION_EXPIRED
