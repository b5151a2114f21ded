"""What one write of a consumer, share or streams group changed, sorted by kind."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from rebalance_audit.audit.causes.bump_rules import RELEASES
from rebalance_audit.audit.writes import Role, Step
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
from rebalance_audit.replay.groups.modern_group import ModernGroup

IMPLICIT_EPOCH: Final = 1
"""Implicit group and assignment epoch of a group that has no records of them, from 4.3 on."""


@dataclass(slots=True)
class WriteEvidence:
    """The changes of one write that can cause an epoch, sorted by kind."""

    bump: GroupEpochBumped | None = None
    members_after_bump: int = 0
    joined: list[MemberSubscribed] = field(default_factory=list)
    updated: list[MemberSubscribed] = field(default_factory=list)
    gone: list[MemberUnsubscribed] = field(default_factory=list)
    replaced: dict[str, tuple[MemberUnsubscribed, MemberSubscribed]] = field(default_factory=dict)
    """Instance id -> (the member that went, the member that replaced it), both in this write."""
    regexes: list[RegexResolved] = field(default_factory=list)
    topics: list[TopicMetadataRecorded] = field(default_factory=list)
    assigned: list[MemberAssigned] = field(default_factory=list)
    targeted: list[MemberTargeted] = field(default_factory=list)
    installed: TargetInstalled | None = None

    @classmethod
    def of(cls, write: Sequence[Step]) -> "WriteEvidence":
        """Sort the changes of a write; joins and departures of one instance id pair up as a replacement."""
        found = cls()
        for step in write:
            for change in step.changes:
                match change:
                    case GroupEpochBumped() if change.new_epoch != change.old_epoch:
                        found.bump = change
                        found.members_after_bump = step.members
                    case MemberSubscribed():
                        (found.joined if change.joined else found.updated).append(change)
                    case MemberUnsubscribed():
                        found.gone.append(change)
                    case MemberAssigned() if not change.released:
                        found.assigned.append(change)
                    case MemberTargeted() if change.new is not None:
                        found.targeted.append(change)
                    case TargetInstalled():
                        found.installed = change
                    case RegexResolved():
                        found.regexes.append(change)
                    case TopicMetadataRecorded():
                        found.topics.append(change)
                    case _:
                        pass
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

    def is_upgrade(self, first: Step, group: ModernGroup) -> bool:
        """Whether a classic group continues under another protocol, rather than an empty one being replaced.

        In an upgrade the classic members come over, even if no generation ever showed them. If its join phase had no
        members left, its epoch comes before any subscription. `first`: the write's first record; `group`: after it.
        """
        if (first.role, first.tombstone) != (Role.CLASSIC, True):
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
        for change in list(self.joined):
            old = gone.get(change.instance_id or "")
            if old is not None:  # the member id may be the same: some clients keep it
                self.replaced[old.instance_id or ""] = (old, change)
                self.joined.remove(change)
                self.gone.remove(old)
                # A damaged log may hold a second join with the same instance id, for which no member went.
                del gone[old.instance_id or ""]
