"""Why a member is gone. Leave, expiry, timeout and removal write the same records; only times and context differ."""

from collections.abc import Mapping
from typing import Any, Final

from rebalance_audit.audit.causes.departure_model import Posterior, posterior_of, posteriors_of
from rebalance_audit.audit.causes.departure_reasons import reason_of
from rebalance_audit.audit.causes.departure_weights import SURE
from rebalance_audit.audit.members.member_watch import MemberWatch
from rebalance_audit.audit.verdicts.cause import (
    Certainty,
    Evidence,
    RebalanceCause,
    Verdict,
)
from rebalance_audit.audit.verdicts.departure_facts import DepartureFacts
from rebalance_audit.replay.changes import Position
from rebalance_audit.sentences.reason import CodedReason, because

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
    """The verdict with the cause, the alternatives and the sentence that follow from the posterior."""
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
