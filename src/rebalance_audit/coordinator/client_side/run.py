"""One computation of a target by a client-side assignor, from the choice of the member to the installation."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from rebalance_audit.replay.partitions import Partitions


class PreparedFacts(NamedTuple):
    """What the member was given to work on; its result is judged by this, whatever has happened since."""

    group_epoch: int
    members: Mapping[str, str | None]
    """Member id -> instance id."""
    partitions: Partitions
    """Every partition of the subscribed topics."""


@dataclass(slots=True)
class ClientRun:
    """The one run that a group may have under way."""

    assignor_name: str
    member_id: str
    """The member that must run the assignor."""
    failed: frozenset[str] = frozenset()
    """Members that were chosen for this target and did not deliver in time."""
    notified: bool = False
    """Whether the member was asked; its timeout then runs."""
    facts: PreparedFacts | None = None
    """What the member was given; None until it asks."""
