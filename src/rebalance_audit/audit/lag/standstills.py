"""The partitions of one group that stand still or stood still, until their cost is settled."""

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from rebalance_audit.audit.commits.summary import NO_POSITION, CommitSummary, Numbers
from rebalance_audit.audit.lag.standstill import Standstill
from rebalance_audit.replay.partitions import TopicPartition

Settle: TypeAlias = Callable[[TopicPartition, Standstill], None]
"""Takes a standstill that is over."""


class Standstills:
    """At most two standstills of a partition are kept: one that is over, and the next one."""

    _open: dict[TopicPartition, Standstill]
    """Without a commit since."""
    _over: dict[TopicPartition, Standstill]
    """Committed again, not settled yet."""
    _generation_ms: int
    """When the last generation was assigned that made members stop (epoch ms)."""

    def __init__(self) -> None:
        self._open = {}
        self._over = {}
        self._generation_ms = 0

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
