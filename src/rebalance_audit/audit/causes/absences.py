"""Why a classic generation lacks a member of the previous one.

Each commit outside of a transaction restarts a classic member's session timer, as does the end of a join phase.
"""

from collections.abc import Sequence

from rebalance_audit.audit.causes.cause import DEPARTURES, RebalanceCause, Verdict
from rebalance_audit.audit.causes.commit_rules import (
    HEARTBEATS_PER_SESSION,
    closed_first,
    held_up,
    may_have_held_up,
    stopped,
    stopped_before_fail_over,
    stopped_before_join_phase,
    too_recent,
)
from rebalance_audit.audit.causes.departures import (
    Decision,
    evidence_at,
    verdict_on,
    with_application,
)
from rebalance_audit.audit.causes.join_phase import JoinPhase, Missed, Way
from rebalance_audit.audit.causes.member_watch import MemberWatch
from rebalance_audit.audit.causes.silence import Silence, silence_of
from rebalance_audit.audit.causes.timers import can_have_fired
from rebalance_audit.audit.commits.evidence import CommitEvidence
from rebalance_audit.replay.changes import Position

_LEFT = RebalanceCause.MEMBER_LEFT
_EXPIRED = RebalanceCause.MEMBER_SESSION_EXPIRED
_TIMED_OUT = RebalanceCause.MEMBER_REBALANCE_TIMEOUT
_REMOVED = RebalanceCause.MEMBER_REMOVED_BY_ADMIN
_DEPARTED = RebalanceCause.MEMBER_DEPARTED


def judge_absence(
    watch: MemberWatch,
    gone: Position,
    elapsed_ms: int | None,
    timeout_ms: int | None,
    commits: CommitEvidence | None = None,
    missed: Missed | None = None,
) -> Verdict:
    """Why a classic generation lacks a member of the previous one.

    `elapsed_ms`: time between the ends of the two join phases, each of which restarts all timers of the member; None if
    unknown. `timeout_ms`: the shortest rebalance timeout in the previous generation. `missed`: the join phase that it
    missed; None if that is unknown.
    """
    identity = watch.stint.identity
    candidates = [_LEFT, _EXPIRED, _TIMED_OUT, _REMOVED]
    silence = silence_of(commits, gone)
    if elapsed_ms is not None:
        timers = ((_EXPIRED, identity.session_timeout_ms), (_TIMED_OUT, timeout_ms))
        for cause, timer_ms in timers:
            if timer_ms is not None and not can_have_fired(elapsed_ms, timer_ms):
                candidates.remove(cause)
    decision = _decide_absence(watch, candidates, elapsed_ms)
    if decision.cause is _DEPARTED and silence is not None:
        decision = (
            _absence_by_commits(watch, gone, candidates, timeout_ms, silence, missed)
            or _by_join_phase(watch, candidates, silence, missed)
            or _by_expiry(watch, candidates, silence, missed)
            or decision
        )
        if decision.cause is _LEFT:
            decision = _removal(watch, candidates, silence, missed) or decision
    if decision.cause is _DEPARTED:
        decision = _static_absence(watch, gone, candidates, elapsed_ms) or decision
    facts = [
        evidence_at(watch.last_life, f"last generation with member {watch.stint.member_id}"),
        evidence_at(gone, f"a generation without member {watch.stint.member_id}"),
    ]
    return verdict_on(decision, watch, gone, facts, silence)


def of_batch(verdict: Verdict, company: int) -> Verdict:
    """The verdict on a classic member that went together with others of which none committed on closing."""
    if verdict.cause not in (_LEFT, _DEPARTED, _EXPIRED):
        return verdict
    before = () if verdict.cause is _DEPARTED else (verdict.cause,)
    others = dict.fromkeys((*before, _LEFT, *verdict.alternatives))
    others.pop(_REMOVED, None)
    detail = (
        f"Member {verdict.member_id} went together with {company} more, and none of them committed on closing: "
        "a batch removal."
    )
    return verdict._replace(cause=_REMOVED, alternatives=tuple(others), detail=detail)


def of_stop(verdict: Verdict, company: int) -> Verdict:
    """The verdict on a classic member that went together with all others, of which one at least left."""
    return with_application(
        verdict, f"together with {company} more, which left nobody, and of those some left"
    )


def _absence_by_commits(
    watch: MemberWatch,
    gone: Position,
    candidates: Sequence[RebalanceCause],
    timeout_ms: int | None,
    silence: Silence,
    missed: Missed | None,
) -> Decision | None:
    """The decision about a classic member, for which each of its commits restarted the session timer."""
    identity, name = watch.stint.identity, watch.stint.member_id
    session_ms, static = identity.session_timeout_ms, identity.instance_id is not None
    if session_ms is None:
        return None
    if silence.evidence.last.position.leader_epoch != gone.leader_epoch:
        if _EXPIRED not in candidates or not stopped_before_fail_over(
            silence, session_ms, identity.rebalance_timeout_ms
        ):
            return None
        return Decision.among(candidates, _EXPIRED, silence.told(name))
    if not silence.keeps_session:
        return _absence_by_transactions(watch, candidates, timeout_ms, silence, session_ms)
    early = silence.came_early(watch.last_life.record_timestamp_ms)
    phase = _phase(watch, silence, missed)
    if early is not False and not static and silence.silent_ms < session_ms:
        if _TIMED_OUT in candidates:
            reason = silence.told_early(name)
            if early is None:
                reason = f"{silence.told_close(name)} It closed, or rejoined and left later."
            return Decision.among(candidates, _LEFT, reason)
    elif early and not static:
        if phase is not None and phase.ended_with_session:
            if not phase.missed.only:
                return None
            return Decision.among(candidates, _EXPIRED, silence.told(name))
        return Decision.among(candidates, _LEFT, silence.told_early(name))
    if static and _TIMED_OUT in candidates and phase is not None and phase.did_not_sync():
        reason = (
            f"{silence.told(name)} The join phase began as the time was up in which members have to fetch their "
            "assignment."
        )
        return Decision.among(candidates, _TIMED_OUT, reason)
    if not static and _TIMED_OUT in candidates and phase is not None and phase.worked_through():
        reason = (
            f"{silence.told_close(name)} The others had rejoined, and waited as long as the rebalance timeout lasts, "
            "while it went on committing."
        )
        return Decision.among(candidates, _TIMED_OUT, reason)
    if (
        _TIMED_OUT in candidates
        and not static  # a join phase that ends drops dynamic members alone
        and timeout_ms is not None
        and may_have_held_up(silence, session_ms, timeout_ms)
    ):
        if not held_up(silence, timeout_ms) or not (missed is not None and missed.only):
            return None
        reason = f"{silence.told(name)} The others waited as long as its rebalance timeout lasts."
        return Decision.among(candidates, _TIMED_OUT, reason)
    if silence.silent_ms < session_ms:
        cause = _REMOVED if static and not closed_first(silence, session_ms) else _LEFT
        rest = [each for each in candidates if each not in (cause, _EXPIRED)]
        reason = (
            f"{silence.told_close(name)} Each commit restarts its session timer, which lasts "
            f"{session_ms} ms: it did not expire."
        )
        return Decision(cause, rest, reason)
    if (
        _EXPIRED in candidates
        and early is False
        and _can_have_died(phase, static=static)
        and stopped_before_join_phase(
            silence, session_ms, identity.rebalance_timeout_ms, static=static
        )
    ):
        return Decision.among(candidates, _EXPIRED, silence.told(name))
    return None


def _absence_by_transactions(
    watch: MemberWatch,
    candidates: Sequence[RebalanceCause],
    timeout_ms: int | None,
    silence: Silence,
    session_ms: int,
) -> Decision | None:
    """The same by commits in transactions, which restart no timer; but who commits is there."""
    identity, name = watch.stint.identity, watch.stint.member_id
    static = identity.instance_id is not None
    if too_recent(silence, session_ms):
        waited = timeout_ms is None or may_have_held_up(silence, session_ms, timeout_ms)
        if not static and _TIMED_OUT in candidates and waited:
            return None
        cause = _REMOVED if static else _LEFT
        return Decision.among(candidates, cause, silence.told_close(name))
    went_on_ms = silence.went_on_ms
    if (
        _EXPIRED in candidates
        and went_on_ms is not None
        and went_on_ms > session_ms // HEARTBEATS_PER_SESSION
        and stopped(silence, session_ms, identity.rebalance_timeout_ms)
    ):
        return Decision.among(candidates, _EXPIRED, silence.told(name))
    return None


_CAUSES = {
    Way.WAS_REMOVED: _REMOVED,
    Way.CLOSED: _LEFT,
    Way.POLLED_LATE: _LEFT,
    Way.DIED: _EXPIRED,
    Way.DID_NOT_REJOIN: _TIMED_OUT,
}


def _by_join_phase(
    watch: MemberWatch,
    candidates: Sequence[RebalanceCause],
    silence: Silence,
    missed: Missed | None,
) -> Decision | None:
    """Rule: one way to go fits the time from the member's last work to the join phase that it missed."""
    phase = _phase(watch, silence, missed)
    if phase is None:
        return None
    if watch.stint.identity.instance_id is None:
        way = phase.way()
    else:  # static members do not leave, and a join phase does not drop them
        ways = phase.ways()
        way = Way.WAS_REMOVED if Way.WAS_REMOVED in ways and Way.DIED not in ways else None
    if way is None or _CAUSES[way] not in candidates:
        return None
    cause = _CAUSES[way]
    reason = (
        f"{silence.told(watch.stint.member_id)} So {way.value}: no other end fits the join phase."
    )
    return Decision.among(candidates, cause, reason)


def _by_expiry(
    watch: MemberWatch,
    candidates: Sequence[RebalanceCause],
    silence: Silence,
    missed: Missed | None,
) -> Decision | None:
    """Rule: the join phase shows that the session of a dynamic member was over, where nothing tells how it went.

    A join phase that its end alone began, with its session over by then, began with its expiry. And a leader that is
    gone after a generation that nobody assigned was dead when it should have done so.
    """
    phase = _phase(watch, silence, missed)
    if phase is None or watch.stint.identity.instance_id is not None or _EXPIRED not in candidates:
        return None
    if phase.may_have_begun_with_expiry():
        why = (
            "Nobody else came or went, so its end began the join phase, and its session had run out "
            "by then."
        )
    elif phase.did_not_assign():
        why = (
            "It led the group, and the generation before left no record, as nobody assigned: its "
            "session ran out."
        )
    else:
        return None
    reason = f"{silence.told(watch.stint.member_id)} {why}"
    return Decision.among(candidates, _EXPIRED, reason)


def _can_have_died(phase: JoinPhase | None, *, static: bool) -> bool:
    """Whether the join phase does not contradict that it died, and does not fit as well that it polled too late."""
    ways = frozenset({Way.DIED}) if phase is None else phase.ways()
    return not ways or (Way.DIED in ways and (static or Way.POLLED_LATE not in ways))


def _removal(
    watch: MemberWatch,
    candidates: Sequence[RebalanceCause],
    silence: Silence,
    missed: Missed | None,
) -> Decision | None:
    """Rule: a member that was at work and did not commit on closing, as its library does, was removed."""
    phase = _phase(watch, silence, missed)
    if phase is None or not silence.keeps_session or phase.ways() != {Way.WAS_REMOVED}:
        return None
    if watch.stint.identity.instance_id is None and not silence.evidence.is_empty:
        return None
    if silence.may_have_closed(watch.last_life.record_timestamp_ms):
        return None
    reason = (
        f"{silence.told_close(watch.stint.member_id)} It was at work, its session had not run out, and it did not "
        f"commit on closing. So {Way.WAS_REMOVED.value}."
    )
    return Decision.among(candidates, _REMOVED, reason)


def _phase(watch: MemberWatch, silence: Silence, missed: Missed | None) -> JoinPhase | None:
    identity = watch.stint.identity
    session_ms, poll_ms = identity.session_timeout_ms, identity.rebalance_timeout_ms
    if missed is None or session_ms is None or poll_ms is None or not silence.is_its_own:
        return None
    return JoinPhase(silence, missed, session_ms, poll_ms)


def _static_absence(
    watch: MemberWatch,
    gone: Position,
    candidates: Sequence[RebalanceCause],
    elapsed_ms: int | None,
) -> Decision | None:
    """Rule: static members leave for good only when told to, so one that had the time for it expired.

    The generation's record is written again when another static member returns, which is no sign of life of this one.
    """
    stint = watch.stint
    absent_ms = gone.record_timestamp_ms - watch.last_life.record_timestamp_ms
    absent_ms = max(absent_ms, elapsed_ms or 0)
    if stint.identity.instance_id is None or _EXPIRED not in candidates:
        return None
    if not can_have_fired(absent_ms, stint.identity.session_timeout_ms or 0):
        return None
    reason = (
        f"Static member {stint.member_id} is gone {absent_ms} ms after its last generation began; static members leave "
        "for good only when told to."
    )
    return Decision.among(candidates, _EXPIRED, reason)


def _decide_absence(
    watch: MemberWatch, candidates: Sequence[RebalanceCause], elapsed_ms: int | None
) -> Decision:
    name, static = watch.stint.member_id, watch.stint.identity.instance_id is not None
    ruled_out = _EXPIRED not in candidates and _TIMED_OUT not in candidates
    if ruled_out:
        cause = _REMOVED if static else _LEFT
        how = "was removed, as static members leave only when told to" if static else "left"
        reason = (
            f"Member {name} {how}: only {elapsed_ms} ms passed since the join phase before, less than its "
            "session and its rebalance timeout."
        )
    else:
        cause = _DEPARTED
        reason = f"Member {name} is gone; the log does not tell how: {_ways(candidates)}."
    return Decision.among(candidates, cause, reason)


_WAYS = {
    _LEFT: "it may have left",
    _EXPIRED: "its session expired",
    _TIMED_OUT: "it did not rejoin in time",
    _REMOVED: "it was removed",
}


def _ways(candidates: Sequence[RebalanceCause]) -> str:
    ways = [_WAYS[candidate] for candidate in candidates]
    return f"{', '.join(ways[:-1])} or {ways[-1]}"


def departure_of(verdicts: Sequence[Verdict], member_id: str) -> Verdict | None:
    """The verdict on one member's end among an epoch's verdicts, if there is one."""
    for verdict in verdicts:
        if verdict.member_id == member_id and verdict.cause in DEPARTURES:
            return verdict
    return None
