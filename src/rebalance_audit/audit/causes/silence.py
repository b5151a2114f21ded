"""The time between a member's last commit and its end, and what the commits before tell of it."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from rebalance_audit.audit.commits.book import COMMITS_OF_A_TIMER
from rebalance_audit.audit.commits.evidence import JITTER_MS, CommitEvidence, early_by_ms
from rebalance_audit.audit.commits.libraries import HABITS
from rebalance_audit.audit.commits.summary import CommitSummary
from rebalance_audit.audit.findings.finding import spell_ms
from rebalance_audit.moments import utc_datetime
from rebalance_audit.replay.changes import Position

COMMITS_FOR_A_RHYTHM: Final = 3
"""Number of commits for one partition that show how often a member commits."""
_COMMITS_FOR_A_BEAT: Final = 8
"""Number of commits, all of them in time, after which one that does not come tells something."""
CLOSES_AT_LAST_MS: Final = 500
"""A client that closes leaves so soon after it has committed, where it has to wait for the answer."""
HEARTBEAT_MS: Final = 3000
"""Default of `heartbeat.interval.ms`: classic members hear of a join phase with their next heartbeat."""
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


class Silence(NamedTuple):
    """What lies between a member's last commit and its end."""

    evidence: CommitEvidence
    gone: Position
    silent_ms: int
    """From its last commit to the record that shows it gone."""

    @property
    def stayed_with_coordinator(self) -> bool:
        """Whether the coordinator that took its last commit saw it go."""
        return self.evidence.last.position.leader_epoch == self.gone.leader_epoch

    @property
    def keeps_session(self) -> bool:
        """Whether the last commit restarted the session timer of a classic member, by the clock of the same broker."""
        return not self.evidence.last.position.is_transactional and self.stayed_with_coordinator

    @property
    def is_its_own(self) -> bool:
        """Whether the last commit shows that the member was there.

        A single transaction can be that of a producer that has nothing to do with the member, as the coordinator asks
        old ones for no member id.
        """
        usual, last = self.evidence.usual, self.evidence.last.position
        return not last.is_transactional or (
            usual is not None and usual.commits >= COMMITS_FOR_A_RHYTHM
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
        if fellow is not None and self.on_timer:
            return fellow.longest_ms
        return self.evidence.timer_ms if self.timed_pause_ms is not None else None

    @property
    def even_ms(self) -> int | None:
        """The longest pause of its last generation, where all were alike: there was always something to commit."""
        recent = self.evidence.recent
        if recent is None or recent.commits < COMMITS_OF_A_TIMER or not recent.is_exact:
            return None
        return recent.longest_ms

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
            return usual.pause_ms >= usual.longest_ms - max(JITTER_MS, usual.longest_ms // 20)
        return usual.pause_ms >= usual.interval_ms - usual.interval_ms // 5

    @property
    def timed_pause_ms(self) -> int | None:
        """From the commit before, or the begin of its generation, to its last commit; None if it knows no timer.

        Libraries that commit unchanged positions too start their interval anew with each assignment.
        """
        shown, habit = self.evidence.recent, HABITS[self.evidence.library]
        last_ms = self.evidence.last.position.record_timestamp_ms
        if self.evidence.timer_ms is None or not (habit.commits_unchanged and habit.on_close):
            return None
        if shown is None or shown.last_ms != last_ms:
            return None
        if shown.longest_ms > _TWICE * self.evidence.timer_ms:
            return None
        return last_ms - self.evidence.since_ms if shown.pause_ms is None else shown.pause_ms

    @property
    def is_on_time(self) -> bool:
        """Whether a timer that the group's members share made its last commit, to the tick."""
        timed_ms, timer_ms = self.timed_pause_ms, self.evidence.timer_ms
        if timed_ms is None or timer_ms is None:
            return False
        recent = self.evidence.recent
        if recent is not None and recent.longest_ms > _NEARLY * timer_ms:
            return False
        least_ms = timer_ms - max(_TICK_MS, timer_ms // 50)
        return least_ms <= timed_ms <= timer_ms + max(JITTER_MS, timer_ms // 20)

    @property
    def is_due(self) -> bool:
        """Whether its last commit came when a timer made it, where its library would have committed on closing.

        A library that commits changes alone may have none as it closes.
        """
        if self.timed_pause_ms is not None:
            return self.is_on_time and self.silent_ms > CLOSES_AT_LAST_MS
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

    @property
    def is_on_tick(self) -> bool:
        """Whether its last commit came some intervals of the timer after the one before, to the tick.

        So for a library that commits by its timer what is new, and nothing where nothing is.
        """
        shown, timer_ms = self.evidence.recent, self.evidence.timer_ms
        habit = HABITS[self.evidence.library]
        last_ms = self.evidence.last.position.record_timestamp_ms
        if timer_ms is None or habit.commits_unchanged or not habit.on_close:
            return False
        if shown is None or shown.pause_ms is None or shown.last_ms != last_ms:
            return False
        off_ms = shown.pause_ms - max(1, round(shown.pause_ms / timer_ms)) * timer_ms
        return abs(off_ms) <= max(_TICK_MS, timer_ms // 50)

    def came_early(self, since_ms: int) -> bool | None:
        """Whether the last commit came before it was due, as on closing; None if it may have.

        `since_ms`: when its generation began. Members commit as they join it too, so only commits after that count.
        """
        usual, timed_ms, timer_ms = self.rhythm, self.timed_pause_ms, self.evidence.timer_ms
        if timed_ms is not None and timer_ms is not None:
            if timed_ms >= timer_ms - early_by_ms(timer_ms):
                return False
            went_on_ms = self.went_on_ms
            if went_on_ms is not None and went_on_ms > HEARTBEAT_MS + LATE_MS:
                return False  # the others would have heard of a join phase
            return None if self.rejoined_with_others else True
        if self.is_on_tick:
            return False
        if (
            usual is None
            or usual.pause_ms is None
            or usual.commits <= COMMITS_FOR_A_RHYTHM
            or usual.last_ms != self.evidence.last.position.record_timestamp_ms
            or usual.last_ms - usual.pause_ms < since_ms
            or self.rejoined_with_others
            or not HABITS[self.evidence.library].on_close
        ):
            return False
        due_ms = usual.due_ms
        if due_ms is None:
            return False
        if usual.longest_ms <= _NEARLY * due_ms:
            return usual.pause_ms < due_ms - due_ms // 5
        return None if usual.pause_ms < due_ms // 2 else False

    @property
    def missed_its_timer(self) -> bool:
        """Whether its timer would have made one commit more, had it been at work to the end; False if it has none."""
        timer_ms = self.evidence.timer_ms
        if self.timed_pause_ms is None or timer_ms is None:
            return False
        return self.silent_ms > timer_ms + early_by_ms(timer_ms)

    @property
    def rejoined_with_others(self) -> bool:
        """Whether others committed as they rejoined shortly before, so that its last commit may be of that kind."""
        last_ms = self.evidence.last.position.record_timestamp_ms
        return any(last_ms - HEARTBEAT_MS < each < last_ms for each in self.evidence.rejoined_ms)

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


def _clock_time(at_ms: int) -> str:
    moment = utc_datetime(at_ms)
    return "an unknown time" if moment is None else f"{moment:%H:%M:%S}.{at_ms % 1000:03d}"
