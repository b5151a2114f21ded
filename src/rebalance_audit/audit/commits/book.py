"""Which member a group's offset commits belong to."""

from collections.abc import Iterable, Mapping
from typing import Final

from rebalance_audit.audit.causes.member_watch import MemberWatch
from rebalance_audit.audit.commits.collect import Summaries
from rebalance_audit.audit.commits.ended_stretch import EndedStretch
from rebalance_audit.audit.commits.last_commit import LastCommit
from rebalance_audit.audit.commits.summary import CommitSummary, Numbers, summary_from
from rebalance_audit.audit.commits.usual_pause import UsualPause
from rebalance_audit.audit.group.ownership import Ownership
from rebalance_audit.replay.changes import Position
from rebalance_audit.replay.partitions import TopicPartition
from rebalance_audit.wire.generated.messages import LegacyOffsetCommitKey, OffsetCommitKey
from rebalance_audit.wire.records import Undecodable, decode_record

_PARSED_MAX: Final = 100_000
"""Number of keys whose partition is remembered, to bound memory."""

COMMITS_OF_A_TIMER: Final = 6
"""Number of commits at even pauses that nothing but a timer makes."""


class CommitBook:
    """The commits of one group for the partitions that members own.

    Commits while nobody owns the partition are evidence for nobody: those of administrators (`--reset-offsets` needs an
    empty group) and of applications without group management.
    """

    _of_partition: dict[TopicPartition, CommitSummary]
    """Since its current owner took the partition; by the topic's name, whatever the group's protocol."""
    _before: dict[TopicPartition, int]
    """Last commit (epoch ms) of the owner before."""
    _of_round: dict[TopicPartition, CommitSummary] | None
    """The same since the last generation; None for groups without generations."""
    interval_ms: int | None
    """The interval of the timer by which members commit, of generations so far; None if none shows one."""

    def __init__(self, log_partition: int, *, is_whole: bool | None = None) -> None:
        """`is_whole`: whether the log partition lacks no record; None if nobody counted."""
        self._log_partition = log_partition
        self._is_whole = is_whole
        self._of_partition = {}
        self._before = {}
        self._of_round = self.interval_ms = None
        self.usual_pause = UsualPause()
        """Part of the state, see `Life.parts`."""
        self._parsed: dict[bytes, TopicPartition | None] = {}

    def take(
        self, summaries: Summaries, ownership: Ownership, watches: Mapping[str, MemberWatch]
    ) -> None:
        """Commits after everything that was taken before; in between nothing has changed hands."""
        parsed, of_partition, of_round = self._parsed, self._of_partition, self._of_round
        latest: dict[str, tuple[int, TopicPartition, Numbers]] = {}
        for key, numbers in summaries.items():
            partition = parsed[key] if key in parsed else self._partition_of(key)
            owner = None if partition is None else ownership.owner_by_name(partition)
            if owner is None or partition is None:
                continue
            known = of_partition.get(partition)
            of_partition[partition] = (
                summary_from(numbers) if known is None else known.then(numbers)
            )
            if of_round is not None:
                known = of_round.get(partition)
                of_round[partition] = (
                    summary_from(numbers) if known is None else known.then(numbers)
                )
            member_id, last_offset = owner[0], numbers[3]
            if member_id not in latest or latest[member_id][0] < last_offset:
                latest[member_id] = last_offset, partition, numbers
        for member_id, (_, partition, numbers) in latest.items():
            watch = watches.get(member_id)
            if watch is not None:
                self._note_last(watch, partition, summary_from(numbers))

    def begin_round(self) -> None:
        """A generation begins. Java members start their interval anew, so its commits alone show their rhythm."""
        self.interval_ms = self.timer_ms()
        self.usual_pause.learn((self._of_round or {}).values())
        self._of_round = {}

    def timer_ms(self) -> int | None:
        """The interval at which members commit on a timer, as all members of an application do alike."""
        shown = [
            summary.due_ms
            for summary in (self._of_round or {}).values()
            if summary.commits >= COMMITS_OF_A_TIMER and summary.is_exact and summary.due_ms
        ]
        known = self.interval_ms
        if not shown or (known is not None and min(shown) > known):
            return known
        return min(shown)

    def usual_pause_ms(self) -> int | None:
        """The usual pause between two commits for a partition, in a classic group; None if no generation shows one."""
        return self.usual_pause.usual_ms((self._of_round or {}).values())

    def end(self, partition: TopicPartition) -> EndedStretch:
        """The commits of the owner that no longer has the partition; from here on those of the next one count."""
        summary = self._of_partition.pop(partition, None)
        if self._of_round is not None:
            self._of_round.pop(partition, None)
        before_ms = self._before.pop(partition, None)
        if summary is not None:
            self._before[partition] = summary.last_ms
        return EndedStretch(summary, before_ms, self._is_whole)

    def forget(self) -> None:
        """The group is gone, and with it whatever was committed."""
        self._of_partition.clear()
        self._before.clear()
        self.usual_pause.forget()
        self._of_round = self.interval_ms = None

    def by_member(
        self, ownership: Ownership
    ) -> Mapping[str, list[tuple[TopicPartition, CommitSummary]]]:
        """Member id -> each partition that it owns and has committed, by the topic's name."""
        found: dict[str, list[tuple[TopicPartition, CommitSummary]]] = {}
        for partition, summary in self._of_partition.items():
            owner = ownership.owner_by_name(partition)
            if owner is not None:
                found.setdefault(owner.member_id, []).append((partition, summary))
        return found

    def most_of(self, partitions: Iterable[TopicPartition]) -> CommitSummary | None:
        """The commits for the one of the partitions that has most; None if none has any."""
        return _most(self._of_partition, partitions)

    def most_of_round(self, partitions: Iterable[TopicPartition]) -> CommitSummary | None:
        """The same of the commits since the last generation."""
        return _most(self._of_round or {}, partitions)

    def _note_last(
        self, watch: MemberWatch, partition: TopicPartition, summary: CommitSummary
    ) -> None:
        last = watch.last_commit
        if last is None or last.position.log_offset < summary.last_offset:
            topic, number = partition
            position = Position(
                self._log_partition,
                summary.last_offset,
                summary.last_ms,
                summary.leader_epoch,
                is_transactional=summary.is_transactional,
            )
            watch.last_commit = LastCommit(position, str(topic), number)

    def _partition_of(self, key: bytes) -> TopicPartition | None:
        record = decode_record(key, None)
        partition: TopicPartition | None = None
        if not isinstance(record, Undecodable) and isinstance(
            record.key, LegacyOffsetCommitKey | OffsetCommitKey
        ):
            partition = (record.key.topic, record.key.partition)
        if len(self._parsed) >= _PARSED_MAX:
            self._parsed.clear()
        self._parsed[key] = partition
        return partition


def _most(
    summaries: Mapping[TopicPartition, CommitSummary], partitions: Iterable[TopicPartition]
) -> CommitSummary | None:
    found = [
        (summary.commits, partition, summary)
        for partition in partitions
        if (summary := summaries.get(partition)) is not None
    ]
    return max(found)[2] if found else None
