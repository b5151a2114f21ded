"""What commits show when partitions change hands: records skipped or lost, offsets that go back, late commits."""

from dataclasses import dataclass, field

from rebalance_audit.audit.causes.departures import evidence_at
from rebalance_audit.audit.findings.finding import TOPICS_LIMIT, Ending, Severity
from rebalance_audit.audit.findings.watcher import Trail, Watcher
from rebalance_audit.audit.lag.end_offsets import PartitionSamples
from rebalance_audit.audit.lag.standstills import Standstill
from rebalance_audit.replay.changes import GroupType, Position
from rebalance_audit.replay.partitions import TopicPartition
from rebalance_audit.sentences.reason import CodedReason, because


@dataclass(slots=True)
class _Found:
    began: Position
    last_ms: int
    partitions: int = 0
    records: int = 0
    times: int = 0
    topics: list[str] = field(default_factory=list)
    trail: Trail = field(default_factory=Trail)


class _OfHandovers(Watcher):
    """One finding for each rebalance, about all partitions that show it."""

    _found: _Found | None = None

    def note(
        self, partition: TopicPartition, stood: Standstill, records: int, code: str, /, **facts: int
    ) -> None:
        """A partition shows it; code and facts are those of the evidence, its last commit before."""
        position = Position(
            self.scene.life.log_partition, stood.log_offset, stood.committed_ms, None
        )
        found = self._found
        if found is None or position.log_offset < found.began.log_offset:
            found = found or _Found(position, 0)
            found.began = position
        self._found = found
        found.last_ms = max(found.last_ms, stood.next_ms or stood.resumed_ms or 0)
        found.partitions += 1
        found.records += records
        found.times += facts.get("times", 0)
        topic = str(partition[0])
        if topic not in found.topics and len(found.topics) < TOPICS_LIMIT:
            found.topics.append(topic)
        name = f"{topic}-{partition[1]}"
        found.trail.add(evidence_at(position, code, partition=name, **facts))

    def costs_known(self) -> None:
        """Report what the rebalance shows."""
        found, self._found = self._found, None
        if found is None:
            return
        self.find(
            found.began,
            found.last_ms,
            self.reason(found),
            sorted(found.trail.evidence(), key=lambda each: each.log_offset),
            topics=found.topics,
        )

    def reason(self, found: _Found) -> CodedReason:
        """The sentence."""
        return because(self.kind, partitions=found.partitions, records=found.records)

    def ended(self, end: Ending) -> None:
        """Report the last rebalance, which may still go on."""
        self.costs_known()


class RecordsSkipped(_OfHandovers):
    """An administrator, or a tool, moved the committed offset forward."""

    kind = "records_skipped"
    definition = (
        "The committed offset of a partition was moved forward while the group had no members, past what any owner had "
        "committed."
    )
    severity = Severity.WARNING

    def stood_still(
        self, partition: TopicPartition, stood: Standstill, samples: PartitionSamples | None
    ) -> None:
        """Compare where the next owner begins with what was committed."""
        skipped = stood.begins_at - stood.committed
        if skipped > 0 and not stood.is_synced:
            self.note(
                partition,
                stood,
                skipped,
                "offset_moved_forward",
                committed=stood.committed,
                then=stood.begins_at,
            )


class CommittedWithoutMembers(_OfHandovers):
    """A tool committed again and again."""

    kind = "committed_without_members"
    definition = (
        "While the group had no members, the committed offset of a partition was committed at least five "
        "times, and moved past what any owner had committed. That is no reset: a tool syncs the offsets, as "
        "MirrorMaker does, or a consumer commits that assigns partitions to itself."
    )
    severity = Severity.INFO

    def stood_still(
        self, partition: TopicPartition, stood: Standstill, samples: PartitionSamples | None
    ) -> None:
        """Compare as for a reset."""
        skipped, tool = stood.begins_at - stood.committed, stood.by_tool
        if skipped > 0 and stood.is_synced and tool is not None:
            self.note(
                partition,
                stood,
                skipped,
                "offset_moved_by_commits",
                times=tool.commits,
                committed=stood.committed,
                then=stood.begins_at,
            )

    def reason(self, found: _Found) -> CodedReason:
        """With the number of commits."""
        return because(
            self.kind, partitions=found.partitions, records=found.records, times=found.times
        )


class RecordsLost(_OfHandovers):
    """Retention deleted records before they were committed."""

    kind = "records_lost"
    definition = (
        "When a partition got its next owner, its log began after the committed offset: retention had deleted records "
        "that were not committed. Needs samples of start offsets."
    )
    severity = Severity.CRITICAL

    def stood_still(
        self, partition: TopicPartition, stood: Standstill, samples: PartitionSamples | None
    ) -> None:
        """Compare the log's start with the committed offset."""
        lost, committed = stood.lost_records(samples), stood.begins_at
        if lost:
            start = committed + lost
            self.note(partition, stood, lost, "log_starts_later", committed=committed, start=start)


class BackwardCommit(_OfHandovers):
    """A new owner went back."""

    kind = "backward_commit"
    definition = (
        "The next owner of a partition committed a lower offset than the one before, outside of transactions, so "
        "records are read again."
    )
    severity = Severity.WARNING

    def stood_still(
        self, partition: TopicPartition, stood: Standstill, samples: PartitionSamples | None
    ) -> None:
        """Compare the first commit after the handover with the last one before."""
        after = stood.next_committed
        if after is not None and after < stood.committed and not stood.is_transactional:
            back, committed = stood.committed - after, stood.committed
            self.note(partition, stood, back, "committed_lower", committed=committed, then=after)


class CommitWithoutOwnership(_OfHandovers):
    """A member committed what it had lost."""

    kind = "commit_without_ownership"
    definition = (
        "In a consumer group: a partition that no member owned was committed while the group had members, by a member "
        "that had given it up or lost it. Members of classic groups commit as they revoke, after the generation that "
        "took the partition away."
    )
    severity = Severity.INFO

    def stood_still(
        self, partition: TopicPartition, stood: Standstill, samples: PartitionSamples | None
    ) -> None:
        """Note commits that came while the partition had no owner."""
        if stood.late_commits and self.scene.life.protocol is GroupType.CONSUMER:
            self.note(partition, stood, 0, "committed_unowned", times=stood.late_commits)
