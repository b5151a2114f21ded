"""What set a classic rebalance off, by the reason that the broker logged when the join phase began."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from rebalance_audit.audit.broker_log import reasons
from rebalance_audit.audit.broker_log.fact import BrokerFact, FactKind
from rebalance_audit.audit.broker_log.reasons import LoggedTrigger, rejoin_reason, trigger_of
from rebalance_audit.audit.causes.classic_scene import ClassicScene
from rebalance_audit.audit.causes.same_members import COOPERATIVE_MARK
from rebalance_audit.audit.testimony.testimony import (
    is_likely,
    logged_departure,
    otherwise,
    who_is_it,
)
from rebalance_audit.audit.testimony.witness import GOING, TOLERANCE_MS, Witness, said
from rebalance_audit.audit.verdicts.cause import (
    DEPARTURES,
    Certainty,
    Evidence,
    RebalanceCause,
    Verdict,
)
from rebalance_audit.replay.groups import ClassicMember
from rebalance_audit.replay.partitions import minus, partitions_of
from rebalance_audit.sentences.reason import CodedReason, because

_EAGER: Final = frozenset({"range", "roundrobin"})
"""Assignors whose members do not report owned partitions to the leader. Others may, in what only they can read."""
_REJOINS: Final = frozenset({reasons.LEADER, reasons.FOLLOWER, reasons.UNKNOWN_RANK})
_ARRIVALS: Final = frozenset(
    {FactKind.MEMBER_ID_GIVEN, FactKind.MEMBER_JOINED, FactKind.STATIC_MEMBER_REPLACED}
)


class _Found(NamedTuple):
    """What the logged reason means."""

    cause: RebalanceCause
    alternatives: tuple[RebalanceCause, ...]
    reasons: tuple[CodedReason, ...]


@dataclass(slots=True)
class RebalanceTrigger:
    """The reason in a line `rebalance_prepared`, judged by the records before and after the rebalance."""

    _witness: Witness
    _scene: ClassicScene
    _prepared: BrokerFact
    _differing: Sequence[BrokerFact] = ()
    """Lines about the same join phase that give another reason."""
    is_sure: bool = True
    """Whether nothing contradicts the line and no client may have written it, once there is a verdict."""
    _guess: RebalanceCause | None = None
    """What the records alone take for the likeliest."""
    _by_metadata: Verdict | None = None
    """Why a member that is no consumer joined again, as its metadata in the records changed."""
    _trigger: LoggedTrigger | None = field(init=False)

    def __post_init__(self) -> None:
        self._trigger = trigger_of(self._prepared.text or "")

    @property
    def is_known(self) -> bool:
        """Whether the log gives a reason in a wording that the tables have."""
        return self._trigger is not None

    def denied(self) -> Iterator[Evidence]:
        """A contradiction if the generation has a member that the trigger removed: classic member ids never return."""
        trigger, new = self._trigger, self._scene.new
        if trigger is None or trigger.role not in GOING:
            return
        for member_id in trigger.members:
            if member_id in new.members:
                yield said(
                    self._prepared,
                    new.position,
                    because("logged_member_out", member=member_id, text=self._prepared.text or ""),
                )

    def verdict(
        self, verdicts: Iterable[Verdict], recorded: Sequence[Verdict] = ()
    ) -> Verdict | None:
        """The primary cause; None if the tables do not know the logged reason.

        `verdicts`: as the log has confirmed them; `recorded`: as the records alone have them.
        """
        trigger = self._trigger
        if trigger is None:
            return None
        verdicts = tuple(verdicts)
        self._guess = verdicts[0].cause if verdicts else None
        has_metadata = not self._scene.new.kind.owns_partitions
        if has_metadata and self._guess is RebalanceCause.SUBSCRIPTION_CHANGED:
            self._by_metadata = verdicts[0]
        member_id = next((each for each in trigger.members if each), None)
        if member_id is None and trigger.role == reasons.LEAVE:
            left = self._witness.left_by(self._prepared)
            member_id = None if left is None else left.member_id
        found = self._cause(trigger, member_id)
        if found is None:
            return None
        cause, alternatives, found_reasons = found
        doubt = self._doubt(cause, member_id, recorded)
        if doubt is not None:
            self.is_sure = False
            rivals = (
                RebalanceTrigger(self._witness, self._scene, each) for each in self._differing
            )
            others = [each.cause for rival in rivals if (each := rival.verdict(())) is not None]
            alternatives = otherwise(cause, (*alternatives, *others), recorded)
            found_reasons = (*found_reasons, doubt)
        known = [
            verdict
            for verdict in verdicts
            if verdict.member_id == member_id
            and (verdict.cause is cause or {verdict.cause, cause} <= DEPARTURES)
        ]
        verdict = known[0] if known else self._fresh(cause, member_id, trigger)
        lines = [
            said(fact, self._scene.new.position, because("logged_rebalance", text=fact.text or ""))
            for fact in (self._prepared, *self._differing)
        ]
        return verdict._replace(
            cause=cause,
            certainty=Certainty.PROBABLE if alternatives else Certainty.PROVEN,
            alternatives=alternatives,
            at_ms=self._prepared.at_ms,
            reasons=found_reasons,
            evidence=(*lines, *verdict.evidence),
        )

    def _doubt(
        self, cause: RebalanceCause, member_id: str | None, recorded: Sequence[Verdict]
    ) -> CodedReason | None:
        if self._differing:
            return because("logged_otherwise")
        if self._prepared.may_be_text and not self._is_seconded(cause, member_id, recorded):
            return because("may_be_text")
        return None

    def _is_seconded(
        self, cause: RebalanceCause, member_id: str | None, recorded: Sequence[Verdict]
    ) -> bool:
        """Whether the records by themselves favour the cause, or a line that no client wrote says the same."""
        trigger, scene = self._trigger, self._scene
        assert trigger is not None
        if any(
            (each.cause, each.member_id) == (cause, member_id) and is_likely(each)
            for each in recorded
        ):
            return True
        if trigger.role in _REJOINS:
            before, after = self._members(member_id)
            is_same = scene.old is not None and scene.old.members.keys() == scene.new.members.keys()
            return is_same and before is not None and after is not None and not scene.skipped
        around = self._prepared.at_ms - TOLERANCE_MS, self._prepared.at_ms + TOLERANCE_MS
        if cause in DEPARTURES:
            found = self._witness.departure(member_id or "", self._instance_of(member_id), *around)
            return found is not None and found.cause is cause and not found.may_be_text
        return member_id is not None and any(
            fact.kind in _ARRIVALS and fact.member_id == member_id and not fact.may_be_text
            for fact in self._witness.between(*around)
        )

    def _instance_of(self, member_id: str | None) -> str | None:
        watch = self._scene.watches.get(member_id or "")
        return watch.stint.identity.instance_id if watch is not None else None

    def _cause(self, trigger: LoggedTrigger, member_id: str | None) -> _Found | None:
        why, instance_id = trigger.client_reason, trigger.instance_id
        match trigger.role:
            case reasons.JOIN if instance_id is None:
                joined = because("logged_join", who=who_is_it(member_id), why=why)
                return _Found(RebalanceCause.MEMBER_JOINED, (), (joined,))
            case reasons.JOIN:
                joined = because(
                    "logged_static_join", member=member_id, instance=instance_id, why=why
                )
                return _Found(RebalanceCause.STATIC_MEMBER_JOINED, (), (joined,))
            case reasons.REPLACEMENT:
                came_back = because(
                    "logged_replacement", instance=instance_id, member=member_id, why=why
                )
                return _Found(RebalanceCause.STATIC_MEMBER_REPLACED, (), (came_back,))
            case reasons.DOWNGRADE:
                converted = because("logged_downgrade")
                return _Found(RebalanceCause.PROTOCOL_DOWNGRADED, (), (converted,))
            case reasons.OVER_CAPACITY:
                other = (RebalanceCause.ASSIGNMENT_ONLY,)
                return _Found(RebalanceCause.UNKNOWN, other, (because("over_capacity"),))
            case reasons.NOT_STORED:
                failed = because("not_stored", epoch=self._prepared.epoch, error=trigger.error)
                return _Found(RebalanceCause.ASSIGNMENT_ONLY, (), (failed,))
            case role if role in _REJOINS:
                if self._by_metadata is not None:
                    return _Found(self._by_metadata.cause, (), self._by_metadata.reasons)
                old, led = self._scene.old, role == reasons.LEADER
                if role == reasons.UNKNOWN_RANK:
                    led = old is not None and old.leader_member_id == member_id
                rejoined = self._leader if led else self._follower
                return rejoined(trigger, member_id)
        return self._departure(trigger, member_id or "")

    def _departure(self, trigger: LoggedTrigger, member_id: str) -> _Found | None:
        at_ms = self._prepared.at_ms
        instance_id = self._instance_of(member_id)
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
        text = found.fact.text if found.fact.kind is not FactKind.REBALANCE_PREPARED else None
        departed = logged_departure(
            member_id,
            found,
            text,
            instance_id=trigger.instance_id,
            more=max(0, len(trigger.members) - 1),
        )
        return _Found(found.cause, found.alternatives, (departed,))

    def _leader(self, trigger: LoggedTrigger, member_id: str | None) -> _Found:
        cause = self._named_cause(trigger, member_id)
        if cause is None and self._topics_same(member_id) is False:
            cause = RebalanceCause.SUBSCRIPTION_CHANGED
        rejoined = because("leader_rejoined", member=member_id, why=trigger.client_reason)
        return _Found(cause or RebalanceCause.LEADER_REJOINED, (), (rejoined,))

    def _follower(self, trigger: LoggedTrigger, member_id: str | None) -> _Found:
        """A follower's rejoin sets off a rebalance only if its metadata changed: topics, what it owns, user data."""

        def rejoined(code: str) -> tuple[CodedReason, ...]:
            return (because(code, member=member_id, why=trigger.client_reason),)

        cause = self._named_cause(trigger, member_id)
        if cause is not None:
            return _Found(cause, (), rejoined("follower_rejoined"))
        if self._topics_same(member_id) is False:
            other = RebalanceCause.SUBSCRIPTION_CHANGED
            return _Found(other, (), rejoined("follower_other_topics"))
        reason = rejoin_reason(trigger.client_reason)
        wished = reason is not None and reason.is_own_wish
        if self._revoked(member_id):
            others: tuple[RebalanceCause, ...] = (RebalanceCause.ASSIGNMENT_ONLY,) if wished else ()
            if reason is not None and reason.follows_another:
                others = (RebalanceCause.SUBSCRIPTION_CHANGED, RebalanceCause.ASSIGNMENT_ONLY)
            cause = RebalanceCause.COOPERATIVE_FOLLOW_UP
            return _Found(cause, others, rejoined("follower_revoked"))
        if not wished and self._metadata_differs(member_id):
            other = RebalanceCause.SUBSCRIPTION_CHANGED
            return _Found(other, (), rejoined("follower_other_metadata"))
        has_topics = self._scene.new.kind.owns_partitions
        return self._open_follower(
            rejoined("follower_metadata" if has_topics else "worker_other_metadata")
        )

    def _open_follower(self, rejoined: tuple[CodedReason, ...]) -> _Found:
        """What a follower's rejoin means if neither its reason nor its records say."""
        causes = (
            RebalanceCause.COOPERATIVE_FOLLOW_UP,
            RebalanceCause.SUBSCRIPTION_CHANGED,
            RebalanceCause.TOPIC_METADATA_CHANGED,
            RebalanceCause.ASSIGNMENT_ONLY,
        )
        open_to = causes if self._is_cooperative() else causes[1:]
        ranked = sorted(open_to, key=lambda cause: cause is not self._guess)
        return _Found(ranked[0], tuple(ranked[1:]), rejoined)

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
        """Whether the records show that it sends the leader different metadata, apart from what it owns."""
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

    def _topics_same(self, member_id: str | None) -> bool | None:
        """Whether the records show the member with the same topics before and after; None if they do not show it."""
        before, after = (
            member.subscription if member is not None else None
            for member in self._members(member_id)
        )
        if before is None or after is None or self._scene.skipped:
            return None
        return set(before.topics) == set(after.topics)

    def _revoked(self, member_id: str | None) -> bool:
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
            reasons=(),
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
