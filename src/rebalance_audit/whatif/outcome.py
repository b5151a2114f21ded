"""What one run of a script led to, and many of them together."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import NamedTuple


@dataclass(slots=True)
class RunOutcome:
    """The losses of one run inside its window."""

    rebalances: int = 0
    """Generations of a classic group, group epochs of a consumer group."""
    partitions_moved: int = 0
    """Partitions given to another instance than the one that held them before."""
    unowned_ms: int = 0
    """Partition-milliseconds without owner."""
    longest_stop_ms: int = 0
    """The longest time that one partition had no owner."""
    unowned_by_reason: dict[str, int] = field(default_factory=dict)
    """The same partition-milliseconds by what began them."""
    refused_returns: int = 0
    """How often a process ended because the coordinator refused its return."""
    records_delayed: int = 0
    """Records that arrived while their partition had no owner, at the rates of the script."""


class MedianRange(NamedTuple):
    """A number over many runs: its median and its extremes."""

    median: int
    low: int
    high: int


def range_of(values: Iterable[int]) -> MedianRange:
    """The range of at least one value."""
    ordered = sorted(values)
    return MedianRange(round(median(ordered)), ordered[0], ordered[-1])


class Outcomes(NamedTuple):
    """Runs of one script under one set of settings, one per seed."""

    runs: tuple[RunOutcome, ...]

    def range(self, measure: Callable[[RunOutcome], int]) -> MedianRange:
        """One measure over all runs."""
        return range_of(measure(run) for run in self.runs)

    @property
    def rebalances(self) -> MedianRange:
        """Over all runs."""
        return self.range(lambda run: run.rebalances)

    @property
    def partitions_moved(self) -> MedianRange:
        """Over all runs."""
        return self.range(lambda run: run.partitions_moved)

    @property
    def unowned_ms(self) -> MedianRange:
        """Over all runs."""
        return self.range(lambda run: run.unowned_ms)

    @property
    def longest_stop_ms(self) -> MedianRange:
        """Over all runs."""
        return self.range(lambda run: run.longest_stop_ms)

    @property
    def records_delayed(self) -> MedianRange:
        """Over all runs."""
        return self.range(lambda run: run.records_delayed)

    @property
    def refused_returns(self) -> MedianRange:
        """Over all runs."""
        return self.range(lambda run: run.refused_returns)

    def unowned_by_reason(self, reasons: Sequence[str]) -> dict[str, int]:
        """Median partition-milliseconds by what began them."""
        return {
            reason: self.range(lambda run, of=reason: run.unowned_by_reason.get(of, 0)).median  # type: ignore[misc] # of: a default
            for reason in reasons
        }
