"""Rule: group epochs, assignment epochs and generations only grow while a group lives."""

from dataclasses import dataclass

from rebalance_audit.replay.changes import (
    Change,
    GenerationCompleted,
    GroupEpochBumped,
    GroupRemoved,
    TargetInstalled,
)
from rebalance_audit.replay.groups.classic_group import ClassicGroup
from rebalance_audit.replay.groups.modern_group import ModernGroup
from rebalance_audit.replay.groups.slot import Group
from rebalance_audit.sim.brokers.broker import Happening
from rebalance_audit.sim.invariants.broken import InvariantBrokenError, require


@dataclass(slots=True)
class _Highest:
    """The highest numbers that a group has shown."""

    group_epoch: int = -1
    assignment_epoch: int = -1
    generation: int = -1


class RisingNumbers:
    """Remembers the highest numbers of every group."""

    def __init__(self) -> None:
        """No group has shown a number yet."""
        self._highest: dict[str, _Highest] = {}

    def check(self, group_id: str, change: Change, happening: Happening) -> None:
        """Raises InvariantBrokenError where a number falls."""
        highest = self._highest.get(group_id)
        if highest is None:
            highest = self._highest[group_id] = _Highest()
        match change:
            case GroupRemoved():
                self._highest[group_id] = _Highest()
            case GroupEpochBumped(new_epoch=epoch):
                if epoch < highest.group_epoch:
                    message = f"group epoch of {group_id} fell to {epoch} by {happening}"
                    raise InvariantBrokenError(message)
                highest.group_epoch = epoch
            case TargetInstalled(new_assignment_epoch=epoch) if epoch >= 0:
                require(
                    epoch >= highest.assignment_epoch,
                    f"assignment epoch of {group_id} fell to {epoch}",
                )
                highest.assignment_epoch = epoch
            case GenerationCompleted(new_generation=generation):
                require(
                    generation >= highest.generation,
                    f"generation of {group_id} fell to {generation}",
                )
                highest.generation = generation
            case _:
                pass

    def group_ids(self) -> list[str]:
        """Groups that have shown a number."""
        return list(self._highest)

    def loaded(self, group_id: str, group: Group | None) -> None:
        """A new coordinator counts from what the log says."""
        if isinstance(group, ModernGroup):
            highest = _Highest(group.group_epoch, group.assignment_epoch)
        elif isinstance(group, ClassicGroup):
            highest = _Highest(generation=group.generation)
        else:
            highest = _Highest()
        self._highest[group_id] = highest
