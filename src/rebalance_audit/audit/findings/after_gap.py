"""Base of the kinds that judge how members go on, which a log with a hole does not show."""

from rebalance_audit.audit.epochs.epoch_span import EpochSpan
from rebalance_audit.audit.findings.watcher import Watcher
from rebalance_audit.replay.changes import Position
from rebalance_audit.replay.groups.slot import Group


class AfterGap(Watcher):
    """Knows when the group may have members that only the log still has: their tombstones are in a hole.

    That is over when every member has reached an epoch. A log that begins in the middle of a group's life is no hole:
    members that were gone by then are not in it.
    """

    _is_doubtful: bool

    def _reset(self) -> None:
        self._is_doubtful = False

    def gap_came(self) -> None:
        """Doubt how members go on from the last epoch before the hole."""
        self._is_doubtful = True

    def epoch_settled(self, span: EpochSpan, position: Position, group: Group) -> None:
        """Every member is alive."""
        self._is_doubtful = False
