"""Samples of the start and end offsets of topic partitions, and the lag of committed offsets.

An end offset is the offset that the next record gets (ListOffsets with isolation level read_uncommitted): it includes
records of open transactions, as `kafka-consumer-groups --describe` does. Between two samples it lies between both.
Offsets are counted, not records: a compacted topic has fewer records, and markers of transactions take offsets. Markers
at the end are left out where the headers of batches show them; samples alone do not.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple, TypeAlias

from rebalance_audit.bounds import UNBOUNDED, Bounds


class EndOffset(NamedTuple):
    """One sample of one topic partition."""

    sampled_at_ms: int
    """When the answer arrived (epoch ms)."""
    start_offset: int | None
    """Log start offset: records before it are deleted; None if it was not asked for."""
    end_offset: int
    max_timestamp_ms: int | None = None
    """Latest record timestamp in the partition (KIP-734); None if it is empty or was not asked for."""
    markers: int | None = None
    """Offsets at the end that are markers of transactions, no records; None if only the end offset is known."""


class PartitionSamples:
    """All samples of one topic partition."""

    def __init__(self, samples: Iterable[EndOffset]) -> None:
        """`samples` in any order."""
        self.samples = sorted(set(samples), key=_order)
        """In order of time."""
        self._times = [sample.sampled_at_ms for sample in self.samples]
        self._ends = [sample.end_offset - (sample.markers or 0) for sample in self.samples]
        """After the last record."""
        self._grows_from: list[int] = []
        """Of each sample, the first one from which end offsets did not fall up to it."""
        for index, end in enumerate(self._ends):
            falls = not index or end < self._ends[index - 1]
            self._grows_from.append(index if falls else self._grows_from[-1])

    def at(self, at_ms: int) -> EndOffset | None:
        """The last sample at or before this time (epoch ms)."""
        index = bisect_right(self._times, at_ms) - 1
        return self.samples[index] if index >= 0 else None

    def end_at(self, at_ms: int) -> Bounds:
        """Bounds of the end of the records at this time (epoch ms); the estimate assumes that they arrive evenly.

        Unbounded where the end offset fell between the samples on both sides: the topic was deleted and created anew,
        or an unclean leader election lost records.
        """
        after = bisect_left(self._times, at_ms)
        if after == len(self._ends):
            return Bounds(self._ends[-1], None, self._ends[-1]) if self._ends else UNBOUNDED
        most = self._ends[after]
        if self._times[after] == at_ms:
            return Bounds.exactly(most)
        if not after:
            return Bounds(0, most, most)
        least, from_ms = self._ends[after - 1], self._times[after - 1]
        if most < least:
            return UNBOUNDED
        share = (at_ms - from_ms) / (self._times[after] - from_ms)
        return Bounds(least, most, least + round(share * (most - least)))

    def start_at(self, at_ms: int) -> int | None:
        """A lower bound of the log start offset at this time (epoch ms): it only grows. None if no sample has it."""
        sample = self.at(at_ms)
        return None if sample is None else sample.start_offset

    def start_by(self, at_ms: int) -> int | None:
        """An upper bound of it, by the first sample at or after this time (epoch ms); None if that does not have it."""
        index = bisect_left(self._times, at_ms)
        return self.samples[index].start_offset if index < len(self.samples) else None

    def beyond(self, committed: int, from_ms: int, at_ms: int) -> int:
        """By how many offsets a committed one lies beyond the log's end, by the samples from one time to another.

        The last one up to `at_ms` decides, and the next one if none is (both epoch ms). 0 where it is not beyond, or no
        such sample says so.
        """
        sample = self.at(at_ms)
        if sample is not None and sample.end_offset >= committed:
            return 0
        if sample is None or sample.sampled_at_ms < from_ms:
            index = bisect_left(self._times, max(from_ms, at_ms))
            sample = self.samples[index] if index < len(self.samples) else None
        return 0 if sample is None else max(0, committed - sample.end_offset)

    def next_at(self, at_ms: int) -> int | None:
        """Time of the first sample at or after this time (both epoch ms); None if there is none."""
        index = bisect_left(self._times, at_ms)
        return self._times[index] if index < len(self._times) else None

    def arrival_of(self, offset: int, by_ms: int) -> tuple[int | None, int] | None:
        """(Not before, not after) which the record at `offset` arrived (epoch ms), by the samples up to `by_ms`.

        Only samples since end offsets last fell count. None if none of them has the record. Not before None: the first
        of them has it already.
        """
        end = bisect_right(self._times, by_ms)
        if not end:
            return None
        begin = self._grows_from[end - 1]
        first_with = bisect_right(self._ends, offset, begin, end)
        if first_with == end:
            return None
        return self._times[first_with - 1] if first_with > begin else None, self._times[first_with]


def _order(sample: EndOffset) -> tuple[int, int, int, int]:
    """Of one moment the sample that knows more comes last; fields that may be None do not compare."""
    start = -1 if sample.start_offset is None else sample.start_offset
    return (
        sample.sampled_at_ms,
        sample.end_offset,
        start,
        -1 if sample.markers is None else sample.markers,
    )


EndOffsetsOf: TypeAlias = Callable[[str, int], PartitionSamples | None]
"""(topic, partition) -> its samples; None if there are none."""


class EndOffsets:
    """Samples of many topic partitions, by topic name and partition."""

    def __init__(
        self, samples: Mapping[tuple[str, int], Iterable[EndOffset]] | None = None
    ) -> None:
        """`samples` of each partition in any order."""
        self._of = {
            partition: PartitionSamples(of_partition)
            for partition, of_partition in (samples or {}).items()
        }

    def of(self, topic: str, topic_partition: int) -> PartitionSamples | None:
        """The samples of a partition; None if there are none."""
        return self._of.get((topic, topic_partition))

    def items(self) -> Iterable[tuple[tuple[str, int], PartitionSamples]]:
        """(topic, partition) and samples of every partition."""
        return self._of.items()

    def __len__(self) -> int:
        """Number of partitions."""
        return len(self._of)


def no_end_offsets(_topic: str, _topic_partition: int) -> PartitionSamples | None:
    """The default for `AuditOptions.end_offsets`: nothing was sampled."""
    return None


BOUNDED_BY_NEXT_MS: Final = 600_000
"""A sample is an upper bound only for so long before it: what a later one shows may all have arrived since."""


CLOCKS_MS: Final = 5_000
"""A sample that shows less than what was committed so shortly before may be older than its time says."""


class Lag(NamedTuple):
    """Lag of one partition of a group; null values of the columns are unknown."""

    records: Bounds | None
    """Offsets that wait, from the committed one or the log start offset to the end; exact at a sample.

    None where the committed offset lies beyond the end: nothing says from where the group will read.
    """
    least_ms: int | None
    most_ms: int | None
    """For how long the first record that waits has been there; None without an upper bound, and beyond the end."""
    start_offset: int | None
    """Log start offset, at least; None if no sample has it."""
    lost: int | None
    """Records that retention deleted before they were committed, at least; None if that is unknown."""
    beyond: int = 0
    """By how many offsets the committed one lies beyond the end, at least."""
    may_be_marker: bool = False
    """Whether the one offset that waits may be the marker of a transaction, which is no record."""


def lag_at(samples: PartitionSamples, committed: int, made_ms: int, at_ms: int) -> Lag:
    """The lag at `at_ms` of an offset that was committed at `made_ms` (both epoch ms).

    Lower bounds follow from samples up to then; upper bounds from the next one as well, if it is near.
    """
    end, next_ms = samples.end_at(at_ms), samples.next_at(at_ms)
    if next_ms is None or next_ms - at_ms > BOUNDED_BY_NEXT_MS:
        end = Bounds(end.least, None, end.least) if end != UNBOUNDED else UNBOUNDED
    start_offset = samples.start_at(at_ms)
    lost = None if start_offset is None else max(0, start_offset - committed)
    beyond = samples.beyond(committed, made_ms + CLOCKS_MS, at_ms)
    if beyond:
        return Lag(None, None, None, start_offset, lost, beyond)
    first = max(committed, start_offset or 0)
    records = Bounds.between(
        end.least - max(first, samples.start_by(at_ms) or 0),
        None if end.most is None else end.most - first,
        end.likely - first,
    )
    if records.most == 0:
        return Lag(records, 0, 0, start_offset, lost)
    arrived = samples.arrival_of(first, at_ms)
    least_ms, most_ms = 0, None
    last = samples.at(at_ms)
    if arrived is not None:
        not_before_ms, not_after_ms = arrived
        least_ms = at_ms - not_after_ms if records.least else 0
        most_ms = None if not_before_ms is None else at_ms - not_before_ms
    elif last is not None and last.end_offset <= first:
        most_ms = at_ms - last.sampled_at_ms
    may_be_marker = records.most == 1 and last is not None and last.markers is None
    return Lag(records, least_ms, most_ms, start_offset, lost, may_be_marker=may_be_marker)
