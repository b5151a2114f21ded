"""A script: what is done to a group, and which findings that is.

The truth is what the script does. Neither the records nor the audit have a say in it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from rebalance_audit.sim.options import Protocol
from workshop.accuracy.stage import Setting, Stage

BOTH: Final = (Protocol.CLASSIC, Protocol.CONSUMER)
SCRIPTED: Final = "scripted"
CHURN: Final = "random churn"
CLASSIC: Final = (Protocol.CLASSIC,)
CONSUMER: Final = (Protocol.CONSUMER,)


def nothing(_: Stage) -> None:
    """Do nothing."""


@dataclass(frozen=True)
class Script:
    """One story of the group `stage.SUBJECT`."""

    name: str
    play: Callable[[Stage], object] = nothing
    expected: frozenset[str] = frozenset()
    """Kinds that the deed is, by their definition."""
    also: frozenset[str] = frozenset()
    """Kinds that may be said of it as well: its true consequences, or what the definition leaves open."""
    protocols: tuple[Protocol, ...] = BOTH
    setting: Setting = field(default_factory=Setting)
    culprit: int | None = None
    """The slot whose process does it: a finding has to name it."""
    lasts: bool = False
    """Whether it still goes on when the log ends."""
    times: int = 1
    """How many findings of a kind that is, where several members do the same."""
    of_setting: bool = False
    """Whether the deed is how the groups are set up: the bystander is no bystander then."""
    suite: str = SCRIPTED
    """Which table it counts in."""
    damage: Callable[[Path], None] | None = None
    """What happens to the written files afterwards."""
