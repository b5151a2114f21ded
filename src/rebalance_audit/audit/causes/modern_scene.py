"""What the patterns of a group epoch look at, and how much weight they may give it.

It is the changes of one write of a consumer, share or streams group, sorted by kind; whether its epoch is the group's
first; and what was known before.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, Final, NamedTuple

from rebalance_audit.audit.causes.bump_rules import RELEASES, Effect, Occasion, effect_of
from rebalance_audit.audit.causes.departures import evidence_at
from rebalance_audit.audit.causes.recorded_topics import Difference
from rebalance_audit.audit.epochs.epoch_span import EpochSpan
from rebalance_audit.audit.members.stint import Identity, MemberWatch
from rebalance_audit.audit.verdicts.cause import Certainty, Evidence, RebalanceCause, Verdict
from rebalance_audit.audit.writes import Role, Write
from rebalance_audit.replay.changes import (
    GroupEpochBumped,
    GroupType,
    MemberAssigned,
    MemberSubscribed,
    MemberTargeted,
    MemberUnsubscribed,
    Position,
    RegexResolved,
    TargetInstalled,
    TopicMetadataRecorded,
)
from rebalance_audit.replay.groups import UNRELEASED, ModernGroup
from rebalance_audit.sentences.reason import CodedReason

IMPLICIT_EPOCH: Final = 1
"""Implicit group and assignment epoch of a group that has no records of them, from 4.3 on."""


@dataclass(slots=True)
class WriteEvidence:
    """The changes of one write that can cause an epoch, sorted by kind."""

    kinds: Mapping[type, Sequence[Any]] = field(default_factory=dict)
    bump: GroupEpochBumped | None = None
    members_after_bump: int = 0
    joined: Sequence[MemberSubscribed] = ()
    updated: Sequence[MemberSubscribed] = ()
    gone: Sequence[MemberUnsubscribed] = ()
    replaced: dict[str, tuple[MemberUnsubscribed, MemberSubscribed]] = field(default_factory=dict)
    """Instance id -> (the member that went, the member that replaced it), both in this write."""
    regexes: Sequence[RegexResolved] = ()
    topics: Sequence[TopicMetadataRecorded] = ()
    assigned: Sequence[MemberAssigned] = ()
    answers: Sequence[MemberAssigned] = ()
    """The last assignment of each member in this write."""
    newcomers: AbstractSet[str] = frozenset()
    """Ids of the members that joined or replaced another one."""
    targeted: Sequence[MemberTargeted] = ()
    installed: TargetInstalled | None = None

    @classmethod
    def of(cls, write: Write) -> "WriteEvidence":
        """Sort the changes of a write; joins and departures of one instance id pair up as a replacement."""
        kinds = write.by_kind()
        found = cls(kinds)
        if MemberAssigned in kinds:
            found.assigned = [each for each in kinds[MemberAssigned] if not each.released]
            found.answers = found.assigned
            if len(write.changes) == 1:
                return found  # a member's answer to its target: most writes
        for bump in kinds.get(GroupEpochBumped, ()):
            if bump.new_epoch != bump.old_epoch:
                found.bump, found.members_after_bump = bump, write.members_at_bump
        subscribed = kinds.get(MemberSubscribed, ())
        found.joined = [each for each in subscribed if each.joined]
        found.updated = [each for each in subscribed if not each.joined]
        found.gone = kinds.get(MemberUnsubscribed, ())
        found.targeted = [each for each in kinds.get(MemberTargeted, ()) if each.new is not None]
        found.installed = next(reversed(kinds.get(TargetInstalled, ())), None)
        found.regexes = kinds.get(RegexResolved, ())
        found.topics = kinds.get(TopicMetadataRecorded, ())
        found.newcomers = {each.member_id for each in found.joined}
        if len(found.assigned) > 1:
            found.answers = list({each.member_id: each for each in found.assigned}.values())
        if found.joined and found.gone:
            found._pair_replacements()
        return found

    def releases(self) -> Sequence[str]:
        """The releases whose records can look like these; the records do not name their release."""
        first, last = RELEASES[0], RELEASES[-1]
        if any(change.topics is not None for change in self.topics):
            last = "4.0"
        elif self.bump is not None and self.bump.new_metadata_hash:
            first = "4.1"
        if self.regexes:
            first = max(first, "4.0")
        if self.installed is not None and self.installed.assignment_timestamp_ms:
            first = "4.3"
        return [release for release in RELEASES if first <= release <= last]

    def begins_unnumbered(self, group: ModernGroup) -> bool:
        """Whether a group begins here with a member without topics, and so without an epoch record (from 4.3 on).

        Its assignment has the implicit epoch 1, which up to 4.2 only a group with an epoch record could have.
        """
        if self.bump is not None or len(self.joined) != 1 or len(self.assigned) != 1:
            return False
        (assigned,) = self.assigned
        member = group.members.get(assigned.member_id)
        return (
            member is not None
            and assigned.member_id == self.joined[0].member_id
            and (member.member_epoch, member.previous_member_epoch) == (IMPLICIT_EPOCH, 0)
            and not member.assigned
            and not group.has_assignment_record
        )

    def is_upgrade(self, write: Write, group: ModernGroup) -> bool:
        """Whether a classic group continues under another protocol, rather than an empty one being replaced.

        In an upgrade the classic members come over, even if no generation ever showed them. If its join phase had no
        members left, its epoch comes before any subscription. `group`: after the write.
        """
        if write.role is not Role.CLASSIC or not write.tombstone:
            return False
        if not self.joined:
            return self.bump is not None
        return any(
            group.members[change.member_id].classic is not None
            for change in self.joined
            if change.member_id in group.members
        )

    def how_released(self, change: MemberAssigned) -> str:
        """How a member's partitions became free, as in gold.ownership."""
        if not change.released:
            return "revoked"
        replaced = any(old.member_id == change.member_id for old, _ in self.replaced.values())
        return "handed_over" if replaced else "member_left"

    def _pair_replacements(self) -> None:
        gone = {change.instance_id: change for change in self.gone if change.instance_id}
        joined = []
        for change in self.joined:
            # A damaged log may hold a second join with the same instance id, for which no member went.
            old = gone.pop(change.instance_id or "", None)
            if old is None:
                joined.append(change)
            else:  # the member id may be the same: some clients keep it
                self.replaced[old.instance_id or ""] = (old, change)
        replaced = [old for old, _ in self.replaced.values()]
        self.joined = joined
        self.gone = [change for change in self.gone if change not in replaced]


EARLY_FIRST_EPOCH: Final = 1
"""Epoch in a group's first epoch record, up to release 4.2."""
FIRST_EPOCH: Final = 2
"""Epoch in the first epoch record from release 4.3 on (streams groups: 4.2): a new group has the implicit epoch 1."""


class Beginning(Enum):
    """Whether an epoch is its group's first."""

    NONE = auto()
    LIKELY = auto()
    """The epoch has the number of a first one, but its write does not show which release made it."""
    CERTAIN = auto()
    UNNUMBERED = auto()
    """The group had begun before, with a member without topics, which from 4.3 on writes no epoch record."""


def beginning_of(
    bump: GroupEpochBumped, evidence: WriteEvidence, group: ModernGroup, *, unnumbered: bool
) -> Beginning:
    """Judge, by its write, whether the first epoch that the log has of a group is the group's first.

    Epoch 2 may also be the second epoch of an earlier release, whose first epoch compaction removed. Only releases that
    begin with 2 write the epoch of each assigned partition into the member's assignment (KIP-1251). `unnumbered`: the
    log shows that the group began with a member at the implicit epoch of such a release.
    """
    if unnumbered and bump.old_epoch is None and bump.new_epoch == FIRST_EPOCH:
        return Beginning.UNNUMBERED
    if bump.old_epoch is not None or not (evidence.joined or evidence.regexes):
        return Beginning.NONE
    if bump.new_epoch == EARLY_FIRST_EPOCH:
        return Beginning.CERTAIN
    if bump.new_epoch != FIRST_EPOCH:
        return Beginning.NONE
    if any(change.new_state == UNRELEASED for change in evidence.assigned):
        return Beginning.NONE  # it waits for partitions of an earlier member
    assigned = [change.member_id for change in evidence.assigned if change.new_assigned]
    if not assigned or bump.group_type is not GroupType.CONSUMER:
        return Beginning.LIKELY
    member = group.members.get(assigned[0])
    has_epochs = member is not None and bool(member.assignment_epochs)
    return Beginning.CERTAIN if has_epochs else Beginning.NONE


def carries_over(bump: GroupEpochBumped, span: EpochSpan | None) -> bool:
    """Whether an upgrade only repeats the generation as the first group epoch, which is no new epoch."""
    return bump.old_epoch is None and span is not None and span.epoch == bump.new_epoch


def lacks_records(
    bump: GroupEpochBumped, beginning: Beginning, *, upgraded: bool, is_whole: bool | None
) -> bool:
    """Whether records between this epoch and the one before are missing from the log.

    Where the partition lacks no record, the first epoch that the log has is the group's first, with a join or without.
    """
    if bump.old_epoch is None:
        return not (upgraded or is_whole) and beginning is Beginning.NONE
    return bump.new_epoch != bump.old_epoch + 1


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

    def proven(self, cause: RebalanceCause, reason: CodedReason, *shown: Evidence) -> Verdict:
        """A proven verdict on the epoch, with its record as the last evidence."""
        at_ms, evidence = self.bump.position.record_timestamp_ms, (*shown, self.bump_evidence())
        return Verdict(cause, Certainty.PROVEN, at_ms, (reason,), evidence)

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
