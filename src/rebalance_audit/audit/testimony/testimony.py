"""What the broker's log changes in the verdicts on one epoch, and its check of the causes of group epochs."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from rebalance_audit.audit.broker_log.fact import BrokerFact, FactKind
from rebalance_audit.audit.broker_log.reasons import NOT_PROVIDED, LoggedDeparture
from rebalance_audit.audit.testimony.witness import ENDS, TOLERANCE_MS, Witness, line_of, said
from rebalance_audit.audit.verdicts.cause import (
    DEPARTURES,
    JOINS,
    Certainty,
    Evidence,
    RebalanceCause,
    Verdict,
    meanwhile,
)
from rebalance_audit.replay.changes import GroupEpochBumped, GroupType, Position
from rebalance_audit.sentences.reason import CodedReason, because


class LoggedWait(NamedTuple):
    """A member of the generation before that a join phase waited for, by the coordinator's log."""

    member_id: str
    until_ms: int
    """When it was removed, or left, or came back under a new id (epoch ms)."""
    certainty: Certainty
    """Not proven where it may have rejoined before it left."""
    is_back: bool = False


class Testimony(NamedTuple):
    """The epoch's causes after the broker's log was taken into account, and what else the log says."""

    verdicts: tuple[Verdict, ...]
    join_started_ms: int | None = None
    """Classic: when the join phase began (epoch ms), as the coordinator logged it."""
    waits: tuple[LoggedWait, ...] = ()
    """Classic: whom that join phase waited for; the log does not show when other members rejoined."""
    contradictions: tuple[Evidence, ...] = ()
    """Statements of the log that the records contradict."""


def departed(
    verdict: Verdict,
    departure: LoggedDeparture,
    position: Position,
    others: tuple[RebalanceCause, ...] = (),
) -> Verdict:
    """The verdict on a departure whose reason the broker logged; `others` may also have set the epoch off."""
    fact = departure.fact
    alternatives = tuple(dict.fromkeys((*departure.alternatives, *others)))
    reasons: tuple[CodedReason, ...] = (logged_departure(verdict.member_id, departure, fact.text),)
    if departure.may_be_text and not (verdict.cause is departure.cause and is_likely(verdict)):
        alternatives = otherwise(departure.cause, alternatives, (verdict,))
        reasons = (*reasons, because("may_be_text"))
    return verdict._replace(
        cause=departure.cause,
        certainty=Certainty.PROBABLE if alternatives else Certainty.PROVEN,
        alternatives=alternatives,
        reasons=reasons,
        evidence=(*verdict.evidence, said(fact, position, line_of(fact))),
    )


LIKELY: Final = 0.95
"""Weight from which the records count as a second witness of how a member went: a guess is none."""


def is_likely(verdict: Verdict) -> bool:
    """Whether the records leave little doubt how a member went, or show the cause otherwise than by weighing."""
    if verdict.cause not in DEPARTURES or verdict.certainty is Certainty.PROVEN:
        return True
    return dict(verdict.weights).get(verdict.cause, 0.0) >= LIKELY


def otherwise(
    cause: RebalanceCause, alternatives: Sequence[RebalanceCause], verdicts: Sequence[Verdict]
) -> tuple[RebalanceCause, ...]:
    """The alternatives to a cause that a line names, with those that the records leave open; never empty."""
    recorded = (each for verdict in verdicts for each in (verdict.cause, *verdict.alternatives))
    open_to = dict.fromkeys((*alternatives, *recorded))
    return tuple(each for each in open_to if each is not cause) or (RebalanceCause.UNKNOWN,)


def proven_by(verdict: Verdict, fact: BrokerFact, position: Position) -> Verdict:
    """The verdict as proven by a line that says the same."""
    return verdict._replace(
        certainty=Certainty.PROVEN,
        alternatives=(),
        evidence=(*verdict.evidence, said(fact, position, line_of(fact))),
    )


def logged_departure(
    member_id: str | None,
    departure: LoggedDeparture,
    text: str | None,
    *,
    instance_id: str | None = None,
    more: int = 0,
) -> CodedReason:
    """What the broker logged about the end of a member, or of the holder of an instance id, and of `more` others."""
    return because(
        "logged_departure",
        who=who_is_it(member_id, instance_id),
        how=because("logged_request" if departure.alternatives else _HOW[departure.cause]),
        others=because("with_others", more=more) if more else None,
        text=None if text == NOT_PROVIDED else text,
    )


def who_is_it(member_id: str | None, instance_id: str | None = None) -> CodedReason:
    """The subject of a sentence on a broker's line, which may name a member by its instance id alone, or not at all."""
    if member_id:
        return because("who_member", member=member_id)
    if instance_id:
        return because("who_instance", instance=instance_id)
    return because("who_unknown")


# Only a LeaveGroup request leaves a doubt.
_HOW: Final[Mapping[RebalanceCause, str]] = {
    RebalanceCause.MEMBER_LEFT: "logged_left",
    RebalanceCause.MEMBER_SESSION_EXPIRED: "logged_expired",
    RebalanceCause.MEMBER_REBALANCE_TIMEOUT: "logged_timeout",
    RebalanceCause.MEMBER_REMOVED_BY_ADMIN: "logged_removed",
    RebalanceCause.STATIC_MEMBER_EXPIRED: "logged_static_expired",
}


_OUTCOMES = frozenset({RebalanceCause.GROUP_CREATED, RebalanceCause.GROUP_EMPTIED})
"""Causes that name the kind of epoch, whatever set it off."""

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
    if verdict.cause in JOINS and member_id is not None:
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
        hashes = {"logged": bumped.metadata_hash, "recorded": bump.new_metadata_hash}
        yield said(bumped, bump.position, because("logged_hash", epoch=bump.new_epoch, **hashes))


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
