"""Why a member is gone. Leave, expiry, timeout and removal write the same records; only times and context differ."""

from collections.abc import Mapping
from typing import Any, Final

from rebalance_audit.audit.causes.departure_model import (
    WAYS,
    Posterior,
    posterior_of,
    posteriors_of,
)
from rebalance_audit.audit.causes.departure_weights import SURE
from rebalance_audit.audit.commits.rhythm import SHOWS_RHYTHM
from rebalance_audit.audit.members.stint import MemberWatch
from rebalance_audit.audit.verdicts.cause import (
    Certainty,
    DepartureFacts,
    Evidence,
    RebalanceCause,
    Verdict,
)
from rebalance_audit.replay.changes import Position
from rebalance_audit.sentences.of_departures import OF_DEPARTURES
from rebalance_audit.sentences.reason import CodedReason, because
from rebalance_audit.sentences.render import slots_of

_LEFT, _EXPIRED, _, _ = WAYS
_LEAST_SHARE: Final = 0.005
"""Ends that are less likely are not worth a word."""
_MOMENT_MS: Final = 500
"""A commit so shortly before the end needs no word on the time between."""


def reason_of(
    member_id: str, facts: DepartureFacts, posterior: Posterior, cause: RebalanceCause
) -> CodedReason:
    """What decided for the cause, against its strongest rival: an exclusion, or the evidence that weighs most."""
    code, rhythm = _code(facts, posterior, cause), facts.rhythm
    named = [(way.text, share) for way, share in posterior.ranked if share >= _LEAST_SHARE]
    known: Mapping[str, Any] = {
        "member": member_id,
        "commit": _commit(member_id, facts),
        "heard": facts.since_seen_ms,
        "sign": _sign(facts),
        "sessions": list(facts.sessions_ms),
        "poll": facts.poll_ms or 0,
        "pause": (rhythm and rhythm.pause_ms) or 0,
        "interval": 0 if rhythm is None else rhythm.interval_ms,
        "back": facts.back_ms or 0,
        "after": facts.after_leave_ms or 0,
        "others": facts.in_one_request,
        "together": facts.gone_together,
        "answers": because("never_answered" if facts.is_overdue else "client_back_first"),
        "ends": [(way, round(100 * share)) for way, share in named],
    }
    return CodedReason(code, {slot: known[slot] for slot in slots_of(code)})


def _code(facts: DepartureFacts, posterior: Posterior, cause: RebalanceCause) -> str:
    if cause not in WAYS:
        return "undecided"
    rival = _LEFT if cause is not _LEFT else _EXPIRED
    excluded = [name for name in posterior.excluded if name in OF_DEPARTURES]
    if rival is _EXPIRED and excluded:
        return excluded[0]
    own, other = WAYS.index(cause), WAYS.index(rival)
    gains = [(scores[own] - scores[other], kind) for kind, scores in posterior.scores]
    for gain, kind in sorted(gains, key=lambda each: -each[0]):
        code = f"{kind.name.lower()}.{cause.text}"
        if gain > 0 and code in OF_DEPARTURES:
            since_ms, poll_ms = facts.since_commit_ms or 0, facts.poll_ms or 0
            polled_late = code == "timing.member_left" and since_ms >= poll_ms > 0
            return "polled_late" if polled_late else code
    return f"timing.{cause.text}"


def _sign(facts: DepartureFacts) -> CodedReason:
    return because("sign_join_phase" if facts.is_classic else "sign_record")


def _commit(member_id: str, facts: DepartureFacts) -> CodedReason:
    since_ms = facts.since_commit_ms
    if since_ms is None:
        return because(
            "no_commit_since", member=member_id, seen=facts.since_seen_ms, sign=_sign(facts)
        )
    known = {"member": member_id, "at": facts.gone_ms - since_ms, "since": since_ms}
    if since_ms <= _MOMENT_MS or (facts.sessions_ms and since_ms < min(facts.sessions_ms)):
        return CodedReason("committed_before", known)
    return CodedReason("last_committed", known | {"habit": _habit(facts, since_ms)})


def _habit(facts: DepartureFacts, since_ms: int) -> CodedReason | None:
    rhythm = facts.rhythm
    if rhythm is None or rhythm.commits < SHOWS_RHYTHM:
        return None
    if 2 * rhythm.longest_ms <= 3 * rhythm.interval_ms:
        return because("committed_every", interval=rhythm.interval_ms)
    if since_ms > rhythm.longest_ms:
        return because("never_paused", longest=rhythm.longest_ms)
    return None


CLOSE_MS: Final = 500
"""A client that closes leaves so soon after it has committed."""


def evidence_at(position: Position, code: str, /, **facts: Any) -> Evidence:
    """What the record at `position` shows: a code of `sentences/of_evidence.py` and its facts."""
    return tuple.__new__(Evidence, (*position[:3], CodedReason(code, facts)))


def verdict_of(
    facts: DepartureFacts, posterior: Posterior, watch: MemberWatch, gone: Position
) -> Verdict:
    """The posterior of a member's end as a verdict: probable if it is sure enough, else `member_departed`."""
    stint, name = watch.stint, watch.stint.member_id
    last = "last_generation_with" if facts.is_classic else "last_record_of"
    shown = [evidence_at(watch.last_life, last, member=name)]
    if watch.unrevoked_since is not None:
        shown.append(evidence_at(watch.unrevoked_since, "asked_to_revoke", member=name))
    if watch.last_commit is not None and facts.since_commit_ms is not None:
        commit = watch.last_commit
        partition = f"{commit.topic}-{commit.topic_partition}"
        shown.append(evidence_at(commit.position, "last_commit", member=name, partition=partition))
    is_gone = "generation_without" if facts.is_classic else "member_gone"
    shown.append(evidence_at(gone, is_gone, member=name))
    verdict = Verdict(
        RebalanceCause.MEMBER_DEPARTED,
        Certainty.PROBABLE,
        gone.record_timestamp_ms,
        (),
        tuple(shown),
        name,
        stint.identity.instance_id,
        stint.identity.client_id,
        stint.identity.client_host,
    )
    return _decided(verdict, facts, posterior)


def judged_again(
    verdicts: tuple[Verdict, ...], known: Mapping[str, DepartureFacts]
) -> tuple[Verdict, ...]:
    """The verdicts, with those on members that more is known about by now. `known`: by member id."""
    posteriors = dict(zip(known, posteriors_of(list(known.values())), strict=True))
    return tuple(
        _decided(verdict, known[verdict.member_id], posteriors[verdict.member_id])
        if verdict.facts is not None
        and verdict.member_id is not None
        and verdict.member_id in known
        else verdict
        for verdict in verdicts
    )


def _decided(verdict: Verdict, facts: DepartureFacts, posterior: Posterior) -> Verdict:
    ranked = posterior.ranked
    weights, cause = tuple(ranked), RebalanceCause.MEMBER_DEPARTED
    if ranked[0][1] >= SURE:
        cause = ranked.pop(0)[0]
    return verdict._replace(
        cause=cause,
        reasons=(reason_of(verdict.member_id or "", facts, posterior, cause),),
        alternatives=tuple(way for way, _ in ranked),
        weights=weights,
        facts=facts,
    )


def judge_departure(facts: DepartureFacts, watch: MemberWatch, gone: Position) -> Verdict:
    """The verdict on one member's end by the tombstones at `gone`."""
    if watch.left_for_a_while:
        verdict = verdict_of(facts, posterior_of(facts), watch, gone)
        return verdict._replace(
            cause=RebalanceCause.STATIC_MEMBER_EXPIRED,
            alternatives=(
                RebalanceCause.MEMBER_REMOVED_BY_ADMIN,
                RebalanceCause.MEMBER_REBALANCE_TIMEOUT,
            ),
            weights=(),
            facts=None,
            reasons=(because("static_expired", member=watch.stint.member_id),),
        )
    return verdict_of(facts, posterior_of(facts), watch, gone)
