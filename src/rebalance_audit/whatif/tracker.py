"""Measures runs: who held each partition when, how many epochs the group went through, and what many runs lost."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Final, NamedTuple

from rebalance_audit.replay.groups import ClassicGroup, ModernGroup
from rebalance_audit.sim.brokers.broker import Changed, Happening, Observer, ServedPartition
from rebalance_audit.sim.holdings import HeldPartition, Holder, Holdings

CLOSED: Final = "closed"
KILLED: Final = "killed"
REVOKED: Final = "revoked"
NEW_PARTITION: Final = "new_partition"
REASONS: Final = (CLOSED, KILLED, REVOKED, NEW_PARTITION)
"""What can begin a time without owner: a process closed or died, a rebalance took the partition, it is new."""


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


class Outcomes(NamedTuple):
    """Measures of RunOutcome over runs of one script under one set of settings, one per seed."""

    rebalances: MedianRange
    partitions_moved: MedianRange
    unowned_ms: MedianRange
    longest_stop_ms: MedianRange
    records_delayed: MedianRange
    refused_returns: MedianRange
    unowned_ms_by_reason: dict[str, int]
    """Median partition-milliseconds by what began them."""


def outcomes_of(runs: Sequence[RunOutcome]) -> Outcomes:
    """Of at least one run."""
    ranges = {
        measure: range_of([getattr(run, measure) for run in runs])
        for measure in Outcomes._fields[:-1]
    }
    by_reason = {
        reason: range_of([run.unowned_by_reason.get(reason, 0) for run in runs]).median
        for reason in REASONS
    }
    return Outcomes(**ranges, unowned_ms_by_reason=by_reason)


def range_of(values: Sequence[int]) -> MedianRange:
    """The range of at least one value."""
    return MedianRange(round(median(values)), min(values), max(values))


class Tracker(Holdings):
    """The holdings of one group, counted in the time of the script."""

    def __init__(self, clock: Callable[[], int], from_ms: int, to_ms: int) -> None:
        """`clock`: the moment in the script; only what lies in the window counts."""
        super().__init__()
        self.outcome = RunOutcome()
        self.reason = REVOKED
        """Why partitions are released now."""
        self._clock = clock
        self._from_ms, self._to_ms = from_ms, to_ms
        self._holders: dict[HeldPartition, set[str]] = {}
        self._last: dict[HeldPartition, str] = {}
        self._gone: set[HeldPartition] = set()
        self.records_per_second: dict[HeldPartition, float] = {}
        """How many records arrive; a partition that is missing gets none."""
        self._delayed = 0.0
        self._unowned: dict[HeldPartition, tuple[int, str]] = {}
        """Partition -> since when it has no owner, and why."""

    @property
    def unowned_count(self) -> int:
        """Partitions without owner."""
        return len(self._unowned)

    def create(self, partitions: Iterable[HeldPartition]) -> None:
        """Partitions that should have an owner from now on, and had none before."""
        for partition in partitions:
            if partition not in self._last:
                self._unowned.setdefault(partition, (self._clock(), NEW_PARTITION))

    def remove(self, partitions: Iterable[HeldPartition]) -> None:
        """Partitions that are gone: from now on they lack no owner."""
        for partition in partitions:
            self._gone.add(partition)
            begun = self._unowned.pop(partition, None)
            if begun is not None:
                self._count(partition, *begun, self._clock())

    def acquire(self, holder: Holder, partitions: Iterable[HeldPartition], now_ms: int) -> None:
        """A client starts to use partitions."""
        moment = self._clock()
        in_window = self._from_ms <= moment < self._to_ms
        wanted = list(partitions)
        for partition in wanted:
            self._holders.setdefault(partition, set()).add(holder.name)
            before = self._last.get(partition)
            self._last[partition] = holder.name
            if in_window and before is not None and before != holder.name:
                self.outcome.partitions_moved += 1
            begun = self._unowned.pop(partition, None)
            if begun is not None:
                self._count(partition, *begun, moment)
        super().acquire(holder, wanted, now_ms)

    def release(
        self,
        holder: Holder,
        partitions: Iterable[HeldPartition],
        now_ms: int,
        next_offset: Callable[[HeldPartition, int], int],
    ) -> None:
        """A client stops using partitions."""
        moment = self._clock()
        given_up = list(partitions)
        for partition in given_up:
            holders = self._holders.get(partition)
            if holders is None or holder.name not in holders:
                continue
            holders.discard(holder.name)
            if not holders and partition not in self._gone:
                self._unowned[partition] = (moment, self.reason)
        super().release(holder, given_up, now_ms, next_offset)
        self.uses.clear()

    def finish(self) -> RunOutcome:
        """The outcome, with what is still without owner."""
        for partition, begun in self._unowned.items():
            self._count(partition, *begun, self._clock())
        self._unowned.clear()
        self.outcome.records_delayed = round(self._delayed)
        return self.outcome

    def _count(self, partition: HeldPartition, begun_ms: int, reason: str, ended_ms: int) -> None:
        length_ms = min(ended_ms, self._to_ms) - max(begun_ms, self._from_ms)
        if length_ms <= 0:
            return
        outcome = self.outcome
        outcome.unowned_ms += length_ms
        self._delayed += self.records_per_second.get(partition, 0.0) * length_ms / 1_000
        outcome.longest_stop_ms = max(outcome.longest_stop_ms, length_ms)
        by_reason = outcome.unowned_by_reason
        by_reason[reason] = by_reason.get(reason, 0) + length_ms


class EpochCounter(Observer):
    """Counts the generations or group epochs of the group."""

    def __init__(self, count: Callable[[], None]) -> None:
        """`count` is called once for each."""
        self._count = count
        self._number: int | None = None

    def moved(self, shard: ServedPartition, happening: Happening, changed: Changed) -> None:  # noqa: ARG002 - Observer's
        """Look at the number of the group where a write changed one."""
        for slot, _ in changed:
            group = slot.group
            if isinstance(group, ClassicGroup):
                number = group.generation
            elif isinstance(group, ModernGroup):
                number = group.group_epoch
            else:
                continue
            before, self._number = self._number, number
            if number in {before, 0}:
                continue
            # A group that was deleted begins anew.
            is_next = before is not None and number > before and isinstance(group, ModernGroup)
            for _ in range(number - before if is_next and before is not None else 1):
                self._count()
