"""Which member a group's offset commits belong to."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from rebalance_audit.audit.commits.rhythm import CommitHabits, CommitRhythm, UsualPause, rhythm_of
from rebalance_audit.audit.commits.summary import (
    NO_POSITION,
    CommitSummary,
    EndedStretch,
    LastCommit,
    Numbers,
    Summaries,
    summary_from,
    summary_of,
)
from rebalance_audit.audit.lag.standstills import Settle, Standstills
from rebalance_audit.audit.members.stint import MemberWatch
from rebalance_audit.audit.ownership.ownership import Owner, Ownership
from rebalance_audit.replay.changes import Position
from rebalance_audit.replay.partitions import TopicPartition
from rebalance_audit.wire.generated.messages import LegacyOffsetCommitKey, OffsetCommitKey
from rebalance_audit.wire.records import Undecodable, decode_record


class CommittedPosition(NamedTuple):
    """The committed offset of a partition that has an owner."""

    topic: str
    topic_partition: int
    member_id: str
    """The owner; it may not have committed yet."""
    instance_id: str | None
    client_id: str
    committed: int
    at_ms: int
    """Time of the last commit (epoch ms)."""
    per_second: float | None
    """By how many offsets the commits since the last generation or epoch moved, in a second; None without two."""


_PARSED_MAX: Final = 100_000
"""Number of keys whose partition is remembered, to bound memory."""


def _none_stopped(_partition: TopicPartition) -> bool:
    return False


class CommitBook:
    """The commits of one group for the partitions that members own.

    Commits while the partition has no owner are evidence for no member: those of administrators (`--reset-offsets`
    needs an empty group) and of applications without group management.
    """

    _of_partition: dict[TopicPartition, CommitSummary]
    """Since its current owner took the partition; by the topic's name, whatever the group's protocol."""
    _before: dict[TopicPartition, int]
    """Last commit (epoch ms) of the owner before."""
    _of_round: dict[TopicPartition, CommitSummary]
    """Since the last generation or epoch."""
    round_most: int = 0
    """Most commits of one partition since then."""
    _round_ms: int = 0
    """When the last generation began (epoch ms)."""
    habits: CommitHabits

    def __init__(self, log_partition: int, *, is_whole: bool | None = None) -> None:
        """`is_whole`: whether the log partition lacks no record; None if unknown."""
        self._log_partition = log_partition
        self._is_whole = is_whole
        self._of_partition = {}
        self._before = {}
        self._of_round = {}
        self.habits = CommitHabits()
        self.usual_pause = UsualPause()
        self.standstills = Standstills()
        """Parts of the state, see `Life.parts`."""
        self._parsed: dict[bytes, TopicPartition | None] = {}

    def take(
        self,
        summaries: Summaries,
        ownership: Ownership,
        watches: Mapping[str, MemberWatch],
        settle: Settle,
    ) -> None:
        """Commits after everything that was taken before; in between nothing has changed hands.

        `settle` takes standstills that are over.
        """
        standstills = self.standstills
        parsed, of_partition, of_round = self._parsed, self._of_partition, self._of_round
        latest: dict[str, tuple[int, TopicPartition, Numbers]] = {}
        for key, numbers in summaries.items():
            partition = parsed[key] if key in parsed else self._partition_of(key)
            if partition is None:
                continue
            owner = ownership.owner_by_name(partition)
            stands_still = standstills.is_open(partition)
            if owner is None:
                if stands_still:
                    standstills.commit_late(partition, numbers, by_member=bool(watches))
                continue
            if stands_still:
                taken_ms = ownership.held_since_ms(partition) or 0
                standstills.resume(partition, numbers, taken_ms, settle)
            known = of_partition.get(partition)
            joined = summary_from(numbers) if known is None else known.then(numbers)
            if known is not None and self._round_ms and partition not in of_round:
                # Members do not commit while the group rebalances, so only the time since then counts.
                pause_ms = numbers[0] - max(self._round_ms, known.last_ms)
                longest_ms = max(known.longest_ms, pause_ms, numbers[5])
                joined = joined._replace(longest_ms=longest_ms)
            of_partition[partition] = joined
            known = of_round.get(partition)
            recent = summary_from(numbers) if known is None else known.then(numbers)
            of_round[partition] = recent
            self.round_most = max(self.round_most, recent.commits)
            member_id, last_offset = owner[0], numbers[3]
            if member_id not in latest or latest[member_id][0] < last_offset:
                latest[member_id] = last_offset, partition, numbers
        for member_id, (log_offset, (topic, number), numbers) in latest.items():
            watch = watches.get(member_id)
            last = None if watch is None else watch.last_commit
            if watch is not None and (last is None or last.position.log_offset < log_offset):
                summary = summary_from(numbers)
                position = Position(
                    self._log_partition,
                    log_offset,
                    summary.last_ms,
                    summary.leader_epoch,
                    is_transactional=summary.is_transactional,
                )
                watch.last_commit = LastCommit(position, str(topic), number)

    def begin_round(
        self, at_ms: int | None = None, stopped: Callable[[TopicPartition], bool] = _none_stopped
    ) -> None:
        """A generation (since `at_ms`, epoch ms) or an epoch begins.

        Many clients start their interval anew with a generation, so its commits alone show their rhythm. `stopped`:
        whether the owner of a partition, who stays the same, stopped for the generation.
        """
        if at_ms is not None:
            self.usual_pause.learn(self._of_round.values())
            self.standstills.keep(self._of_round, self._of_partition, stopped, at_ms)
        self._of_round = {}
        self.round_most, self._round_ms = 0, at_ms or 0

    def learn(self, ownership: Ownership, watches: Mapping[str, MemberWatch]) -> None:
        """A generation or an epoch ends: keep what its commits show of the clients' habits."""
        for client_id, commits in self.idle_commits(ownership, watches).items():
            self.habits.note_idle(client_id, commits)

    def idle_commits(
        self, ownership: Ownership, watches: Mapping[str, MemberWatch]
    ) -> Mapping[str, int]:
        """Client id -> requests without any new position since the last generation or epoch, at least.

        A member commits all its partitions at once, or some of them. So as many requests as were made for one
        partition, less those for any of its partitions that had moved. The last one can come with a change of owners.
        """
        counts: dict[str, list[int]] = {}
        for owner, _, summary in _owned(self._of_round, ownership):
            count = counts.setdefault(owner.member_id, [0, 0])
            count[0] = max(count[0], summary.commits)
            count[1] += summary.commits - summary.unchanged
        found: dict[str, int] = {}
        for member_id, (most, moved) in counts.items():
            watch = watches.get(member_id)
            if watch is not None and most - moved > 1:
                client_id = watch.stint.identity.client_id
                found[client_id] = found.get(client_id, 0) + most - moved - 1
        return found

    def rhythm_of(
        self, partitions: Iterable[TopicPartition], *, with_round: bool = False
    ) -> CommitRhythm | None:
        """The rhythm of the member that owns the partitions; None if it committed none of them.

        `with_round`: its clients start their interval anew with each generation.
        """
        owned = tuple(partitions)
        recent = _most(self._of_round, owned) if with_round else None
        return rhythm_of(_most(self._of_partition, owned), recent)

    def of_round_by_member(self, ownership: Ownership) -> Mapping[str, list[CommitSummary]]:
        """Member id -> its commits since the last generation, of each partition; without who made none."""
        found: dict[str, list[CommitSummary]] = {}
        for owner, _, summary in _owned(self._of_round, ownership):
            found.setdefault(owner.member_id, []).append(summary)
        return found

    def of_round(self) -> Iterable[tuple[TopicPartition, CommitSummary]]:
        """The commits since the last generation or epoch, by the topic's name."""
        return self._of_round.items()

    def usual_pause_ms(self) -> int | None:
        """The usual pause between two commits for a partition, in a classic group; None if no generation shows one."""
        return self.usual_pause.usual_ms(self._of_round.values())

    def end(self, partition: TopicPartition) -> EndedStretch:
        """The commits of the owner that no longer has the partition; from here on those of the next one count."""
        summary = self._of_partition.pop(partition, None)
        recent = self._of_round.pop(partition, None)
        self.standstills.hand_over(partition, summary, recent)
        before_ms = self._before.pop(partition, None)
        if summary is not None:
            self._before[partition] = summary.last_ms
        return EndedStretch(summary, before_ms, self._is_whole)

    def forget(self) -> None:
        """The group is gone, and with it whatever was committed."""
        self._of_partition.clear()
        self._before.clear()
        self._of_round = {}
        self.round_most = self._round_ms = 0
        self.habits = CommitHabits()
        self.usual_pause.forget()
        self.standstills.forget()

    def by_member(
        self, ownership: Ownership
    ) -> Mapping[str, list[tuple[TopicPartition, CommitSummary]]]:
        """Member id -> each partition that it owns and has committed, by the topic's name."""
        found: dict[str, list[tuple[TopicPartition, CommitSummary]]] = {}
        for owner, partition, summary in _owned(self._of_partition, ownership):
            found.setdefault(owner.member_id, []).append((partition, summary))
        return found

    def last_commits(
        self, ownership: Ownership
    ) -> Iterator[tuple[Owner, TopicPartition, CommitSummary]]:
        """The commits of each partition that has an owner: by it, or before, as far as they decide where it began."""
        for partition, stood in self.standstills.open():
            owner = ownership.owner_by_name(partition)
            if owner is not None and partition not in self._of_partition:
                position = Position(self._log_partition, stood.log_offset, stood.committed_ms, None)
                yield owner, partition, summary_of(position, stood.begins_at)
        for owner, partition, summary in _owned(self._of_partition, ownership):
            if summary.last_position != NO_POSITION:
                yield owner, partition, summary

    def committed(self, ownership: Ownership) -> Iterator[CommittedPosition]:
        """The committed offset of each partition that has an owner, committed by it or by the one before."""
        for owner, partition, summary in self.last_commits(ownership):
            recent = self._of_round.get(partition, summary)
            took_ms = recent.last_ms - recent.first_ms
            moved = recent.last_position - recent.first_position
            rate = moved * 1000 / took_ms if took_ms > 0 <= moved else None
            who = owner.member_id, owner.instance_id, owner.client_id
            last = summary.last_position, summary.last_ms, rate
            yield CommittedPosition(str(partition[0]), partition[1], *who, *last)

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


def _owned(
    summaries: Mapping[TopicPartition, CommitSummary], ownership: Ownership
) -> Iterator[tuple[Owner, TopicPartition, CommitSummary]]:
    for partition, summary in summaries.items():
        owner = ownership.owner_by_name(partition)
        if owner is not None:
            yield owner, partition, summary


def _most(
    summaries: Mapping[TopicPartition, CommitSummary], partitions: Iterable[TopicPartition]
) -> CommitSummary | None:
    found = [
        (summary.commits, partition, summary)
        for partition in partitions
        if (summary := summaries.get(partition)) is not None
    ]
    return max(found)[2] if found else None
