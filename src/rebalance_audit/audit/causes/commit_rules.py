"""How a member's offset commits tell a leave from an expiry.

What the coordinator does with a commit (checked in Kafka's sources of 3.3 to 4.3):

- Classic groups: each commit outside of a transaction restarts the member's session timer, in every release
  (GroupCoordinator.doCommitOffsets, from 4.0 OffsetMetadataManager.validateOffsetCommit). So a member that is gone
  sooner after its commit than its session lasts did not expire.
- Consumer groups: commits restart no timer, and neither do those in transactions in any group. But who commits is
  alive, and was heard at most one heartbeat interval before.

What clients do is in `commits.libraries`. Silence is weaker evidence than a commit: a member that has nothing to commit
is silent too. It counts only if the member had never been silent as long, and if the group went on.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from rebalance_audit.audit.causes.timers import fired_then
from rebalance_audit.audit.commits.evidence import CommitEvidence
from rebalance_audit.audit.commits.libraries import HABITS
from rebalance_audit.audit.commits.summary import CommitSummary
from rebalance_audit.audit.findings.finding import spell_ms
from rebalance_audit.moments import utc_datetime
from rebalance_audit.replay.changes import Position

COMMITS_FOR_A_RHYTHM: Final = 3
"""Number of commits for one partition that show how often a member commits."""
_COMMITS_FOR_A_BEAT: Final = 8
"""Number of commits, all of them in time, after which one that does not come tells something."""
HEARTBEATS_PER_SESSION: Final = 3
"""At least: Kafka's documentation asks for heartbeats at most a third of the session apart."""
CLOSES_WITHIN_MS: Final = 200
"""A client that closes commits and leaves in two requests, one right after the other."""
CLOSES_AT_LAST_MS: Final = 500
"""The same where it has to wait for the answer to the commit."""
HEARTBEAT_MS: Final = 3000
"""Default of `heartbeat.interval.ms`: classic members hear of a join phase with their next heartbeat."""
CONSUMER_HEARTBEAT_MS: Final = 5_000
"""Default and least of the brokers' `group.consumer.heartbeat.interval.ms`."""
LATE_MS: Final = 500
"""How late commits come, clients leave, timers fire and requests arrive."""
_EXACT: Final = 1.1
"""So for a timer's rhythm, in which a commit that comes earlier than all others has a reason of its own."""
_NEARLY: Final = 1.2
"""So for the rhythm of a timer in which one commit more may have come early."""
_TWICE: Final = 2.1
"""So for one in which one commit failed or came late."""
_TICK_MS: Final = 20
"""How exactly a timer keeps its time."""
_JITTER_MS: Final = 100
"""Difference between two pauses of a timer's rhythm that means nothing."""


class Silence(NamedTuple):
    """What lies between a member's last commit and its end."""

    evidence: CommitEvidence
    gone: Position
    silent_ms: int
    """From its last commit to the record that shows it gone."""

    @property
    def keeps_session(self) -> bool:
        """Whether the last commit restarted the session timer of a classic member, by the clock of the same broker."""
        last = self.evidence.last.position
        return not last.is_transactional and last.leader_epoch == self.gone.leader_epoch

    @property
    def is_its_own(self) -> bool:
        """Whether the last commit shows that the member was there, to the broker that saw it go.

        A single transaction can be that of a producer that has nothing to do with the member, as the coordinator asks
        old ones for no member id.
        """
        usual, last = self.evidence.usual, self.evidence.last.position
        return last.leader_epoch == self.gone.leader_epoch and (
            not last.is_transactional
            or (usual is not None and usual.commits >= COMMITS_FOR_A_RHYTHM)
        )

    @property
    def rhythm(self) -> CommitSummary | None:
        """The commits that show its rhythm: those since the last generation, if they are enough."""
        recent = self.evidence.recent
        if recent is not None and recent.commits >= COMMITS_FOR_A_RHYTHM:
            return recent
        return self.evidence.usual

    @property
    def longest_ms(self) -> int | None:
        """The longest pause that is nothing special for it; None if it committed too seldom to tell.

        Members of a library that commits on a timer, whatever there is, have one rhythm: another's stands in then.
        """
        usual = self.rhythm if self.on_timer else self.evidence.usual
        if usual is not None and usual.commits >= COMMITS_FOR_A_RHYTHM:
            return usual.longest_ms
        fellow = self.evidence.fellow
        return fellow.longest_ms if fellow is not None and self.on_timer else None

    @property
    def on_timer(self) -> bool:
        """Whether it commits on a timer, also where nothing changed: so by its library, and its rhythm shows it."""
        usual, fellow = self.rhythm, self.evidence.fellow
        if usual is None:
            return (
                False  # what it committed is no longer its own: it may have nothing left to commit
            )
        if not HABITS[self.evidence.library].commits_unchanged:
            return False
        if usual is self.evidence.recent:
            return usual.is_timed
        shown = usual if usual.commits >= COMMITS_FOR_A_RHYTHM else fellow
        return shown is not None and shown.is_steady

    @property
    def is_unusual(self) -> bool:
        """Whether the member had never been silent for as long."""
        return self.longest_ms is not None and self.silent_ms > self.longest_ms

    @property
    def kept_rhythm(self) -> bool | None:
        """Whether the last commit came when it was due. One on closing comes sooner. None if there is no rhythm."""
        usual, last_ms = self.rhythm, self.evidence.last.position.record_timestamp_ms
        if usual is None or usual.commits < COMMITS_FOR_A_RHYTHM or usual.last_ms != last_ms:
            return None
        if usual.pause_ms is None or usual.interval_ms is None:
            return None
        if usual.longest_ms <= _EXACT * usual.interval_ms:
            return usual.pause_ms >= usual.longest_ms - max(_JITTER_MS, usual.longest_ms // 20)
        return usual.pause_ms >= usual.interval_ms - usual.interval_ms // 5

    @property
    def is_due(self) -> bool:
        """Whether its last commit came when a timer made it, where its library would have committed on closing.

        A library that commits changes alone may have none as it closes.
        """
        shown, habit = self.evidence.recent, HABITS[self.evidence.library]
        if shown is None or shown.pause_ms is None or shown.due_ms is None:
            return False
        due_ms, last_ms = shown.due_ms, self.evidence.last.position.record_timestamp_ms
        return (
            habit.on_close
            and habit.commits_unchanged
            and shown.last_ms == last_ms
            and self.silent_ms > CLOSES_AT_LAST_MS
            and abs(shown.pause_ms - due_ms) <= max(_TICK_MS, due_ms // 50)
            and shown.longest_ms <= _TWICE * due_ms  # a generation may begin with a longer pause
        )

    def came_early(self, since_ms: int) -> bool | None:
        """Whether the last commit came before it was due, as on closing; None if it may have.

        `since_ms`: when its generation began. Members commit as they join it too, so only commits after that count.
        """
        usual = self.rhythm
        if (
            usual is None
            or usual.pause_ms is None
            or usual.commits <= COMMITS_FOR_A_RHYTHM
            or usual.last_ms != self.evidence.last.position.record_timestamp_ms
            or usual.last_ms - usual.pause_ms < since_ms
            or any(
                usual.last_ms - HEARTBEAT_MS < each < usual.last_ms
                for each in self.evidence.rejoined_ms
            )
            or not HABITS[self.evidence.library].on_close
        ):
            return False
        due_ms = usual.due_ms
        if due_ms is None:
            return False
        if usual.longest_ms <= _NEARLY * due_ms:
            return usual.pause_ms < due_ms - due_ms // 5
        return None if usual.pause_ms < due_ms // 2 else False

    def may_have_closed(self, since_ms: int) -> bool:
        """Whether its last commit can be the one on closing, right before the end or out of its rhythm."""
        return self.silent_ms <= CLOSES_AT_LAST_MS or self.came_early(since_ms) is not False

    @property
    def went_on_ms(self) -> int | None:
        """For how long after the member's last commit all members that stayed still committed; None if none did.

        Members that wait in a join phase do not commit, so the join phase began no earlier, but for one heartbeat.
        """
        return self._went_on_ms(self.evidence.others_ms)

    def _went_on_ms(self, others_ms: Sequence[int]) -> int | None:
        last_ms = self.evidence.last.position.record_timestamp_ms
        return min((at_ms - last_ms for at_ms in others_ms if at_ms > last_ms), default=None)

    @property
    def missed_none(self) -> bool:
        """Whether it may have been at work until the join phase began: meanwhile the others made no commit more."""
        return self._missed_none(self.evidence.others_ms)

    @property
    def missed_none_but_rejoins(self) -> bool:
        """The same, if what others committed last they did as they rejoined, up to a heartbeat into the join phase."""
        at_work = [
            at_ms - HEARTBEAT_MS if at_ms in self.evidence.rejoined_ms else at_ms
            for at_ms in self.evidence.others_ms
        ]
        return self._missed_none(at_work)

    def _missed_none(self, others_ms: Sequence[int]) -> bool:
        went_on_ms, longest_ms = self._went_on_ms(others_ms), self.longest_ms
        return longest_ms is not None and (went_on_ms is None or went_on_ms <= longest_ms)

    @property
    def others_silent_ms(self) -> int | None:
        """For how long none of the members that stayed has committed; None if they never did."""
        latest = max(self.evidence.others_ms, default=None)
        return None if latest is None else self.gone.record_timestamp_ms - latest

    @property
    def had_to_commit(self) -> bool:
        """Whether it would have committed meanwhile if it had been at work: by its library, or as the others did."""
        longest_ms = self.longest_ms
        if longest_ms is None:
            return False
        if self.on_timer:
            return True
        last_ms = self.evidence.last.position.record_timestamp_ms
        others_ms = max(self.evidence.others_ms, default=last_ms)
        return others_ms > last_ms + longest_ms or (others_ms > last_ms and self.has_beat)

    @property
    def has_beat(self) -> bool:
        """Whether none of many commits was late, so that there was always something to commit."""
        usual = self.rhythm
        return (
            usual is not None
            and usual.commits >= _COMMITS_FOR_A_BEAT
            and usual.interval_ms is not None
            and usual.longest_ms <= _EXACT * usual.interval_ms
        )

    def told(self, name: str) -> str:
        """The silence as a sentence."""
        last, usual = self.evidence.last, self.rhythm
        before = ""
        if usual is not None and usual.commits >= COMMITS_FOR_A_RHYTHM and usual.interval_ms:
            if usual.is_steady:
                before = f", as every {spell_ms(usual.interval_ms)} before"
            else:
                before = f", and never before paused for more than {spell_ms(usual.longest_ms)}"
        at = _clock_time(last.position.record_timestamp_ms)
        return (
            f"{name} last committed at {at}{before}; then nothing for {spell_ms(self.silent_ms)} until it was "
            "removed."
        )

    def told_early(self, name: str) -> str:
        """A commit out of its rhythm as a sentence."""
        usual = self.rhythm
        assert usual is not None
        at = _clock_time(self.evidence.last.position.record_timestamp_ms)
        return (
            f"{name} last committed at {at}, {spell_ms(usual.pause_ms or 0)} after the commit before, where it had "
            f"paused for {spell_ms(usual.longest_ms)}: clients commit so as they close."
        )

    def told_close(self, name: str) -> str:
        """A short silence as a sentence."""
        at = _clock_time(self.evidence.last.position.record_timestamp_ms)
        return f"{name} committed at {at}, {spell_ms(self.silent_ms)} before it was removed."


def silence_of(evidence: CommitEvidence | None, gone: Position) -> Silence | None:
    """The time from a member's last commit to its end; None without one, or if clocks contradict each other."""
    if evidence is None:
        return None
    silent_ms = gone.record_timestamp_ms - evidence.last.position.record_timestamp_ms
    return None if silent_ms < 0 else Silence(evidence, gone, silent_ms)


def too_recent(silence: Silence, session_ms: int) -> bool:
    """Whether a member committed so recently that its session can hardly have run out, though it restarted no timer.

    It can where heartbeats are lost, or come as seldom as sessions end, and commits pass. A single transaction can be
    that of a producer that has nothing to do with the member, as the coordinator asks old ones for no member id.
    """
    usual = silence.evidence.usual
    is_its_own = not silence.evidence.last.position.is_transactional or (
        usual is not None and usual.commits >= COMMITS_FOR_A_RHYTHM
    )
    return is_its_own and silence.silent_ms < session_ms - session_ms // HEARTBEATS_PER_SESSION


def stopped(silence: Silence, session_ms: int, rebalance_timeout_ms: int | None) -> bool:
    """Whether a member of a consumer group had stopped working about as long before as its session lasts.

    Not if its rebalance timeout has passed too. Clients set it to `max.poll.interval.ms`, after which a member that no
    longer polls leaves by itself.
    """
    return (
        silence.silent_ms >= session_ms - session_ms // HEARTBEATS_PER_SESSION
        and silence.is_unusual
        and silence.had_to_commit
        and not _polls_too_late(silence, rebalance_timeout_ms)
    )


def polled_late(
    silence: Silence, rebalance_timeout_ms: int | None, sessions_ms: Sequence[int]
) -> bool:
    """Whether a member of a consumer group left as its application had not polled for `max.poll.interval.ms`.

    Clients commit as they poll, and send that interval as their rebalance timeout. So its end follows the last commit
    by as much, or by up to one pause of its rhythm more; unless one of the likely sessions ends then too. That began
    with a heartbeat, at most one interval before the member stopped.
    """
    if rebalance_timeout_ms is None or rebalance_timeout_ms <= 0:
        return False
    if fired_then(silence.silent_ms, rebalance_timeout_ms):
        return True
    if not (silence.is_unusual and silence.had_to_commit):
        return False
    later_ms = (silence.longest_ms or 0) + LATE_MS
    return 0 <= silence.silent_ms - rebalance_timeout_ms <= later_ms and not any(
        session_ms - min(session_ms // HEARTBEATS_PER_SESSION, CONSUMER_HEARTBEAT_MS)
        <= silence.silent_ms
        <= session_ms + later_ms
        for session_ms in sessions_ms
    )


def stopped_before_join_phase(
    silence: Silence, session_ms: int, rebalance_timeout_ms: int | None, *, static: bool
) -> bool:
    """Whether a classic member had stopped working before the join phase that it missed, and its session had run out.

    A member that leaves commits first, and the others stop committing within a heartbeat or two. If they went on for
    longer, it stopped before. Where nobody is left there was no join phase: the timer wrote the record. A member that
    commits on a timer and last did so when it was due, after all others, did not commit on closing.
    """
    if silence.silent_ms < session_ms or not silence.is_unusual:
        return False
    longest_ms = silence.longest_ms or 0
    beyond_ms = session_ms + longest_ms + session_ms // HEARTBEATS_PER_SESSION
    in_time = silence.silent_ms <= beyond_ms
    if not static and _polls_too_late(silence, rebalance_timeout_ms) and not in_time:
        return False
    went_on_ms = silence.went_on_ms
    if silence.on_timer and silence.kept_rhythm and went_on_ms is None:
        return True
    if silence.evidence.is_empty:
        return in_time or silence.on_timer
    return went_on_ms is not None and went_on_ms > session_ms // HEARTBEATS_PER_SESSION


def stopped_before_fail_over(
    silence: Silence, session_ms: int, rebalance_timeout_ms: int | None
) -> bool:
    """Whether a classic member stopped working while the others went on, with one coordinator and the next.

    The next one starts all timers as it loads the group. So its session ran out later than after its last commit, and
    the others show that they were there meanwhile.
    """
    went_on_ms = silence.went_on_ms
    return (
        went_on_ms is not None
        and went_on_ms >= session_ms
        and silence.is_unusual
        and silence.had_to_commit
        and not _polls_too_late(silence, rebalance_timeout_ms)
    )


def closed_first(silence: Silence, session_ms: int) -> bool:
    """Whether a member committed out of its rhythm, and only then the others stopped for a join phase: it closed."""
    went_on_ms = silence.went_on_ms
    return (
        silence.kept_rhythm is False
        and not silence.evidence.last.position.is_transactional
        and went_on_ms is not None
        and went_on_ms <= min(HEARTBEAT_MS, session_ms // HEARTBEATS_PER_SESSION)
    )


def may_have_held_up(silence: Silence, session_ms: int, rebalance_timeout_ms: int) -> bool:
    """Whether a join phase may have run into the rebalance timeout while it waited for this member.

    Members that poll hear of a join phase with their next heartbeat, commit, and give up their partitions. Then nobody
    commits until it ends.
    """
    heard_ms = min(HEARTBEAT_MS, session_ms // HEARTBEATS_PER_SESSION)
    waited_ms = silence.others_silent_ms
    return silence.silent_ms >= rebalance_timeout_ms - heard_ms and (
        waited_ms is None or waited_ms >= rebalance_timeout_ms - heard_ms
    )


def held_up(silence: Silence, rebalance_timeout_ms: int) -> bool:
    """Whether a member that may have been waited for had committed when the join phase began, so that it was there."""
    return (
        silence.others_silent_ms is not None
        and silence.is_unusual
        and silence.silent_ms <= rebalance_timeout_ms
    )


def _polls_too_late(silence: Silence, rebalance_timeout_ms: int | None) -> bool:
    return rebalance_timeout_ms is not None and silence.silent_ms >= rebalance_timeout_ms > 0


def _clock_time(at_ms: int) -> str:
    moment = utc_datetime(at_ms)
    return "an unknown time" if moment is None else f"{moment:%H:%M:%S}.{at_ms % 1000:03d}"
