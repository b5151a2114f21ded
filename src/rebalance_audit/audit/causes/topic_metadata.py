"""The metadata of the subscribed topics as a cause: what the group recorded of them and what the coordinator found.

Also what regular expressions resolve to, and which topics are lost when a member gives one up.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from rebalance_audit.audit.causes.bump_rules import Effect, Occasion
from rebalance_audit.audit.causes.departures import evidence_at
from rebalance_audit.audit.causes.modern_scene import ModernScene, Weighed
from rebalance_audit.audit.causes.recorded_topics import Difference
from rebalance_audit.audit.verdicts.cause import (
    Evidence,
    RebalanceCause,
    Verdict,
    probable,
)
from rebalance_audit.replay.changes import GroupType, RegexResolved, SharePartitionsRecorded
from rebalance_audit.replay.groups import ModernGroup
from rebalance_audit.sentences.reason import because


@dataclass(slots=True)
class GivenUp:
    """Topics of expressions that no member has any more, as of the last epoch.

    A member that changes its expression to one that is not resolved yet bumps nothing, although the group may subscribe
    to fewer topics from then on. The metadata hash shows it only when the coordinator computes it again.
    """

    topics: set[str] = field(default_factory=set)

    def note(self, resolutions: Iterable[RegexResolved]) -> None:
        """Note the topics of expressions that are no longer resolved."""
        for change in resolutions:
            if change.new is None and change.old:
                self.topics |= change.old

    def missed_in(self, group: ModernGroup) -> frozenset[str]:
        """Those topics to which no member subscribes by name or by another expression."""
        if not self.topics:
            return frozenset()
        names = (member.subscribed_topic_names for member in group.members.values())
        return frozenset(self.topics.difference(*names, *group.regexes.values()))


def resolved_otherwise(changes: Iterable[RegexResolved]) -> list[RegexResolved]:
    """Resolutions with other topics than before; the first resolution of an expression is compared with no topics."""
    return [
        change
        for change in changes
        if change.new is not None and change.new != (change.old or frozenset())
    ]


def resolutions(changes: Sequence[RegexResolved]) -> tuple[Evidence, ...]:
    """The records of resolutions as evidence."""
    return tuple(
        evidence_at(
            change.position,
            "expression_matched",
            expression=change.regular_expression,
            topics=len(change.new or ()),
        )
        for change in changes
    )


def topic_metadata(scene: ModernScene) -> Iterator[Weighed]:
    """Topic metadata that differ from the recorded ones, if nothing else in the write suffices to bump the epoch."""
    evidence, bump = scene.evidence, scene.bump
    if bumps_anyway(scene):
        if scene.difference is not None and scene.difference.changed:
            yield Weighed(_changed(scene, scene.difference), Effect.NEVER)
        return
    recorded = next((change for change in evidence.topics if change.topics is not None), None)
    if scene.forgot_topics:
        return
    if recorded is not None:
        differ = frozenset(recorded.topics or ())
        topics = sorted(differ)
        why = (
            because("topics_changed", topics=topics) if topics else because("topics_recorded_again")
        )
        fact = evidence_at(recorded.position, "topic_metadata_record")
        verdict = scene.proven(RebalanceCause.TOPIC_METADATA_CHANGED, why, fact)
        verdict = verdict._replace(topics=tuple(topics))
        if recorded.is_first and bump.old_metadata_hash:
            verdict = verdict._replace(reasons=(because("first_list"),))
            yield Weighed(probable(verdict, RebalanceCause.ASSIGNMENT_ONLY), Effect.BUMPS)
        elif not differ:
            yield Weighed(probable(verdict, RebalanceCause.UNKNOWN), Effect.BUMPS)
        elif differ <= scene.dropped:
            yield from _given_up(scene, certain=True)
        else:
            yield Weighed(verdict, Effect.BUMPS)
    elif bump.old_metadata_hash is None:
        if bump.old_epoch is not None and bump.new_metadata_hash:
            verdict = scene.proven(RebalanceCause.TOPIC_METADATA_CHANGED, because("first_hash"))
            yield Weighed(probable(verdict, RebalanceCause.ASSIGNMENT_ONLY), Effect.BUMPS)
    elif bump.old_metadata_hash != bump.new_metadata_hash:
        if scene.difference is not None:
            yield from _known_changes(scene, scene.difference)
        elif scene.contradicted:
            others = (RebalanceCause.SUBSCRIPTION_CHANGED, RebalanceCause.UNKNOWN)
            verdict = scene.proven(
                RebalanceCause.TOPIC_METADATA_CHANGED, because("hash_of_other_topics")
            )
            yield Weighed(probable(verdict, *others), Effect.BUMPS)
        elif scene.dropped:
            yield from _given_up(scene, certain=False)
        else:
            verdict = scene.proven(RebalanceCause.TOPIC_METADATA_CHANGED, because("hash_changed"))
            if not (bump.new_metadata_hash or evidence.targeted or evidence.assigned):
                # All topics deleted, or all members gone and their tombstones lost: the records cannot show.
                verdict = probable(verdict, RebalanceCause.GROUP_EMPTIED)
            elif bump.group_type is GroupType.STREAMS and bump.old_metadata_hash == 0:
                # In 4.1 a departure writes 0 for the hash, and a later heartbeat finds the same topics as before.
                verdict = probable(verdict, RebalanceCause.UNKNOWN)
            yield Weighed(verdict, Effect.BUMPS)


def bumps_anyway(scene: ModernScene) -> bool:
    """Whether something else in the write bumps, whatever the topics are like."""
    evidence = scene.evidence
    return bool(
        evidence.gone
        or resolved_otherwise(evidence.regexes)
        or scene.returned_otherwise()
        or any(
            scene.subscribing(change) is Effect.BUMPS
            for change in (*evidence.joined, *evidence.updated)
        )
    )


def _known_changes(scene: ModernScene, difference: Difference) -> Iterator[Weighed]:
    """What the cluster's metadata log proves: topics changed, or members subscribe to others, or both."""
    if difference.changed:
        yield Weighed(_changed(scene, difference), Effect.BUMPS)
    if scene.dropped and any(change.new is not None for change in scene.evidence.regexes):
        yield from _given_up(scene, certain=True)
        return
    topics = sorted(difference.lost | difference.gained)
    if not topics:
        return
    code = "no_longer_subscribed" if difference.lost else "newly_subscribed"
    verdict = scene.proven(RebalanceCause.SUBSCRIPTION_CHANGED, because(code, topics=topics))
    yield Weighed(verdict._replace(topics=tuple(topics)), Effect.BUMPS)


def _changed(scene: ModernScene, difference: Difference) -> Verdict:
    changes = list(difference.changed.values())
    verdict = scene.proven(
        RebalanceCause.TOPIC_METADATA_CHANGED, because("metadata_log", changes=changes)
    )
    return verdict._replace(topics=tuple(difference.changed))


def _given_up(scene: ModernScene, *, certain: bool) -> Iterator[Weighed]:
    """An expression given up without an epoch: its topics go missing only when the metadata are computed again."""
    resolved = [change for change in scene.evidence.regexes if change.new is not None]
    causes = [RebalanceCause.REGEX_RESOLVED, RebalanceCause.SUBSCRIPTION_CHANGED]
    if not resolved:
        causes.reverse()
    dropped = sorted(scene.dropped)
    reason = because("expression_dropped", topics=dropped)
    verdict = scene.proven(causes[0], reason, *resolutions(resolved))._replace(
        topics=tuple(dropped)
    )
    others = (causes[1],) if certain else (causes[1], RebalanceCause.TOPIC_METADATA_CHANGED)
    yield Weighed(probable(verdict, *others), Effect.BUMPS)


def share_partitions(scene: ModernScene) -> Iterator[Weighed]:
    """Partitions initialised for sharing since the last epoch, if nothing else in the write bumps.

    Without members only an administrator's request bumps, and it initialises the partitions in the same write.
    """
    evidence, bump = scene.evidence, scene.bump
    if not evidence.members_after_bump and not evidence.gone:
        if SharePartitionsRecorded in evidence.kinds:
            altered = because("share_offsets_altered")
            verdict = scene.proven(RebalanceCause.OFFSETS_ALTERED, altered)
            yield Weighed(verdict, scene.effect_of(Occasion.SHARE_OFFSETS_ALTERED))
        return
    if scene.initialised_at is None or bump.old_metadata_hash != bump.new_metadata_hash:
        return
    if evidence.joined or evidence.gone or evidence.updated:
        return
    verdict = scene.proven(
        RebalanceCause.TOPIC_METADATA_CHANGED,
        because("share_initialised"),
        evidence_at(scene.initialised_at, "share_partitions"),
    )
    yield Weighed(
        probable(verdict, RebalanceCause.ASSIGNMENT_ONLY),
        scene.effect_of(Occasion.SHARE_INITIALISED),
    )
