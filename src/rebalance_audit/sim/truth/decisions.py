"""What a coordinator has decided but not recorded yet: it exists in memory alone, and is lost with the coordinator."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from rebalance_audit.audit.verdicts.cause import RebalanceCause
from rebalance_audit.coordinator.reasons import Bump, Trigger
from rebalance_audit.sim.truth.causes import Reason, Topics


class Decisions:
    """The groups of one coordinator: why they start new epochs, and which members have gone since their last record.

    An epoch of the consumer protocol is recorded with the decision, a classic generation with its assignment.
    """

    def __init__(self) -> None:
        """Nothing is decided yet."""
        self._reasons: dict[str, dict[int, list[Reason]]] = defaultdict(dict)
        """Group id -> epoch or generation -> its reasons, the earliest first."""
        self._ends: dict[str, dict[str, RebalanceCause]] = defaultdict(dict)
        """Group id -> member id -> how it ended."""
        self._meanwhile: dict[str, dict[int, list[Reason]]] = defaultdict(dict)
        """Group id -> epoch or generation -> what happened in it but did not cause it."""
        self.topics: dict[str, Topics] = {}
        """Group id -> the subscribed topics as of its newest epoch."""

    def bumped(self, bump: Bump, reasons: list[Reason]) -> None:
        """A group starts another epoch, or the join phase of another generation."""
        group_id, epoch = bump.group_id, bump.epoch
        triggers = {each.trigger for each in bump.reasons}
        if Trigger.GROUP_BEGAN in triggers:
            self._reasons.pop(group_id, None)
        if bump.topics:
            self.topics[group_id] = bump.topics
        begun = self._reasons[group_id]
        if triggers == {Trigger.GROUP_UPGRADED}:
            # The generation becomes an epoch, whatever began it; a join phase under way is void.
            begun = {each: why for each, why in begun.items() if each <= epoch}
            self._reasons[group_id] = begun
            if begun:
                for reason in reasons:
                    self.happened(group_id, epoch, reason)
                return
        begun.setdefault(epoch, []).extend(reasons)

    def happened(self, group_id: str, epoch: int, reason: Reason) -> None:
        """Something happened before an epoch was recorded, whether it caused the epoch or not."""
        self._meanwhile[group_id].setdefault(epoch, []).append(reason)

    def meanwhile(self, group_id: str, epoch: int, reasons: Sequence[Reason]) -> tuple[Reason, ...]:
        """What happened before an epoch that is now on record, besides its reasons."""
        found = self._meanwhile[group_id]
        counted = sorted(each for each in found if each <= epoch)
        beside = [reason for each in counted for reason in found.pop(each)]
        return tuple(dict.fromkeys(reason for reason in beside if reason not in reasons))

    def ended(self, group_id: str, member_id: str | None, cause: RebalanceCause) -> None:
        """A member has left the group, for whatever reason."""
        assert member_id is not None
        self._ends[group_id][member_id] = cause

    def epoch_recorded(self, group_id: str, epoch: int) -> tuple[tuple[Reason, ...], int | None]:
        """The reasons of an epoch that is now on record, and when it was first decided.

        Earlier generations that were never recorded count too: what began them is also why this one exists.
        """
        begun = self._reasons[group_id]
        counted = sorted(each for each in begun if each <= epoch)
        began_ms = min((reason.at_ms for reason in begun.get(epoch, ())), default=None)
        reasons = [reason for each in counted for reason in begun.pop(each)]
        return tuple(dict.fromkeys(reasons)), began_ms

    def take_ends(self, group_id: str) -> Mapping[str, RebalanceCause]:
        """How members of a group ended since its last record."""
        return self._ends.pop(group_id, {})
