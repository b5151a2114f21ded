"""Causes of a classic generation: the differences between its record and the previous one.

The record holds the finished generation, not what set the rebalance off. A difference is a fact, but several of them
may have met in one join phase, and a rebalance that left no record may lie in between. The certainty follows from that.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache

from rebalance_audit.audit.causes.classic_scene import ClassicScene
from rebalance_audit.audit.causes.departure_model import WAYS
from rebalance_audit.audit.causes.departures import evidence_at
from rebalance_audit.audit.causes.same_members import (
    changed_members,
    changed_metadata,
    may_follow_up,
    same_members,
    verdict_on,
)
from rebalance_audit.audit.verdicts.cause import (
    Certainty,
    RebalanceCause,
    Verdict,
    first_to_join,
    join_reasons,
    possible,
    probable,
    weakened,
)
from rebalance_audit.sentences.reason import because

TRIGGERS = frozenset(
    {
        RebalanceCause.MEMBER_JOINED,
        RebalanceCause.STATIC_MEMBER_JOINED,
        RebalanceCause.STATIC_MEMBER_REPLACED,
        RebalanceCause.MEMBER_DEPARTED,
        RebalanceCause.MEMBER_LEFT,
        RebalanceCause.MEMBER_SESSION_EXPIRED,
        RebalanceCause.MEMBER_REMOVED_BY_ADMIN,
        RebalanceCause.SUBSCRIPTION_CHANGED,
    }
)
"""Differences that by themselves set off a rebalance."""


def judge_classic(scene: ClassicScene) -> tuple[Verdict, ...]:
    """The causes of a generation, the primary one first. With a gap nothing is proven."""
    if scene.gap and scene.old is None:
        return (_lost(scene),)
    verdicts = [verdict for pattern in PATTERNS for verdict in pattern(scene)]
    if not verdicts:
        verdicts = [same_members(scene, sorted(_unseen(scene)))]
    began_empty = scene.first or (scene.old is not None and not scene.old.members)
    if began_empty:
        verdicts = first_to_join(verdicts, scene.new.leader_member_id)
    # Whoever came to the empty group may have begun a skipped generation.
    if not began_empty or scene.skipped:
        others = _triggers_of(tuple([verdict.cause for verdict in verdicts]))
        unseen = _unseen(scene)
        verdicts = [_unwitnessed(verdict, others, unseen) for verdict in verdicts]
    if scene.skipped:
        verdicts = [_across(verdict, scene.skipped) for verdict in verdicts]
    return tuple(map(weakened, verdicts)) if scene.gap else tuple(verdicts)


@lru_cache(1024)
def _triggers_of(causes: tuple[RebalanceCause, ...]) -> tuple[RebalanceCause, ...]:
    return tuple(sorted(TRIGGERS.intersection(causes)))


def _unseen(scene: ClassicScene) -> tuple[RebalanceCause, ...]:
    """Causes that can have set the rebalance off without a trace in the resulting generation.

    Examples: a member that joined and left within the join phase, a subscription changed and changed back, a leader
    that rejoined.
    """
    old, new = scene.old, scene.new
    return _unseen_of(
        cooperative=old is not None and may_follow_up(old),
        static=new.has_static or (old is not None and old.has_static),
        topics=new.kind.owns_partitions,
    )


@cache
def _unseen_of(*, cooperative: bool, static: bool, topics: bool) -> tuple[RebalanceCause, ...]:
    unseen = {
        RebalanceCause.LEADER_REJOINED,
        RebalanceCause.MEMBER_JOINED,
        RebalanceCause.MEMBER_DEPARTED,
        RebalanceCause.MEMBER_REMOVED_BY_ADMIN,
        RebalanceCause.MEMBER_REBALANCE_TIMEOUT,
        RebalanceCause.SUBSCRIPTION_CHANGED,
    }
    if topics:
        unseen.add(RebalanceCause.TOPIC_METADATA_CHANGED)
    if cooperative:
        unseen.add(RebalanceCause.COOPERATIVE_FOLLOW_UP)
    if static:
        unseen |= {RebalanceCause.STATIC_MEMBER_REPLACED, RebalanceCause.STATIC_MEMBER_JOINED}
    return tuple(sorted(unseen))


def _unwitnessed(
    verdict: Verdict, others: tuple[RebalanceCause, ...], unseen: tuple[RebalanceCause, ...]
) -> Verdict:
    """The verdict with what else may have come first: the log does not hold what set the rebalance off.

    Only for an empty group is a join the one possible trigger.
    """
    if verdict.cause not in TRIGGERS:
        return verdict
    return probable(verdict, *_without(verdict.cause, (*verdict.alternatives, *others, *unseen)))


@lru_cache(1024)
def _without(
    cause: RebalanceCause, candidates: tuple[RebalanceCause, ...]
) -> tuple[RebalanceCause, ...]:
    """Each candidate once, without the cause itself."""
    return tuple(dict.fromkeys(candidate for candidate in candidates if candidate is not cause))


def _lost(scene: ClassicScene) -> Verdict:
    position = scene.new.position
    return Verdict(
        RebalanceCause.UNKNOWN,
        Certainty.POSSIBLE,
        position.record_timestamp_ms,
        (because("no_generation_before"),),
        (evidence_at(position, "bare_generation", epoch=scene.new.generation),),
    )


def _across(verdict: Verdict, skipped: int) -> Verdict:
    """The verdict if the difference may belong to one of the `skipped` rebalances that left no record."""
    if verdict.certainty is not Certainty.PROVEN:
        return verdict
    reasons = (*verdict.reasons, because("unrecorded_generations", skipped=skipped))
    return probable(verdict, RebalanceCause.UNKNOWN)._replace(reasons=reasons)


def _downgraded(scene: ClassicScene) -> Iterator[Verdict]:
    if scene.downgraded:
        reason, fact = because("downgraded"), because("first_after_downgrade")
        verdict = verdict_on(scene, None, RebalanceCause.PROTOCOL_DOWNGRADED, reason, fact)
        # A downgrade in which a static member only replaces another one needs no new generation.
        yield probable(verdict, *sorted(_unseen(scene)))


def _created(scene: ClassicScene) -> Iterator[Verdict]:
    if scene.first and scene.new.members:
        members = scene.new.members
        member = members.get(scene.new.leader_member_id or "") or next(iter(members.values()))
        yield verdict_on(
            scene,
            member,
            RebalanceCause.GROUP_CREATED,
            because("group_began", members=len(members)),
            because("members", members=len(members)),
        )
    elif scene.first:
        fact = because("no_member_left")
        if scene.skipped:
            gone = because("unnamed_member_gone")
            yield probable(
                verdict_on(scene, None, RebalanceCause.MEMBER_DEPARTED, gone, fact), *WAYS
            )
        for cause, code in (
            (RebalanceCause.GROUP_CREATED, "first_member_gone"),
            (RebalanceCause.GROUP_EMPTIED, "last_member_gone_early"),
        ):
            yield verdict_on(scene, None, cause, because(code), fact)


def _joins(scene: ClassicScene) -> Iterator[Verdict]:
    for member in scene.delta.joined:
        if member.member_id not in scene.replaced:
            yield verdict_on(scene, member, *join_reasons(member.member_id, member.instance_id))


def _departures(scene: ClassicScene) -> Iterator[Verdict]:
    if scene.old is None:
        return
    returned = {member.member_id for member in scene.replaced.values()}
    gone = [each.member_id for each in scene.delta.gone if each.member_id not in returned]
    yield from scene.ends(gone).values()
    if not scene.new.members and (gone or not scene.old.members):
        reason, fact = because("last_member_gone"), because("no_member_left")
        yield verdict_on(scene, None, RebalanceCause.GROUP_EMPTIED, reason, fact)


def _subscriptions(scene: ClassicScene) -> Iterator[Verdict]:
    if scene.old is None:
        return
    if not scene.new.kind.owns_partitions:
        yield from changed_metadata(scene)
        return
    for before, member in changed_members(scene):
        if before.subscription is None or member.subscription is None:
            continue
        had, has = before.subscription.topics, member.subscription.topics
        if had != has and set(had) != set(has):
            yield verdict_on(
                scene,
                member,
                RebalanceCause.SUBSCRIPTION_CHANGED,
                because("subscription_changed", member=member.member_id),
                because("different_topics"),
            )


def _protocols(scene: ClassicScene) -> Iterator[Verdict]:
    old, new = scene.old, scene.new
    if old is None or not old.members or not new.members or old.protocol_name == new.protocol_name:
        return
    reason = because("assignor_agreed", assignor=new.protocol_name, before=old.protocol_name)
    fact = because("protocol_is", protocol=new.protocol_name)
    verdict = verdict_on(scene, None, RebalanceCause.ASSIGNOR_CHANGED, reason, fact)
    yield possible(verdict, *sorted(_unseen(scene)))


_BEFORE_RETURNS = (_joins, _departures, _subscriptions)


def _returns(scene: ClassicScene) -> Iterator[Verdict]:
    """Static members that return under a new member id in a *new* generation."""
    if not scene.replaced:
        return
    assert scene.old is not None
    beside = {each.cause for pattern in _BEFORE_RETURNS for each in pattern(scene)}
    moved = scene.old.assigned() != scene.new.assigned()
    ends = scene.ends([before.member_id for before in scene.replaced.values()])
    for member_id, before in scene.replaced.items():
        member = scene.new.members[member_id]
        dropped = ends.get(before.member_id)
        if dropped is not None and not beside and not moved:
            yield dropped._replace(
                alternatives=(
                    *dropped.alternatives,
                    RebalanceCause.STATIC_MEMBER_REPLACED,
                    RebalanceCause.LEADER_REJOINED,
                    RebalanceCause.TOPIC_METADATA_CHANGED,
                ),
                reasons=(
                    *dropped.reasons,
                    because("instance_rejoined", instance=member.instance_id, member=member_id),
                ),
            )
        verdict = verdict_on(
            scene,
            member,
            RebalanceCause.STATIC_MEMBER_REPLACED,
            because(
                "instance_replaced",
                instance=member.instance_id,
                member=member_id,
                replaced=before.member_id,
            ),
            because("replaces", member=member_id, replaced=before.member_id),
        )
        yield probable(
            verdict,
            RebalanceCause.STATIC_MEMBER_JOINED,
            RebalanceCause.LEADER_REJOINED,
            RebalanceCause.TOPIC_METADATA_CHANGED,
        )


PATTERNS: Sequence[Callable[[ClassicScene], Iterator[Verdict]]] = (
    _downgraded,
    _joins,
    _created,
    _departures,
    _subscriptions,
    _protocols,
    _returns,
)
"""In order of precedence: the first verdict of the first pattern that matches is the primary cause.

Joins precede departures: a departure shows only in the next generation, whatever set that one off."""
