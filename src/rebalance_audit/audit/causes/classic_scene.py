"""One finished generation of a classic group, the one before, and everything else that patterns look at."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from rebalance_audit.audit.causes.absences import judge_absence
from rebalance_audit.audit.causes.cause import Verdict
from rebalance_audit.audit.causes.join_phase import Missed
from rebalance_audit.audit.causes.member_watch import MemberWatch
from rebalance_audit.audit.commits.evidence import CommitEvidence
from rebalance_audit.audit.commits.libraries import HABITS, library_of_subscription
from rebalance_audit.replay.changes import Position
from rebalance_audit.replay.classic.group import ClassicMember
from rebalance_audit.replay.classic.work import Kind, kind_of
from rebalance_audit.replay.partitions import Partitions, partitions_of, union
from rebalance_audit.wire.consumer_protocol import OWNED_PARTITIONS, PROTOCOL_TYPE


class Generation(NamedTuple):
    """One finished generation of a classic group."""

    generation: int
    protocol_name: str | None
    leader_member_id: str | None
    members: Mapping[str, ClassicMember]
    position: Position
    has_static: bool
    """Whether any member has an instance id."""
    joined_at_ms: int | None = None
    """End of the join phase (epoch ms), at which the timers of all members restarted; None if unknown."""
    since_ms: int | None = None
    """When the group entered the state in its last record (epoch ms, coordinator's clock); None in old layouts."""
    protocol_type: str = PROTOCOL_TYPE

    @property
    def kind(self) -> Kind:
        """Whose group it is."""
        return kind_of(self.protocol_type, self.protocol_name)

    def unread(self) -> list[ClassicMember]:
        """The consumers whose assignment cannot be read: nobody knows what they have."""
        if not self.kind.owns_partitions:
            return []
        return [
            member
            for member in self.members.values()
            if member.assignment is None and member.assignment_bytes
        ]

    def assigned(self) -> Partitions:
        """Every partition that the generation assigns."""
        total: Partitions = {}
        for member in self.members.values():
            total = union(total, member.assigned)
        return total

    def owned_before(self) -> Partitions | None:
        """Every partition that a member listed as owned when it joined this generation (cooperative members).

        None if a member's subscription does not tell.
        """
        total: Partitions = {}
        for member in self.members.values():
            said = member.subscription
            if said is None or OWNED_PARTITIONS in said.unread:
                return None
            total = union(total, partitions_of(said.owned_partitions))
        return total


class ClassicScene(NamedTuple):
    """Everything that a pattern may look at."""

    old: Generation | None
    """The previous generation; None at the start of the group or of the log."""
    new: Generation
    watches: Mapping[str, MemberWatch]
    first: bool
    """Whether the generation is the first of a group that began in this log."""
    downgraded: bool
    """Whether the previous record downgraded a consumer group to this one."""
    skipped: int
    """Number of generations between the two records: rebalances that left no record."""
    replaced: Mapping[str, ClassicMember]
    """New member id -> the old static member with the same instance id."""
    commits: Callable[..., CommitEvidence | None]
    """`evidence_of` for this group."""

    def absence(self, member_id: str) -> Verdict | None:
        """Why a member of the previous generation is not in this one; None for a member that the audit never saw."""
        watch, old, new = self.watches.get(member_id), self.old, self.new
        if watch is None:
            return None
        elapsed_ms = timeout_ms = None
        if old is not None and old.joined_at_ms is not None and new.joined_at_ms is not None:
            elapsed_ms = new.joined_at_ms - old.joined_at_ms
            timeout_ms = min([member.rebalance_timeout_ms for member in old.members.values()])
        return judge_absence(
            watch,
            new.position,
            elapsed_ms,
            timeout_ms,
            self.committed(watch),
            self.missed(member_id),
        )

    def missed(self, member_id: str) -> Missed | None:
        """The join phase that a member of the previous generation missed."""
        old, new = self.old, self.new
        if old is None or old.joined_at_ms is None or new.joined_at_ms is None:
            return None
        return Missed(
            old.joined_at_ms,
            new.joined_at_ms,
            max(member.rebalance_timeout_ms for member in old.members.values()),
            not self.skipped and len(old.members.keys() ^ new.members.keys()) == 1,
            len(old.members.keys() - new.members.keys()) == 1,
            self.skipped,
            old.leader_member_id == member_id,
        )

    def committed(self, watch: MemberWatch) -> CommitEvidence | None:
        """What a member of the previous generation committed that is not in this one."""
        if watch.last_commit is None:
            return None
        before = None if self.old is None else self.old.members.get(watch.stint.member_id)
        library = library_of_subscription(None if before is None else before.subscription)
        rejoin = [
            member_id
            for member_id, member in ({} if self.old is None else self.old.members).items()
            if member_id in self.new.members
            and HABITS[library_of_subscription(member.subscription)].commits_unchanged
        ]
        return self.commits(watch, stayed=self.new.members, library=library, rejoin_commits=rejoin)


def replaced_by(old: Generation | None, new: Generation) -> Mapping[str, ClassicMember]:
    """New member id -> the old static member with the same instance id."""
    if old is None or not old.has_static or not new.has_static:
        return {}
    by_instance = {
        member.instance_id: member
        for member in old.members.values()
        if member.instance_id is not None and member.member_id not in new.members
    }
    return {
        member.member_id: by_instance[member.instance_id]
        for member in new.members.values()
        if member.instance_id in by_instance and member.member_id not in old.members
    }
