"""Checks classic generations against the broker's log, which alone says what began the join phase."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from rebalance_audit.audit.broker_log.fact import BrokerFact, FactKind
from rebalance_audit.audit.broker_log.reasons import trigger_of
from rebalance_audit.audit.causes.classic_scene import ClassicScene, Generation
from rebalance_audit.audit.testimony.generation_trigger import RebalanceTrigger
from rebalance_audit.audit.testimony.testimony import (
    LoggedWait,
    Testimony,
    departed,
    proven_by,
    with_primary,
)
from rebalance_audit.audit.testimony.witness import (
    ENDS,
    MOVES,
    TAKE_OVERS,
    TOLERANCE_MS,
    Witness,
    line_of,
    members_of,
    said,
)
from rebalance_audit.audit.verdicts.cause import (
    DEPARTURES,
    JOINS,
    CauseRole,
    Certainty,
    Evidence,
    RebalanceCause,
    Verdict,
)
from rebalance_audit.sentences.reason import because

_RECORDED: Final = frozenset(
    {FactKind.GROUP_EMPTIED, FactKind.ASSIGNMENT_RECEIVED, FactKind.GROUP_DELETED}
)
"""What the coordinator logs when it writes the group's next record."""
_ENDS_OF_JOIN_PHASES: Final = frozenset({FactKind.GENERATION_STABILIZED, FactKind.GROUP_EMPTIED})


class _JoinPhase(NamedTuple):
    """The lines that begin and end a generation's join phase."""

    prepared: BrokerFact
    ended: BrokerFact
    differing: tuple[BrokerFact, ...] = ()
    """Later lines that say otherwise what began it: the coordinator logs one."""


class OpenJoinPhase(NamedTuple):
    """A rebalance that began by the coordinator's log; neither that nor a record shows its end."""

    prepared: BrokerFact
    joined_at_ms: int | None
    """When its join phase ended (epoch ms): the leader's assignment is awaited."""
    removed: Mapping[str, int]
    """Members that were removed because they did not rejoin, and ids that never joined, by when (epoch ms)."""


def open_join_phase(
    witness: Witness, generation: int, from_ms: int, end_ms: int
) -> OpenJoinPhase | None:
    """What goes on since the last record of a group, of its `generation` at `from_ms`; epoch ms.

    The log of records may end (`end_ms`) before the broker's log does: what goes on then counts, else what goes on when
    the latter ends.
    """
    prepared, joined_at_ms, removed = None, None, dict[str, int]()
    for fact in witness.since(from_ms - TOLERANCE_MS):
        if prepared is not None and prepared.at_ms <= end_ms < fact.at_ms:
            break
        is_next = fact.epoch is None or fact.epoch > generation
        if fact.kind in MOVES or (fact.kind in _RECORDED and is_next):
            prepared, joined_at_ms, removed = None, None, {}
        elif fact.kind is FactKind.REBALANCE_PREPARED:
            if prepared is None and not fact.may_be_text and (fact.epoch or 0) >= generation:
                prepared = fact
            joined_at_ms = None
        elif prepared is None:
            continue
        elif fact.kind is FactKind.GENERATION_STABILIZED and is_next:
            joined_at_ms = fact.at_ms
        elif fact.kind in _NOT_REJOINED or fact.kind is FactKind.PENDING_MEMBER_EXPIRED:
            removed |= dict.fromkeys(members_of(fact), fact.at_ms)
    if prepared is None:
        return None
    for member_id in members_of(prepared):
        removed.pop(member_id, None)
    return OpenJoinPhase(prepared, joined_at_ms, removed)


def testify_to_generation(
    witness: Witness, scene: ClassicScene, verdicts: tuple[Verdict, ...]
) -> Testimony:
    """The generation's causes, corrected by the broker's log."""
    ended = _end_of_join_phase(witness, scene.new, scene.new.joined_at_ms)
    if ended is None:
        return Testimony(verdicts)
    denied = tuple(_denied(witness, scene.new, ended))
    if denied:
        return Testimony(verdicts, contradictions=denied)
    phase = _join_phase(witness, scene, ended)
    trigger = (
        None if phase is None else RebalanceTrigger(witness, scene, phase.prepared, phase.differing)
    )
    since_ms = ended.at_ms if phase is None else phase.prepared.at_ms
    if scene.old is not None:
        since_ms = scene.old.position.record_timestamp_ms

    def confirm(*, whole: bool) -> tuple[Verdict, ...]:
        return tuple(
            _confirm(witness, verdict, scene, since_ms, ended.at_ms, whole=whole)
            for verdict in verdicts
        )

    confirmed = confirm(whole=trigger is not None and trigger.is_known)
    if phase is None or trigger is None:
        return Testimony(confirmed)
    denied = tuple(trigger.denied())
    if denied:
        return Testimony(verdicts, contradictions=denied)
    primary = trigger.verdict(confirmed, verdicts)
    awaited = tuple(_awaited(witness, scene, phase))
    waits = tuple(_waits(witness, scene, phase, primary))
    if primary is None:  # something began it, but the log does not say what
        return Testimony((*confirm(whole=False), *awaited), phase.prepared.at_ms, waits)
    began_ms = phase.prepared.at_ms if trigger.is_sure else None
    primary, *before = _with_lost_generations(witness, scene, phase, primary, verdicts)
    verdicts = (*with_primary(primary, confirmed), *before, *awaited)
    return Testimony(verdicts, began_ms, waits)


def _end_of_join_phase(
    witness: Witness, new: Generation, joined_at_ms: int | None
) -> BrokerFact | None:
    kind = FactKind.GENERATION_STABILIZED if new.members else FactKind.GROUP_EMPTIED
    at_ms = new.position.record_timestamp_ms
    if joined_at_ms is not None:
        return witness.of_epoch(kind, new.generation, joined_at_ms)
    # Old record versions do not hold the end of the join phase; they were written when the assignment came.
    assigned = witness.of_epoch(FactKind.ASSIGNMENT_RECEIVED, new.generation, at_ms)
    if assigned is None:
        return witness.of_epoch(kind, new.generation, at_ms)
    return witness.last_of_epoch(kind, new.generation, assigned.at_ms)


def _join_phase(witness: Witness, scene: ClassicScene, ended: BrokerFact) -> _JoinPhase | None:
    """The join phase that `ended`; None if the log does not hold all of it."""
    old, new = scene.old, scene.new
    prepared = witness.last_of_epoch(FactKind.REBALANCE_PREPARED, new.generation - 1, ended.at_ms)
    if prepared is None or prepared.broker != ended.broker:
        return None
    for fact in witness.between(prepared.at_ms + 1, ended.at_ms - 1):
        if fact.kind in MOVES and fact.broker == ended.broker:
            return None
        if fact.kind in _ENDS_OF_JOIN_PHASES:
            return None
    old_ms = prepared.at_ms if old is None else old.position.record_timestamp_ms
    prepared, *differing = _prepared(witness, prepared, old_ms - TOLERANCE_MS)
    phase = _JoinPhase(prepared, ended, tuple(differing))
    if old is None:
        return phase if _is_of_this_life(prepared, ended, new) else None
    if prepared.at_ms < old_ms - TOLERANCE_MS:
        return None
    if old.position.leader_epoch != new.position.leader_epoch and not any(
        fact.kind in TAKE_OVERS and fact.broker == ended.broker
        for fact in witness.between(old_ms - TOLERANCE_MS, prepared.at_ms)
    ):
        # The coordinator moved since the previous record; its log does not show whether before or after this line.
        return None
    return phase


def _prepared(witness: Witness, last: BrokerFact, from_ms: int) -> list[BrokerFact]:
    """The first line about the begin of a join phase, then those up to the `last` that give another reason."""
    found = [last]
    for fact in reversed(witness.between(from_ms, last.at_ms)):
        if fact.broker != last.broker:
            continue
        if fact.kind in MOVES or fact.kind in _ENDS_OF_JOIN_PHASES:
            break
        if fact.kind is last.kind and fact.epoch == last.epoch and fact is not last:
            found.append(fact)
    first, *later = reversed(found)
    reason = trigger_of(first.text or "")
    return [first, *(fact for fact in later if trigger_of(fact.text or "") != reason)]


def _awaited(witness: Witness, scene: ClassicScene, phase: _JoinPhase) -> Iterator[Verdict]:
    """Pending members whose session expired: the join phase waited for them (KIP-394)."""
    for fact in witness.between(phase.prepared.at_ms, phase.ended.at_ms):
        if fact.kind is not FactKind.PENDING_MEMBER_EXPIRED or fact.broker != phase.ended.broker:
            continue
        waited_ms = fact.at_ms - phase.prepared.at_ms
        yield Verdict(
            RebalanceCause.PENDING_MEMBER_EXPIRED,
            Certainty.PROBABLE if fact.may_be_text else Certainty.PROVEN,
            fact.at_ms,
            (because("id_never_joined", member=fact.member_id, waited=waited_ms),),
            (said(fact, scene.new.position, line_of(fact)),),
            fact.member_id,
            role=CauseRole.MEANWHILE,
            alternatives=(RebalanceCause.UNKNOWN,) if fact.may_be_text else (),
        )


_AT_ONCE_MS: Final = 10
"""A join phase that is over so soon after a member was gone had waited for that member."""
_NOT_REJOINED: Final = frozenset({FactKind.MEMBER_EXPIRED, FactKind.MEMBERS_NOT_REJOINED})
"""Only members that have not rejoined are removed so in a join phase: the others wait for its end."""


def _waits(
    witness: Witness, scene: ClassicScene, phase: _JoinPhase, began: Verdict | None
) -> Iterator[LoggedWait]:
    """Whom the join phase waited for, apart from a member whose end began it."""
    old, new = scene.old, scene.new
    from_ms, ended_ms = phase.prepared.at_ms, phase.ended.at_ms
    gone = dict({} if old is None else old.members)
    for member_id in gone.keys() & new.members.keys():
        del gone[member_id]
    if began is not None and began.cause in DEPARTURES:
        gone.pop(began.member_id or "", None)
    by_instance = {each.instance_id: each for each in gone.values() if each.instance_id is not None}
    for fact in witness.between(from_ms, ended_ms + TOLERANCE_MS):
        is_back = fact.kind is FactKind.STATIC_MEMBER_REPLACED
        if fact.broker != phase.ended.broker or not (is_back or fact.kind in ENDS):
            continue
        until_ms = min(fact.at_ms, ended_ms)
        is_sure = not fact.may_be_text and (
            fact.kind in _NOT_REJOINED or ended_ms - until_ms <= _AT_ONCE_MS
        )
        named = [gone[each] for each in members_of(fact) if each in gone]
        if not named and fact.instance_id in by_instance:
            named = [by_instance[fact.instance_id]]
        for member in named:
            del gone[member.member_id]
            by_instance.pop(member.instance_id or "", None)
            certainty = Certainty.PROVEN if is_sure else Certainty.POSSIBLE
            if is_sure or not is_back:
                yield LoggedWait(member.member_id, until_ms, certainty, is_back)


_LOST_NAMED: Final = 5
"""Number of generations without a record whose reasons are listed."""


def _with_lost_generations(
    witness: Witness,
    scene: ClassicScene,
    phase: _JoinPhase,
    primary: Verdict,
    recorded: Sequence[Verdict],
) -> Iterator[Verdict]:
    """The primary cause with what the log says of generations that left no record, then what began the first of them.

    The record before shows the group stable, so the first of them began the rebalance.
    """
    old = scene.old
    if old is None or not scene.skipped:
        yield primary
        return
    from_ms = old.position.record_timestamp_ms - TOLERANCE_MS
    begun = [
        fact
        for fact in witness.between(from_ms, phase.prepared.at_ms)
        if fact.kind is FactKind.REBALANCE_PREPARED
        and fact.epoch is not None
        and old.generation <= fact.epoch < scene.new.generation - 1
        and fact.broker == phase.ended.broker
    ]
    if not begun:
        yield primary
        return
    prepared = [
        because("generation_prepared", epoch=fact.epoch + 1, text=fact.text or "")
        for fact in begun[:_LOST_NAMED]
        if fact.epoch is not None
    ]
    if len(begun) > _LOST_NAMED:
        prepared.append(because("and_more", more=len(begun) - _LOST_NAMED))
    last = scene.new.generation - 1
    lost = because("lost_generation", last=last, begun=prepared)
    if scene.skipped > 1:
        lost = because("lost_generations", first=old.generation + 1, last=last, begun=prepared)
    lines = [
        (fact, because("logged_rebalance_of", epoch=fact.epoch, text=fact.text or ""))
        for fact in begun[:_LOST_NAMED]
    ]
    shown = (said(fact, scene.new.position, line) for fact, line in lines)
    yield primary._replace(reasons=(*primary.reasons, lost), evidence=(*primary.evidence, *shown))
    first = begun[0]
    if first.epoch != old.generation:
        return
    began = RebalanceTrigger(witness, scene, first).verdict((), recorded)
    if began is not None and (began.cause, began.member_id) != (primary.cause, primary.member_id):
        yield began._replace(role=CauseRole.MEANWHILE)


def _is_of_this_life(prepared: BrokerFact, ended: BrokerFact, new: Generation) -> bool:
    """Whether the line is from this life of the group: numbers restart with each life.

    Decided by a member or by nearness in time.
    """
    trigger = trigger_of(prepared.text or "")
    if trigger is not None and any(each in new.members for each in trigger.members):
        return True
    timeout_ms = max((each.rebalance_timeout_ms for each in new.members.values()), default=0)
    return ended.at_ms - prepared.at_ms <= timeout_ms + TOLERANCE_MS


def _denied(witness: Witness, new: Generation, ended: BrokerFact) -> Iterator[Evidence]:
    """A contradiction if the log and the record count different numbers of members."""
    at_ms = new.position.record_timestamp_ms
    assigned = witness.of_epoch(FactKind.ASSIGNMENT_RECEIVED, new.generation, at_ms)
    for fact in (ended, assigned):
        if fact is not None and fact.size is not None and fact.size != len(new.members):
            sizes = {"logged": fact.size, "recorded": len(new.members)}
            yield said(fact, new.position, because("logged_size", epoch=new.generation, **sizes))


def _confirm(
    witness: Witness,
    verdict: Verdict,
    scene: ClassicScene,
    from_ms: int,
    to_ms: int,
    *,
    whole: bool,
) -> Verdict:
    """The verdict on one member with the line that confirms it, if there is one.

    Unless the log has the `whole` join phase and its reason, it remains open whether this set the rebalance off.
    """
    member_id, position = verdict.member_id, scene.new.position
    if member_id is None:
        return verdict
    if verdict.cause in DEPARTURES:
        old = scene.old
        stay = None if old is None else (old.position, position)
        # A coordinator up to 3.x logs a leave after the end of the join phase that it brings about.
        late_ms = to_ms + TOLERANCE_MS
        found = witness.departure(
            member_id, verdict.instance_id, from_ms, late_ms, near_ms=to_ms, stay=stay
        )
        if found is None:
            return verdict
        # What else may have set the rebalance off, now that the departure itself is no longer in doubt.
        others = tuple(cause for cause in verdict.alternatives if cause not in DEPARTURES)
        others = () if whole else others or (RebalanceCause.LEADER_REJOINED,)
        return departed(verdict, found, position, others)
    if not whole:
        return verdict
    fact = None
    if verdict.cause in JOINS:
        fact = witness.of_member(FactKind.MEMBER_JOINED, member_id, from_ms, to_ms)
    elif verdict.cause is RebalanceCause.STATIC_MEMBER_REPLACED:
        fact = witness.replacement(verdict.instance_id or "", member_id, from_ms, to_ms)
    if fact is None or verdict.certainty is Certainty.PROVEN:
        return verdict
    return proven_by(verdict, fact, position)
