"""Which ends of a classic member fit the join phase that it missed.

The coordinator begins a join phase as it removes a member, or removes it while the phase goes on. The phase leaves no
record but that of its end; the commits of the members that rejoin bound its begin:

- Java members commit as they rejoin (ConsumerCoordinator.onJoinPrepare), with the heartbeat that tells them of the
  phase, and not again before they have their assignment (generationIfStable). So the first of their last commits came
  at most one heartbeat interval after the begin, and not before it.
- Other members commit as long as they are at work, so not for longer than that interval into the phase.
- No phase lasts longer than the group's rebalance timeout.

Each way to go takes its own time since the member was last at work: none (it closed), its session (it died), its
`max.poll.interval.ms` (it polled too late, and left), or as long as the phase may last (it did not rejoin).
"""

from enum import Enum
from typing import Final, NamedTuple

from rebalance_audit.audit.causes.commit_rules import HEARTBEATS_PER_SESSION
from rebalance_audit.audit.causes.silence import CLOSES_AT_LAST_MS, HEARTBEAT_MS, LATE_MS, Silence

_LEAVES_WITHIN_MS: Final = 200
"""How late a client leaves where nothing is in the way."""
_EXACTLY_MS: Final = 100
"""How late a timer fires that ends a phase."""


class Way(Enum):
    """A way to go."""

    CLOSED = "it closed"
    WAS_REMOVED = "somebody removed it"
    DIED = "it died, and its session ran out"
    POLLED_LATE = "it polled too late, and left"
    DID_NOT_REJOIN = "it did not rejoin in time"


class Missed(NamedTuple):
    """The join phase that a member missed, as the records tell; times in epoch ms."""

    joined_ms: int
    """When the member's last generation began, for which it was there."""
    ended_ms: int
    """When the phase ended."""
    longest_ms: int
    """How long it may last: the longest rebalance timeout of the group."""
    alone: bool
    """Whether nobody else came or went."""
    only: bool
    """Whether nobody else went."""
    skipped: int = 0
    """How many phases before it left no record; the member may have missed one of these."""
    led: bool = False
    """Whether the member led its last generation; it leads the next one too, unless it misses that."""


class JoinPhase(NamedTuple):
    """The same with what commits tell of the member and of those that stayed."""

    silence: Silence
    missed: Missed
    session_ms: int
    poll_ms: int
    """Rebalance timeout of the member: clients set it to `max.poll.interval.ms`."""

    @property
    def heard_ms(self) -> int:
        """Within that time from the begin, members that poll rejoin."""
        return min(HEARTBEAT_MS, self.session_ms // HEARTBEATS_PER_SESSION) + LATE_MS

    def began_ms(self) -> tuple[int, int]:
        """Bounds on its begin."""
        evidence, ended_ms = self.silence.evidence, self.missed.ended_ms
        earliest_ms = ended_ms - self.missed.longest_ms * (1 + self.missed.skipped)
        if evidence.is_empty:
            return (ended_ms if self.missed.alone else earliest_ms), ended_ms
        # Who committed longer ago than others did not do so as it rejoined: it had nothing to commit.
        rejoined_from_ms = max(evidence.others_ms, default=ended_ms) - self.heard_ms
        rejoined_ms = min(
            (each for each in evidence.rejoined_ms if rejoined_from_ms <= each <= ended_ms),
            default=None,
        )
        if rejoined_ms is not None and rejoined_ms >= earliest_ms:
            return max(earliest_ms, rejoined_ms - self.heard_ms), rejoined_ms
        if evidence.others_ms:
            earliest_ms = max(earliest_ms, max(evidence.others_ms) - self.heard_ms)
        return min(earliest_ms, ended_ms), min(max(self.stopped_by_ms, earliest_ms), ended_ms)

    @property
    def stopped_by_ms(self) -> int:
        """When those that stayed would have committed again, by their timer, if the phase had not begun."""
        evidence, timer_ms = self.silence.evidence, self.silence.evidence.timer_ms
        if timer_ms is None or not evidence.timed_ms:
            return self.missed.ended_ms
        return max(evidence.timed_ms) + timer_ms + LATE_MS

    @property
    def is_bounded(self) -> bool:
        """Whether members that rejoined, or the lack of any, tell when it began."""
        earliest_ms, latest_ms = self.began_ms()
        return latest_ms - earliest_ms <= self.heard_ms + LATE_MS

    @property
    def ran_out(self) -> bool:
        """Whether those that stayed waited for about as long as the phase may last."""
        waited_ms = self.missed.ended_ms - self.began_ms()[1]
        return waited_ms >= self.missed.longest_ms - HEARTBEAT_MS - LATE_MS

    @property
    def expires_after_ms(self) -> int:
        """The least time from its last commit to the end of its session; those in transactions restart no timer."""
        if self.silence.keeps_session:
            return self.session_ms
        return self.session_ms - self.heard_ms

    @property
    def expires_at_most_ms(self) -> int:
        """The most time for the same; a coordinator that loads the group starts all sessions anew."""
        if self.silence.stayed_with_coordinator:
            return self.session_ms
        return max(self.session_ms, self.silence.silent_ms)

    @property
    def was_waited_for(self) -> bool:
        """Whether the phase went on until this member was gone, as nobody else was missing any more.

        They may have made their last commits one pause before they rejoined. A phase that lasts as long as it may can
        have waited for one that was to come.
        """
        evidence, ended_ms = self.silence.evidence, self.missed.ended_ms
        pause_ms = self.silence.longest_ms
        if pause_ms is None or not self.missed.only or self.ran_out or self.missed.skipped:
            return False
        if evidence.is_empty or not evidence.rejoined_ms:
            return False
        rejoined_ms = max(
            (each for each in evidence.others_ms if each <= ended_ms), default=ended_ms
        )
        return ended_ms - max(self.began_ms()[1], rejoined_ms) > self.heard_ms + pause_ms

    def ways(self) -> frozenset[Way]:
        """The ways to go that fit."""
        earliest_ms, latest_ms = self.began_ms()
        ended_ms, longest_ms = self.missed.ended_ms, self.missed.longest_ms
        gone_by_ms = latest_ms if self.missed.alone and not self.ran_out else ended_ms
        pause_ms = self.silence.even_ms or self.silence.longest_ms
        last_ms = self.silence.evidence.last.position.record_timestamp_ms
        here_ms = max(last_ms, self.missed.joined_ms)
        if pause_ms is None:
            pause_ms = self.session_ms
        at_most_ms = pause_ms + LATE_MS
        closes = self.silence.on_timer or self.silence.timed_pause_ms is not None
        since = {
            Way.CLOSED: (last_ms if closes else here_ms, 0, pause_ms),
            Way.WAS_REMOVED: (here_ms, 0, pause_ms),
            Way.DIED: (here_ms, self.expires_after_ms, self.expires_at_most_ms + at_most_ms),
            Way.POLLED_LATE: (here_ms, self.poll_ms, self.poll_ms + at_most_ms),
        }
        if self.silence.is_due:
            del since[Way.CLOSED]
        elif closes:
            since[Way.CLOSED] = (last_ms, 0, CLOSES_AT_LAST_MS)
        found = {
            way
            for way, (from_ms, least_ms, most_ms) in since.items()
            if earliest_ms - from_ms <= most_ms and gone_by_ms - from_ms >= least_ms
        }
        if self.silence.evidence.is_empty and ended_ms - here_ms > at_most_ms:
            # An administrator removes all at once, and so at the end.
            found.discard(Way.WAS_REMOVED)
        # One that closes does not hold up others, but those may be slow by themselves.
        if self.was_waited_for:
            found -= {
                way
                for way in (Way.DIED, Way.POLLED_LATE)
                if not since[way][1] <= ended_ms - here_ms <= since[way][2]
            }
        if self.ended_with_session:
            found.add(Way.DIED)
        waited_ms = ended_ms - max(earliest_ms, last_ms - self.heard_ms)
        if waited_ms >= longest_ms:  # who does not rejoin does not poll, and so does not commit
            found.add(Way.DID_NOT_REJOIN)
        return frozenset(found)

    def way(self) -> Way | None:
        """The way to go that alone is likely; None if several are."""
        ways = self.ways()
        if ways and ways <= {Way.CLOSED, Way.WAS_REMOVED} and self.silence.stayed_with_coordinator:
            return Way.CLOSED
        if not self.silence.evidence.is_empty:
            # Kafka's Admin removes all dynamic members of a group at once.
            ways -= {Way.WAS_REMOVED}
        if len(ways) == 1:
            (only,) = ways
            if only is Way.DID_NOT_REJOIN and self.ran_out:
                return only
            if not self.silence.keeps_session and only not in (Way.DIED, Way.POLLED_LATE):
                return None
            return None if only in (Way.WAS_REMOVED, Way.DID_NOT_REJOIN) else only
        if (
            not self.silence.stayed_with_coordinator
            and (self.silence.evidence.is_empty or self.session_ms < self.poll_ms)
            and Way.DIED in ways
            and not ways & {Way.CLOSED, Way.WAS_REMOVED}
        ):
            # It did not come back to the new coordinator, which started all sessions anew.
            return Way.DIED
        if ways == {Way.POLLED_LATE, Way.DID_NOT_REJOIN} and self.ran_out:
            return Way.DID_NOT_REJOIN
        if not self.silence.keeps_session:
            return None
        if self.ended_with_session and self.missed.only and not self.ran_out and self.timers_differ:
            return Way.DIED
        if Way.POLLED_LATE not in ways and self.died_within():
            return Way.DIED
        ran_ms = self.silence.evidence.last.position.record_timestamp_ms + self.missed.longest_ms
        if self.ended_with_session:
            return None
        if Way.CLOSED in ways and 0 <= self.missed.ended_ms - ran_ms <= _LEAVES_WITHIN_MS:
            # Its leave began a phase that then lasted as long as it may.
            return Way.CLOSED
        return None

    def did_not_sync(self) -> bool:
        """Whether the phase began as long after the last one as members may take to fetch their assignment.

        Those that have not done so by then are dropped, static ones too (GroupMetadataManager.expirePendingSync). It
        committed nothing since.
        """
        earliest_ms, latest_ms = self.began_ms()
        last_ms = self.silence.evidence.last.position.record_timestamp_ms
        dropped_ms = self.missed.joined_ms + self.missed.longest_ms
        return (
            last_ms <= self.missed.joined_ms
            and self.is_bounded
            and not self.missed.skipped
            and earliest_ms - _EXACTLY_MS <= dropped_ms <= latest_ms + _EXACTLY_MS
        )

    def worked_through(self) -> bool:
        """Whether it went on committing while the others, which had stopped to rejoin, waited as long as they may.

        So it had not heard of the phase, and did not rejoin in time.
        """
        others_ms = self.silence.evidence.others_ms
        last_ms = self.silence.evidence.last.position.record_timestamp_ms
        if not others_ms or self.missed.skipped:
            return False
        waited_ms = self.missed.ended_ms - max(others_ms)
        return (
            abs(waited_ms - self.missed.longest_ms) <= self.heard_ms
            and last_ms - max(others_ms) > self.heard_ms
        )

    def may_have_begun_with_expiry(self) -> bool:
        """Whether nothing else happened, so that the phase began with its end, and its session had run out by then.

        By the timer that its last commit restarted. Not if it may have polled too late as well.
        """
        ways = self.ways()
        return (
            self.silence.keeps_session
            and self.missed.alone
            and self.is_bounded
            and Way.DIED in ways
            and Way.POLLED_LATE not in ways
        )

    @property
    def timers_differ(self) -> bool:
        """Whether its session and its `max.poll.interval.ms` end apart, after whatever they began with."""
        return abs(self.session_ms - self.poll_ms) > self.heard_ms

    def did_not_assign(self) -> bool:
        """Whether a generation left no record as its leader was dead: nobody else is gone, and its session was over.

        A leader assigns as soon as the phase is over, and that writes the record (handleSyncGroup).
        """
        here_ms = max(
            self.silence.evidence.last.position.record_timestamp_ms, self.missed.joined_ms
        )
        return (
            self.missed.led
            and self.missed.skipped > 0
            and self.missed.only
            and self.silence.stayed_with_coordinator
            and self.missed.ended_ms - here_ms >= self.expires_after_ms
        )

    @property
    def ended_with_session(self) -> bool:
        """Whether the phase ended exactly as its session did, and not as the last of the others rejoined."""
        evidence, ended_ms = self.silence.evidence, self.missed.ended_ms
        here_ms = max(evidence.last.position.record_timestamp_ms, self.missed.joined_ms)
        rejoined_ms = max((each for each in evidence.others_ms if each <= ended_ms), default=None)
        return 0 <= ended_ms - here_ms - self.session_ms <= _EXACTLY_MS and (
            rejoined_ms is None or ended_ms - rejoined_ms > _EXACTLY_MS
        )

    def died_within(self) -> bool:
        """Whether its session ended as the phase did, or began it alone.

        The phase waits for all members, so it ends as the last one that is missing expires.
        """
        last_ms = self.silence.evidence.last.position.record_timestamp_ms
        here_ms = max(last_ms, self.missed.joined_ms)
        ended_ms = self.missed.ended_ms
        if self.ended_with_session:
            if self.missed.only:
                return True
            # Of several that are gone it was another one whose session ended, if this one committed on closing.
            closed = self.silence.came_early(self.missed.joined_ms)
            return not self.silence.evidence.is_empty and closed is not True
        earliest_ms, latest_ms = self.began_ms()
        if (
            self.missed.only
            and not self.silence.evidence.is_empty
            and ended_ms - latest_ms > self.heard_ms
            and 0 <= ended_ms - here_ms - self.session_ms <= self.heard_ms
        ):
            return True
        return (
            self.missed.alone
            and earliest_ms - last_ms > CLOSES_AT_LAST_MS
            and 0 <= latest_ms - here_ms - self.session_ms <= self.heard_ms
        )
