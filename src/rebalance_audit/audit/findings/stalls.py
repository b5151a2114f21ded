"""Partitions whose lag grows without commits, and partitions that are committed all the time."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from rebalance_audit.audit.causes.departures import evidence_at
from rebalance_audit.audit.commits.summary import CommitSummary
from rebalance_audit.audit.findings.ending import Ending
from rebalance_audit.audit.findings.finding import TOPICS_LIMIT, Severity
from rebalance_audit.audit.findings.finding_kind import AtLogEnd
from rebalance_audit.audit.findings.watcher import ASSIGNING_TYPES, Scene, Watcher
from rebalance_audit.audit.lag.end_offsets import no_end_offsets
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

    _stalls: dict[str, Stall]
    """By member id, while they last."""
    _look_from_ms: int

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._stalls = {}
        self._look_from_ms = 0

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
        self._stalls.clear()
        self._look_from_ms = 0

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
            arrived = samples.arrival_of(summary.last_position, now_ms)
            if arrived is None or not now.reached(arrived[1] + stalled_ms):
                continue
            lag = samples.end_at(now_ms).least - summary.last_position
            began = Position(
                life.log_partition, summary.last_offset, summary.last_ms, summary.leader_epoch
            )
            if found is None:
                found = Stall(began, now_ms, 1, lag, (str(name),))
                continue
            topics = found.topics
            if str(name) not in topics and len(topics) < TOPICS_LIMIT:
                topics = (*topics, str(name))
            began = min(began, found.began, key=lambda each: each.log_offset)
            found = Stall(began, now_ms, found.partitions + 1, found.lag + lag, topics)
        return found

    def _report(self, member_id: str, stall: Stall, until_ms: int | None) -> None:
        lasted_ms = stall.seen_ms - stall.began.record_timestamp_ms
        self.find(
            stall.began,
            until_ms,
            because(
                self.kind,
                member=member_id,
                partitions=stall.partitions,
                lasted=max(0, lasted_ms),
                records=stall.lag,
            ),
            (evidence_at(stall.began, "last_commit_before", member=member_id),),
            members=[member_id],
            topics=stall.topics,
            subject=member_id,
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

    _floods: dict[TopicPartition, Flood]
    """Since the last epoch; partitions by the topic's name."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._floods = {}

    def write_comes(self, position: Position) -> None:
        """Look at the commits so far; those of an epoch are complete when the next one begins."""
        if self._floods or self.scene.life.commits.round_most >= self.rules.flood_commits:
            self._look()

    def ended(self, end: Ending) -> None:
        """Report the floods of the last epoch."""
        self._look()
        for partition, flood in self._floods.items():
            self._report(partition, flood)
        self._floods.clear()

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
