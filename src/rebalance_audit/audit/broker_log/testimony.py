"""What the broker's log changes in the judgement of one epoch."""

from collections.abc import Sequence
from typing import NamedTuple

from rebalance_audit.audit.broker_log.reasons import NOT_PROVIDED, LoggedDeparture
from rebalance_audit.audit.broker_log.witness import said, sentence_of
from rebalance_audit.audit.causes.cause import Certainty, Evidence, RebalanceCause, Verdict
from rebalance_audit.audit.group.life import DEPARTURES
from rebalance_audit.replay.changes import Position


class Testimony(NamedTuple):
    """The epoch's causes as they are with the broker's log, and what else it says."""

    verdicts: tuple[Verdict, ...]
    join_started_ms: int | None = None
    """Classic: when the join phase began, as the coordinator logged it."""
    contradictions: tuple[Evidence, ...] = ()
    """What the log says and the records deny."""


def proven_by(verdict: Verdict, evidence: Evidence, cause: RebalanceCause | None = None) -> Verdict:
    """The verdict, beyond doubt, with the line that decides it."""
    return verdict._replace(
        cause=cause or verdict.cause,
        certainty=Certainty.PROVEN,
        alternatives=(),
        evidence=(*verdict.evidence, evidence),
    )


def departed(
    verdict: Verdict,
    departure: LoggedDeparture,
    position: Position,
    others: tuple[RebalanceCause, ...] = (),
) -> Verdict:
    """A departure whose reason the broker logged; `others` may have set the epoch off as well."""
    fact, name = departure.fact, verdict.member_id or ""
    alternatives = tuple(dict.fromkeys((*departure.alternatives, *others)))
    return verdict._replace(
        cause=departure.cause,
        certainty=Certainty.PROBABLE if alternatives else Certainty.PROVEN,
        alternatives=alternatives,
        detail=f"Member {name} {HOW[departure.cause]}, as the broker logged{_because(fact.text)}.",
        evidence=(*verdict.evidence, said(fact, position, sentence_of(fact))),
    )


def _because(text: str | None) -> str:
    return f": {text}" if text and text != NOT_PROVIDED else ""


HOW = {
    RebalanceCause.MEMBER_LEFT: "left",
    RebalanceCause.MEMBER_SESSION_EXPIRED: "sent no heartbeat for its session timeout",
    RebalanceCause.MEMBER_REBALANCE_TIMEOUT: "did not do in time what the rebalance asked of it",
    RebalanceCause.MEMBER_REMOVED_BY_ADMIN: "was removed by an administrator",
    RebalanceCause.STATIC_MEMBER_EXPIRED: "had left for a while and did not come back in time",
}


_OUTCOMES = frozenset({RebalanceCause.GROUP_CREATED, RebalanceCause.GROUP_EMPTIED})
"""What an epoch is to the group, whoever began it."""

GUESSES = frozenset(
    {
        RebalanceCause.LEADER_REJOINED,
        RebalanceCause.COOPERATIVE_FOLLOW_UP,
        RebalanceCause.TOPIC_METADATA_CHANGED,
        RebalanceCause.PROTOCOL_DOWNGRADED,
        RebalanceCause.ASSIGNMENT_ONLY,
        RebalanceCause.UNKNOWN,
    }
)
"""What the records alone can only guess; void where the log says what it was."""


def with_primary(primary: Verdict, verdicts: Sequence[Verdict]) -> tuple[Verdict, ...]:
    """`primary` first; what says the same of the same member, and what was but a guess, gives way to it.

    That a leader joined again says nothing of its reasons, so a guess at those stays beside it.
    """
    bare = primary.cause is RebalanceCause.LEADER_REJOINED
    others = (
        verdict
        for verdict in verdicts
        if not (
            verdict.member_id == primary.member_id
            and (verdict.cause is primary.cause or {verdict.cause, primary.cause} <= DEPARTURES)
        )
        and (
            verdict.member_id is not None
            or verdict.cause not in GUESSES
            or verdict.certainty is Certainty.PROVEN
            or (bare and verdict.cause not in {primary.cause, RebalanceCause.UNKNOWN})
        )
    )
    return (primary, *(meanwhile(verdict, primary) for verdict in others))


def meanwhile(verdict: Verdict, primary: Verdict) -> Verdict:
    """What happened while the join phase went on that something else, by the log's own words, had begun.

    How a member went is as sure as before (gold.members says so); that it began the rebalance is not.
    """
    if verdict.certainty is not Certainty.PROVEN or verdict.cause in _OUTCOMES:
        return verdict
    return verdict._replace(
        certainty=Certainty.PROBABLE,
        alternatives=(primary.cause,),
        detail=f"{verdict.detail} The rebalance had begun before, by something else.",
    )
