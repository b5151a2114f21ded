"""What the rebalances of one group cost: a rebalance's row waits until the commits after it are known."""

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from rebalance_audit.audit.lag.end_offsets import EndOffsetsOf, PartitionSamples
from rebalance_audit.audit.lag.rebalance_cost import RebalanceCost
from rebalance_audit.audit.lag.standstill import Standstill
from rebalance_audit.audit.ownership.commit_book import CommitBook
from rebalance_audit.audit.ownership.ownership import Ownership
from rebalance_audit.audit.rows import REBALANCES, Emit, Row
from rebalance_audit.replay.partitions import TopicPartition

RESUMES_WITHIN_MS: Final = 600_000
"""A first commit that comes later than this after the assignment shows nothing about the rebalance."""


OnStandstill: TypeAlias = Callable[[TopicPartition, Standstill, PartitionSamples | None], None]


class RebalanceCosts:
    """The row of the last rebalance waits here until the next one begins, or the group or the log ends."""

    _waiting: Row | None
    _cost: RebalanceCost
    """Of the rebalance that goes on, or of the waiting row."""
    _began_ms: int | None
    """Earliest start of that rebalance (epoch ms); None if it has no bound."""
    _ended_ms: int | None
    """None while it goes on."""

    def __init__(
        self, emit: Emit, commits: CommitBook, ownership: Ownership, end_offsets: EndOffsetsOf
    ) -> None:
        self._emit = emit
        self._standstills = commits.standstills
        self._ownership = ownership
        self._end_offsets = end_offsets
        self._waiting = self._began_ms = self._ended_ms = None
        self._cost = RebalanceCost()
        self.on_standstill: OnStandstill | None = None
        """Called with each standstill that a rebalance accounts for."""
        self.on_settled: Callable[[], None] | None = None
        """Called when the cost of a rebalance is known."""

    def parts(self) -> Mapping[str, object]:
        """Every object that holds state."""
        return {"costs": self, "standstills": self._standstills}

    def begin(self, began_ms: int | None) -> None:
        """A rebalance begins; what the last one cost is known."""
        self.close()
        self._began_ms, self._ended_ms = began_ms, None

    def end(self, row: Row, ended_ms: int | None) -> None:
        """The rebalance is over, or still goes on when the log ends (None); its row lacks the cost."""
        self._waiting, self._ended_ms = row, ended_ms

    def add(self, partition: TopicPartition, stood: Standstill) -> None:
        """Account for a standstill that is over, if it ended within the rebalance."""
        ended_ms, resumed_ms = self._ended_ms, stood.resumed_ms
        if resumed_ms is None or (ended_ms is not None and resumed_ms > ended_ms):
            return
        if stood.next_ms is not None and stood.next_ms > resumed_ms + RESUMES_WITHIN_MS:
            stood = stood._replace(next_ms=None, next_committed=None)
        samples = self._end_offsets(str(partition[0]), partition[1])
        counted = self._cost.add(stood, samples, self._began_ms)
        if counted and self.on_standstill is not None:
            self.on_standstill(partition, stood, samples)

    def close(self) -> None:
        """Emit the waiting row: the group's next rebalance begins, or the group or the log ends."""
        row, ended_ms = self._waiting, self._ended_ms
        if row is not None:
            for partition, stood in self._standstills.over(self._ownership.held_since_ms, ended_ms):
                self.add(partition, stood)
            self._emit(REBALANCES, {**row, **self._cost.columns()})
            if ended_ms is not None:
                self._standstills.settled(self._ownership.held_since_ms, ended_ms)
            if self.on_settled is not None:
                self.on_settled()
        self._waiting = self._ended_ms = None
        self._cost = RebalanceCost()
