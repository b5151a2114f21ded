"""Causes of a group epoch in consumer, share and streams groups, from the records before it in its write.

The table at the end maps patterns to causes in order of precedence. Each pattern looks at one write and uses
`bump_rules` to say whether what it found can bump the epoch. What cannot bump is no cause. What always bumps is proven,
whatever else happened. What bumps only sometimes is proven only if nothing else is left.
"""

from collections.abc import Callable, Iterator, Sequence

from rebalance_audit.audit.causes.bump_rules import Effect, Occasion
from rebalance_audit.audit.causes.departures import evidence_at
from rebalance_audit.audit.causes.modern_scene import (
    ASSIGNOR_FIELD,
    EXPRESSION_FIELD,
    NAMES_FIELD,
    Beginning,
    ModernScene,
    Weighed,
)
from rebalance_audit.audit.causes.topic_metadata import (
    bumps_anyway,
    resolutions,
    resolved_otherwise,
    share_partitions,
    topic_metadata,
)
from rebalance_audit.audit.verdicts.cause import (
    Certainty,
    Evidence,
    RebalanceCause,
    Verdict,
    join_reasons,
    meanwhile,
    possible,
    probable,
    weakened,
)
from rebalance_audit.replay.changes import (
    GroupEpochBumped,
    GroupType,
    MemberSubscribed,
)
from rebalance_audit.sentences.reason import CodedReason, because


def judge_modern(scene: ModernScene, *, gap: bool) -> tuple[Verdict, ...]:
    """The causes of the write's epoch, the primary one first, then what happened in the write and bumps nothing.

    With a gap nothing is proven.
    """
    found = [weighed for pattern in PATTERNS for weighed in pattern(scene)]
    verdicts = [each.verdict for each in found if each.effect is Effect.BUMPS]
    beside = [each.verdict for each in found if each.effect is Effect.NEVER]
    others = [each.verdict for each in found if each.effect is Effect.MAY_BUMP]
    if verdicts:
        causes = tuple(dict.fromkeys(verdict.cause for verdict in verdicts))
        verdicts += [
            possible(verdict, *causes) for verdict in others if verdict.cause not in causes
        ]
    elif len(others) == 1:
        verdicts = others
    else:
        for verdict in others:
            rest = [each.cause for each in others if each.cause is not verdict.cause]
            verdicts.append(probable(verdict, *dict.fromkeys((*verdict.alternatives, *rest))))
    verdicts = verdicts or [_unexplained(scene)]
    verdicts += [meanwhile(verdict, verdicts[0].cause) for verdict in beside]
    return tuple(map(weakened, verdicts)) if gap else tuple(verdicts)


def _about(
    scene: ModernScene,
    change: MemberSubscribed,
    cause: RebalanceCause,
    reason: CodedReason,
    fact: CodedReason,
) -> Verdict:
    identity = scene.identities(change.member_id)
    return Verdict(
        cause,
        Certainty.PROVEN,
        change.position.record_timestamp_ms,
        (reason,),
        (Evidence(*change.position[:3], fact), scene.bump_evidence()),
        change.member_id,
        identity.instance_id,
        identity.client_id,
        identity.client_host,
        tuple(sorted(identity.subscribed_topics)),
    )


def _updated(
    scene: ModernScene, change: MemberSubscribed, cause: RebalanceCause, code: str
) -> Verdict:
    fact = because("fields_changed", fields=list(change.changed))
    return _about(scene, change, cause, because(code, member=change.member_id), fact)


def _created(scene: ModernScene) -> Iterator[Weighed]:
    if scene.beginning is Beginning.NONE:
        return
    if scene.beginning is Beginning.UNNUMBERED:
        # Its first members brought no topics.
        begun = scene.proven(RebalanceCause.GROUP_CREATED, because("had_begun_before"))
        yield Weighed(begun, Effect.NEVER)
        return
    expressions = [change for change in scene.evidence.regexes if change.new is not None]
    if scene.evidence.joined:
        change = scene.evidence.joined[0]
        verdict = _about(
            scene,
            change,
            RebalanceCause.GROUP_CREATED,
            because("first_member", member=change.member_id),
            because("first_member_is", member=change.member_id),
        )
    else:
        when = because("when_expression_resolved" if expressions else "when_topics_named")
        reason = because("began_without_topics", when=when)
        verdict = probable(
            scene.proven(RebalanceCause.GROUP_CREATED, reason),
            RebalanceCause.REGEX_RESOLVED,
            RebalanceCause.SUBSCRIPTION_CHANGED,
        )
    if scene.beginning is Beginning.LIKELY:
        verdict = probable(verdict, RebalanceCause.MEMBER_JOINED)
    yield Weighed(verdict, Effect.BUMPS)


def _joins(scene: ModernScene) -> Iterator[Weighed]:
    for change in scene.evidence.joined:
        effect = scene.subscribing(change)
        if scene.beginning not in {Beginning.NONE, Beginning.UNNUMBERED}:
            effect = Effect.BUMPS
        verdict = _about(scene, change, *join_reasons(change.member_id, change.instance_id))
        yield Weighed(verdict, effect)


def _new_topics(scene: ModernScene) -> Iterator[Weighed]:
    """A join that adds topics to the group's subscription: it adds partitions, rather than only spreading them anew."""
    known: set[str] = set()
    for change in scene.evidence.joined:
        named = set(scene.identities(change.member_id).subscribed_topics)
        brought = sorted(named - known - scene.known_topics)
        if brought:
            known.update(brought)
            verdict = _about(
                scene,
                change,
                RebalanceCause.SUBSCRIPTION_CHANGED,
                because("new_topics", topics=brought),
                because("topics_new", topics=brought),
            )
            verdict = possible(verdict, RebalanceCause.MEMBER_JOINED)
            yield Weighed(verdict._replace(topics=tuple(brought)), scene.subscribing(change))


def _subscriptions(scene: ModernScene) -> Iterator[Weighed]:
    for change in scene.evidence.updated:
        if {NAMES_FIELD, EXPRESSION_FIELD}.intersection(change.changed):
            cause = RebalanceCause.SUBSCRIPTION_CHANGED
            verdict = _updated(scene, change, cause, "subscription_changed")
            yield Weighed(verdict, scene.subscribing(change))


def _returned_otherwise(scene: ModernScene) -> Iterator[Weighed]:
    """3.7: a returning static member's only record has its new subscription; later a copy of the old one precedes."""
    for instance_id, (_, new) in scene.returned_otherwise().items():
        verdict = _about(
            scene,
            new,
            RebalanceCause.SUBSCRIPTION_CHANGED,
            because("returned_with_subscription", instance=instance_id, member=new.member_id),
            because("subscribes_differently", member=new.member_id),
        )
        yield Weighed(verdict, scene.effect_of(Occasion.NAMES_CHANGED))


def _assignors(scene: ModernScene) -> Iterator[Weighed]:
    for change in scene.evidence.updated:
        if ASSIGNOR_FIELD in change.changed:
            cause = RebalanceCause.ASSIGNOR_CHANGED
            verdict = _updated(scene, change, cause, "assignor_preferred")
            effect = scene.effect_of(Occasion.ASSIGNOR_CHANGED)
            if effect is not Effect.NEVER:  # before 4.4 a preference alone changes nothing
                yield Weighed(verdict, effect)


def _streams_metadata(scene: ModernScene) -> Iterator[Weighed]:
    if scene.bump.group_type is not GroupType.STREAMS:
        return
    for change in scene.evidence.updated:
        cause = RebalanceCause.SUBSCRIPTION_CHANGED
        verdict = _updated(scene, change, cause, "streams_metadata_changed")
        effect = Effect.BUMPS if change.instance_id is None else Effect.MAY_BUMP
        yield Weighed(probable(verdict, RebalanceCause.TOPIC_METADATA_CHANGED), effect)


def _regexes(scene: ModernScene) -> Iterator[Weighed]:
    news = resolved_otherwise(scene.evidence.regexes)
    if not news:
        return
    expressions = [change.regular_expression for change in news]
    topics = {
        topic
        for change in news
        for topic in (change.new or frozenset()) ^ (change.old or frozenset())
    }
    resolved_first = {change.regular_expression for change in news if change.old is None}
    brought = [
        watch.stint
        for watch in scene.watches.values()
        if watch.stint.identity.subscribed_regex in resolved_first
    ]
    reason = because("expression_matches", expressions=expressions)
    verdict = scene.proven(RebalanceCause.REGEX_RESOLVED, reason, *resolutions(news))
    verdict = verdict._replace(topics=tuple(sorted(topics)))
    if len(brought) != 1:
        yield Weighed(verdict, Effect.BUMPS)
        return
    (stint,) = brought
    verdict = verdict._replace(
        reasons=(because("expression_resolved", expressions=expressions, member=stint.member_id),),
        member_id=stint.member_id,
        instance_id=stint.identity.instance_id,
        client_id=stint.identity.client_id,
        client_host=stint.identity.client_host,
    )
    yield Weighed(verdict, Effect.BUMPS)
    brought_by = probable(verdict, RebalanceCause.MEMBER_JOINED)._replace(
        cause=RebalanceCause.SUBSCRIPTION_CHANGED,
        reasons=(because("expression_added", member=stint.member_id),),
    )
    yield Weighed(brought_by, Effect.BUMPS)


def _departures(scene: ModernScene) -> Iterator[Weighed]:
    gone = scene.evidence.gone
    for change in gone:
        watch = scene.watches.get(change.member_id)
        if watch is None:
            verdict = Verdict(
                RebalanceCause.MEMBER_DEPARTED,
                Certainty.POSSIBLE,
                change.position.record_timestamp_ms,
                (because("unseen_member_gone", member=change.member_id),),
                (evidence_at(change.position, "member_tombstone"),),
                change.member_id,
                change.instance_id,
                change.client_id,
                change.client_host,
                alternatives=(RebalanceCause.UNKNOWN,),
            )
        else:
            verdict = scene.departure(watch, change.position, len(gone) - 1)
        yield Weighed(verdict, Effect.BUMPS)
    if gone and scene.evidence.members_after_bump == 0:
        emptied = Verdict(
            RebalanceCause.GROUP_EMPTIED,
            Certainty.PROVEN,
            gone[-1].position.record_timestamp_ms,
            (because("last_member_gone"),),
            (evidence_at(gone[-1].position, "no_member_left"), scene.bump_evidence()),
        )
        # A member whose records are missing may be there still.
        if scene.bump.new_metadata_hash or scene.may_hide_members:
            emptied = probable(emptied, RebalanceCause.UNKNOWN)
        yield Weighed(emptied, Effect.BUMPS)


def _replacements(scene: ModernScene) -> Iterator[Weighed]:
    for instance_id, (old, new) in scene.evidence.replaced.items():
        verdict = _about(
            scene,
            new,
            RebalanceCause.STATIC_MEMBER_REPLACED,
            because(
                "instance_replaced",
                instance=instance_id,
                member=new.member_id,
                replaced=old.member_id,
            ),
            because("replaces", member=new.member_id, replaced=old.member_id),
        )
        yield Weighed(verdict, scene.effect_of(Occasion.STATIC_REPLACED))


def _upgrade(scene: ModernScene) -> Iterator[Weighed]:
    if not (scene.upgraded or scene.forgot_topics):
        return
    verdict = scene.proven(RebalanceCause.PROTOCOL_UPGRADED, because("upgraded"))
    if scene.forgot_topics and not bumps_anyway(scene):
        verdict = verdict._replace(reasons=(*verdict.reasons, because("forgot_topics")))
    else:
        # The conversion itself carries the counter over; what else the request brought bumped it.
        verdict = probable(verdict, RebalanceCause.MEMBER_JOINED)
    yield Weighed(verdict, Effect.BUMPS)


def interrupted_by_upgrade(bump: GroupEpochBumped, joined: Sequence[str]) -> Verdict:
    """The cause of an epoch that an upgrade takes over from a generation that still had no assignment.

    An upgrade itself bumps nothing: a join phase began that generation, and what set off the phase left no record.
    `joined`: ids of the members that came over and were in no earlier generation.
    """
    alternatives = [
        RebalanceCause.MEMBER_DEPARTED,
        RebalanceCause.SUBSCRIPTION_CHANGED,
        RebalanceCause.TOPIC_METADATA_CHANGED,
        RebalanceCause.LEADER_REJOINED,
    ]
    cause, certainty = RebalanceCause.UNKNOWN, Certainty.POSSIBLE
    reasons: tuple[CodedReason, ...] = (because("upgraded_meanwhile"),)
    if joined:
        cause, certainty = RebalanceCause.MEMBER_JOINED, Certainty.PROBABLE
        who = because("member_joined", member=joined[0])
        if len(joined) > 1:
            who = because("members_joined", members=list(joined))
        reasons = (who, *reasons)
    else:
        alternatives.insert(0, RebalanceCause.MEMBER_JOINED)
    return Verdict(
        cause,
        certainty,
        bump.position.record_timestamp_ms,
        reasons,
        (evidence_at(bump.position, "group_epoch", epoch=bump.new_epoch),),
        joined[0] if len(joined) == 1 else None,
        alternatives=tuple(alternatives),
    )


def _unexplained(scene: ModernScene) -> Verdict:
    # Unassigned share partitions, and streams' assignment configurations, raise an epoch without another record.
    consumer = scene.bump.group_type is GroupType.CONSUMER
    other = RebalanceCause.ASSIGNOR_CHANGED if consumer else RebalanceCause.ASSIGNMENT_ONLY
    unknown = scene.proven(RebalanceCause.UNKNOWN, because("unexplained"))
    return possible(unknown, RebalanceCause.TOPIC_METADATA_CHANGED, other)


PATTERNS: Sequence[Callable[[ModernScene], Iterator[Weighed]]] = (
    _joins,
    _new_topics,
    _subscriptions,
    _returned_otherwise,
    _assignors,
    _streams_metadata,
    _regexes,
    _created,
    _departures,
    topic_metadata,
    share_partitions,
    _replacements,
    _upgrade,
)
"""In order of precedence: the first verdict of the first pattern that matches is the primary cause."""
