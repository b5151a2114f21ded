"""Work that stopped: members that hold partitions and no longer commit, and whole groups that do not.

Commits are known at each record of the group and at the end of the log, in between only in sums. So what stood still is
noted when a record of the group comes, or the log ends; a pause that begins and ends between two such records is not
found.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Final, NamedTuple, TypeAlias

from rebalance_audit.audit.causes.departures import evidence_at
from rebalance_audit.audit.commits.summary import CommitSummary, LastCommit
from rebalance_audit.audit.findings.finding import AtLogEnd, Ending, Severity
from rebalance_audit.audit.findings.watcher import Scene, Watcher
from rebalance_audit.audit.members.stint import Stint
from rebalance_audit.audit.rows import Row
from rebalance_audit.audit.verdicts.cause import Evidence
from rebalance_audit.replay.changes import Position
from rebalance_audit.replay.partitions import TopicPartition
from rebalance_audit.sentences.reason import because

_Committed: TypeAlias = list[tuple[TopicPartition, CommitSummary]]

_LOOKS: Final = 10
"""Number of times to look at a silent member, while its silence grows by the length that makes it a finding."""


class Rhythm(NamedTuple):
    """How a member committed what it owns, by the partitions that it committed often enough to show."""

    last: LastCommit
    interval_ms: int
    """Mean time between two commits of the partition that it committed most often."""
    limit_ms: int
    """From this long on its silence is a finding."""
    partitions: int
    topics: tuple[str, ...]
    is_timed: bool
    """Whether it commits on a timer, also where nothing was consumed: its client has been seen to do both."""

    @property
    def since_ms(self) -> int:
        """Time of the last commit (epoch ms)."""
        return self.last.position.record_timestamp_ms

    def evidence(self, member_id: str | None) -> Evidence:
        """The last commit, of a member or of the whole group."""
        last = self.last
        partition = f"{last.topic}-{last.topic_partition}"
        if member_id is None:
            return evidence_at(last.position, "last_commit_of_group", partition=partition)
        return evidence_at(last.position, "last_commit", member=member_id, partition=partition)


class _Silent(NamedTuple):
    rhythm: Rhythm
    seen_ms: int
    """Time of the last record of the group until which it had lasted."""


class _Work:
    """What the commits show about a group at one moment."""

    def __init__(self, scene: Scene) -> None:
        life = scene.life
        self._life, self._rules = life, scene.rules
        self.committed: Mapping[str, _Committed] = life.commits.by_member(life.ownership)
        self._idle = life.commits.idle_commits(life.ownership, life.watches)

    def rhythm(self, member_id: str, pauses: int, least_ms: int) -> Rhythm | None:
        """The rhythm of a member; None if it has none. `pauses`: at least so many make its silence a finding."""
        watch, rules = self._life.watches.get(member_id), self._rules
        often = [
            (partition, summary)
            for partition, summary in self.committed.get(member_id, ())
            if summary.commits >= rules.silent_commits
        ]
        if watch is None or watch.last_commit is None or not often:
            return None
        most = max(often, key=lambda each: each[1].commits)[1]
        if most.interval_ms is None:
            return None
        client_id = watch.stint.identity.client_id
        idle = self._life.commits.habits.idle_commits(client_id) + self._idle.get(client_id, 0)
        is_timed = most.is_steady and idle >= rules.silent_commits
        pauses = pauses if is_timed else rules.silent_pauses_unsure
        # What a member does not do for any of its partitions is never longer than for one of them.
        longest_ms = min(summary.longest_ms for _, summary in often)
        session_ms = watch.stint.identity.session_timeout_ms
        session_ms = session_ms or self._life.options.rules.consumer_session_timeout_ms or 0
        return Rhythm(
            watch.last_commit,
            most.interval_ms,
            max(least_ms, session_ms, pauses * longest_ms),
            len(often),
            tuple(sorted({str(partition[0]) for partition, _ in often})),
            is_timed,
        )

    def continues(self, silent: Rhythm, member_id: str) -> str | None:
        """Another member that went on while this one was silent; None if none is known to have.

        It has to have committed for half of that time without a long pause: after a hole in the log the first member
        that commits again is no sign that the others stopped. Where the silent one may have had nothing to consume,
        it has to be for the same topic, with positions that moved.
        """
        since_ms, limit_ms = silent.since_ms, silent.limit_ms
        for other_id, committed in self.committed.items():
            if other_id == member_id:
                continue
            for partition, summary in committed:
                if (
                    summary.last_ms >= since_ms + limit_ms
                    and summary.last_ms - max(since_ms, summary.first_ms) >= limit_ms // 2
                    and summary.longest_ms <= limit_ms // 2
                    and summary.commits >= self._rules.silent_commits
                    and (silent.is_timed or (partition[0] in silent.topics and summary.has_moved))
                ):
                    return other_id
        return None


class SilentMember(Watcher):
    """Looks for members that stopped while others went on."""

    kind = "silent_member"
    definition = (
        "A member owns partitions that it used to commit ({silent_commits} times or more), and committed none of them "
        "for at least {silent_ms}, the length of its session, and {silent_pauses} times its longest pause, "
        "while another member went on committing. Where its client has not been seen to commit on a timer without "
        "anything new, {silent_pauses_unsure} times, and the other one has to commit new positions of the same topic; "
        "then it is info. A pause that ends with another commit is "
        "found only if a record of the group, or the end of the log, lies in it."
    )
    severity = Severity.WARNING
    other_severity = Severity.INFO
    at_log_end = AtLogEnd.APPEARS

    _silent: dict[str, _Silent] = field(default_factory=dict)
    """Member id -> what is known of its silence, while it lasts."""
    _look_from_ms: int = 0
    """No silence is long enough before."""

    def write_comes(self, position: Position) -> None:
        """Note who is silent now, and who no longer is."""
        now_ms = position.record_timestamp_ms
        if self._silent:
            self._end_broken()
            for member_id, silent in self._silent.items():
                self._silent[member_id] = silent._replace(seen_ms=max(now_ms, silent.seen_ms))
        if now_ms >= self._look_from_ms:
            self._look(now_ms)

    def members_changed(
        self, arrivals: Sequence[Stint], departures: Sequence[Row], position: Position
    ) -> None:
        """A silent member is gone."""
        for row in departures:
            silent = self._silent.pop(row["member_id"], None)
            if silent is not None:
                self._report(row["member_id"], silent, position.record_timestamp_ms, "gone")

    def ended(self, end: Ending) -> None:
        """Report who is still silent when the log ends, or the group is deleted."""
        self._end_broken()
        if end.at_ms >= self._look_from_ms:
            self._look(end.at_ms)
        for member_id, silent in self._silent.items():
            self._report(member_id, silent, end.known_ms, "deleted")

    def _end_broken(self) -> None:
        """Report silences that are over: the member committed again, or has no more of these partitions."""
        life = self.scene.life
        for member_id, silent in list(self._silent.items()):
            last, watch = silent.rhythm.last, life.watches.get(member_id)
            owner = life.ownership.owner_by_name((last.topic, last.topic_partition))
            if watch is None or watch.last_commit != last:
                del self._silent[member_id]
                self._report(member_id, silent, silent.seen_ms, "resumed")
            elif owner is None or owner.member_id != member_id:
                del self._silent[member_id]
                self._report(member_id, silent, silent.seen_ms, "taken_over")

    def _look(self, now_ms: int) -> None:
        least_ms = self.rules.silent_ms
        lasts = {
            member_id: watch.last_commit.position.record_timestamp_ms
            for member_id, watch in self.scene.life.watches.items()
            if watch.last_commit is not None and member_id not in self._silent
        }
        newest_ms = max(lasts.values(), default=0)
        oldest_ms = min(lasts.values(), default=now_ms)
        self._look_from_ms = oldest_ms + least_ms
        long = [each for each, last_ms in lasts.items() if newest_ms >= last_ms + least_ms]
        if not long:
            return
        # Members that commit seldom need not be looked at again with every record.
        self._look_from_ms = now_ms + least_ms // _LOOKS
        work = _Work(self.scene)
        for member_id in long:
            rhythm = work.rhythm(member_id, self.rules.silent_pauses, least_ms)
            if rhythm is not None and work.continues(rhythm, member_id) is not None:
                self._silent[member_id] = _Silent(rhythm, now_ms)

    def _report(self, member_id: str, silent: _Silent, until_ms: int | None, ended_by: str) -> None:
        rhythm = silent.rhythm
        lasted = because("silent_so_far", ms=rhythm.limit_ms)
        if until_ms is not None:
            lasted = because(f"silent_until_{ended_by}", ms=until_ms - rhythm.since_ms)
        reasons = [
            because(
                "silent",
                member=member_id,
                lasted=lasted,
                partitions=rhythm.partitions,
                interval=rhythm.interval_ms,
            )
        ]
        if not rhythm.is_timed:
            reasons.append(because("perhaps_nothing_to_consume"))
        self.find(
            rhythm.last.position,
            until_ms,
            reasons,
            (rhythm.evidence(member_id),),
            members=[member_id],
            topics=rhythm.topics,
            subject=member_id,
            other=not rhythm.is_timed,
        )


class CommitsStopped(Watcher):
    """Looks for groups without commits."""

    kind = "commits_stopped"
    definition = (
        "Members own partitions that they used to commit ({silent_commits} times or more), on a "
        "timer, and no member of the group committed for at least {stopped_ms} and "
        "{silent_pauses} times the longest pause. Groups whose clients have not been seen to commit on a timer without "
        "anything new do not count: without anything to consume they look the same."
    )
    severity = Severity.WARNING
    at_log_end = AtLogEnd.APPEARS

    _stopped: _Silent | None = None
    """What is known of the group's standstill, while it lasts."""
    _look_from_ms: int = 0
    """It does not last long enough before."""

    def write_comes(self, position: Position) -> None:
        """Note that commits stopped, or resumed."""
        now_ms = position.record_timestamp_ms
        if self._stopped is not None:
            self._end_broken()
        if self._stopped is not None:
            seen_ms = max(now_ms, self._stopped.seen_ms)
            self._stopped = self._stopped._replace(seen_ms=seen_ms)
        elif now_ms >= self._look_from_ms:
            self._note(Ending(now_ms))

    def ended(self, end: Ending) -> None:
        """Report a standstill that lasts when the log ends, or the group is deleted."""
        self._end_broken()
        if self._stopped is None:
            self._note(end)
        if self._stopped is not None:
            self._report(self._stopped, end.known_ms)

    def _latest(self) -> tuple[str, LastCommit] | None:
        """The member that committed last, and its last commit."""
        found: tuple[str, LastCommit] | None = None
        for member_id, watch in self.scene.life.watches.items():
            last = watch.last_commit
            if last is not None and (
                found is None or last.position.log_offset > found[1].position.log_offset
            ):
                found = member_id, last
        return found

    def _note(self, end: Ending) -> None:
        """Note the standstill if it has lasted long enough by then, and its silence is evidence."""
        latest, rules = self._latest(), self.rules
        if latest is None:
            self._look_from_ms = end.at_ms + rules.stopped_ms
            return
        last = latest[1]
        self._look_from_ms = last.position.record_timestamp_ms + rules.stopped_ms
        if not end.is_open and end.at_ms < self._look_from_ms:
            return
        self._look_from_ms = max(self._look_from_ms, end.at_ms + rules.stopped_ms // _LOOKS)
        work = _Work(self.scene)
        rhythms = [
            work.rhythm(each, rules.silent_pauses, rules.stopped_ms) for each in work.committed
        ]
        found = [rhythm for rhythm in rhythms if rhythm is not None and rhythm.is_timed]
        if not found:
            return
        rhythm = max(found, key=lambda each: each.last.position.log_offset)._replace(last=last)
        if end.reached(rhythm.since_ms + rhythm.limit_ms):
            self._stopped = _Silent(rhythm, end.at_ms)

    def _end_broken(self) -> None:
        """Report a standstill that is over: a member committed, or the last one that did is gone."""
        if self._stopped is None:
            return
        latest = self._latest()
        if latest is None or latest[1] != self._stopped.rhythm.last:
            self._report(self._stopped, self._stopped.seen_ms)
            self._stopped = None

    def _report(self, stopped: _Silent, until_ms: int | None) -> None:
        rhythm = stopped.rhythm
        lasted_ms = rhythm.limit_ms if until_ms is None else until_ms - rhythm.since_ms
        members = sorted(self.scene.life.watches)
        self.find(
            rhythm.last.position,
            until_ms,
            because("commits_stopped", ms=lasted_ms, interval=rhythm.interval_ms),
            (rhythm.evidence(None),),
            members=members,
            topics=rhythm.topics,
        )
