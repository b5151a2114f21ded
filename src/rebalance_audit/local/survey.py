"""The first pass over a log: how much it holds, from when to when, and every topic name in it.

Any record may have a topic's name, and the first cause that mentions a topic needs it. So the audit begins after this
pass.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

from rebalance_audit.audit.holes import Holes, hole, holes_among
from rebalance_audit.local.byte_ranges import Range, RangeItem, in_order, ranges_of, workers_for
from rebalance_audit.wire.metadata_log import read_topic_names
from rebalance_audit.wire.records import Undecodable, decode_record
from rebalance_audit.wire.segments.bad_bytes import BadBytes, TailNote
from rebalance_audit.wire.segments.folder import LogFolder
from rebalance_audit.wire.topic_names import TopicName, TopicNames

if TYPE_CHECKING:
    from rebalance_audit.segments.columns import Columns
    from rebalance_audit.segments.naming import TopicIdHalves


class PartitionEnd(NamedTuple):
    """One partition of the log, or a byte range of it."""

    records: int
    next_offset: int
    """Offset after the last record; 0 without one."""
    first_offset: int = 0
    """Of the first record; 0 without one."""
    holes: Holes = Holes()
    """Between its records."""

    @property
    def is_whole(self) -> bool:
        """Whether there is a record at each offset from 0 to the last one."""
        return self.records == self.next_offset

    def after(self, before: "PartitionEnd | None") -> "PartitionEnd":
        """Both parts together."""
        if before is None or not before.records:
            return self
        if not self.records:
            return before
        seam = hole(before.next_offset, self.first_offset)
        return PartitionEnd(
            before.records + self.records,
            max(before.next_offset, self.next_offset),
            before.first_offset,
            before.holes.then(seam).then(self.holes.since(before.next_offset)),
        )


class Survey(NamedTuple):
    """What a log, or a byte range of it, holds."""

    records: int
    offset_commits: int
    transaction_markers: int
    first_ms: int | None
    last_ms: int | None
    """Smallest and largest record timestamp; None where there is no record."""
    damage: list[str]
    """A sentence per stretch that could not be read."""
    unfinished_ends: int
    """Segments that end in reserved space or in half a batch, as those of a running broker do."""
    topics: list[TopicName]
    ends: dict[int, PartitionEnd]
    """Log partition -> how much it holds."""

    def is_whole(self, log_partition: int) -> bool:
        """Whether the partition has a record at each offset from 0 to its last one."""
        end = self.ends.get(log_partition)
        return end is not None and end.is_whole

    def holes(self, log_partition: int) -> Holes | None:
        """The offsets between a partition's records without one; None for a partition that is not there."""
        end = self.ends.get(log_partition)
        return None if end is None else end.holes

    def joined(self, right: "Survey") -> "Survey":
        """This part and a later one; the topics of neither are in it."""
        moments = [self.first_ms, self.last_ms, right.first_ms, right.last_ms]
        known = [moment for moment in moments if moment is not None]
        return Survey(
            self.records + right.records,
            self.offset_commits + right.offset_commits,
            self.transaction_markers + right.transaction_markers,
            min(known, default=None),
            max(known, default=None),
            self.damage + right.damage,
            self.unfinished_ends + right.unfinished_ends,
            [],
            self.ends
            | {number: end.after(self.ends.get(number)) for number, end in right.ends.items()},
        )


NOTHING: Final = Survey(0, 0, 0, None, None, [], 0, [], {})


def survey(folder: LogFolder) -> tuple[Survey, TopicNames]:
    """The whole folder, on all cores if it is large. Raises OSError that names the file."""
    names = read_topic_names(folder)
    total = NOTHING
    parts = ranges_of(folder, folder.segments)
    for part in in_order(_survey_range, parts, workers_for(folder.size_bytes)):
        names.merge(part.topics)
        total = total.joined(part)
    return total, names


def survey_of(log_partition: int, pieces: Iterable[RangeItem]) -> Survey:
    """What these pieces of a partition hold."""
    names = TopicLearner()
    moments: list[int] = []
    damage: list[str] = []
    offset_commits = markers = unfinished_ends = 0
    end = PartitionEnd(0, 0)
    for found in pieces:
        if isinstance(found, TailNote):
            unfinished_ends += 1
        elif isinstance(found, BadBytes):
            damage.append(found.detail)
        else:
            end = partition_end(found.log_offsets.tolist()).after(end)
            markers += sum(run.record_count for run in found.runs if run.is_control)
            times = found.record_timestamps_ms
            moments += (int(times.min()), int(times.max()))
            offset_commits += names.learn(found)
    return Survey(
        end.records,
        offset_commits,
        markers,
        min(moments, default=None),
        max(moments, default=None),
        damage,
        unfinished_ends,
        list(names.found.values()),
        {log_partition: end},
    )


def partition_end(log_offsets: list[int]) -> PartitionEnd:
    """A stretch of a partition with records at these offsets, at least one."""
    return PartitionEnd(
        len(log_offsets), max(log_offsets) + 1, log_offsets[0], holes_among(log_offsets)
    )


def _survey_range(part: Range) -> Survey:
    return survey_of(part.segment.log_partition, part.read())


class TopicLearner:
    """Learns topic names from at most one offset commit per topic."""

    def __init__(self) -> None:
        self.found = TopicNames()
        self._known: set[TopicIdHalves] = set()

    def take(self) -> list[TopicName]:
        """What was learned since the last call."""
        learned = list(self.found.values())
        self.found = TopicNames()
        return learned

    def learn(self, found: "Columns") -> int:
        """Look at every record; returns how many are offset commits."""
        from rebalance_audit.segments.naming import naming_records  # noqa: PLC0415 - imports numpy

        for topic_id, key, value, timestamp_ms in naming_records(found, self._known):
            record = decode_record(key, value)
            if not isinstance(record, Undecodable):
                self.found.add_record(record.key, record.value, timestamp_ms)
                if topic_id is not None:
                    self._known.add(topic_id)
        return int(found.have_commit_keys().sum())
