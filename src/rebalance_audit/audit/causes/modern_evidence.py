"""What one write of a consumer, share or streams group changed, sorted by kind."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, Final

from rebalance_audit.audit.causes.bump_rules import RELEASES
from rebalance_audit.audit.writes import Role, Write
from rebalance_audit.replay.changes import (
    GroupEpochBumped,
    MemberAssigned,
    MemberSubscribed,
    MemberTargeted,
    MemberUnsubscribed,
    RegexResolved,
    TargetInstalled,
    TopicMetadataRecorded,
)
from rebalance_audit.replay.groups import ModernGroup

IMPLICIT_EPOCH: Final = 1
"""Implicit group and assignment epoch of a group that has no records of them, from 4.3 on."""


@dataclass(slots=True)
class WriteEvidence:
    """The changes of one write that can cause an epoch, sorted by kind."""

    kinds: Mapping[type, Sequence[Any]] = field(default_factory=dict)
    """All changes of the write by their type."""
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
