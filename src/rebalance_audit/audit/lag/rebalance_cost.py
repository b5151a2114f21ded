"""What a rebalance cost in records, summed over the partitions that stood still.

Everything is counted by what is committed: work that was not committed is not known to be done. All numbers are offsets
(see `end_offsets`).
"""

from dataclasses import dataclass
from typing import Any, Final

from rebalance_audit.audit.lag.end_offsets import PartitionSamples
from rebalance_audit.audit.lag.standstills import Standstill
from rebalance_audit.audit.thresholds import DEFAULT_REBALANCE_TIMEOUT_MS
from rebalance_audit.bounds import NOTHING, UNBOUNDED, Bounds

LOOK_BACK_MS: Final = DEFAULT_REBALANCE_TIMEOUT_MS
"""A standstill counts from at most this long before the rebalance: so long a member that hangs may keep its partitions.

A partition that was not committed for longer was idle, or its owner had trouble before.
"""


@dataclass(slots=True)
class RebalanceCost:
    """Grows by one standstill after another; the order does not matter."""

    partitions: int = 0
    stopped_ms: int = 0
    """Summed over the partitions."""
    longest_stop_ms: int | None = None
    """None if nothing is known to have arrived at a partition that stood still."""
    delayed: Bounds = NOTHING
    lagged: Bounds = NOTHING
    """Those of them that had arrived by the last commit before."""
    is_estimated: bool = False
    """Some partition has no end offsets, so that only its rate is known."""
    is_bounded: bool = False
    """Some partition has end offsets."""
    read_again: Bounds = NOTHING
    went_back: bool = False
    skipped: Bounds = NOTHING
    is_lost: bool = False
    """Retention deleted records before they were committed."""
    is_reset: bool = False
    """The committed offset was moved forward while the group was empty."""
    is_synced: bool = False
    """It was moved there again and again."""
    catch_up: tuple[int, int | None] | None = None
    """At least and at most (ms) from the assignment to the commit of everything that had arrived until then."""

    def add(
        self, stood: Standstill, samples: PartitionSamples | None, rebalance_ms: int | None
    ) -> bool:
        """Add a partition; `rebalance_ms` is the earliest start of the rebalance (epoch ms), None if it is unknown.

        False if it did not stand still in this rebalance.
        """
        resumed_ms = stood.resumed_ms
        if resumed_ms is None:
            return False
        since_ms = stood.since_ms
        if rebalance_ms is not None:
            since_ms = max(since_ms, rebalance_ms - LOOK_BACK_MS)
        if since_ms >= resumed_ms:
            return False  # an earlier rebalance's, or stamped by the clocks of two coordinators
        stop_ms = resumed_ms - since_ms
        self.partitions += 1
        self.stopped_ms += stop_ms
        likely = stood.likely_records(stop_ms)
        if samples is None:
            self.is_estimated = True
            delayed, before, waiting = Bounds(0, None, likely or 0), UNBOUNDED, UNBOUNDED
        else:
            self.is_bounded = True
            end = samples.end_at(resumed_ms)
            if not stood.is_transactional:
                end = end.at_least(stood.begins_at)
            delayed = end.minus(stood.uncommitted_from)
            before = samples.end_at(stood.since_ms).minus(stood.uncommitted_from)
            waiting = end.minus(Bounds.exactly(min(stood.committed, stood.begins_at)))
            self._catch_up(stood, end, resumed_ms)
        if delayed.estimate or delayed.least:
            self.longest_stop_ms = max(stop_ms, self.longest_stop_ms or 0)
        self.delayed = self.delayed.plus(delayed)
        self.lagged = self.lagged.plus(before)
        self.read_again = self.read_again.plus(self._read_again(stood, samples, waiting, stop_ms))
        self.skipped = self.skipped.plus(self._skipped(stood, samples, waiting))
        return True

    def _catch_up(self, stood: Standstill, end: Bounds, resumed_ms: int) -> None:
        if end.most is not None and end.most <= stood.begins_at:
            return  # nothing waited
        known: tuple[int, int | None] = (0, None)
        if stood.next_ms is not None and stood.next_committed is not None:
            took_ms = max(0, stood.next_ms - resumed_ms)
            if end.most is not None and stood.next_committed >= end.most:
                known = 0, took_ms
            elif stood.next_committed < end.least:
                known = took_ms, None
        if self.catch_up is None:
            self.catch_up = known
            return
        least, most = self.catch_up
        both = None if most is None or known[1] is None else max(most, known[1])
        self.catch_up = max(least, known[0]), both

    def _read_again(
        self,
        stood: Standstill,
        samples: PartitionSamples | None,
        waiting: Bounds,
        stop_ms: int,
    ) -> Bounds:
        """What the owner before may have read, and the next one reads as well.

        The next one begins at the committed offset. What the one before read and did not commit lies between that and
        the end of the partition when it was handed over.
        """
        first, back = stood.next_committed, stood.begins_at
        if first is not None:
            back = min(back, first)
        least = 0
        if not stood.is_transactional and back < stood.committed and first is not None:
            least = stood.committed - back
            self.went_back = True
        most = waiting.most
        if most is not None and first is not None and first < stood.begins_at:
            # It began before its first commit, at an unknown offset.
            start = samples.start_at(stood.resumed_ms or 0) if samples is not None else None
            most += min(stood.committed, stood.begins_at) - (start or 0)
        if stood.is_transactional:
            most = None
        uncommitted_ms = stop_ms if stood.pause_ms is None else min(stop_ms, stood.pause_ms)
        return Bounds.between(least, most, max(least, stood.likely_records(uncommitted_ms) or 0))

    def _skipped(
        self, stood: Standstill, samples: PartitionSamples | None, waiting: Bounds
    ) -> Bounds:
        """What lies between the last commit and where the next owner began, at most where it first committed."""
        least, begins_at = 0, stood.begins_at
        lost = stood.lost_records(samples)
        if lost:
            least, self.is_lost = lost, True
        if begins_at > stood.committed:
            self.is_reset |= not stood.is_synced
            self.is_synced |= stood.is_synced
        if waiting.most == 0:
            return Bounds.exactly(least)
        if stood.next_committed is None or stood.is_transactional:
            return Bounds(least, None, least)
        return Bounds.between(least, max(0, stood.next_committed - stood.committed), least)

    def columns(self) -> dict[str, Any]:
        """The columns of gold.rebalances; all are null if no partition that was committed stood still."""
        delayed, lagged = self.delayed, self.lagged
        again, skipped = self.read_again, self.skipped
        least, most = self.catch_up or (None, None)
        whys = {
            "retention": self.is_lost,
            "offsets_reset": self.is_reset,
            "committed_without_members": self.is_synced,
            "not_excluded": skipped.most != 0,
        }
        why_skipped = next((why for why, holds in whys.items() if holds), None)
        why_again = "went_back" if self.went_back else None if again.most == 0 else "uncommitted"
        found = {
            "partitions_stopped": self.partitions,
            "stopped_partition_ms": self.stopped_ms,
            "longest_stop_ms": self.longest_stop_ms,
            "records_delayed_min": delayed.least if self.is_bounded else None,
            "records_delayed_max": delayed.most,
            "records_delayed_estimate": delayed.estimate,
            "records_lagged_min": lagged.least if self.is_bounded else None,
            "records_lagged_max": lagged.most,
            "records_delayed_by": "commit_rate" if self.is_estimated else "end_offsets",
            "catch_up_min_ms": least,
            "catch_up_max_ms": most,
            "records_read_again_min": again.least,
            "records_read_again_max": again.most,
            "records_read_again_estimate": again.estimate,
            "records_read_again_why": why_again,
            "records_skipped_min": skipped.least,
            "records_skipped_max": skipped.most,
            "records_skipped_why": why_skipped,
        }
        return found if self.partitions else dict.fromkeys(found)


COST_COLUMNS: Final = tuple(RebalanceCost().columns())
