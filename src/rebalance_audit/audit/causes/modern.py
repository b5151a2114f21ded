"""Causes of a group epoch in consumer, share and streams groups: what the records before it in its write say.

The table at the end maps patterns to causes in order of precedence; each pattern looks at one write.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rebalance_audit.audit.causes.beginnings import Beginning
from rebalance_audit.audit.causes.cause import Certainty, Evidence, RebalanceCause, Verdict
from rebalance_audit.audit.causes.departures import (
    evidence_at,
    join_names,
)
from rebalance_audit.audit.causes.member_watch import MemberWatch
from rebalance_audit.audit.causes.modern_evidence import WriteEvidence
from rebalance_audit.audit.members import Identity
from rebalance_audit.replay.changes import (
    GroupEpochBumped,
    GroupType,
    MemberSubscribed,
    Position,
)

SUBSCRIPTION_FIELDS = frozenset({"subscribed_topic_names", "subscribed_topic_regex"})
ASSIGNOR_FIELDS = frozenset({"server_assignor"})
STREAMS_FIELDS = frozenset(
    {"topology_epoch", "process_id", "user_endpoint", "client_tags", "rack_id", "client_host"}
)
"""Any metadata change of a dynamic streams member bumps the epoch; these change its tasks' placement."""


@dataclass(slots=True, frozen=True)
class Scene:
    """Everything a pattern may look at."""

    evidence: WriteEvidence
    bump: GroupEpochBumped
    watches: Mapping[str, MemberWatch]
    identities: Callable[[str], Identity]
    departure: Callable[[MemberWatch, Position, int], Verdict]
    """Judges one member's tombstone, with the number of others in the same write."""
    upgraded: bool
    """The write right before turned a classic group into this one."""
    beginning: Beginning
    """Whether the epoch is the first of a group that began in this log."""
    initialised_at: Position | None
    """The last record of a share group's initialised partitions since the epoch before."""


def judge_modern(scene: Scene, *, gap: bool) -> tuple[Verdict, ...]:
    """The causes of the write's epoch, the deciding one first. With a gap nothing is proven."""
    verdicts = [verdict for pattern in PATTERNS for verdict in pattern(scene)]
    if not verdicts:
        verdicts = [_unexplained(scene)]
    return tuple(_weaken(verdict) for verdict in verdicts) if gap else tuple(verdicts)


def _weaken(verdict: Verdict) -> Verdict:
    alternatives = verdict.alternatives or (RebalanceCause.UNKNOWN,)
    return verdict._replace(
        certainty=Certainty.POSSIBLE,
        alternatives=alternatives,
        detail=f"{verdict.detail} Records before this epoch are missing from the log.",
    )


def _about(
    scene: Scene, change: MemberSubscribed, cause: RebalanceCause, detail: str, fact: str
) -> Verdict:
    identity = scene.identities(change.member_id)
    return Verdict(
        cause,
        Certainty.PROVEN,
        change.position.record_timestamp_ms,
        detail,
        (evidence_at(change.position, fact), _bump_evidence(scene)),
        change.member_id,
        identity.instance_id,
        identity.client_id,
        identity.client_host,
        tuple(sorted(identity.subscribed_topics)),
    )


def _bump_evidence(scene: Scene) -> Evidence:
    return evidence_at(scene.bump.position, f"group epoch {scene.bump.new_epoch}")


def _created(scene: Scene) -> Iterator[Verdict]:
    if scene.beginning is Beginning.NONE:
        return
    if scene.evidence.joined:
        change = scene.evidence.joined[0]
        verdict = _about(
            scene,
            change,
            RebalanceCause.GROUP_CREATED,
            f"Member {change.member_id} joined and the group began.",
            f"first member {change.member_id}",
        )
    else:
        verdict = Verdict(
            RebalanceCause.GROUP_CREATED,
            Certainty.PROVEN,
            scene.bump.position.record_timestamp_ms,
            "The group began, and got its first epoch when its expression was resolved.",
            (_bump_evidence(scene),),
        )
    if scene.beginning is Beginning.LIKELY:
        verdict = _probable(verdict, RebalanceCause.MEMBER_JOINED)
    yield verdict


def _joins(scene: Scene) -> Iterator[Verdict]:
    for change in scene.evidence.joined:
        static = change.instance_id is not None
        cause = RebalanceCause.STATIC_MEMBER_JOINED if static else RebalanceCause.MEMBER_JOINED
        name = f"{change.member_id} (instance {change.instance_id})" if static else change.member_id
        yield _about(scene, change, cause, f"Member {name} joined.", f"new member {name}")


def _new_topics(scene: Scene) -> Iterator[Verdict]:
    """A join that makes the group subscribe to more topics: it needs other partitions, not only other shares."""
    known = {
        topic
        for watch in scene.watches.values()
        for topic in watch.stint.identity.subscribed_topics
    }
    for change in scene.evidence.joined:
        brought = sorted(set(scene.identities(change.member_id).subscribed_topics) - known)
        if brought:
            known.update(brought)
            verdict = _about(
                scene,
                change,
                RebalanceCause.SUBSCRIPTION_CHANGED,
                f"The join brought topics that the group did not subscribe to: {join_names(brought)}.",
                f"new topics: {join_names(brought)}",
            )
            yield verdict._replace(
                certainty=Certainty.POSSIBLE,
                topics=tuple(brought),
                alternatives=(RebalanceCause.MEMBER_JOINED,),
            )


def _subscriptions(scene: Scene) -> Iterator[Verdict]:
    for change in scene.evidence.updated:
        if SUBSCRIPTION_FIELDS.intersection(change.changed):
            yield _about(
                scene,
                change,
                RebalanceCause.SUBSCRIPTION_CHANGED,
                f"Member {change.member_id} changed what it subscribes to.",
                f"changed: {', '.join(change.changed)}",
            )


def _assignors(scene: Scene) -> Iterator[Verdict]:
    for change in scene.evidence.updated:
        changed = frozenset(change.changed)
        if ASSIGNOR_FIELDS & changed and not SUBSCRIPTION_FIELDS & changed:
            verdict = _about(
                scene,
                change,
                RebalanceCause.ASSIGNOR_CHANGED,
                f"Member {change.member_id} prefers another assignor.",
                f"changed: {', '.join(change.changed)}",
            )
            hashes_differ = scene.bump.old_metadata_hash != scene.bump.new_metadata_hash
            yield (
                _probable(verdict, RebalanceCause.TOPIC_METADATA_CHANGED)
                if hashes_differ
                else verdict
            )


def _streams_metadata(scene: Scene) -> Iterator[Verdict]:
    for change in scene.evidence.updated:
        if (
            STREAMS_FIELDS.intersection(change.changed)
            and scene.bump.group_type is GroupType.STREAMS
        ):
            verdict = _about(
                scene,
                change,
                RebalanceCause.SUBSCRIPTION_CHANGED,
                f"Member {change.member_id} changed its topology or process metadata.",
                f"changed: {', '.join(change.changed)}",
            )
            yield _probable(verdict, RebalanceCause.TOPIC_METADATA_CHANGED)


def _regexes(scene: Scene) -> Iterator[Verdict]:
    resolved = [change for change in scene.evidence.regexes if change.new is not None]
    if not resolved:
        return
    news = [change for change in resolved if change.old != change.new]
    expressions = join_names([change.regular_expression for change in news or resolved])
    topics = sorted(
        {
            topic
            for change in news
            for topic in (change.new or frozenset()) ^ (change.old or frozenset())
        }
    )
    facts = tuple(
        evidence_at(
            change.position, f"{change.regular_expression} matches {len(change.new or ())} topics"
        )
        for change in news or resolved
    )
    at_ms = scene.bump.position.record_timestamp_ms
    if news:
        resolved_first = {change.regular_expression for change in news if change.old is None}
        brought = [
            watch.stint
            for watch in scene.watches.values()
            if watch.stint.identity.subscribed_regex in resolved_first
        ]
        verdict = Verdict(
            RebalanceCause.REGEX_RESOLVED,
            Certainty.PROVEN,
            at_ms,
            f"The expression {expressions} now matches other topics.",
            (*facts, _bump_evidence(scene)),
            topics=tuple(topics),
        )
        if len(brought) != 1:
            yield verdict
            return
        (stint,) = brought
        verdict = verdict._replace(
            detail=f"The expression {expressions} of member {stint.member_id} is resolved.",
            member_id=stint.member_id,
            instance_id=stint.identity.instance_id,
            client_id=stint.identity.client_id,
            client_host=stint.identity.client_host,
        )
        yield verdict
        yield _probable(verdict, RebalanceCause.MEMBER_JOINED)._replace(
            cause=RebalanceCause.SUBSCRIPTION_CHANGED,
            detail=f"Member {stint.member_id} had brought the expression without an epoch of its own.",
        )
    else:
        yield Verdict(
            RebalanceCause.TOPIC_METADATA_CHANGED,
            Certainty.PROBABLE,
            at_ms,
            f"The expression {expressions} was resolved again to the same topics, but their shape changed.",
            (*facts, _bump_evidence(scene)),
            alternatives=(RebalanceCause.REGEX_RESOLVED,),
        )


def _departures(scene: Scene) -> Iterator[Verdict]:
    gone = scene.evidence.gone
    for change in gone:
        watch = scene.watches.get(change.member_id)
        if watch is None:
            yield Verdict(
                RebalanceCause.MEMBER_DEPARTED,
                Certainty.POSSIBLE,
                change.position.record_timestamp_ms,
                f"Member {change.member_id} is gone; no earlier record of it is in the log.",
                (evidence_at(change.position, "member tombstone"),),
                change.member_id,
                change.instance_id,
                change.client_id,
                change.client_host,
                alternatives=(RebalanceCause.UNKNOWN,),
            )
        else:
            yield scene.departure(watch, change.position, len(gone) - 1)
    if gone and scene.evidence.members_after_bump == 0:
        yield Verdict(
            RebalanceCause.GROUP_EMPTIED,
            Certainty.PROVEN,
            gone[-1].position.record_timestamp_ms,
            "The last member is gone.",
            (evidence_at(gone[-1].position, "no member is left"), _bump_evidence(scene)),
        )


def _topic_metadata(scene: Scene) -> Iterator[Verdict]:
    evidence, bump = scene.evidence, scene.bump
    if (
        evidence.joined
        or evidence.gone
        or evidence.regexes
        or any(change.changed for change in evidence.updated)
    ):
        return
    recorded = [change for change in evidence.topics if change.topics is not None]
    if recorded:
        yield Verdict(
            RebalanceCause.TOPIC_METADATA_CHANGED,
            Certainty.PROVEN,
            bump.position.record_timestamp_ms,
            f"The subscribed topics changed shape: {join_names(recorded[0].topics or ())}.",
            (evidence_at(recorded[0].position, "topic metadata record"), _bump_evidence(scene)),
            topics=tuple(recorded[0].topics or ()),
        )
    elif bump.old_metadata_hash is not None and bump.old_metadata_hash != bump.new_metadata_hash:
        verdict = Verdict(
            RebalanceCause.TOPIC_METADATA_CHANGED,
            Certainty.PROVEN,
            bump.position.record_timestamp_ms,
            "The hash of the subscribed topics changed and no member did anything.",
            (_bump_evidence(scene),),
        )
        if evidence.topics and bump.old_metadata_hash == 0:
            detail = (
                "The first refresh by a release that keeps a hash of the topics, not their list."
            )
            yield _probable(verdict, RebalanceCause.ASSIGNMENT_ONLY)._replace(detail=detail)
        elif evidence.replaced:
            yield _probable(verdict, RebalanceCause.SUBSCRIPTION_CHANGED)
        else:
            yield verdict


def _share_partitions(scene: Scene) -> Iterator[Verdict]:
    evidence, bump = scene.evidence, scene.bump
    if scene.initialised_at is None or bump.old_metadata_hash != bump.new_metadata_hash:
        return
    if evidence.joined or evidence.gone or evidence.updated:
        return
    verdict = Verdict(
        RebalanceCause.TOPIC_METADATA_CHANGED,
        Certainty.PROBABLE,
        bump.position.record_timestamp_ms,
        "Partitions of the subscribed topics were initialised for sharing and can be assigned now.",
        (
            evidence_at(scene.initialised_at, "share partitions initialised"),
            _bump_evidence(scene),
        ),
    )
    yield verdict._replace(alternatives=(RebalanceCause.ASSIGNMENT_ONLY,))


def _replacements(scene: Scene) -> Iterator[Verdict]:
    for instance_id, (old, new) in scene.evidence.replaced.items():
        verdict = _about(
            scene,
            new,
            RebalanceCause.STATIC_MEMBER_REPLACED,
            f"Instance {instance_id} came back as {new.member_id} in place of {old.member_id}.",
            f"{new.member_id} replaces {old.member_id}",
        )
        # A replacement alone bumps nothing: what the new member changed, or the topics, did.
        yield _probable(verdict, RebalanceCause.SUBSCRIPTION_CHANGED)


def _upgrade(scene: Scene) -> Iterator[Verdict]:
    if scene.upgraded:
        yield Verdict(
            RebalanceCause.PROTOCOL_UPGRADED,
            Certainty.PROVEN,
            scene.bump.position.record_timestamp_ms,
            "The first member of the consumer protocol turned the classic group into a consumer group.",
            (_bump_evidence(scene),),
        )


def interrupted_by_upgrade(bump: GroupEpochBumped) -> Verdict:
    """The epoch that an upgrade takes over from a generation which was still to get its assignment."""
    return Verdict(
        RebalanceCause.PROTOCOL_UPGRADED,
        Certainty.PROVEN,
        bump.position.record_timestamp_ms,
        "The group became a consumer group in the middle of a classic rebalance, which ended by that.",
        (evidence_at(bump.position, f"group epoch {bump.new_epoch}"),),
    )


def _probable(verdict: Verdict, *alternatives: RebalanceCause) -> Verdict:
    return verdict._replace(certainty=Certainty.PROBABLE, alternatives=alternatives)


def _unexplained(scene: Scene) -> Verdict:
    return Verdict(
        RebalanceCause.UNKNOWN,
        Certainty.POSSIBLE,
        scene.bump.position.record_timestamp_ms,
        "No record in the write of this epoch tells why it came about.",
        (_bump_evidence(scene),),
        alternatives=(RebalanceCause.TOPIC_METADATA_CHANGED, RebalanceCause.ASSIGNOR_CHANGED),
    )


PATTERNS: Sequence[Callable[[Scene], Iterator[Verdict]]] = (
    _joins,
    _new_topics,
    _subscriptions,
    _assignors,
    _streams_metadata,
    _regexes,
    _created,
    _departures,
    _topic_metadata,
    _share_partitions,
    _replacements,
    _upgrade,
)
"""In order of precedence: the first verdict of the first pattern that matches is the primary cause."""
