"""Causes of a classic generation: the differences between its record and the previous one.

The record holds the finished generation, not what set the rebalance off. A difference is a fact, but several of them
may have met in one join phase, and a rebalance that left no record may lie in between. The certainty follows from that.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache

from rebalance_audit.audit.causes.absences import of_batch, of_stop
from rebalance_audit.audit.causes.cause import (
    Certainty,
    RebalanceCause,
    Verdict,
    weakened,
)
from rebalance_audit.audit.causes.classic_scene import ClassicScene
from rebalance_audit.audit.causes.company import (
    dropped_together,
    may_have_stopped_with_others,
    removed_together,
    stopped_together,
)
from rebalance_audit.audit.causes.departures import evidence_at
from rebalance_audit.audit.causes.first_to_join import first_to_join
from rebalance_audit.audit.causes.member_metadata import changed_metadata, generation_evidence
from rebalance_audit.audit.causes.returns import had_been_dropped
from rebalance_audit.audit.causes.same_members import may_follow_up, same_members
from rebalance_audit.replay.classic.group import ClassicMember

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


def judge_classic(scene: ClassicScene, *, gap: bool) -> tuple[Verdict, ...]:
    """The causes of a generation, the primary one first. With a gap nothing is proven."""
    if gap and scene.old is None:
        return (_lost(scene),)
    verdicts = [verdict for pattern in PATTERNS for verdict in pattern(scene)]
    if not verdicts:
        verdicts = [same_members(scene, sorted(_unseen(scene)))]
    began_empty = scene.first or (scene.old is not None and not scene.old.members)
    if began_empty:
        verdicts = first_to_join(verdicts, scene.new.leader_member_id)
    if (
        not began_empty or scene.skipped
    ):  # whoever came to the empty group may have begun a skipped generation
        others = _triggers_of(tuple([verdict.cause for verdict in verdicts]))
        unseen = _unseen(scene)
        verdicts = [_unwitnessed(verdict, others, unseen) for verdict in verdicts]
    if scene.skipped:
        verdicts = [_across(verdict, scene.skipped) for verdict in verdicts]
    return tuple(map(weakened, verdicts)) if gap else tuple(verdicts)


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
    candidates = _without(verdict.cause, (*verdict.alternatives, *others, *unseen))
    return Verdict(
        verdict.cause,
        Certainty.PROBABLE,
        *verdict[2:-2],
        alternatives=candidates,
        role=verdict.role,
    )


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
        "The generation before is not in the log, so there is nothing to compare with.",
        (evidence_at(position, f"generation {scene.new.generation}"),),
    )


def _across(verdict: Verdict, skipped: int) -> Verdict:
    """The verdict if the difference may belong to one of the `skipped` rebalances that left no record."""
    if verdict.certainty is not Certainty.PROVEN:
        return verdict
    return verdict._replace(
        certainty=Certainty.PROBABLE,
        alternatives=(RebalanceCause.UNKNOWN,),
        detail=f"{verdict.detail} {skipped} generation(s) before it left no record.",
    )


def _about(
    scene: ClassicScene, member: ClassicMember, cause: RebalanceCause, detail: str, fact: str
) -> Verdict:
    subscription = member.subscription
    return Verdict(
        cause,
        Certainty.PROVEN,
        scene.new.position.record_timestamp_ms,
        detail,
        generation_evidence(scene, fact),
        member.member_id,
        member.instance_id,
        member.client_id,
        member.client_host,
        tuple(sorted(subscription.topics)) if subscription else (),
    )


def _downgraded(scene: ClassicScene) -> Iterator[Verdict]:
    if scene.downgraded:
        yield Verdict(
            RebalanceCause.PROTOCOL_DOWNGRADED,
            Certainty.PROVEN,
            scene.new.position.record_timestamp_ms,
            "The last member of the consumer protocol went and the group became a classic one.",
            generation_evidence(scene, "first generation after the downgrade"),
        )._replace(
            # A downgrade in which a static member only replaces another one needs no new generation.
            certainty=Certainty.PROBABLE,
            alternatives=tuple(sorted(_unseen(scene))),
        )


def _created(scene: ClassicScene) -> Iterator[Verdict]:
    if scene.first and scene.new.members:
        members = scene.new.members
        member = members.get(scene.new.leader_member_id or "") or next(iter(members.values()))
        yield _about(
            scene,
            member,
            RebalanceCause.GROUP_CREATED,
            f"The group began with {len(scene.new.members)} member(s).",
            f"{len(scene.new.members)} member(s)",
        )
    elif scene.first:
        at_ms, facts = (
            scene.new.position.record_timestamp_ms,
            generation_evidence(scene, "no member is left"),
        )
        for cause, detail in (
            (RebalanceCause.GROUP_CREATED, "The group began with a member that went at once."),
            (RebalanceCause.GROUP_EMPTIED, "The last member went before it got an assignment."),
        ):
            yield Verdict(cause, Certainty.PROVEN, at_ms, detail, facts)


def _joins(scene: ClassicScene) -> Iterator[Verdict]:
    known = scene.old.members if scene.old is not None else {}
    replaced = scene.replaced
    for member in scene.new.members.values():
        if member.member_id in known or member.member_id in replaced:
            continue
        if member.instance_id is None:
            cause, name = RebalanceCause.MEMBER_JOINED, member.member_id
        else:
            cause = RebalanceCause.STATIC_MEMBER_JOINED
            name = f"{member.member_id} (instance {member.instance_id})"
        yield _about(scene, member, cause, f"Member {name} joined.", f"new member {name}")


def _departures(scene: ClassicScene) -> Iterator[Verdict]:
    if scene.old is None:
        return
    returned = {member.member_id for member in scene.replaced.values()}
    gone = [
        member_id
        for member_id in scene.old.members
        if member_id not in scene.new.members and member_id not in returned
    ]
    verdicts = {each: verdict for each in gone if (verdict := scene.absence(each)) is not None}
    together = removed_together(scene, verdicts)
    stopped = stopped_together(scene, verdicts)
    for verdict in verdicts.values():
        if together:
            yield of_batch(verdict, len(gone) - 1)
        elif stopped and may_have_stopped_with_others(scene, verdict.member_id):
            yield of_stop(verdict, len(gone) - 1)
        else:
            yield verdict
    if not scene.new.members and (gone or not scene.old.members):
        yield Verdict(
            RebalanceCause.GROUP_EMPTIED,
            Certainty.PROVEN,
            scene.new.position.record_timestamp_ms,
            "The last member is gone.",
            generation_evidence(scene, "no member is left"),
        )


def _subscriptions(scene: ClassicScene) -> Iterator[Verdict]:
    if scene.old is None:
        return
    if not scene.new.kind.owns_partitions:
        yield from changed_metadata(scene)
        return
    replaced = scene.replaced
    for member in scene.new.members.values():
        before = scene.old.members.get(member.member_id) or replaced.get(member.member_id)
        if before is None or before.subscription is None or member.subscription is None:
            continue
        had, has = before.subscription.topics, member.subscription.topics
        if had != has and set(had) != set(has):
            yield _about(
                scene,
                member,
                RebalanceCause.SUBSCRIPTION_CHANGED,
                f"Member {member.member_id} changed what it subscribes to.",
                "other topics",
            )


def _protocols(scene: ClassicScene) -> Iterator[Verdict]:
    old, new = scene.old, scene.new
    if old is None or not old.members or not new.members or old.protocol_name == new.protocol_name:
        return
    yield Verdict(
        RebalanceCause.ASSIGNOR_CHANGED,
        Certainty.POSSIBLE,
        new.position.record_timestamp_ms,
        f"The members now agree on {new.protocol_name} instead of {old.protocol_name}.",
        generation_evidence(scene, f"protocol {new.protocol_name}"),
        alternatives=tuple(sorted(_unseen(scene))),
    )


_BEFORE_RETURNS = (_joins, _departures, _subscriptions)


def _returns(scene: ClassicScene) -> Iterator[Verdict]:
    """Static members that return under a new member id in a *new* generation."""
    if not scene.replaced:
        return
    assert scene.old is not None
    beside = {each.cause for pattern in _BEFORE_RETURNS for each in pattern(scene)}
    moved = scene.old.assigned() != scene.new.assigned()
    together = dropped_together(scene)
    for member_id, before in scene.replaced.items():
        member = scene.new.members[member_id]
        dropped = scene.absence(before.member_id)
        if dropped is not None and together:
            dropped = of_batch(dropped, len(scene.replaced) - 1)
        if dropped is not None and had_been_dropped(
            len(scene.replaced), beside, dropped.cause, moved=moved
        ):
            yield dropped._replace(
                alternatives=(
                    *dropped.alternatives,
                    RebalanceCause.STATIC_MEMBER_REPLACED,
                    RebalanceCause.LEADER_REJOINED,
                    RebalanceCause.TOPIC_METADATA_CHANGED,
                ),
                detail=(
                    f"{dropped.detail} Its instance {member.instance_id} came back as {member_id}, "
                    "which alone needs no new generation."
                ),
            )
        verdict = _about(
            scene,
            member,
            RebalanceCause.STATIC_MEMBER_REPLACED,
            f"Instance {member.instance_id} came back as {member_id} in place of {before.member_id}.",
            f"{member_id} replaces {before.member_id}",
        )
        yield verdict._replace(
            certainty=Certainty.PROBABLE,
            alternatives=(
                RebalanceCause.STATIC_MEMBER_JOINED,
                RebalanceCause.LEADER_REJOINED,
                RebalanceCause.TOPIC_METADATA_CHANGED,
            ),
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
