"""What decided a member's end: a code with the facts that it needs, and the sentence that both make."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from rebalance_audit.audit.causes.cause import RebalanceCause
from rebalance_audit.audit.causes.departure_facts import DepartureFacts
from rebalance_audit.audit.causes.departure_model import WAYS, Posterior
from rebalance_audit.audit.commits.rhythm import SHOWS_RHYTHM
from rebalance_audit.audit.findings.finding import spell_ms
from rebalance_audit.moments import utc_datetime

_LEFT, _EXPIRED, _TIMED_OUT, _REMOVED = WAYS
_LEAST_SHARE: Final = 0.005
"""Ends that are less likely are not worth a word."""
_MOMENT_MS: Final = 500
"""A commit so shortly before the end needs no word on the time between."""


class DepartureReason(NamedTuple):
    """What decided: the name of an exclusion, or of the kind of evidence and the way to go that it speaks for."""

    code: str
    facts: Mapping[str, str]

    @property
    def sentence(self) -> str:
        """The reason in words."""
        return _SENTENCES[self.code].format_map(self.facts)


_SENTENCES: Final[Mapping[str, str]] = {
    "heard_within_session": "{name} was gone {heard} after {sign}, before its session of {session} could run out.",
    "committed_within_session": (
        "{commit}. Each commit restarts its session timer, which lasts {session}: it did not expire."
    ),
    "TIMING member_left": "{commit}.",
    "TIMING member_session_expired": "{commit}. Its session lasts {session}.",
    "TIMING member_rebalance_timeout": (
        "{commit}. The others waited for as long as the rebalance timeout lasts, {poll}."
    ),
    "TIMING member_removed_by_admin": "{commit}. It did not commit on closing.",
    "polled_late": (
        "{commit}. Clients leave that have not polled for max.poll.interval.ms, which they send as their rebalance "
        "timeout: {poll}."
    ),
    "BEAT member_left": (
        "{commit}, only {pause} after the commit before it, where {interval} is usual: clients commit as they close."
    ),
    "PRIOR member_left": "{commit}. Most members that go leave.",
    "PRIOR member_session_expired": "{commit}. Static members leave for good only when told to.",
    "MOVED member_session_expired": "{commit}. The coordinator moved meanwhile, and started all sessions anew.",
    "COMEBACK member_removed_by_admin": (
        "{commit}. Its client was back {back} later, as clients are that somebody removed while they worked."
    ),
    "COMEBACK member_session_expired": (
        "{commit}, and was back under its own id {back} later. Clients that close do not come back: its session ran "
        "out."
    ),
    "COMEBACK member_left": "{commit}. Its client did not come back at once, as one does that somebody removed.",
    "TIMER member_session_expired": (
        "Member {name} went {heard} after its last heartbeat that left a record, as its session ran out."
    ),
    "HELD member_rebalance_timeout": (
        "Member {name} kept partitions that it had to revoke for as long as its rebalance timeout, {poll}."
    ),
    "ANSWERS member_session_expired": "Member {name} {answers} before it went: it was no longer there.",
    "ONE_REQUEST member_removed_by_admin": (
        "Member {name} went together with {batch} more in one request: a batch removal."
    ),
    "AFTER_LEAVE member_left": (
        "Member {name} went {after} after another one had left: the application was stopped."
    ),
    "COMPANY member_left": "{commit}. It went together with {together} more, which left: the application was stopped.",
    "COMPANY member_session_expired": "{commit}. It went together with {together} more, which died.",
    "COMPANY member_removed_by_admin": "{commit}. It went together with {together} more: a batch removal.",
    "undecided": "Member {name} is gone; the log does not show how: {ranked}.",
}
_ENDS: Final = {
    _LEFT: "it left",
    _EXPIRED: "its session expired",
    _TIMED_OUT: "it did not rejoin in time",
    _REMOVED: "somebody removed it",
}


def reason_of(
    name: str, facts: DepartureFacts, posterior: Posterior, cause: RebalanceCause
) -> DepartureReason:
    """What decided for the cause, against its strongest rival."""
    return DepartureReason(_code(facts, posterior, cause), _words(name, facts, posterior))


def _code(facts: DepartureFacts, posterior: Posterior, cause: RebalanceCause) -> str:
    if cause not in WAYS:
        return "undecided"
    rival = _LEFT if cause is not _LEFT else _EXPIRED
    for name in posterior.excluded:
        if rival is _EXPIRED and name in _SENTENCES:
            return name
    own, other = WAYS.index(cause), WAYS.index(rival)
    ranked = sorted(
        ((scores[own] - scores[other], kind) for kind, scores in posterior.scores),
        key=lambda each: -each[0],
    )
    for gain, kind in ranked:
        code = f"{kind.name} {cause.text}"
        if gain > 0 and code in _SENTENCES:
            return "polled_late" if code == "TIMING member_left" and _polled_late(facts) else code
    return f"TIMING {cause.text}"


def _polled_late(facts: DepartureFacts) -> bool:
    since_ms = facts.since_commit_ms
    return since_ms is not None and facts.poll_ms is not None and since_ms >= facts.poll_ms > 0


def _words(name: str, facts: DepartureFacts, posterior: Posterior) -> dict[str, str]:
    """The facts in words."""
    rhythm = facts.rhythm
    named = [pair for pair in posterior.ranked if pair[1] >= _LEAST_SHARE]
    ways = [f"{_ENDS[way]} ({100 * share:.0f} %)" for way, share in named]
    return {
        "name": name,
        "commit": _commit(name, facts),
        "heard": spell_ms(facts.since_seen_ms),
        "sign": _sign(facts),
        "session": " or ".join(map(spell_ms, facts.sessions_ms)),
        "poll": spell_ms(facts.poll_ms or 0),
        "pause": spell_ms((rhythm and rhythm.pause_ms) or 0),
        "interval": spell_ms(0 if rhythm is None else rhythm.interval_ms),
        "back": spell_ms(facts.back_ms or 0),
        "after": spell_ms(facts.after_leave_ms or 0),
        "batch": str(facts.in_one_request),
        "together": str(facts.gone_together),
        "answers": "had not answered a new target"
        if facts.is_overdue
        else "was still a member when its client joined again",
        "ranked": " or ".join(filter(None, (", ".join(ways[:-1]), ways[-1]))),
    }


def _sign(facts: DepartureFacts) -> str:
    return "the join phase before" if facts.is_classic else "its last record"


def _commit(name: str, facts: DepartureFacts) -> str:
    since_ms, rhythm = facts.since_commit_ms, facts.rhythm
    if since_ms is None:
        seen = spell_ms(facts.since_seen_ms)
        return f"{name} was gone {seen} after {_sign(facts)}, without a commit since"
    at = _clock_time(facts.gone_ms - since_ms)
    if since_ms <= _MOMENT_MS or (facts.sessions_ms and since_ms < min(facts.sessions_ms)):
        return f"{name} committed at {at}, {spell_ms(since_ms)} before it was removed"
    usual = ""
    if rhythm is not None and rhythm.commits >= SHOWS_RHYTHM:
        if 2 * rhythm.longest_ms <= 3 * rhythm.interval_ms:
            usual = f", as every {spell_ms(rhythm.interval_ms)} before"
        elif since_ms > rhythm.longest_ms:
            usual = f", and never before paused for more than {spell_ms(rhythm.longest_ms)}"
    return f"{name} last committed at {at}{usual}; then nothing for {spell_ms(since_ms)} until it was removed"


def _clock_time(at_ms: int) -> str:
    moment = utc_datetime(at_ms)
    return "an unknown time" if moment is None else f"{moment:%H:%M:%S}.{at_ms % 1000:03d}"
