"""Checks classic generations against the broker's log, which alone says what began the join phase."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from rebalance_audit.audit.broker_log import reasons
from rebalance_audit.audit.broker_log.fact import BrokerFact, FactKind
from rebalance_audit.audit.broker_log.reasons import LoggedTrigger, rejoin_reason, trigger_of
from rebalance_audit.audit.broker_log.testimony import (
    HOW,
    Testimony,
    departed,
    proven_by,
    with_primary,
)
from rebalance_audit.audit.broker_log.witness import (
    MOVES,
    TAKE_OVERS,
    TOLERANCE_MS,
    Stay,
    Witness,
    said,
    sentence_of,
)
from rebalance_audit.audit.causes.cause import (
    DEPARTURES,
    CauseRole,
    Certainty,
    Evidence,
    RebalanceCause,
    Verdict,
)
from rebalance_audit.audit.causes.classic_scene import ClassicScene, Generation
from rebalance_audit.audit.causes.same_members import COOPERATIVE_MARK
from rebalance_audit.replay.classic.group import ClassicMember
from rebalance_audit.replay.partitions import minus, partitions_of

_EAGER: Final = frozenset({"range", "roundrobin"})
"""Assignors whose members tell the leader nothing of what they own. Others may, in what only they can read."""
_JOINS: Final = frozenset({RebalanceCause.MEMBER_JOINED, RebalanceCause.STATIC_MEMBER_JOINED})
_GOING: Final = frozenset({reasons.LEAVE, reasons.EXPIRY, reasons.NOT_SYNCED})
_ENDS_OF_JOIN_PHASES: Final = frozenset({FactKind.GENERATION_STABILIZED, FactKind.GROUP_EMPTIED})


class _JoinPhase(NamedTuple):
    """The lines that begin and end a generation's join phase."""

    prepared: BrokerFact
    ended: BrokerFact


def testify_to_generation(
    witness: Witness,
    scene: ClassicScene,
    joined_at_ms: int | None,
    verdicts: tuple[Verdict, ...],
) -> Testimony:
    """The generation's causes, corrected by the broker's log. `joined_at_ms`: end of its join phase (epoch ms)."""
    ended = _end_of_join_phase(witness, scene.new, joined_at_ms)
    if ended is None:
        return Testimony(verdicts)
    denied = tuple(_denied(witness, scene.new, ended))
    if denied:
        return Testimony(verdicts, contradictions=denied)
    phase = _join_phase(witness, scene, ended)
    trigger = None if phase is None else _Trigger(witness, scene, phase)
    since_ms = _since(scene, phase, ended)

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
    primary = trigger.verdict(confirmed)
    awaited = tuple(_awaited(witness, scene, phase))
    if primary is None:  # something began it, but the log does not say what
        return Testimony((*confirm(whole=False), *awaited), phase.prepared.at_ms)
    primary, *before = _with_lost_generations(witness, scene, phase, primary)
    verdicts = (*with_primary(primary, confirmed), *before, *awaited)
    return Testimony(verdicts, phase.prepared.at_ms)


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
    if old is None:
        return _JoinPhase(prepared, ended) if _is_of_this_life(prepared, ended, new) else None
    old_ms = old.position.record_timestamp_ms
    if prepared.at_ms < old_ms - TOLERANCE_MS:
        return None
    if old.position.leader_epoch != new.position.leader_epoch and not any(
        fact.kind in TAKE_OVERS and fact.broker == ended.broker
        for fact in witness.between(old_ms - TOLERANCE_MS, prepared.at_ms)
    ):
        # The coordinator moved since the previous record; its log does not tell whether before or after this line.
        return None
    return _JoinPhase(prepared, ended)


def _awaited(witness: Witness, scene: ClassicScene, phase: _JoinPhase) -> Iterator[Verdict]:
    """Members that were given an id and never joined with it: the join phase waits for them (KIP-394)."""
    for fact in witness.between(phase.prepared.at_ms, phase.ended.at_ms):
        if fact.kind is not FactKind.PENDING_MEMBER_EXPIRED or fact.broker != phase.ended.broker:
            continue
        waited = (fact.at_ms - phase.prepared.at_ms) / 1000
        yield Verdict(
            RebalanceCause.MEMBER_SESSION_EXPIRED,
            Certainty.PROVEN,
            fact.at_ms,
            f"Member id {fact.member_id} was given out and never joined: the join phase waited {waited:.1f} s for it, "
            "until its session ended.",
            (said(fact, scene.new.position, sentence_of(fact)),),
            fact.member_id,
            role=CauseRole.MEANWHILE,
        )


_LOST_NAMED: Final = 5
"""Number of generations without a record whose reasons are told one by one."""


def _with_lost_generations(
    witness: Witness, scene: ClassicScene, phase: _JoinPhase, primary: Verdict
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
    told = "; ".join(
        f"{fact.epoch + 1}: {fact.text}" for fact in begun[:_LOST_NAMED] if fact.epoch is not None
    )
    more = f"; and {len(begun) - _LOST_NAMED} more" if len(begun) > _LOST_NAMED else ""
    last = scene.new.generation - 1
    which = (
        f"Generation {last} left no record"
        if scene.skipped == 1
        else f"Generations {old.generation + 1} to {last} left no record"
    )
    lines = tuple(
        said(fact, scene.new.position, f"rebalance of generation {fact.epoch}: {fact.text}")
        for fact in begun[:_LOST_NAMED]
    )
    yield primary._replace(
        detail=f"{primary.detail} {which}; the broker logged what began them ({told}{more}).",
        evidence=(*primary.evidence, *lines),
    )
    first = begun[0]
    if first.epoch != old.generation:
        return
    began = _Trigger(witness, scene, _JoinPhase(first, phase.ended)).verdict(())
    if began is not None and (began.cause, began.member_id) != (primary.cause, primary.member_id):
        yield began._replace(role=CauseRole.MEANWHILE)


def _is_of_this_life(prepared: BrokerFact, ended: BrokerFact, new: Generation) -> bool:
    """Whether the line is from this life of the group: numbers restart with each life; a member or nearness tells."""
    trigger = trigger_of(prepared.text or "")
    if trigger is not None and any(each in new.members for each in trigger.members):
        return True
    timeout_ms = max((each.rebalance_timeout_ms for each in new.members.values()), default=0)
    return ended.at_ms - prepared.at_ms <= timeout_ms + TOLERANCE_MS


def _since(scene: ClassicScene, phase: _JoinPhase | None, ended: BrokerFact) -> int:
    """Earliest time (epoch ms) of this generation's lines: the previous record, or the begin of the join phase."""
    if scene.old is not None:
        return scene.old.position.record_timestamp_ms
    return phase.prepared.at_ms if phase is not None else ended.at_ms


def _denied(witness: Witness, new: Generation, ended: BrokerFact) -> Iterator[Evidence]:
    """A contradiction if the log and the record count different numbers of members."""
    at_ms = new.position.record_timestamp_ms
    assigned = witness.of_epoch(FactKind.ASSIGNMENT_RECEIVED, new.generation, at_ms)
    for fact in (ended, assigned):
        if fact is not None and fact.size is not None and fact.size != len(new.members):
            yield said(
                fact,
                new.position,
                f"generation {new.generation} with {fact.size} members, "
                f"the record has {len(new.members)}",
            )


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
        stay = None if old is None else Stay.between(old.position, position)
        found = witness.departure(member_id, verdict.instance_id, from_ms, to_ms, stay=stay)
        if found is None:
            return verdict
        others = () if whole else _other_causes(verdict)
        return departed(verdict, found, position, others)
    if not whole:
        return verdict
    fact = None
    if verdict.cause in _JOINS:
        fact = witness.of_member(FactKind.MEMBER_JOINED, member_id, from_ms, to_ms)
    elif verdict.cause is RebalanceCause.STATIC_MEMBER_REPLACED:
        fact = witness.replacement(verdict.instance_id or "", member_id, from_ms, to_ms)
    if fact is None or verdict.certainty is Certainty.PROVEN:
        return verdict
    return proven_by(verdict, said(fact, position, sentence_of(fact)))


def _other_causes(verdict: Verdict) -> tuple[RebalanceCause, ...]:
    """What else may have set the rebalance off, now that the departure itself is no longer in doubt."""
    others = tuple(cause for cause in verdict.alternatives if cause not in DEPARTURES)
    return others or (RebalanceCause.LEADER_REJOINED,)


class _Trigger:
    """Interprets the logged trigger of a rebalance, using the records before and after it."""

    def __init__(self, witness: Witness, scene: ClassicScene, phase: _JoinPhase) -> None:
        self._witness = witness
        self._scene = scene
        self._prepared = phase.prepared
        self._trigger = trigger_of(self._prepared.text or "")
        self._guess: RebalanceCause | None = None
        """What the records alone take for the likeliest."""

    @property
    def is_known(self) -> bool:
        """Whether the log gives a reason in a wording that the tables have."""
        return self._trigger is not None

    def denied(self) -> Iterator[Evidence]:
        """A contradiction if the generation has a member that the trigger removed: classic member ids never return."""
        trigger, new = self._trigger, self._scene.new
        if trigger is None or trigger.role not in _GOING:
            return
        for member_id in trigger.members:
            if member_id in new.members:
                yield said(
                    self._prepared,
                    new.position,
                    f"member {member_id} is out ({self._prepared.text}), the record has it",
                )

    def verdict(self, verdicts: Iterable[Verdict]) -> Verdict | None:
        """The primary cause; None if the tables do not know the logged reason."""
        trigger = self._trigger
        if trigger is None:
            return None
        verdicts = tuple(verdicts)
        self._guess = verdicts[0].cause if verdicts else None
        member_id = next((each for each in trigger.members if each), None)
        if member_id is None and trigger.role == reasons.LEAVE:
            left = self._witness.left_by(self._prepared)
            member_id = None if left is None else left.member_id
        found = self._cause(trigger, member_id)
        if found is None:
            return None
        cause, alternatives, detail = found
        known = [
            verdict
            for verdict in verdicts
            if verdict.member_id == member_id
            and (verdict.cause is cause or {verdict.cause, cause} <= DEPARTURES)
        ]
        verdict = known[0] if known else self._fresh(cause, member_id, trigger)
        line = said(self._prepared, self._scene.new.position, f"rebalance: {self._prepared.text}")
        return verdict._replace(
            cause=cause,
            certainty=Certainty.PROBABLE if alternatives else Certainty.PROVEN,
            alternatives=alternatives,
            at_ms=self._prepared.at_ms,
            detail=detail,
            evidence=(line, *verdict.evidence),
        )

    def _cause(
        self, trigger: LoggedTrigger, member_id: str | None
    ) -> tuple[RebalanceCause, tuple[RebalanceCause, ...], str] | None:
        name = member_id or trigger.instance_id or "of an instance id"
        why = f" ({trigger.client_reason})" if trigger.client_reason else ""
        match trigger.role:
            case reasons.JOIN:
                if trigger.instance_id is None:
                    return RebalanceCause.MEMBER_JOINED, (), f"Member {name} joined{why}."
                cause = RebalanceCause.STATIC_MEMBER_JOINED
                return cause, (), f"Member {name} (instance {trigger.instance_id}) joined{why}."
            case reasons.REPLACEMENT:
                cause = RebalanceCause.STATIC_MEMBER_REPLACED
                return cause, (), f"Instance {trigger.instance_id} came back as {name}{why}."
            case reasons.DOWNGRADE:
                cause = RebalanceCause.PROTOCOL_DOWNGRADED
                return cause, (), "The consumer group became a classic one and rebalanced for it."
            case reasons.OVER_CAPACITY:
                detail = "A new coordinator had loaded more members than a group may have."
                return RebalanceCause.UNKNOWN, (RebalanceCause.ASSIGNMENT_ONLY,), detail
            case reasons.NOT_STORED:
                error = f" ({trigger.error})" if trigger.error else ""
                detail = (
                    f"The coordinator could not store the assignment of generation {self._prepared.epoch}{error}, "
                    "so it began the join phase anew."
                )
                return RebalanceCause.ASSIGNMENT_ONLY, (), detail
            case reasons.LEADER:
                return self._leader(trigger, member_id, f"The leader {name} joined again{why}.")
            case reasons.FOLLOWER:
                return self._follower(trigger, member_id, f"{name} joined again{why}")
            case reasons.UNKNOWN_RANK:
                old = self._scene.old
                if old is not None and old.leader_member_id == member_id:
                    return self._leader(trigger, member_id, f"The leader {name} joined again{why}.")
                return self._follower(trigger, member_id, f"{name} joined again{why}")
        return self._departure(trigger, member_id or "", name)

    def _departure(
        self, trigger: LoggedTrigger, member_id: str, name: str
    ) -> tuple[RebalanceCause, tuple[RebalanceCause, ...], str] | None:
        at_ms = self._prepared.at_ms
        watch = self._scene.watches.get(member_id)
        instance_id = watch.stint.identity.instance_id if watch is not None else None
        found = self._witness.departure(
            member_id, instance_id, at_ms - TOLERANCE_MS, at_ms + TOLERANCE_MS
        ) or reasons.departure_of_fact(
            self._prepared,
            by_another=False,
            was_away=False,
            is_static=instance_id is not None,
        )
        if found is None:
            return None
        others = f", with {len(trigger.members) - 1} more" if len(trigger.members) > 1 else ""
        said_why = found.fact.kind is not FactKind.REBALANCE_PREPARED and found.fact.text
        told = f": {said_why}" if said_why and said_why != reasons.NOT_PROVIDED else ""
        detail = f"Member {name} {HOW[found.cause]}{others}, as the broker logged{told}."
        return found.cause, found.alternatives, detail

    def _leader(
        self, trigger: LoggedTrigger, member_id: str | None, detail: str
    ) -> tuple[RebalanceCause, tuple[RebalanceCause, ...], str]:
        cause = self._named_cause(trigger, member_id)
        if cause is None and self._topics_differ(member_id):
            cause = RebalanceCause.SUBSCRIPTION_CHANGED
        return cause or RebalanceCause.LEADER_REJOINED, (), detail

    def _follower(
        self, trigger: LoggedTrigger, member_id: str | None, who: str
    ) -> tuple[RebalanceCause, tuple[RebalanceCause, ...], str]:
        """A follower's rejoin sets off a rebalance only if its metadata changed: topics, what it owns, user data."""
        cause = self._named_cause(trigger, member_id)
        if cause is not None:
            return cause, (), f"Member {who}."
        if self._topics_differ(member_id):
            return RebalanceCause.SUBSCRIPTION_CHANGED, (), f"Member {who} with other topics."
        reason = rejoin_reason(trigger.client_reason)
        wished = reason is not None and reason.is_own_wish
        if self._gave_up(member_id):
            cause = RebalanceCause.COOPERATIVE_FOLLOW_UP
            others = (RebalanceCause.ASSIGNMENT_ONLY,) if wished else ()
            return cause, others, f"Member {who} after it gave up partitions."
        if not wished and self._metadata_differs(member_id):
            detail = f"Member {who} with other metadata for the leader and the same topics."
            return RebalanceCause.SUBSCRIPTION_CHANGED, (), detail
        detail = f"Member {who} with other metadata than before, and the same topics."
        return self._open_follower(detail)

    def _open_follower(self, detail: str) -> tuple[RebalanceCause, tuple[RebalanceCause, ...], str]:
        """What a follower's rejoin means if neither its reason nor its records say."""
        told = (
            RebalanceCause.COOPERATIVE_FOLLOW_UP,
            RebalanceCause.SUBSCRIPTION_CHANGED,
            RebalanceCause.TOPIC_METADATA_CHANGED,
            RebalanceCause.ASSIGNMENT_ONLY,
        )
        open_to = told if self._is_cooperative() else told[1:]
        ranked = sorted(open_to, key=lambda cause: cause is not self._guess)
        return ranked[0], tuple(ranked[1:]), detail

    def _named_cause(self, trigger: LoggedTrigger, member_id: str | None) -> RebalanceCause | None:
        """The cause that the client's reason names, unless the records exclude it."""
        reason = rejoin_reason(trigger.client_reason)
        if reason is None or reason.cause is None:
            return None
        match reason.cause:
            case RebalanceCause.COOPERATIVE_FOLLOW_UP if not self._is_cooperative():
                return None
            case RebalanceCause.SUBSCRIPTION_CHANGED if self._topics_same(member_id):
                return None
        return reason.cause

    def _is_cooperative(self) -> bool:
        """Whether members of the generation before may have been asked to give up partitions and to come back."""
        old = self._scene.old
        name = (old.protocol_name if old is not None else self._scene.new.protocol_name) or ""
        return COOPERATIVE_MARK in name or name not in _EAGER

    def _metadata_differs(self, member_id: str | None) -> bool:
        """Whether the records show that it tells the leader other things, apart from what it owns."""
        before, after = self._members(member_id)
        if before is None or after is None:
            return False
        if before.subscription is None or after.subscription is None:
            return before.subscription_bytes != after.subscription_bytes
        if self._is_cooperative():
            return False  # what it owns may be in bytes that only its assignor can read
        plain = {
            subscription._replace(owned_partitions=(), generation_id=-1)
            for subscription in (before.subscription, after.subscription)
        }
        return len(plain) > 1

    def _members(self, member_id: str | None) -> tuple[ClassicMember | None, ClassicMember | None]:
        """The member before and after the rebalance; None where it is absent."""
        old: Mapping[str, ClassicMember] = self._scene.old.members if self._scene.old else {}
        new = self._scene.new.members
        return old.get(member_id or ""), new.get(member_id or "")

    def _topics_differ(self, member_id: str | None) -> bool:
        return self._topics_same(member_id) is False

    def _topics_same(self, member_id: str | None) -> bool | None:
        """Whether the records show the member with the same topics before and after; None if they do not show it."""
        before, after = (
            member.subscription if member is not None else None
            for member in self._members(member_id)
        )
        if before is None or after is None or self._scene.skipped:
            return None
        return set(before.topics) == set(after.topics)

    def _gave_up(self, member_id: str | None) -> bool:
        """Whether the previous generation took partitions from a cooperative member, which therefore has to rejoin."""
        old, (before, _) = self._scene.old, self._members(member_id)
        if old is None or before is None or before.subscription is None:
            return False
        if COOPERATIVE_MARK not in (old.protocol_name or ""):
            return False
        owned = partitions_of(before.subscription.owned_partitions)
        return bool(minus(owned, before.assigned))

    def _fresh(
        self, cause: RebalanceCause, member_id: str | None, trigger: LoggedTrigger
    ) -> Verdict:
        """A verdict on a cause that the records alone do not show."""
        watch = self._scene.watches.get(member_id or "")
        identity = watch.stint.identity if watch is not None else None
        before, after = self._members(member_id)
        fresh = Verdict(
            cause,
            Certainty.PROVEN,
            self._prepared.at_ms,
            detail="",
            evidence=(),
            member_id=member_id,
            instance_id=trigger.instance_id,
        )
        known = after or before or identity
        if known is None:
            return fresh
        return fresh._replace(
            instance_id=known.instance_id,
            client_id=known.client_id,
            client_host=known.client_host,
        )
