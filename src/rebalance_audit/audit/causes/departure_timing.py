"""How well the times around a member's end fit each way to go.

The log has the member's last sign of life, mostly a commit, and the record that shows it gone. In between lie a pause
(a member at work does not commit all the time), the way to go itself (a leave takes no time, an expiry a session, a
poll that comes too late `max.poll.interval.ms`) and, in a classic group, the rest of a join phase: the one that the end
began, or one that was going on. Each part has a distribution; the density of their sum at the observed time is what the
times say for a way to go.

A timer of the coordinator can seem to fire early. It starts inside the request's handler, and the request's records get
their time after the handler (`CoordinatorRuntime.append`); it also runs by another clock. So the records of its start
and of its end can be closer to each other than the timeout.
"""

from collections.abc import Callable
from functools import lru_cache
from math import exp, log, sqrt
from typing import Final, NamedTuple, TypeAlias

from rebalance_audit.audit.causes.departure_weights import DepartureWeights
from rebalance_audit.audit.commits.rhythm import SHOWS_RHYTHM, CommitHabits, CommitRhythm
from rebalance_audit.audit.verdicts.cause import DepartureFacts, Phase

_USUALLY_LATE_MS: Final = 100
"""How late the coordinator's timers usually fire."""
_SEEMS_EARLY_MS: Final = 100
"""How early a timer may seem to fire and still be the likely reason."""
_NEVER_AS_EARLY_MS: Final = 500
"""How early a timer never seems to fire, even on a busy broker."""


def can_have_fired(waited_ms: int, timer_ms: int) -> bool:
    """Whether a timer of `timer_ms` can have fired where the records are `waited_ms` apart."""
    return waited_ms > timer_ms - _NEVER_AS_EARLY_MS


def fired_then(waited_ms: int, timer_ms: int, late_ms: int = _USUALLY_LATE_MS) -> bool:
    """Whether a timer of `timer_ms` fires where the records are `waited_ms` apart, if it is at most `late_ms` late."""
    return -_SEEMS_EARLY_MS <= waited_ms - timer_ms <= late_ms


_EARLY_MS: Final = 50
_LATE_MS: Final = 150
"""A timer's record is at most so much earlier and later than the timer says."""
_SLABS: Final = 4
"""Parts, each some times as long as the one before, in which slow join phases are equally likely to end."""
_RARE: Final = 1e-9
"""Density of what the model calls impossible: a busy broker or two clocks can still do it."""

Cdf: TypeAlias = Callable[[float], float]


class Scores(NamedTuple):
    """One number for each way to go."""

    left: float = 0.0
    expired: float = 0.0
    timed_out: float = 0.0
    removed: float = 0.0

    def plus(self, other: "Scores") -> "Scores":
        """The sum."""
        return Scores(*(one + two for one, two in zip(self, other, strict=True)))


class _Pause(NamedTuple):
    """Distributions of the time (ms) from a member's last sign of life until it stops working."""

    dry: float
    """Probability that it had nothing to commit."""
    usual: Cdf
    """Where it had."""
    idle: Cdf
    """Where it had not."""

    def cdf(self, pause_ms: float) -> float:
        """Of both."""
        return (1 - self.dry) * self.usual(pause_ms) + self.dry * self.idle(pause_ms)


class _Delays(NamedTuple):
    """Distributions of the time (ms) from a member's last sign of life to each end."""

    leave: Cdf
    expiry: Cdf
    removal: Cdf
    """Also that until it stops working."""
    silent_ms: float
    """The time from there to the record."""


class _Window(NamedTuple):
    """How long a join phase may have lasted (ms), and the probability that these are the bounds."""

    least_ms: float
    most_ms: float
    share: float


def timing(facts: DepartureFacts, weights: DepartureWeights, closing_odds: float = 1.0) -> Scores:
    """Log-densities of the times; `closing_odds`: what else says whether the last commit was one on closing."""
    return _timing(facts._replace(gone_ms=0), weights, closing_odds)


@lru_cache(128)
def _timing(facts: DepartureFacts, weights: DepartureWeights, closing_odds: float) -> Scores:
    """Members that went together mostly have the same facts."""
    delays, phase = _delays(facts, weights, closing_odds), facts.phase
    if phase is None:
        left, expired, removed = (_at(cdf, delays.silent_ms) for cdf in delays[:3])
        return _logs(left, expired, removed, removed)
    if phase.leaves_empty:
        return _emptied(facts, phase, delays, weights)
    return _missed(facts, phase, delays, weights)


def on_close_share(facts: DepartureFacts | CommitHabits, weights: DepartureWeights) -> float:
    """Share of leaves right after a commit: a weak prior, and the ends that the group has shown."""
    shown = facts.closed_with_commit + facts.closed_without_commit
    prior = weights.on_close * weights.habit
    return (prior + facts.closed_with_commit) / (weights.habit + shown)


# -- from the last sign of life to the end ------------------------------------------------------------


@lru_cache(128)
def _pause_of(
    rhythm: CommitRhythm | None, idle_commits: int, idle_in_group: int, weights: DepartureWeights
) -> _Pause:
    """By what the member has shown."""
    dry, usual_ms, longest_ms = 1.0, 1.0, 1.0
    if rhythm is not None and rhythm.commits > 1:
        usual_ms, longest_ms = float(max(rhythm.interval_ms, 1)), float(max(rhythm.longest_ms, 1))
        shown = idle_commits + weights.kinship * (idle_in_group - idle_commits)
        dry = weights.dry / (1 + shown)
        if rhythm.commits < SHOWS_RHYTHM:
            dry = max(dry, weights.dry_unknown)
    scale_ms, shape, overlong = weights.dry_scale_ms, weights.dry_shape, weights.overlong

    def usual(pause_ms: float) -> float:
        if pause_ms <= 0:
            return 0.0
        found = (1 - overlong - weights.longest) * min(1.0, pause_ms / usual_ms)
        found += weights.longest * min(1.0, pause_ms / longest_ms)
        return found + overlong * (1 - exp(-pause_ms / longest_ms))

    def idle(pause_ms: float) -> float:
        return 0.0 if pause_ms <= 0 else float(1 - (1 + pause_ms / scale_ms) ** -shape)

    return _Pause(dry, usual, idle)


def _pause(facts: DepartureFacts, weights: DepartureWeights) -> _Pause:
    """By the member's own rhythm, or that of one that stayed where the group's clients commit on a timer."""
    rhythm, phase = facts.rhythm, facts.phase
    if not facts.same_coordinator and facts.since_commit_ms is not None:
        rhythm = None
    elif rhythm is None or rhythm.commits < SHOWS_RHYTHM:
        other = None if phase is None else phase.others_rhythm
        if facts.idle_in_group and other is not None and other.commits >= SHOWS_RHYTHM:
            rhythm = other
    found = _pause_of(rhythm, facts.idle_commits, facts.idle_in_group, weights)
    others_ms = facts.others_since_ms if phase is None else phase.others_silent_ms
    since_ms = facts.since_commit_ms
    if since_ms is None or rhythm is None or facts.idle_commits:
        return found
    if others_ms is None:
        return found._replace(dry=max(found.dry, weights.dry_alone))
    if others_ms > since_ms - rhythm.longest_ms:  # the others fell silent as well
        return found._replace(dry=max(found.dry, weights.dry_with_others))
    return found


def _delays(facts: DepartureFacts, weights: DepartureWeights, closing_odds: float) -> _Delays:
    pause = _pause(facts, weights)
    usually, poll_ms = on_close_share(facts, weights), facts.poll_ms or 0
    late = _polled_late_share(facts, weights)
    since_ms = facts.since_commit_ms
    # A commit before its last generation was none on closing.
    committed = since_ms is not None and since_ms <= facts.since_seen_ms

    def closing(delay_ms: float, share: float, otherwise: Cdf) -> float:
        if since_ms is None:
            return otherwise(delay_ms)
        found = (1 - share) * otherwise(delay_ms)
        if committed:
            found += closing_odds * share * (1 - exp(-delay_ms / weights.close_ms))
        return found

    def leave(delay_ms: float) -> float:
        if delay_ms <= 0:
            return 0.0
        found = (1 - pause.dry) * closing(delay_ms, usually, pause.usual)
        # Most clients have nothing to commit on closing where they had nothing before.
        found += pause.dry * closing(delay_ms, weights.dry_close * usually, pause.idle)
        return (1 - late) * found + late * overrun(delay_ms - poll_ms)

    def overrun(over_ms: float) -> float:
        """Some clients commit what they polled in the background, up to one interval after the last poll."""
        if not (committed and facts.rhythm and facts.rhythm.interval_ms):
            return timer(over_ms)
        after_poll = min(1.0, max(0.0, 1 + over_ms / facts.rhythm.interval_ms))
        return (1 - weights.background) * timer(over_ms) + weights.background * after_poll

    def timer(over_ms: float) -> float:
        exact = 1.0 if over_ms >= 0 else 0.0
        return weights.on_timer * exact + (1 - weights.on_timer) * pause.cdf(over_ms)

    def expiry(delay_ms: float) -> float:
        found = 0.0
        for session_ms in facts.sessions_ms:
            over_ms = delay_ms - session_ms
            if facts.commit_renews_session or not committed:
                found += timer(over_ms)
            else:  # its last heartbeat may have been up to one interval before the commit
                beat_ms, lost = _beat_ms(session_ms, weights), weights.heartbeat_lost
                within = (pause.cdf(over_ms + beat_ms) + pause.cdf(over_ms + beat_ms / 2)) / 2
                found += (1 - lost) * within + lost * pause.cdf(delay_ms)
        return found / max(1, len(facts.sessions_ms))

    silent_ms: float = facts.since_seen_ms
    if since_ms is not None:
        silent_ms = min(silent_ms, since_ms)
    return _Delays(leave, expiry, pause.cdf, silent_ms)


def _polled_late_share(facts: DepartureFacts, weights: DepartureWeights) -> float:
    """Share of leaves by clients that had not polled in time; static members send no leave then (KIP-345)."""
    if not facts.poll_ms or facts.is_static:
        return 0.0
    odds = weights.polled_late * sqrt(weights.slow_poll_ms / facts.poll_ms)
    # The coordinator's rebalance timeout for JoinGroup version 0.
    if facts.sessions_ms == (facts.poll_ms,):
        odds *= weights.no_poll_limit
    if facts.client_joined and not facts.has_moved:  # they rejoin as often as clients that expire
        odds *= weights.joined_expired
    return odds / (1 + odds)


def _beat_ms(session_ms: float, weights: DepartureWeights) -> float:
    """Members hear of a join phase within that time; Kafka asks for three heartbeats in a session at least."""
    return min(weights.heartbeat_ms, session_ms / 3)


# -- from the end to the record -----------------------------------------------------------------------


def _at(cdf: Cdf, silent_ms: float) -> float:
    """Density where the end wrote the record."""
    return (cdf(silent_ms + _EARLY_MS) - cdf(silent_ms - _LATE_MS)) / (_EARLY_MS + _LATE_MS)


def _before(cdf: Cdf, silent_ms: float, from_ms: float, to_ms: float) -> float:
    """Probability that the end lies between `from_ms` and `to_ms` before the record."""
    return max(0.0, cdf(silent_ms - from_ms) - cdf(silent_ms - to_ms))


def _emptied(
    facts: DepartureFacts, phase: Phase, delays: _Delays, weights: DepartureWeights
) -> Scores:
    """The last end writes the record. Of several members, the others may have gone up to a join phase before."""
    silent_ms = delays.silent_ms
    earlier = weights.earlier if facts.gone_together else 0.0
    most_ms = float(max(1, phase.longest_ms))
    left, expired = (
        (1 - earlier) * _at(cdf, silent_ms)
        + earlier * _before(cdf, silent_ms, 0, most_ms) / most_ms
        for cdf in (delays.leave, delays.expiry)
    )
    dropped = _dropped(facts, phase, delays, most_ms, weights)
    return _logs(left, expired, dropped, _at(delays.removal, silent_ms))


def _missed(
    facts: DepartureFacts, phase: Phase, delays: _Delays, weights: DepartureWeights
) -> Scores:
    """The end began the join phase, or came while another phase went on, which then waited for it."""
    silent_ms = delays.silent_ms
    begun = weights.begun_by_other if phase.other_changes else weights.unseen
    longest_ms = float(max(1, phase.longest_ms * (1 + phase.skipped)))
    session_ms = float(max(facts.sessions_ms, default=longest_ms))
    beat_ms = min(_beat_ms(session_ms, weights), longest_ms)
    lengths = _lengths(beat_ms, longest_ms, weights)
    left = expired = timed_out = removed = 0.0

    def began(cdf: Cdf, window: _Window) -> float:
        return sum(
            density * _before(cdf, silent_ms, max(window.least_ms, low), min(window.most_ms, high))
            for density, low, high in lengths
        )

    def during(cdf: Cdf, window: _Window) -> float:
        fits = sum(
            density * max(0.0, min(window.most_ms, high) - max(window.least_ms, low))
            for density, low, high in lengths
        )
        return fits * _before(cdf, silent_ms, 0, window.most_ms) / max(1.0, window.most_ms)

    for window in _windows(phase, beat_ms, longest_ms, weights):
        left += window.share * (
            (1 - begun) * began(delays.leave, window) + begun * during(delays.leave, window)
        )
        removed += window.share * (
            (1 - begun) * began(delays.removal, window) + begun * during(delays.removal, window)
        )
        waits_ms = min(longest_ms, session_ms + beat_ms)
        fits = max(0.0, min(window.most_ms, waits_ms) - window.least_ms) / waits_ms
        expired += window.share * (
            (1 - begun) * began(delays.expiry, window)
            + begun * fits * _at(delays.expiry, silent_ms)
        )
        if window.least_ms - _LATE_MS <= phase.longest_ms <= window.most_ms + _LATE_MS:
            dropped = _dropped(facts, phase, delays, longest_ms, weights)
            timed_out += window.share * dropped
    return _logs(left, expired, timed_out, removed)


@lru_cache(64)
def _lengths(
    beat_ms: float, longest_ms: float, weights: DepartureWeights
) -> tuple[tuple[float, float, float], ...]:
    """How long phases last: (density, from ms, to ms). Most until all have heard of them, some until a slow one has."""
    growth = max(1.0, longest_ms / beat_ms) ** (1 / _SLABS)
    slow = [
        ((1 - weights.quick) / _SLABS, beat_ms * growth**place, beat_ms * growth ** (place + 1))
        for place in range(_SLABS)
    ]
    return tuple(
        (share / max(1.0, high - low), low, high)
        for share, low, high in ((weights.quick, 0.0, beat_ms), *slow)
    )


def _dropped(
    facts: DepartureFacts, phase: Phase, delays: _Delays, most_ms: float, weights: DepartureWeights
) -> float:
    """Density where the phase lasted as long as it can: it had stopped before, or went on through it."""
    session_ms, silent_ms = float(max(facts.sessions_ms, default=most_ms)), delays.silent_ms
    beat_ms = _beat_ms(session_ms, weights)
    stuck = _at(delays.removal, silent_ms - phase.longest_ms + beat_ms)
    through = 1 / most_ms if silent_ms <= phase.longest_ms else 0.0
    return (1 - weights.worked_through) * stuck + weights.worked_through * through


def _windows(
    phase: Phase, beat_ms: float, longest_ms: float, weights: DepartureWeights
) -> list[_Window]:
    """By the last commit of those that stayed: they rejoin within a heartbeat, and pause before that as they do."""
    silent_ms, rhythm = phase.others_silent_ms, phase.others_rhythm
    if silent_ms is None:
        return [_Window(0.0, longest_ms, 1.0)]
    any_ms = _Window(0.0, longest_ms, weights.late_others)
    most_ms = min(longest_ms, silent_ms + beat_ms + _LATE_MS)
    least_ms, rest = 0.0, 1 - weights.late_others
    if rhythm is not None and rhythm.commits >= SHOWS_RHYTHM:
        least_ms = silent_ms - rhythm.longest_ms - _LATE_MS
    if not 0 < least_ms < most_ms:
        return [any_ms, _Window(0.0, most_ms, rest)]
    dry = weights.dry / (1 + phase.others_idle_commits)
    return [
        any_ms,
        _Window(least_ms, most_ms, rest * (1 - dry)),
        _Window(0.0, most_ms, rest * dry),
    ]


def _logs(*densities: float) -> Scores:
    return Scores(*(log(max(density, _RARE)) for density in densities))
