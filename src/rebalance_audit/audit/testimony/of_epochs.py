"""Checks the causes of group epochs against the broker's log."""

from collections.abc import Iterable
from typing import Final

from rebalance_audit.audit.broker_log.fact import BrokerFact, FactKind
from rebalance_audit.audit.testimony.testimony import Testimony, departed, proven_by
from rebalance_audit.audit.testimony.witness import ENDS, TOLERANCE_MS, Witness, line_of, said
from rebalance_audit.audit.verdicts.cause import (
    DEPARTURES,
    Certainty,
    Evidence,
    RebalanceCause,
    Verdict,
)
from rebalance_audit.replay.changes import GroupEpochBumped, GroupType, Position
from rebalance_audit.sentences.reason import because

_JOINS: Final = frozenset({RebalanceCause.MEMBER_JOINED, RebalanceCause.STATIC_MEMBER_JOINED})
"""Causes that a line about a join confirms; no line says that the group began with it."""

_ONE_WRITE_MS: Final = 100
"""Kinds of lines that one request or timer logs; the bump is the last of them."""


def testify_to_epoch(
    witness: Witness, bump: GroupEpochBumped, verdicts: Iterable[Verdict]
) -> Testimony:
    """The epoch's causes, confirmed or corrected by what the coordinator logged when it wrote the epoch."""
    position = bump.position
    at_ms = position.record_timestamp_ms
    bumped = witness.of_epoch(FactKind.EPOCH_BUMPED, bump.new_epoch, at_ms)
    confirmed = tuple(_confirm(witness, verdict, bumped, position) for verdict in verdicts)
    if bumped is not None and all(each.cause is RebalanceCause.UNKNOWN for each in confirmed):
        confirmed = tuple(_confirming(witness, bumped, bump)) or confirmed
    return Testimony(confirmed, contradictions=tuple(_denied(bumped, bump)))


def _confirm(
    witness: Witness, verdict: Verdict, bumped: BrokerFact | None, position: Position
) -> Verdict:
    """The verdict with the line that confirms it, if there is one."""
    from_ms, to_ms = _window(witness, bumped, position)
    member_id = verdict.member_id
    if verdict.cause in DEPARTURES and member_id is not None:
        away = verdict.cause is RebalanceCause.STATIC_MEMBER_EXPIRED
        found = witness.departure(
            member_id,
            verdict.instance_id,
            from_ms,
            to_ms,
            near_ms=position.record_timestamp_ms,
            was_away=away,
        )
        return verdict if found is None else departed(verdict, found, position)
    if verdict.certainty is Certainty.PROVEN:
        return verdict
    # A scan of expressions or a static member's return under another id bumps nothing by itself.
    fact = None
    if verdict.cause in _JOINS and member_id is not None:
        fact = witness.of_member(FactKind.MEMBER_JOINED, member_id, from_ms, to_ms)
    if fact is None or fact.may_be_text or bumped is None or not verdict.topics:
        return verdict
    return proven_by(verdict, fact, position)


def _confirming(witness: Witness, bumped: BrokerFact, bump: GroupEpochBumped) -> Iterable[Verdict]:
    """Verdicts on an epoch whose own records are gone, from the lines logged with it."""
    position = bump.position
    from_ms, to_ms = _window(witness, bumped, position)
    for fact in witness.between(max(from_ms, bumped.at_ms - _ONE_WRITE_MS), to_ms):
        if fact.broker != bumped.broker:
            continue
        if fact.kind in ENDS and bump.group_type is not GroupType.CONSUMER:
            continue  # share and streams groups do not log the epoch that a departure begins: it is another one
        found = _cause_of(witness, fact, bumped.at_ms)
        if found is None:
            continue
        cause, alternatives = found
        if fact.may_be_text:
            alternatives = alternatives or (RebalanceCause.UNKNOWN,)
        line = line_of(fact)
        yield Verdict(
            cause,
            Certainty.PROBABLE if alternatives else Certainty.PROVEN,
            position.record_timestamp_ms,
            (because("only_in_log", line=line),),
            (said(fact, position, line), said(bumped, position, line_of(bumped))),
            fact.member_id,
            fact.instance_id,
            alternatives=alternatives,
        )


def _cause_of(
    witness: Witness, fact: BrokerFact, until_ms: int
) -> tuple[RebalanceCause, tuple[RebalanceCause, ...]] | None:
    """The cause that a line names by itself, and the alternatives."""
    if fact.kind is FactKind.MEMBER_JOINED:
        static = fact.instance_id is not None
        cause = RebalanceCause.STATIC_MEMBER_JOINED if static else RebalanceCause.MEMBER_JOINED
        # A join without topics bumps nothing; then its heartbeat found changed metadata.
        return cause, (RebalanceCause.TOPIC_METADATA_CHANGED,)
    if fact.kind is FactKind.ASSIGNMENT_CONFIGS_CHANGED:
        return RebalanceCause.ASSIGNMENT_ONLY, ()
    if fact.kind not in ENDS or not (fact.member_id or fact.instance_id):
        return None
    member_id = fact.member_id or ""
    ended = witness.departure(member_id, fact.instance_id, fact.at_ms, until_ms)
    if ended is None:
        return None
    expired = ended.cause is RebalanceCause.MEMBER_SESSION_EXPIRED
    if expired and witness.was_away_before(member_id, until_ms):
        # Only its records would show whether it was away just then.
        return ended.cause, (RebalanceCause.STATIC_MEMBER_EXPIRED,)
    return ended.cause, ended.alternatives


def _denied(bumped: BrokerFact | None, bump: GroupEpochBumped) -> Iterable[Evidence]:
    if bumped is None or bumped.metadata_hash is None or bump.new_metadata_hash is None:
        return
    if bumped.metadata_hash != bump.new_metadata_hash:
        yield said(
            bumped,
            bump.position,
            because(
                "logged_hash",
                epoch=bump.new_epoch,
                logged=bumped.metadata_hash,
                recorded=bump.new_metadata_hash,
            ),
        )


def _window(witness: Witness, bumped: BrokerFact | None, position: Position) -> tuple[int, int]:
    """(from ms, to ms) of the request's lines: from the previous bump to this one, which is the request's last line.

    Without the line of the bump, only nearness in time shows which lines belong to it.
    """
    at_ms = position.record_timestamp_ms
    if bumped is None or bumped.epoch is None:
        return at_ms - TOLERANCE_MS, at_ms + TOLERANCE_MS
    before = witness.last_of_epoch(FactKind.EPOCH_BUMPED, bumped.epoch - 1, bumped.at_ms)
    from_ms = bumped.at_ms - TOLERANCE_MS
    return (from_ms if before is None else max(from_ms, before.at_ms)), bumped.at_ms
