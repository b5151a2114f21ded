"""When the join phase of a classic generation most likely began: no record says it, commits and timeouts suggest it.

A generation's only record comes after its join phase. Members stop committing when they rejoin, and many commit once
more as they give up their partitions or close; a member that no longer sends heartbeats holds the phase up until its
session ends. The result is an estimate; it never widens the bounds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, NamedTuple

HEARTBEAT_MS: Final = 3000
"""Default of `heartbeat.interval.ms`: members learn of a rebalance from their next heartbeat."""
HEARTBEATS_PER_SESSION: Final = 3
"""Kafka's documentation asks for a heartbeat interval of at most a third of the session timeout."""
SHORT_SESSION_MS: Final = 10_000
"""Default of `session.timeout.ms` before KIP-735: with a shorter one, heartbeats were configured as well."""
HEARTBEATS_PER_SHORT_SESSION: Final = 6
"""An estimate, until waits show more."""
COMMIT_PAUSE_MS: Final = 5000
"""Default of `auto.commit.interval.ms`, for a group whose log shows no pause between two commits."""
SILENT: Final = 1.15
"""A member stopped committing if it paused longer than this many times the usual pause."""
EARLY: Final = 0.8
"""A commit within less than this many times the usual pause is one of a member that rejoins or closes."""
SEVERAL_PAUSES: Final = 4
"""A pause of so many usual ones is one of a member that has stopped."""
EARLY_ON_TIMER: Final = 0.98
"""The same for a member whose commits come on a timer."""
EXPIRED: Final = 0.98
"""A member's session may have ended if its last commit is at least this share of the session ago."""
ALL_OF_IT: Final = 0.95
"""A join phase ended with the rebalance timeout if it lasted at least this share of it."""
RETURN_AFTER: Final = 0.2
"""Where a restarted member waits for the session of the one that it replaces: share of the session that had passed."""
FOLLOWED_FOR: Final = 0.8
"""Members that gave up partitions rejoin at once: the share of the time since the last generation that this takes."""
ANSWERED_MS: Final = 1000
"""Members that have heard of a rebalance rejoin within this time, unless they are busy."""
NEAR: Final = 0.25
NEAR_MS: Final = 1000
"""An estimate is near if it differs from the truth by this share of it at most, or by this time."""
WAITS_KEPT: Final = 12
"""Bounds memory, and follows a changed configuration."""
WAITS_SHOW: Final = 6
"""So many waits show that heartbeats are more frequent than by default, or that one wait was an exception."""
HEARD_AFTER: Final = 0.75
"""Share of a heartbeat interval until one or two members have heard of the rebalance. The mean of one is half of it; as
many waits are within a third of the interval of either, and the longer ones matter."""
LATE_AFTER: Final = 2
"""At least so many members must have stopped at the same time, long before another one, to call that one late."""


UNDECIDED: Final = 0.3
"""Whether a member died or left is open where the less likely way has more weight than this."""
NOTHING_GIVEN_UP: Final[Mapping[str, int | None]] = MappingProxyType({})


class FinalCommits(NamedTuple):
    """The end of what a member committed in the previous generation, for its most committed partition."""

    last_ms: int
    """Its last commit for any of its partitions (epoch ms, as all times here by the coordinator's clock)."""
    is_early: bool
    """Whether that came sooner after the one before, or after the generation's record, than commits usually do."""
    worked_until_ms: int
    """The same as `last_ms`; or the commit before, if several usual pauses lie between: some clients finish their work
    before they rejoin, and commit then."""
    is_only: bool
    """Whether it committed once, so that the pause is the one since the generation's record."""


class Former(NamedTuple):
    """A member of the previous generation."""

    member_id: str
    session_timeout_ms: int
    is_back: bool
    """Whether it is a member of the new generation as well."""
    is_replaced: bool
    """Whether that is a static member under a new member id, so that this one may be long gone."""
    may_have_expired: bool
    """Whether it is gone, and the audit takes it for possible that its session expired."""
    silent_weight: float
    """How likely it is that it died or hung, if it is gone, and did not leave."""
    commits: FinalCommits | None


class JoinPhase(NamedTuple):
    """What the log holds about one join phase."""

    end_ms: int
    shown_ms: int | None
    """Timestamp of the previous record of the group, None if there is none that bounds the phase."""
    former: Sequence[Former]
    """Members of the previous generation that are gone, or that committed in it."""
    rebalance_timeout_ms: int | None
    """The longest one in the previous generation; None if that had no members."""
    stayed: int
    """How many of its members are members of the new generation."""
    newcomers: int
    """New member ids, with those of static members that came back."""
    session_timeout_ms: int
    """The shortest one, of the new members, or of the former ones if none is left."""
    is_first: bool
    """Whether the record before created the group, and the first member's join wrote it."""
    usual_pause_ms: int | None
    is_end_undecided: bool
    """Whether a member is gone that may have left as well as expired."""
    is_follow_up: bool
    """Whether cooperative members rejoined because of the generation before: what they committed is about that one."""
    is_old_client: bool
    """Whether session and rebalance timeout of a member are the same, as for all clients before KIP-62: such a client
    sends heartbeats between polls, and has no defaults in common with others."""


@dataclass(slots=True)
class Gathering:
    """How long the members of one group take to gather, as its own join phases show it."""

    _first_phase_ms: int | None = None
    _first_members: int = 0
    _waits_ms: list[int] = field(default_factory=list)

    def learn_delay(self, phase_ms: int, members: int) -> None:
        """Note the group's first join phase: one delay for its first member, another one if more came meanwhile."""
        self._first_phase_ms, self._first_members = phase_ms, members

    def delay_ms(self, members: int) -> int | None:
        """How long an empty group takes to gather this many members.

        None if no phase has shown the broker's `group.initial.rebalance.delay.ms`.
        """
        if self._first_phase_ms is None:
            return None
        once_ms = self._first_phase_ms if self._first_members == 1 else self._first_phase_ms // 2
        return once_ms if members == 1 else 2 * once_ms

    def learn(self, wait_ms: int) -> None:
        """Note how long a join phase lasted whose begin its members' ends show, and that waited for heartbeats only."""
        self._waits_ms = [*self._waits_ms, wait_ms][-WAITS_KEPT:]

    def heartbeat_ms(self, phase: JoinPhase) -> int | None:
        """The longest that a member takes to hear of a rebalance and to rejoin; None if nothing shows it."""
        usual_ms = HEARTBEAT_MS
        if phase.session_timeout_ms < SHORT_SESSION_MS:
            usual_ms = phase.session_timeout_ms // HEARTBEATS_PER_SHORT_SESSION
        waits = sorted(self._waits_ms)
        if len(waits) < (2 if phase.is_old_client else WAITS_SHOW):
            return None if phase.is_old_client else usual_ms
        # One of several may have been an exception: a member that was busy.
        return max(waits[-2], min(waits[-1], usual_ms)) * (len(waits) + 1) // len(waits)


class Estimate(NamedTuple):
    """What most likely happened."""

    start_ms: int | None
    """Begin of the join phase (epoch ms); None where the log leaves too much open for an estimate."""
    waited_for: tuple[str, ...] = ()
    """Former members whose timeout ended the join phase, so that the others had to wait for it."""
    late: str | None = None
    """The member that rejoined last, long after the others."""
    gave_up: Mapping[str, int | None] = NOTHING_GIVEN_UP
    """Former member -> when it gave its partitions up or died (epoch ms); None where the log leaves that open."""


def estimate(phase: JoinPhase, gathering: Gathering) -> Estimate:
    """When the join phase began, and whose timeout ended it."""
    found = _estimate(phase, gathering)
    if phase.shown_ms is not None and found.start_ms is not None:
        found = found._replace(start_ms=max(found.start_ms, phase.shown_ms))
    beat_ms = gathering.heartbeat_ms(phase) or HEARTBEAT_MS
    return found._replace(
        gave_up={each.member_id: _gave_up_ms(each, phase, found, beat_ms) for each in phase.former}
    )


def _gave_up_ms(member: Former, phase: JoinPhase, found: Estimate, beat_ms: int) -> int | None:
    """When a member gave its partitions up: by its commits, or by how it ended."""
    start_ms, commits, stopped_ms = found.start_ms, member.commits, _stopped_ms(member, phase)
    if member.is_back and not member.is_replaced:
        if start_ms is None:
            return stopped_ms
        if stopped_ms is not None:
            return max(start_ms, stopped_ms)
        return start_ms + beat_ms // 2 if found.waited_for or found.late else None
    over_ms = phase.end_ms if member.member_id in found.waited_for else start_ms
    if over_ms is None:
        return stopped_ms
    died_ms, weight = over_ms - member.session_timeout_ms, member.silent_weight
    if commits is not None and (member.is_replaced or 0 < weight < 1):
        last_ms = commits.last_ms if stopped_ms is None else stopped_ms
        if last_ms >= died_ms:
            return last_ms
    if member.is_replaced or UNDECIDED < weight < 1 - UNDECIDED:
        return None
    likely_ms = died_ms + beat_ms // 2 if weight > UNDECIDED else over_ms
    return likely_ms if commits is None else max(likely_ms, commits.last_ms)


def _estimate(phase: JoinPhase, gathering: Gathering) -> Estimate:
    end_ms, former = phase.end_ms, phase.former
    if phase.is_first and phase.shown_ms is not None:
        return Estimate(phase.shown_ms)
    if phase.rebalance_timeout_ms is None:
        delay_ms = gathering.delay_ms(phase.newcomers)
        return Estimate(None if delay_ms is None else end_ms - delay_ms)
    expired = [each for each in former if _has_expired(each, end_ms)]
    gone = [each for each in former if not each.is_back]
    is_empty = not phase.stayed and not phase.newcomers
    if is_empty and len(gone) < 2:
        return Estimate(end_ms)
    held_by = tuple(each.member_id for each in expired)
    beat_ms = gathering.heartbeat_ms(phase)
    late = _late_member(phase, beat_ms or HEARTBEAT_MS)
    start_ms = None if is_empty else _after_end(phase, expired, beat_ms)
    if start_ms is not None:
        return Estimate(start_ms)
    stop = _first_stop(phase, expired, late)
    if phase.is_follow_up and phase.shown_ms is not None:
        since_ms = end_ms - phase.shown_ms
        if since_ms <= phase.rebalance_timeout_ms:
            if since_ms <= phase.session_timeout_ms:
                gathering.learn(since_ms)
            return Estimate(end_ms - int(FOLLOWED_FOR * since_ms))
    if stop is not None and (not is_empty or len(expired) < len(gone)):
        start_ms, is_back, spread_ms = stop
        if not is_back and phase.stayed and not expired and late is None:
            gathering.learn(end_ms - start_ms)
        if is_back and beat_ms is None:
            return Estimate(None)
        if is_back and beat_ms is not None:
            # That the last one heard of it so much later leaves the rest of an interval before the first one did.
            share = HEARD_AFTER if spread_ms is None else 0.5
            start_ms -= int(share * max(0, beat_ms - (spread_ms or 0)))
        if beat_ms is not None and end_ms - start_ms <= 2 * beat_ms:
            return Estimate(start_ms)
        is_over = end_ms - start_ms >= ALL_OF_IT * phase.rebalance_timeout_ms
        held_by = held_by or (_timed_out(phase, is_back=is_back) if is_over else ())
        return Estimate(start_ms, held_by, None if late is None else late.member_id)
    unseen = [each for each in gone if each.may_have_expired and each.commits is None]
    if phase.newcomers and (expired or (unseen and len(unseen) == len(gone))):
        # Whoever replaces a member waits for the end of its session, if that is how it went.
        held_by = held_by or tuple(each.member_id for each in unseen)
        session_ms = max(each.session_timeout_ms for each in gone)
        start_ms = end_ms - int((1 - RETURN_AFTER) * session_ms)
        is_shown = not phase.is_end_undecided or any(
            each.commits is not None
            and end_ms - each.commits.last_ms - each.session_timeout_ms
            <= (phase.usual_pause_ms or COMMIT_PAUSE_MS)
            for each in expired
        )
        return Estimate(start_ms if is_shown else None, held_by)
    if not phase.stayed:
        return Estimate(end_ms)
    return Estimate(None) if beat_ms is None else _within(phase, beat_ms)


def _within(phase: JoinPhase, longest_ms: int) -> Estimate:
    """A phase that lasted no longer than that: no estimate where it would as likely be wrong as right."""
    if phase.shown_ms is not None:
        longest_ms = min(longest_ms, phase.end_ms - phase.shown_ms)
    likely_ms = int(longest_ms * max(HEARD_AFTER, phase.stayed / (phase.stayed + 1)))
    is_near_half_the_time = 4 * max(NEAR_MS, int(NEAR * likely_ms)) >= longest_ms
    return Estimate(phase.end_ms - likely_ms if is_near_half_the_time else None)


def _after_end(phase: JoinPhase, expired: Sequence[Former], beat_ms: int | None) -> int | None:
    """When the first session ended, if that was so long before the end that it did not end the wait but began it."""
    sessions = [each for each in phase.former if each.is_replaced or each in expired]
    ends = [each.commits.last_ms + each.session_timeout_ms for each in sessions if each.commits]
    usual_ms = phase.usual_pause_ms or COMMIT_PAUSE_MS
    if not ends or min(ends) >= phase.end_ms:
        return None
    if not phase.stayed and max(ends) < phase.end_ms - ANSWERED_MS:
        return None
    # It sent heartbeats after its last commit, until its next commit was due.
    earliest_ms, latest_ms = min(ends), min(min(ends) + usual_ms, phase.end_ms)
    if beat_ms is not None and phase.stayed:
        heard_ms = max(beat_ms, _longest_beat_ms(phase))
        earliest_ms = max(earliest_ms, phase.end_ms - heard_ms - ANSWERED_MS)
    is_over = phase.end_ms - min(ends) <= usual_ms and phase.newcomers
    likely_ms = min(ends) + max(0, usual_ms - (beat_ms or HEARTBEAT_MS)) // 2
    if (is_over and len(ends) == 1) or not earliest_ms <= likely_ms <= latest_ms:
        return None
    return likely_ms


def _timed_out(phase: JoinPhase, *, is_back: bool) -> tuple[str, ...]:
    """Those that did not rejoin in a phase as long as the rebalance timeout, but for one that began it by leaving."""
    gone = [each for each in phase.former if not each.is_back and each.may_have_expired]
    if not is_back:
        gone = [each for each in gone if each.commits is not None]
        gone.sort(key=lambda each: each.commits.last_ms if each.commits else 0)
        del gone[:1]
    return tuple(each.member_id for each in gone)


def _first_stop(
    phase: JoinPhase, expired: Sequence[Former], late: Former | None
) -> tuple[int, bool, int | None] | None:
    """When the first member stopped to rejoin or close, and whether it is back; None if no commits say it.

    The last is how much later others stopped (ms); None if no other did.
    """
    longest_beat_ms = _longest_beat_ms(phase)
    # A member that commits has not heard of the rebalance, which takes a heartbeat at most.
    latest_commit_ms = max(
        (
            each.commits.worked_until_ms
            for each in phase.former
            if each.is_back and each.commits is not None and each is not late
        ),
        default=phase.shown_ms or 0,
    )
    stops = sorted(
        (stop_ms, each.is_back, each.commits is not None and each.commits.is_only)
        for each in phase.former
        if each not in expired
        and each is not late
        and not each.is_replaced
        and (stop_ms := _stopped_ms(each, phase)) is not None
        and (
            stop_ms >= latest_commit_ms - longest_beat_ms
            or (not each.is_back and each.commits is not None and each.commits.is_early)
        )
    )
    # One commit shows no rhythm; two members that stop within a heartbeat do not do so by chance.
    if len(stops) == 1 or (len(stops) > 1 and stops[1][0] - stops[0][0] > longest_beat_ms):
        stops = [each for each in stops if not each[2]]
    if not stops:
        return None
    first_ms, is_back, _ = stops[0]
    return first_ms, is_back, stops[-1][0] - first_ms if len(stops) > 1 else None


def _late_member(phase: JoinPhase, heartbeat_ms: int) -> Former | None:
    """The member that committed last, just before the end, when at least two others had long stopped to rejoin."""
    last_commits = sorted(
        (each.commits.last_ms, number)
        for number, each in enumerate(phase.former)
        if each.is_back and each.commits is not None
    )
    if len(last_commits) < LATE_AFTER + 1:
        return None
    (late_ms, late), others = last_commits[-1], last_commits[:-1]
    if (
        phase.end_ms - late_ms > heartbeat_ms
        or others[-1][0] - others[0][0] > heartbeat_ms
        or late_ms - others[-1][0] <= _longest_beat_ms(phase)
        or any(_stopped_ms(phase.former[number], phase) is None for _, number in others)
    ):
        return None
    return phase.former[late]


def _longest_beat_ms(phase: JoinPhase) -> int:
    return min(HEARTBEAT_MS, phase.session_timeout_ms // HEARTBEATS_PER_SESSION)


def _has_expired(member: Former, end_ms: int) -> bool:
    commits = member.commits
    if member.is_back or not member.may_have_expired or commits is None:
        return False
    return end_ms - commits.last_ms >= EXPIRED * member.session_timeout_ms


def _stopped_ms(member: Former, phase: JoinPhase) -> int | None:
    """When its commits say that the member rejoined or closed; None if they do not say it."""
    commits, usual_ms = member.commits, phase.usual_pause_ms or COMMIT_PAUSE_MS
    if commits is None:
        return None
    worked_ms = commits.worked_until_ms
    if phase.end_ms - worked_ms > SILENT * usual_ms:
        return worked_ms if commits.is_early else worked_ms + usual_ms // 2
    return commits.last_ms if commits.is_early else None
