"""What one write of a consumer, share or streams group changed, sorted by kind."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from rebalance_audit.audit.writes import Role, Step
from rebalance_audit.replay.changes import (
    GroupEpochBumped,
    MemberAssigned,
    MemberSubscribed,
    MemberUnsubscribed,
    RegexResolved,
    TopicMetadataRecorded,
)
from rebalance_audit.replay.modern.group import ModernGroup


@dataclass(slots=True)
class WriteEvidence:
    """The changes of one write that can cause an epoch, sorted by kind."""

    bump: GroupEpochBumped | None = None
    members_after_bump: int = 0
    joined: list[MemberSubscribed] = field(default_factory=list)
    updated: list[MemberSubscribed] = field(default_factory=list)
    gone: list[MemberUnsubscribed] = field(default_factory=list)
    replaced: dict[str, tuple[MemberUnsubscribed, MemberSubscribed]] = field(default_factory=dict)
    """Instance id -> the member id that went and the one that took its place, in one write."""
    regexes: list[RegexResolved] = field(default_factory=list)
    topics: list[TopicMetadataRecorded] = field(default_factory=list)
    assigned: list[MemberAssigned] = field(default_factory=list)

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
                    case RegexResolved():
                        found.regexes.append(change)
                    case TopicMetadataRecorded():
                        found.topics.append(change)
                    case _:
                        pass
        found._pair_replacements()
        return found

    def is_upgrade(self, first: Step, group: ModernGroup) -> bool:
        """Whether a classic group goes on under another protocol, rather than an empty one making way for it.

        Its members come over, whether or not a generation of it ever showed them; with none left in its join phase its
        epoch comes before anybody's subscription. `first`: the first record of the write; `group`: as it left it.
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

    def _pair_replacements(self) -> None:
        gone = {change.instance_id: change for change in self.gone if change.instance_id}
        for change in list(self.joined):
            old = gone.get(change.instance_id or "")
            if old is not None:  # its member id may be the same: some clients keep theirs
                self.replaced[old.instance_id or ""] = (old, change)
                self.joined.remove(change)
                self.gone.remove(old)
                # Damage may leave a second join with the same instance id; nobody went for it.
                del gone[old.instance_id or ""]
