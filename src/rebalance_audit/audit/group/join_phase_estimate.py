"""When the join phase of a classic generation most likely began: no record says it, commits and timeouts suggest it.

A generation's only record comes after its join phase. Members stop committing when they rejoin, and many commit once
more as they give up their partitions or close; a member that no longer sends heartbeats holds the phase up until its
session ends. The result is an estimate; it never widens the bounds.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

HEARTBEAT_MS: Final = 3000
"""Default of `heartbeat.interval.ms`: members learn of a rebalance from their next heartbeat."""
HEARTBEATS_PER_SESSION: Final = 6
"""An estimate: the default is 15, with sessions of a few seconds it is 3 at least."""
LEAST_HEARTBEATS_PER_SESSION: Final = 3
"""Kafka's documentation asks for a heartbeat interval of at most a third of the session timeout."""
COMMIT_PAUSE_MS: Final = 5000
"""Default of `auto.commit.interval.ms`, for a group whose log shows no pause between two commits."""
SILENT: Final = 1.15
"""A member stopped committing if it paused longer than this many times the usual pause."""
EARLY: Final = 0.8
"""A commit within less than this many times the usual pause is one of a member that rejoins or closes."""
EXPIRED: Final = 0.98
"""A member's session may have ended if its last commit is at least this share of the session ago."""
ALL_OF_IT: Final = 0.95
"""A join phase ended with the rebalance timeout if it lasted at least this share of it."""
RETURN_AFTER: Final = 0.2
"""Where a restarted member waits for the session of the one that it replaces: share of the session that had passed."""
HEARD_AFTER: Final = 0.3
"""Share of a heartbeat interval until the first of several members learns of the rebalance."""


LATE_AFTER: Final = 2
"""At least so many members must have stopped at the same time, long before another one, to call that one late."""


class FinalCommits(NamedTuple):
    """The end of what a member committed in the previous generation, for its most committed partition."""

    last_ms: int
    """Its last commit for any of its partitions (epoch ms, as all times here by the coordinator's clock)."""
    pause_ms: int | None
    """Time since the commit before, or since the generation's record; None for a first commit without either."""
    is_only: bool
    """Whether it committed once, so that the pause is the one since the generation's record."""


class Former(NamedTuple):
    """A member of the previous generation."""

    member_id: str
    session_timeout_ms: int
    is_back: bool
    """Whether it is a member of the new generation as well."""
    may_have_expired: bool
    """Whether it is gone, and the audit takes it for possible that its session expired."""
    commits: FinalCommits | None


class JoinPhase(NamedTuple):
    """What the log holds about one join phase."""

    end_ms: int
    """End of the join phase."""
    shown_ms: int | None
    """Timestamp of the previous record of the group, None if there is none that bounds the phase."""
    former: Sequence[Former]
    """Members of the previous generation that are gone, or that committed in it."""
    rebalance_timeout_ms: int | None
    """The longest one in the previous generation; None if that had no members."""
    has_stayed: bool
    """Whether any of them is a member of the new generation."""
    newcomers: int
    session_timeout_ms: int
    """The shortest one, of the new members, or of the former ones if none is left."""
    is_first: bool
    """Whether the record before created the group, and the first member's join wrote it."""
    usual_pause_ms: int | None


class InitialDelay:
    """The broker's `group.initial.rebalance.delay.ms`, as the first generation of the group shows it."""

    _first_phase_ms: int | None
    _first_members: int

    def __init__(self) -> None:
        self._first_phase_ms = None
        self._first_members = 0

    def learn(self, phase_ms: int, members: int) -> None:
        """Note the group's first join phase: one delay for its first member, another one if more came meanwhile."""
        self._first_phase_ms, self._first_members = phase_ms, members

    def expected_ms(self, members: int) -> int:
        """How long an empty group takes to gather this many members."""
        if self._first_phase_ms is None:
            return HEARTBEAT_MS
        once_ms = self._first_phase_ms if self._first_members == 1 else self._first_phase_ms // 2
        return once_ms if members == 1 else 2 * once_ms


class Estimate(NamedTuple):
    """What most likely happened."""

    start_ms: int
    """Begin of the join phase (epoch ms)."""
    waited_for: tuple[str, ...] = ()
    """Former members whose timeout ended the join phase, so that the others had to wait for it."""
    late: str | None = None
    """The member that rejoined last, long after the others."""


def estimate(phase: JoinPhase, delay: InitialDelay) -> Estimate:
    """When the join phase began, and whose timeout ended it."""
    found = _estimate(phase, delay)
    if phase.shown_ms is None or found.start_ms >= phase.shown_ms:
        return found
    return found._replace(start_ms=phase.shown_ms)


def _estimate(phase: JoinPhase, delay: InitialDelay) -> Estimate:
    end_ms, former = phase.end_ms, phase.former
    if phase.is_first and phase.shown_ms is not None:
        return Estimate(phase.shown_ms)
    if phase.rebalance_timeout_ms is None:
        return Estimate(end_ms - delay.expected_ms(phase.newcomers))
    stayed = phase.has_stayed
    heartbeat_ms = min(HEARTBEAT_MS, phase.session_timeout_ms // HEARTBEATS_PER_SESSION)
    expired = [each for each in former if _has_expired(each, end_ms)]
    gone = [each for each in former if not each.is_back]
    emptied = not stayed and not phase.newcomers
    if emptied and not (expired and len(gone) > 1):
        return Estimate(end_ms)
    latest_ms = end_ms - heartbeat_ms if stayed else end_ms
    held_by = tuple(each.member_id for each in expired)
    late = _late_member(phase, heartbeat_ms)
    stop = _first_stop(phase, expired, late)
    if stop is not None and (not emptied or len(expired) < len(gone)):
        stop_ms, is_back = stop
        start_ms = min(latest_ms, stop_ms - int(HEARD_AFTER * heartbeat_ms) if is_back else stop_ms)
        if end_ms - start_ms <= 2 * heartbeat_ms:
            return Estimate(start_ms)
        is_over = end_ms - start_ms >= ALL_OF_IT * phase.rebalance_timeout_ms
        held_by = held_by or (_timed_out(phase, is_back=is_back) if is_over else ())
        return Estimate(start_ms, held_by, None if late is None else late.member_id)
    unseen = [each for each in gone if each.may_have_expired and each.commits is None]
    if phase.newcomers and (expired or (unseen and len(unseen) == len(gone))):
        session_ms = max(each.session_timeout_ms for each in gone)
        held_by = held_by or tuple(each.member_id for each in unseen)
        return Estimate(min(latest_ms, end_ms - int((1 - RETURN_AFTER) * session_ms)), held_by)
    return Estimate(latest_ms)


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
) -> tuple[int, bool] | None:
    """When the first member stopped to rejoin or close, and whether it is back; None if no commits say it."""
    longest_beat_ms = _longest_beat_ms(phase)
    # A member that commits has not heard of the rebalance, which takes a heartbeat at most.
    latest_commit_ms = max(
        (
            each.commits.last_ms
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
        and (stop_ms := _stopped_ms(each, phase)) is not None
        and stop_ms >= latest_commit_ms - longest_beat_ms
    )
    # One commit shows no rhythm; two members that stop within a heartbeat do not do so by chance.
    if len(stops) == 1 or (len(stops) > 1 and stops[1][0] - stops[0][0] > longest_beat_ms):
        stops = [each for each in stops if not each[2]]
    return (stops[0][0], stops[0][1]) if stops else None


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
    return min(HEARTBEAT_MS, phase.session_timeout_ms // LEAST_HEARTBEATS_PER_SESSION)


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
    early = commits.pause_ms is not None and commits.pause_ms < EARLY * usual_ms
    if phase.end_ms - commits.last_ms > SILENT * usual_ms:
        return commits.last_ms if early else commits.last_ms + usual_ms // 2
    return commits.last_ms if early else None
