"""Partitions whose lag grows without commits, and partitions that are committed all the time."""

from collections.abc import Sequence
from dataclasses import field
from typing import Final, NamedTuple

from rebalance_audit.audit.causes.departures import evidence_at
from rebalance_audit.audit.commits.summary import CommitSummary
from rebalance_audit.audit.findings.finding import (
    EVIDENCE_LIMIT,
    TOPICS_LIMIT,
    AtLogEnd,
    Ending,
    Severity,
)
from rebalance_audit.audit.findings.watcher import ASSIGNING_TYPES, Watcher
from rebalance_audit.audit.lag.end_offsets import CLOCKS_MS, no_end_offsets
from rebalance_audit.audit.verdicts.cause import Evidence
from rebalance_audit.replay.changes import Position
from rebalance_audit.replay.partitions import TopicPartition
from rebalance_audit.sentences.reason import because

_LOOKS: Final = 10
"""Number of times to look while a stall grows by the length that makes it a finding."""


class Stall(NamedTuple):
    """The partitions of one member without commits although records waited, as of the last look."""

    began: Position
    """The oldest of their last commits."""
    seen_ms: int
    partitions: int
    lag: int
    topics: tuple[str, ...]
    is_certain: bool
    """Whether records wait: the last offset of a partition may be the marker of a transaction."""


class StalledWithLag(Watcher):
    """Looks for partitions in which records wait for longer than the threshold without a commit."""

    kind = "stalled_with_lag"
    definition = (
        "A partition has an owner, a record waited in it for at least {stalled_ms}, and no member "
        "committed the partition "
        "in that time. An idle partition does not count: nothing waits there. Needs samples of end offsets; a stall "
        "that begins and ends between two records of the group is not found."
    )
    severity = Severity.WARNING
    at_log_end = AtLogEnd.APPEARS

    _stalls: dict[str, Stall] = field(default_factory=dict)
    """By member id, while they last."""
    _look_from_ms: int = 0

    def write_comes(self, position: Position) -> None:
        """Look from time to time."""
        now_ms = position.record_timestamp_ms
        if now_ms >= self._look_from_ms:
            # Whether or not there are samples by now: a resumed audit looks at the same moments as one from the start.
            self._look_from_ms = now_ms + self.rules.stalled_ms // _LOOKS
            if self.scene.options.end_offsets is not no_end_offsets:
                self._look(Ending(now_ms))

    def ended(self, end: Ending) -> None:
        """Report what is stalled when the log ends, or the group is deleted."""
        if self.scene.options.end_offsets is not no_end_offsets:
            self._look(end)
        for member_id, stall in self._stalls.items():
            self._report(member_id, stall, end.known_ms)

    def _look(self, now: Ending) -> None:
        life = self.scene.life
        stalls: dict[str, Stall] = {}
        if life.protocol in ASSIGNING_TYPES:
            for member_id, committed in life.commits.by_member(life.ownership).items():
                stall = self._stall_of(committed, now)
                if stall is not None:
                    stalls[member_id] = stall
        for member_id, before in self._stalls.items():
            if member_id not in stalls:
                self._report(member_id, before, before.seen_ms)
            elif stalls[member_id].began.log_offset > before.began.log_offset:
                stalls[member_id] = stalls[member_id]._replace(began=before.began)
        self._stalls = stalls

    def _stall_of(
        self, committed: Sequence[tuple[TopicPartition, CommitSummary]], now: Ending
    ) -> Stall | None:
        options, life = self.scene.options, self.scene.life
        now_ms, stalled_ms = now.at_ms, self.rules.stalled_ms
        found: Stall | None = None
        for (name, number), summary in committed:
            samples = options.end_offsets(str(name), number)
            if samples is None or not now.reached(summary.last_ms + stalled_ms):
                continue
            # Records before the log start offset are deleted, and wait no more.
            first = max(summary.last_position, samples.start_at(now_ms) or 0)
            arrived = samples.arrival_of(first, now_ms)
            lag = samples.end_at(now_ms).least - first
            if arrived is None or lag <= 0 or not now.reached(arrived[1] + stalled_ms):
                continue
            last = samples.at(now_ms)
            is_certain = lag > 1 or (last is not None and last.markers is not None)
            began = Position(
                life.log_partition, summary.last_offset, summary.last_ms, summary.leader_epoch
            )
            if found is None:
                found = Stall(began, now_ms, 1, lag, (str(name),), is_certain=is_certain)
                continue
            topics = found.topics
            if str(name) not in topics and len(topics) < TOPICS_LIMIT:
                topics = (*topics, str(name))
            began = min(began, found.began, key=lambda each: each.log_offset)
            is_certain = is_certain or found.is_certain
            found = Stall(began, now_ms, found.partitions + 1, found.lag + lag, topics, is_certain)
        return found

    def _report(self, member_id: str, stall: Stall, until_ms: int | None) -> None:
        lasted_ms = stall.seen_ms - stall.began.record_timestamp_ms
        reasons = [
            because(
                self.kind,
                member=member_id,
                partitions=stall.partitions,
                lasted=max(0, lasted_ms),
                records=stall.lag,
            )
        ]
        if not stall.is_certain:
            reasons.append(because("lag_may_be_marker"))
        self.find(
            stall.began,
            until_ms,
            reasons,
            (evidence_at(stall.began, "last_commit_before", member=member_id),),
            members=[member_id],
            topics=stall.topics,
            subject=member_id,
        )


class Beyond(NamedTuple):
    """Partitions whose committed offset lies beyond the end, as of the last look."""

    began: Position
    """The commit of the one that has been beyond for longest."""
    seen_ms: int
    """The last sample that shows it (epoch ms)."""
    partitions: int
    offsets: int
    """By how many of the one that is furthest beyond."""
    topics: tuple[str, ...]
    evidence: tuple[Evidence, ...]


class CommittedBeyondEnd(Watcher):
    """Looks for committed offsets that no record has reached."""

    kind = "committed_beyond_end"
    definition = (
        "The committed offset of a partition that has an owner lay beyond the end of the partition for at least "
        "{beyond_end_ms}, so that the group cannot read from there: the topic was deleted and created anew or lost "
        "records, or the offset is that of another cluster. kafka-consumer-groups shows a negative lag. Needs samples "
        "of end offsets."
    )
    severity = Severity.WARNING
    at_log_end = AtLogEnd.APPEARS

    _beyond: Beyond | None = None
    _look_from_ms: int = 0

    def write_comes(self, position: Position) -> None:
        """Look from time to time."""
        now_ms = position.record_timestamp_ms
        if now_ms >= self._look_from_ms:
            self._look_from_ms = now_ms + self.rules.beyond_end_ms
            self._look(Ending(now_ms))

    def ended(self, end: Ending) -> None:
        """Report what is beyond when the log ends, or the group is deleted."""
        self._look(end)
        if self._beyond is not None:
            self._report(self._beyond, end.known_ms)

    def _look(self, now: Ending) -> None:
        if self.scene.options.end_offsets is no_end_offsets:
            return
        before, found = self._beyond, self._found(now)
        if before is not None and found is None:
            self._report(before, before.seen_ms)
        elif before is not None and found is not None:
            began = min(before.began, found.began, key=lambda each: each.log_offset)
            found = found._replace(began=began)
        self._beyond = found

    def _found(self, now: Ending) -> Beyond | None:
        life = self.scene.life
        found: Beyond | None = None
        for _, (name, number), commits in life.commits.last_commits(life.ownership):
            topic, committed = str(name), commits.last_position
            samples = self.scene.options.end_offsets(topic, number)
            last = None if samples is None else samples.at(now.at_ms)
            if samples is None or last is None:
                continue
            if last.sampled_at_ms < commits.last_ms + CLOCKS_MS or committed <= last.end_offset:
                continue
            first_end = samples.end_at(commits.first_ms).most
            was_beyond = first_end is not None and commits.first_position > first_end
            since_ms = commits.first_ms if was_beyond else commits.last_ms
            log_offset = commits.first_offset if was_beyond else commits.last_offset
            if not now.reached(since_ms + self.rules.beyond_end_ms):
                continue
            offsets = committed - last.end_offset
            began = Position(life.log_partition, log_offset, since_ms, None)
            evidence = evidence_at(
                Position(life.log_partition, commits.last_offset, commits.last_ms, None),
                "log_ends_before",
                partition=f"{topic}-{number}",
                committed=committed,
                end=last.end_offset,
            )
            if found is None:
                found = Beyond(began, last.sampled_at_ms, 1, offsets, (topic,), (evidence,))
                continue
            topics, shown = found.topics, found.evidence
            if topic not in topics and len(topics) < TOPICS_LIMIT:
                topics = (*topics, topic)
            if len(shown) < EVIDENCE_LIMIT:
                shown = (*shown, evidence)
            began = min(began, found.began, key=lambda each: each.log_offset)
            seen_ms = max(found.seen_ms, last.sampled_at_ms)
            offsets = max(offsets, found.offsets)
            found = Beyond(began, seen_ms, found.partitions + 1, offsets, topics, shown)
        return found

    def _report(self, beyond: Beyond, until_ms: int | None) -> None:
        lasted_ms = beyond.seen_ms - beyond.began.record_timestamp_ms
        self.find(
            beyond.began,
            until_ms,
            because(
                self.kind,
                partitions=beyond.partitions,
                lasted=max(0, lasted_ms),
                offsets=beyond.offsets,
            ),
            beyond.evidence,
            topics=beyond.topics,
        )


class Flood(NamedTuple):
    """A partition that is committed very often."""

    summary: CommitSummary
    member_id: str


class CommitFlood(Watcher):
    """Measures how often each partition is committed between two epochs."""

    kind = "commit_flood"
    definition = (
        "A partition was committed at least {flood_commits} times between two epochs, on average at least "
        "{flood_per_second} times a second."
    )
    severity = Severity.WARNING

    _floods: dict[TopicPartition, Flood] = field(default_factory=dict)
    """Since the last epoch; partitions by the topic's name."""

    def write_comes(self, position: Position) -> None:
        """Look at the commits so far; those of an epoch are complete when the next one begins."""
        if self._floods or self.scene.life.commits.round_most >= self.rules.flood_commits:
            self._look()

    def ended(self, end: Ending) -> None:
        """Report the floods of the last epoch."""
        self._look()
        for partition, flood in self._floods.items():
            self._report(partition, flood)

    def _look(self) -> None:
        commits, rules = self.scene.life.commits, self.rules
        if commits.round_most < rules.flood_commits and not self._floods:
            return
        now: dict[TopicPartition, Flood] = {}
        for partition, summary in commits.of_round():
            over_ms = max(1, summary.last_ms - summary.first_ms)
            often = summary.commits * 1_000 >= rules.flood_per_second * over_ms
            if summary.commits >= rules.flood_commits and often:
                owner = self.scene.life.ownership.owner_by_name(partition)
                now[partition] = Flood(summary, "" if owner is None else owner.member_id)
        for partition, before in self._floods.items():
            flood = now.get(partition)
            if flood is None or flood.summary.first_offset != before.summary.first_offset:
                self._report(partition, before)
        self._floods = now

    def _report(self, partition: TopicPartition, flood: Flood) -> None:
        life, summary = self.scene.life, flood.summary
        topic, number = str(partition[0]), partition[1]
        repeated = summary.unchanged * 2 > summary.commits
        reasons = [
            because(
                self.kind,
                partition=f"{topic}-{number}",
                times=summary.commits,
                took=max(0, summary.last_ms - summary.first_ms),
            )
        ]
        if repeated:
            reasons.append(because("flood_repeats"))
        began = Position(
            life.log_partition, summary.first_offset, summary.first_ms, summary.leader_epoch
        )
        self.find(
            began,
            summary.last_ms,
            reasons,
            (evidence_at(began, "first_of_commits", times=summary.commits),),
            members=[flood.member_id] if flood.member_id else [],
            topics=[topic],
            subject=f"{topic}-{number}",
        )
