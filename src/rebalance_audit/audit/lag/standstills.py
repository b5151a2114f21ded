"""The partitions of one group that stand still or stood still: committed by one owner, not yet by the next."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from rebalance_audit.audit.commits.summary import NO_POSITION, CommitSummary, Numbers, summary_from
from rebalance_audit.audit.lag.end_offsets import PartitionSamples
from rebalance_audit.audit.rows import duration_ms
from rebalance_audit.bounds import Bounds
from rebalance_audit.replay.partitions import TopicPartition

SYNC_COMMITS: Final = 5
"""So many commits for a partition without members are no reset."""


class Standstill(NamedTuple):
    """One partition from the last commit before it changed hands, or was revoked, to the first commit after."""

    since_ms: int
    """Time of that last commit (epoch ms); later if an earlier rebalance accounts for the time before."""
    committed_ms: int
    log_offset: int
    """Time of that commit (epoch ms), and the log offset of its record."""
    committed: int
    """The highest offset that the owners so far committed."""
    begins_at: int
    """The committed offset from which the next owner begins, unless it resets or seeks."""
    records: int
    """By how many offsets the owner's commits moved in `over_ms`: its rate."""
    over_ms: int
    pause_ms: int | None
    """Mean time between its commits; None for a single one."""
    is_transactional: bool = False
    """The last commit belongs to a transaction, which may have been aborted."""
    surely: int | None = None
    """Then, a committed offset from before."""
    by_tool: CommitSummary | None = None
    """Commits since then while the group had no members; they decide `begins_at`."""
    late_commits: int = 0
    """Commits since then by members, while the partition had no owner."""
    is_kept: bool = False
    """The owner stayed the same: an eager generation made it stop."""
    resumed_ms: int | None = None
    """When the partition had an owner again (epoch ms); known once that owner has committed it."""
    next_ms: int | None = None
    """Time of the first commit after that (epoch ms); None if there is none yet."""
    next_committed: int | None = None
    """What it commits."""

    @staticmethod
    def after(summary: CommitSummary, recent: CommitSummary | None) -> "Standstill | None":
        """The standstill that begins after these commits; the recent ones show the rate best.

        None if the offsets are not readable.
        """
        if summary.last_position == NO_POSITION:
            return None
        shown = summary if recent is None or recent.commits < 3 else recent
        over_ms = duration_ms(shown.first_ms, shown.last_ms) or 0
        return Standstill(
            summary.last_ms,
            summary.last_ms,
            summary.last_offset,
            summary.last_position,
            summary.last_position,
            max(0, shown.last_position - shown.first_position),
            over_ms,
            shown.interval_ms,
            summary.is_transactional,
            summary.first_position if summary.is_transactional else None,
        )

    def committed_late(self, numbers: Numbers, *, by_member: bool) -> "Standstill":
        """It was committed without an owner: by a member that had lost it, or in an empty group by a tool."""
        position = numbers[10]
        if position == NO_POSITION:
            return self
        if not by_member:
            tool = self.by_tool
            by_tool = summary_from(numbers) if tool is None else tool.then(numbers)
            return self._replace(begins_at=position, by_tool=by_tool)
        return self._replace(
            since_ms=max(self.since_ms, numbers[1]),
            late_commits=self.late_commits + numbers[4],
            committed=max(self.committed, position),
            begins_at=position,
            is_transactional=numbers[8],
            surely=min(position, self.begins_at) if numbers[8] else None,
        )

    @property
    def is_synced(self) -> bool:
        """Whether it was committed without members again and again: an administrator resets offsets once or twice."""
        tool = self.by_tool
        return tool is not None and tool.commits >= SYNC_COMMITS

    @property
    def uncommitted_from(self) -> Bounds:
        """Where the next owner begins: exact, unless the last commit belongs to a transaction."""
        surely = self.begins_at if self.surely is None else min(self.surely, self.begins_at)
        return Bounds(surely, self.begins_at, self.begins_at)

    def lost_records(self, samples: PartitionSamples | None) -> int:
        """How many records retention deleted before they were committed, at least.

        The log began after the committed offset when the partition had an owner again. 0 where no sample shows it.
        """
        if samples is None or self.resumed_ms is None or self.is_transactional:
            return 0
        return max(0, (samples.start_at(self.resumed_ms) or 0) - self.begins_at)

    def likely_records(self, for_ms: int) -> int | None:
        """How many records arrive in a time at the rate before; None if the commits show no rate."""
        return self.records * for_ms // self.over_ms if self.over_ms else None


Settle: TypeAlias = Callable[[TopicPartition, Standstill], None]
"""Takes a standstill that is over."""


@dataclass(slots=True)
class Standstills:
    """At most two standstills of a partition are kept: one that is over, and the next one."""

    _open: dict[TopicPartition, Standstill] = field(default_factory=dict)
    """Without a commit since."""
    _over: dict[TopicPartition, Standstill] = field(default_factory=dict)
    """Committed again, not settled yet."""
    _generation_ms: int = 0
    """When the last generation was assigned that made members stop (epoch ms)."""

    def hand_over(
        self,
        partition: TopicPartition,
        summary: CommitSummary | None,
        recent: CommitSummary | None,
    ) -> None:
        """The owner, whose commits these are, no longer has the partition; it may not have committed it at all."""
        found = self._open.get(partition)
        if found is not None:
            found = found._replace(is_kept=False)
        elif summary is not None:
            found = Standstill.after(summary, recent)
        if found is not None:
            self._open[partition] = found

    def keep(
        self,
        recent: Mapping[TopicPartition, CommitSummary],
        all_of: Mapping[TopicPartition, CommitSummary],
        stopped: Callable[[TopicPartition], bool],
        at_ms: int,
    ) -> None:
        """An eager generation was assigned at `at_ms`: what its members keep stood still meanwhile, too.

        `recent`: the commits since the last generation; partitions without any still stand still.
        """
        self._generation_ms = at_ms
        for partition, summary in recent.items():
            if partition in all_of and stopped(partition):
                found = Standstill.after(all_of[partition], summary)
                if found is not None:
                    self._open[partition] = found._replace(is_kept=True)

    def open(self) -> Iterator[tuple[TopicPartition, Standstill]]:
        """What has not been committed since it stopped."""
        yield from self._open.items()

    def is_open(self, partition: TopicPartition) -> bool:
        """Whether the partition has not been committed since it stopped."""
        return partition in self._open

    def commit_late(self, partition: TopicPartition, numbers: Numbers, *, by_member: bool) -> None:
        """The partition was committed while it had no owner."""
        found = self._open[partition]
        self._open[partition] = found.committed_late(numbers, by_member=by_member)

    def resume(
        self,
        partition: TopicPartition,
        numbers: Numbers,
        taken_ms: int,
        settle: Settle,
    ) -> None:
        """The owner, who has had the partition since `taken_ms`, committed it for the first time."""
        found = self._open.pop(partition)
        before = self._over.get(partition)
        if before is not None:
            settle(partition, before)
        self._over[partition] = found._replace(
            resumed_ms=self._resumed_ms(found, taken_ms),
            next_ms=numbers[0],
            next_committed=None if numbers[9] == NO_POSITION else numbers[9],
        )

    def over(
        self, taken_ms: Callable[[TopicPartition], int | None], until_ms: int | None
    ) -> Iterator[tuple[TopicPartition, Standstill]]:
        """The standstills that ended by `until_ms` (epoch ms; None: by now), committed since or not.

        `taken_ms`: since when the owner has a partition, None without one.
        """
        for partition, found in self._over.items():
            if until_ms is None or (found.resumed_ms or 0) <= until_ms:
                yield partition, found
        for partition, found in self._open.items():
            since_ms = taken_ms(partition)
            if since_ms is None:
                continue
            resumed_ms = self._resumed_ms(found, since_ms)
            if until_ms is None or resumed_ms <= until_ms:
                yield partition, found._replace(resumed_ms=resumed_ms)

    def settled(self, taken_ms: Callable[[TopicPartition], int | None], until_ms: int) -> None:
        """What ended by `until_ms` (epoch ms) is accounted for; what is not committed yet stands still since then."""
        self._over.clear()
        for partition, found in self._open.items():
            since_ms = taken_ms(partition)
            if since_ms is not None and self._resumed_ms(found, since_ms) <= until_ms:
                self._open[partition] = found._replace(since_ms=max(found.since_ms, until_ms))

    def forget(self) -> None:
        """The group is gone."""
        self._open.clear()
        self._over.clear()
        self._generation_ms = 0

    def _resumed_ms(self, found: Standstill, taken_ms: int) -> int:
        return self._generation_ms if found.is_kept else taken_ms
