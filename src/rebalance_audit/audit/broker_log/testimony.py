"""What the broker's log changes in the verdicts on one epoch."""

from collections.abc import Sequence
from typing import NamedTuple

from rebalance_audit.audit.broker_log.reasons import NOT_PROVIDED, LoggedDeparture
from rebalance_audit.audit.broker_log.witness import said, sentence_of
from rebalance_audit.audit.causes.cause import (
    DEPARTURES,
    Certainty,
    Evidence,
    RebalanceCause,
    Verdict,
    meanwhile,
)
from rebalance_audit.replay.changes import Position


class Testimony(NamedTuple):
    """The epoch's causes after the broker's log was taken into account, and what else the log says."""

    verdicts: tuple[Verdict, ...]
    join_started_ms: int | None = None
    """Classic: when the join phase began (epoch ms), as the coordinator logged it."""
    contradictions: tuple[Evidence, ...] = ()
    """Statements of the log that the records contradict."""


def proven_by(verdict: Verdict, evidence: Evidence, cause: RebalanceCause | None = None) -> Verdict:
    """The verdict as proven by the line in `evidence`; `cause` replaces its cause if given."""
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
    """The verdict on a departure whose reason the broker logged; `others` may also have set the epoch off."""
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
"""Causes that say what the epoch is to the group, whatever set it off."""

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
"""Causes that the records alone can only guess; dropped if the log names the cause."""


def with_primary(primary: Verdict, verdicts: Sequence[Verdict]) -> tuple[Verdict, ...]:
    """`primary` first; verdicts with the same cause for the same member, and mere guesses, are dropped.

    A leader's rejoin does not say why it rejoined, so guesses at the reason stay.
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
    return (primary, *(_beside(verdict, primary.cause) for verdict in others))


def _beside(verdict: Verdict, began: RebalanceCause) -> Verdict:
    """The verdict on what else the records show of a join phase that, by the log, something else had begun."""
    if verdict.cause in _OUTCOMES or verdict.cause in GUESSES:
        return verdict
    return meanwhile(verdict, began)
