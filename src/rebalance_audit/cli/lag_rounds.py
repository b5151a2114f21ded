"""The lag that `watch` shows: committed offsets of the log beside the newest samples of end offsets."""

from typing import TYPE_CHECKING

from rebalance_audit.live_cluster.poller import EndOffsetPoller
from rebalance_audit.local.live.live_audit import LiveAudit
from rebalance_audit.report.lag_text import GroupLag, group_lags
from rebalance_audit.steps import OnProgress

if TYPE_CHECKING:
    from collections.abc import Mapping


class LagRounds:
    """Takes a new sample whenever there is one."""

    def __init__(self, poller: EndOffsetPoller, on_progress: OnProgress) -> None:
        """`on_progress` is called when the cluster does not answer, and when not everything is sampled."""
        self._poller = poller
        self._on_progress = on_progress
        self._taken = -1
        self._reported = ""
        self.of_group: Mapping[str, GroupLag] = {}
        """By group id, those that have committed what members own."""

    def take(self, audit: LiveAudit) -> bool:
        """Whether there was a new sample; the poller gets the partitions to sample next."""
        poller = self._poller
        self._report(self._problem())
        if poller.count == self._taken:
            return False
        is_first = self._taken < 0
        self._taken = poller.count
        positions = [*audit.committed_positions()]
        poller.want({(each.topic, each.topic_partition) for _, each in positions})
        if is_first and not poller.count:
            return False
        self.of_group = {
            group.group_id: group for group in group_lags(positions, poller.end_offsets())
        }
        return True

    def _problem(self) -> str:
        if self._poller.problem:
            return f"End offsets are not sampled: {self._poller.problem}"
        if left_out := self._poller.left_out:
            return f"{left_out:,} partitions are not sampled: source.kafka.sampled_partitions_max"
        return ""

    def _report(self, problem: str) -> None:
        if problem and problem != self._reported:
            self._on_progress(problem)
        self._reported = problem
