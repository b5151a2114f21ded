"""What the patterns of a group epoch look at, and how much weight they may give it."""

from collections.abc import Callable, Collection, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import NamedTuple

from rebalance_audit.audit.causes.beginnings import Beginning
from rebalance_audit.audit.causes.bump_rules import Effect, Occasion, effect_of
from rebalance_audit.audit.causes.departures import evidence_at
from rebalance_audit.audit.causes.modern_evidence import WriteEvidence
from rebalance_audit.audit.causes.recorded_topics import Difference
from rebalance_audit.audit.members.member_watch import MemberWatch
from rebalance_audit.audit.members.stint import Identity
from rebalance_audit.audit.verdicts.cause import Evidence, Verdict
from rebalance_audit.replay.changes import (
    GroupEpochBumped,
    GroupType,
    MemberSubscribed,
    MemberUnsubscribed,
    Position,
)

NAMES_FIELD = "subscribed_topic_names"
EXPRESSION_FIELD = "subscribed_topic_regex"
ASSIGNOR_FIELD = "server_assignor"


@dataclass(slots=True, frozen=True)
class ModernScene:
    """Everything that a pattern may look at."""

    evidence: WriteEvidence
    bump: GroupEpochBumped
    watches: Mapping[str, MemberWatch]
    known_topics: AbstractSet[str]
    """Topics that members subscribed to by name before the write."""
    identities: Callable[[str], Identity]
    departure: Callable[[MemberWatch, Position, int], Verdict]
    """Judges one member's tombstone; the number is that of other members removed in the same write."""
    upgraded: bool
    """Whether the write right before this one upgraded a classic group to this one."""
    is_first_since_upgrade: bool
    """Whether an upgrade made the group, and no epoch began since."""
    beginning: Beginning
    """Whether the epoch is the first of a group that began in this log."""
    initialised_at: Position | None
    """Last record about a share group's initialised partitions since the previous epoch."""
    resolved: Collection[str] = frozenset()
    """Expressions that are resolved after the write."""
    dropped: frozenset[str] = frozenset()
    """Topics in the group's last metadata hash that lost their last subscriber when an expression was given up."""

    difference: Difference | None = None
    """How the subscribed topics differ from those of the epoch before; None if the metadata log does not
    show it."""
    contradicted: bool = False
    """The metadata log has the topics, and the recorded hash is that of others."""
    may_hide_members: bool = False
    """Members may be missing that joined without an epoch."""

    def bump_evidence(self) -> Evidence:
        """The record of the epoch."""
        return evidence_at(self.bump.position, "group_epoch", epoch=self.bump.new_epoch)

    @property
    def forgot_topics(self) -> bool:
        """Whether the topics are recorded for the first time since an upgrade, which did not record them (KAFKA-18687).

        Compared with nothing they differ, whatever became of them.
        """
        return self.is_first_since_upgrade and any(each.is_first for each in self.evidence.topics)

    def effect_of(self, occasion: Occasion) -> Effect:
        """Whether an occasion in the write can have bumped its epoch."""
        return effect_of(occasion, self.bump.group_type, self.evidence.releases())

    def subscribing(self, change: MemberSubscribed) -> Effect:
        """Whether the topics and the expression in a member's record bump the epoch."""
        if self.bump.group_type is GroupType.STREAMS:
            return self.effect_of(Occasion.MEMBER_METADATA)
        identity = self.identities(change.member_id)
        occasions: list[Occasion] = []
        if identity.subscribed_topics if change.joined else NAMES_FIELD in change.changed:
            occasions.append(Occasion.NAMES_CHANGED)
        if identity.subscribed_regex if change.joined else EXPRESSION_FIELD in change.changed:
            occasions.append(self._expression_of(change.member_id, identity.subscribed_regex))
        effects = {self.effect_of(occasion) for occasion in occasions}
        return next((effect for effect in Effect if effect in effects), Effect.NEVER)

    def returned_otherwise(self) -> Mapping[str, tuple[MemberUnsubscribed, MemberSubscribed]]:
        """Static members that came back under another member id and in their first record subscribe otherwise."""
        updated = {change.member_id for change in self.evidence.updated}
        found = {}
        for instance_id, (old, new) in self.evidence.replaced.items():
            watch = self.watches.get(old.member_id)
            if watch is None or new.member_id in updated:
                continue
            had, has = watch.stint.identity, self.identities(new.member_id)
            if (set(had.subscribed_topics), had.subscribed_regex or None) != (
                set(has.subscribed_topics),
                has.subscribed_regex or None,
            ):
                found[instance_id] = (old, new)
        return found

    def _expression_of(self, member_id: str, expression: str | None) -> Occasion:
        if not expression:
            return Occasion.EXPRESSION_CLEARED
        is_new = any(each.regular_expression == expression for each in self.evidence.regexes)
        if (
            expression in self.resolved
            and not is_new
            and any(
                watch.stint.identity.subscribed_regex == expression
                for watch in self.watches.values()
                if watch.stint.member_id != member_id
            )
        ):
            return Occasion.EXPRESSION_RESOLVED
        return Occasion.EXPRESSION_UNRESOLVED


class Weighed(NamedTuple):
    """A verdict, and whether the cause that it names can have bumped the epoch."""

    verdict: Verdict
    effect: Effect
