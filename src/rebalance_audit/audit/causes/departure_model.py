"""How a member ended: ways to go, weighed by evidence.

First what Kafka's protocol rules out, then a log-likelihood for each kind of evidence and way to go; their sum is the
posterior. No kind of evidence knows which library the client is.
"""

from collections.abc import Callable, Sequence
from enum import Enum
from math import exp, log, sqrt
from typing import Final, NamedTuple

from rebalance_audit.audit.causes.departure_timing import (
    Scores,
    can_have_fired,
    on_close_share,
    timing,
)
from rebalance_audit.audit.causes.departure_weights import WEIGHTS, DepartureWeights
from rebalance_audit.audit.commits.rhythm import SHOWS_RHYTHM, CommitHabits, CommitRhythm
from rebalance_audit.audit.verdicts.cause import DepartureFacts, RebalanceCause

WAYS: Final = (
    RebalanceCause.MEMBER_LEFT,
    RebalanceCause.MEMBER_SESSION_EXPIRED,
    RebalanceCause.MEMBER_REBALANCE_TIMEOUT,
    RebalanceCause.MEMBER_REMOVED_BY_ADMIN,
)
"""The ways to go, in the order of `Scores`."""
_LEFT, _EXPIRED, _TIMED_OUT, _REMOVED = WAYS

TOGETHER_MS: Final = 100
"""Members of an application that stops leave in requests of their own, this close to each other."""
_LEAST: Final = -50.0
"""Least log of a share."""


class Exclusion(NamedTuple):
    """What the protocol rules out."""

    name: str
    rules_out: RebalanceCause
    applies: Callable[[DepartureFacts], bool]
    releases: str
    source: str


def _none_can_fire(since_ms: int | None, facts: DepartureFacts) -> bool:
    """Whether no session that began so long ago can have run out."""
    if since_ms is None or not (facts.is_session_known and facts.sessions_ms):
        return False
    return not any(can_have_fired(since_ms, session_ms) for session_ms in facts.sessions_ms)


def _phase_can_end(facts: DepartureFacts) -> bool:
    """Whether a join phase that began after the last one can have lasted as long as it may."""
    since_ms, poll_ms = facts.since_alive_ms, facts.poll_ms
    return since_ms is None or poll_ms is None or can_have_fired(since_ms, poll_ms)


def _phase_cannot_drop(facts: DepartureFacts) -> bool:
    """Unless it never fetched its assignment: that drops static members too."""
    since_ms, poll_ms = facts.since_alive_ms, facts.poll_ms
    if not (facts.is_classic and facts.is_static):
        return False
    committed = facts.since_commit_ms is not None and facts.since_commit_ms < (since_ms or 0)
    return since_ms is None or poll_ms is None or since_ms < poll_ms or committed


EXCLUSIONS: Final[Sequence[Exclusion]] = (
    Exclusion(
        "heard_within_session",
        _EXPIRED,
        lambda f: _none_can_fire(f.since_seen_ms, f),
        "all",
        "classic: GroupCoordinator.onCompleteJoin, GroupMetadataManager.completeClassicGroupJoin restart each session; "
        "others: each heartbeat does (scheduleConsumerGroupSessionTimeout)",
    ),
    Exclusion(
        "committed_within_session",
        _EXPIRED,
        lambda f: f.commit_renews_session and _none_can_fire(f.since_commit_ms, f),
        "classic groups, all",
        "GroupCoordinator.doCommitOffsets; from 4.0 OffsetMetadataManager.validateOffsetCommit",
    ),
    Exclusion(
        "static_member",
        _TIMED_OUT,
        _phase_cannot_drop,
        "classic groups, from 2.3 (KIP-345)",
        "GroupMetadata.notYetRejoinedMembers, ClassicGroup.allDynamicMembersNotRejoined; not so expirePendingSync",
    ),
    Exclusion(
        "phase_too_short",
        _TIMED_OUT,
        lambda f: f.is_classic and not _phase_can_end(f),
        "classic groups, all",
        "a join phase lasts the longest rebalance timeout before it drops anyone: GroupCoordinator.prepareRebalance, "
        "ClassicGroup.rebalanceTimeoutMs",
    ),
    Exclusion(
        "owed_nothing",
        _TIMED_OUT,
        lambda f: not (f.is_classic or f.may_time_out),
        "other groups, from 3.7",
        "GroupMetadataManager.scheduleConsumerGroupRebalanceTimeout: only while the member has partitions to revoke",
    ),
)
"""What rules out which way to go, and in which releases."""


def _prior(facts: DepartureFacts, weights: DepartureWeights) -> Scores:
    if facts.is_static:
        odds = [weights.static_expired, weights.static_timed_out, weights.static_removed]
    else:
        odds = [weights.expired, weights.timed_out, weights.removed]
    # Applications seldom need long for what they polled.
    odds[1] *= sqrt(min(1.0, weights.slow_poll_ms / max(1, facts.poll_ms or 1)))
    if not facts.is_classic:
        odds[0] *= weights.assigned_expired if facts.is_static else 1.0
        odds[2] *= weights.assigned_removed
    return Scores(0.0, *map(log, odds))


def _is_early(rhythm: CommitRhythm | None, weights: DepartureWeights) -> bool | None:
    """Whether the last commit of a member that commits on a timer came before its time; None where there is none."""
    if rhythm is None or rhythm.pause_ms is None or rhythm.commits < SHOWS_RHYTHM:
        return None
    before = rhythm.commits - 2
    mean_ms = ((before + 1) * rhythm.interval_ms - rhythm.pause_ms) / before
    if rhythm.longest_ms > weights.timed * mean_ms:
        return None
    # A timer is as often early as late.
    return rhythm.pause_ms < min(weights.early * mean_ms, 2 * mean_ms - rhythm.longest_ms)


def closed_silently(
    rhythm: CommitRhythm | None, habits: CommitHabits, weights: DepartureWeights = WEIGHTS
) -> float:
    """How likely the process of a static member of a classic group that is gone closed, and did not die.

    It leaves in neither case; a client that commits as it closes does so before its timer is due.
    """
    closed, dead = 1.0, weights.silent_dead
    early = _is_early(rhythm, weights)
    if early is not None:
        early_close = on_close_share(habits, weights) * (1 - weights.on_beat)
        closed *= early_close if early else 1 - early_close
        dead *= weights.off_beat if early else 1 - weights.off_beat
    return closed / (closed + dead)


def _beat(facts: DepartureFacts, weights: DepartureWeights) -> Scores:
    """A commit before its time is one on closing; one in time, where it commits unchanged positions too, is not."""
    early = _is_early(facts.rhythm, weights)
    if early is None:
        return Scores()
    usual = weights.off_beat if early else 1 - weights.off_beat
    closing = 1 - weights.on_beat if early else weights.on_beat
    left = timing(facts, weights, closing / usual).left - timing(facts, weights).left
    return Scores(left=left)


def _comeback(facts: DepartureFacts, weights: DepartureWeights) -> Scores:
    """Clients that were removed alive hear of it with their next heartbeat and join again."""
    if facts.back_ms is None and facts.away_ms is None:
        return Scores()
    closed = 0.0
    if facts.kept_id:
        polled_ms = facts.since_commit_ms
        late = (
            facts.poll_ms is None or polled_ms is None or can_have_fired(polled_ms, facts.poll_ms)
        )
        closed = log(weights.kept_id_late if late else weights.kept_id)
    if facts.back_ms is not None:
        removed = (1 - weights.stays_away) * exp(-facts.back_ms / weights.back_ms) / weights.back_ms
        other = weights.returns / (weights.returns_ms + facts.back_ms)
        removed = max(removed, other * weights.stays_away)
    else:
        away_ms = facts.away_ms or 0
        removed = weights.stays_away + (1 - weights.stays_away) * exp(-away_ms / weights.back_ms)
        other = 1 - weights.returns * away_ms / (away_ms + weights.returns_ms)
    return Scores(left=closed, removed=log(removed / other))


def _timer(facts: DepartureFacts, weights: DepartureWeights) -> Scores:
    """A session after its last recorded heartbeat, or some intervals more: heartbeats come at an interval."""
    since_ms = facts.since_alive_ms
    if facts.is_classic or since_ms is None:
        return Scores()
    if facts.since_commit_ms is not None and facts.since_commit_ms <= weights.close_ms:
        return Scores()
    wide_ms = weights.timer_early_ms + weights.timer_late_ms
    for session_ms in facts.sessions_ms:
        early_ms = since_ms - session_ms + weights.timer_early_ms
        beats, late_ms = divmod(early_ms, weights.assigned_heartbeat_ms)
        if 0 <= beats <= weights.beats_most and late_ms <= wide_ms:
            hit = weights.timer_share * weights.assigned_heartbeat_ms / wide_ms
            return Scores(expired=log(1 - weights.timer_share + hit))
    return Scores()


class EvidenceKind(Enum):
    """Kinds of evidence."""

    PRIOR = "how often members end so"
    TIMING = "the time since the last commit, beside the session, the rebalance timeout and how the member commits"
    BEAT = "whether the last commit was on time"
    MOVED = "whether the coordinator moved since the member was last seen"
    JOINED = "whether its client joined in the same join phase"
    ALONE = "whether others stayed"
    COMEBACK = "whether, and how soon, the client was back"
    TIMER = "the time since its last recorded heartbeat"
    HELD = "how long it kept partitions that it had to revoke"
    ANSWERS = "whether it answered a new target, or joined again meanwhile"
    ONE_REQUEST = "whether one write removed several members"
    AFTER_LEAVE = "whether another member had left just before"
    COMPANY = "how the others ended that are gone with it"


class Sign(NamedTuple):
    """Evidence that is there or not: the weight that it has for each way to go, by its name."""

    kind: EvidenceKind
    shows: Callable[[DepartureFacts], bool]
    left: str | None = None
    expired: str | None = None
    timed_out: str | None = None
    removed: str | None = None

    def weigh(self, weights: DepartureWeights) -> Scores:
        """The logs of the weights where it is there."""
        return Scores(*(0.0 if name is None else log(getattr(weights, name)) for name in self[2:]))


SIGNS: Final = (
    Sign(EvidenceKind.MOVED, lambda f: f.has_moved and not f.client_joined, expired="moved"),
    Sign(EvidenceKind.MOVED, lambda f: f.has_moved and f.client_joined, expired="moved_and_joined"),
    Sign(
        EvidenceKind.JOINED,
        lambda f: f.client_joined and not f.has_moved,
        expired="joined_expired",
        removed="joined_removed",
    ),
    Sign(
        EvidenceKind.ALONE,
        lambda f: not (f.is_static or f.phase is None or f.phase.leaves_empty),
        removed="others_stay",
    ),
    Sign(EvidenceKind.HELD, lambda f: f.kept_too_long, left="kept", expired="kept", removed="kept"),
    Sign(
        EvidenceKind.ANSWERS,
        lambda f: f.is_overdue or f.has_successor,
        left="overdue",
        removed="overdue",
    ),
    Sign(
        EvidenceKind.ONE_REQUEST,
        lambda f: f.in_one_request > 0,
        left="one_request",
        expired="one_request",
        timed_out="one_request",
    ),
    Sign(
        EvidenceKind.AFTER_LEAVE,
        lambda f: f.after_leave_ms is not None and 0 <= f.after_leave_ms <= TOGETHER_MS,
        left="together",
    ),
)

EVIDENCE: Final[
    Sequence[tuple[EvidenceKind, Callable[[DepartureFacts, DepartureWeights], Scores]]]
] = (
    (EvidenceKind.PRIOR, _prior),
    (EvidenceKind.TIMING, timing),
    (EvidenceKind.BEAT, _beat),
    (EvidenceKind.COMEBACK, _comeback),
    (EvidenceKind.TIMER, _timer),
)
"""What weighs more or less by how much there is of it; signs come on top."""


class Posterior(NamedTuple):
    """How likely each way to go is, and why."""

    shares: Scores
    scores: tuple[tuple[EvidenceKind, Scores], ...]
    """Those of signs that are not there are left out."""
    excluded: tuple[str, ...]
    """Names of the exclusions that apply."""

    @property
    def ranked(self) -> list[tuple[RebalanceCause, float]]:
        """Ways to go that are possible, the likeliest first."""
        found = [pair for pair in zip(WAYS, self.shares, strict=True) if pair[1] > 0]
        return sorted(found, key=lambda pair: -pair[1])


def posterior_of(facts: DepartureFacts, weights: DepartureWeights = WEIGHTS) -> Posterior:
    """The posterior of one end by itself."""
    scores = [(kind, weigh(facts, weights)) for kind, weigh in EVIDENCE]
    scores += [(sign.kind, sign.weigh(weights)) for sign in SIGNS if sign.shows(facts)]
    return _posterior(facts, tuple(scores), weights)


def posteriors_of(
    ends: Sequence[DepartureFacts], weights: DepartureWeights = WEIGHTS
) -> list[Posterior]:
    """Those of members that one generation lacks: applications mostly stop, die or are removed as a whole."""
    alone = [posterior_of(facts, weights) for facts in ends]
    if len(ends) < 2:
        return alone
    total = Scores()
    for each in alone:
        total = total.plus(each.shares)
    found = []
    for facts, each in zip(ends, alone, strict=True):
        emptied = facts.phase is not None and facts.phase.leaves_empty
        alike = weights.company if emptied else weights.company_of_some
        others = (
            max(0.0, whole - own) / (len(ends) - 1)
            for whole, own in zip(total, each.shares, strict=True)
        )
        alike_ways = (alike, alike, alike, (1 - weights.others_stay) if emptied else alike)
        company = Scores(
            *(
                log(1 - how + how * len(WAYS) * share)
                for how, share in zip(alike_ways, others, strict=True)
            )
        )
        found.append(_posterior(facts, (*each.scores, (EvidenceKind.COMPANY, company)), weights))
    return found


def _posterior(
    facts: DepartureFacts,
    scores: tuple[tuple[EvidenceKind, Scores], ...],
    weights: DepartureWeights,
) -> Posterior:
    excluded = [each for each in EXCLUSIONS if each.applies(facts)]
    out = {each.rules_out for each in excluded}
    logs = [
        weights.temper * sum(column) for column in zip(*(each for _, each in scores), strict=True)
    ]
    top = max(value for way, value in zip(WAYS, logs, strict=True) if way not in out)
    shares = [
        0.0 if way in out else exp(max(value - top, _LEAST))
        for way, value in zip(WAYS, logs, strict=True)
    ]
    whole = sum(shares)
    names = tuple(each.name for each in excluded)
    return Posterior(Scores(*(share / whole for share in shares)), scores, names)
