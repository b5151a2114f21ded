"""Whether missing records may make the real group differ from the replayed one.

One sign are steps that living members owe: where records are missing and a step stays out, its record may be one of
them. A member that lives answers a new target with its next heartbeat, and takes what it waits for with the next one
after it is free. It may also be dead, so all this proves nothing: durations are unknown then, and ownership is marked.
In a partition that is complete, or of unknown completeness, no step counts as missed.
"""

from dataclasses import dataclass, field

from rebalance_audit.audit.causes.contradictions import Believed, contradicts
from rebalance_audit.audit.causes.modern_scene import WriteEvidence
from rebalance_audit.audit.epochs.epoch_span import EpochSpan
from rebalance_audit.audit.group.ends import Liveness
from rebalance_audit.audit.group.life import Life
from rebalance_audit.audit.members.stint import MemberWatch
from rebalance_audit.audit.verdicts.cause import Certainty, RebalanceCause, Verdict
from rebalance_audit.audit.writes import Write
from rebalance_audit.replay.changes import GroupEpochBumped, GroupType, MemberAssigned
from rebalance_audit.replay.groups import STATIC_LEAVE_EPOCH, UNRELEASED, ModernGroup
from rebalance_audit.replay.partitions import Partitions, each, minus, union

_FROM_BEFORE = frozenset(
    {
        RebalanceCause.UNKNOWN,
        RebalanceCause.TOPIC_METADATA_CHANGED,
        RebalanceCause.ASSIGNMENT_ONLY,
        RebalanceCause.ASSIGNOR_CHANGED,
    }
)
"""Causes that may have happened in an earlier write than the epoch that they bump."""


_SHOWN_AFTER_MS = 1_800_000
"""Far longer than any session: a member that is there has sent a heartbeat by then."""


@dataclass(slots=True)
class Unseen:
    """Members that may have joined in a hole of the log.

    A member without topics joins without an epoch (4.3 and later), so no epoch is missing. With its first heartbeat
    after the next target it writes a record that shows it.
    """

    called_at_ms: int | None = None
    """When the first target since the hole was installed, epoch milliseconds."""


@dataclass(slots=True)
class Doubt:
    """A doubt begins where records are missing and ends once the log has confirmed the replayed state.

    At the start of a log, compaction leaves the group as it was at the last record that the cleaner processed, and no
    epoch after that record is missing. So two consecutive epochs end a doubt that began before the first of them. After
    a gap in the middle anything may be missing, so every member has to write its subscription again.
    """

    since_epoch: int | None = None
    """Group epoch in which records are missing; None while nothing is in doubt."""
    at_start: bool = False
    """The doubt began before the log had shown any epoch."""
    unconfirmed: set[str] = field(default_factory=set)
    """Members that have not written their subscription since then."""
    unseen: Unseen | None = None

    @property
    def is_open(self) -> bool:
        """Whether anything may be missing from the replayed state."""
        return self.since_epoch is not None

    def look_at(
        self, write: Write, evidence: WriteEvidence, group: ModernGroup, life: Life
    ) -> bool:
        """Begin a doubt if the write cannot follow the replayed state, and say whether that is so.

        `life`: before the write. Where no record can be missing, whatever looks impossible has happened.
        """
        bump = evidence.bump
        if bump is not None and self.at_start and bump.old_epoch == bump.new_epoch - 1:
            self.end()  # two consecutive epochs: the cleaner has not gone past the first of them
        skips = bump is not None and bump.old_epoch not in (None, bump.new_epoch - 1)
        believed = Believed(life.watches, life.ownership.owner_of)
        found = life.gap or (
            not life.overlaps.lacks_nothing
            and (skips or contradicts(write, evidence, group, believed))
        )
        if found:
            # Between the first epoch that the log shows and the next one, the doubt is still about the start.
            continues = bump is None and self.is_open and self.at_start
            self.begin(group, at_start=(life.span is None or continues) and not life.gap)
        return found

    def begin(self, group: ModernGroup, *, at_start: bool) -> None:
        """Records are missing; `at_start`: since the log begins in the middle of the group's life."""
        self.at_start = at_start
        self.since_epoch = group.group_epoch
        self.unconfirmed.update(group.members)

    def end(self) -> None:
        """End the doubt: the whole state of the group is known."""
        self.since_epoch = None
        self.at_start = False
        self.unconfirmed.clear()

    def pass_hole(self) -> None:
        """Offsets between two of the group's writes have no record."""
        self.unseen = Unseen()

    def installed(self, at_ms: int) -> None:
        """A target is installed, epoch milliseconds: members not seen before will show up."""
        if self.unseen is not None and self.unseen.called_at_ms is None:
            self.unseen.called_at_ms = at_ms

    def hides_members(self, at_ms: int) -> bool:
        """Whether the group may have members at that time, epoch milliseconds, that the log does not show."""
        if self.unseen is None:
            return False
        called_at_ms = self.unseen.called_at_ms
        return called_at_ms is None or at_ms < called_at_ms + _SHOWN_AFTER_MS

    def confirm(self, member_id: str) -> None:
        """The member wrote its subscription, or is gone."""
        self.unconfirmed.discard(member_id)

    def settle(self, group: ModernGroup, bump: GroupEpochBumped | None) -> None:
        """End the doubt after a write if no member is left unconfirmed."""
        if self.since_epoch is None:
            return
        if not group.members:
            if bump is not None and not bump.new_metadata_hash:
                self.end()
        elif not (
            self.unconfirmed
            or group.unconverged_count
            or group.assignment_epoch <= self.since_epoch
        ):
            self.end()


def follows_gap(span: EpochSpan | None) -> bool:
    """Whether this epoch, the one before a write, is the one at which compaction left the group."""
    return span is not None and span.gap and span.previous_epoch is None


def is_counted(span: EpochSpan | None, evidence: WriteEvidence, joined: int) -> bool:
    """Whether all members that seem to have joined since `span`, the epoch before a write, did so.

    Records that compaction left after the first epoch of a log may be of members that were there before it.
    """
    return not follows_gap(span) or joined == len(evidence.joined)


def hides_unowned(span: EpochSpan | None) -> bool:
    """Whether this epoch, the one before a write, ends with partitions of unknown ownership.

    Once all members have reached an epoch, they have what there is, until records are missing again.
    """
    if span is None or span.converged_at_ms is not None:
        return span is not None and span.is_doubted_since
    return span.gap or span.unowned_time() is None


def is_from_before(verdict: Verdict) -> bool:
    """Whether a cause may have happened in a write that the cleaner took, while it kept the epoch before."""
    return verdict.cause in _FROM_BEFORE and verdict.certainty is not Certainty.PROVEN


def skips_generations(bump: GroupEpochBumped, span: EpochSpan | None) -> bool:
    """Whether an upgrade goes on from a generation that was never assigned, or whose record is missing."""
    return bump.new_epoch > (0 if span is None else span.epoch)


def owes_a_step(life: Life, liveness: Liveness, now_ms: int) -> bool:
    """Whether a member has long owed an answer to a target, or waits for partitions that have long been free."""
    if life.is_whole is not False:
        return False
    before_ms = now_ms - life.options.rules.answer_within_ms
    watches = life.watches.values()
    # A member at epoch 0 comes with this write.
    if any(watch.member_epoch and _owes_since(liveness, watch, before_ms) for watch in watches):
        return True
    waiting = {
        life.members.owner(watch.stint.member_id).identity for watch in watches if watch.waiting
    }
    return bool(waiting) and any(
        life.moves.owner_of(partition) in waiting
        for partition in life.ownership.free_since(before_ms)
    )


def takes_late(life: Life, change: MemberAssigned, gained: Partitions) -> bool:
    """Whether the member waited for a partition that had long been free: an earlier record may have given it."""
    if life.is_whole is not False or change.old_state != UNRELEASED:
        return False
    since_ms = change.position.record_timestamp_ms - life.options.rules.answer_within_ms
    return not set(each(gained)).isdisjoint(life.ownership.free_since(since_ms))


def hides_revocation(
    life: Life, liveness: Liveness, change: MemberAssigned, group_type: GroupType
) -> bool:
    """Whether a member may have given partitions up before this record, in one that is missing.

    It lost what no record had asked it to give up. Or it is gone, also for a while, and had partitions to give up, or
    had to hear of that long ago.
    """
    if life.is_whole is not False:
        return False
    if _lacks_revocation(change, group_type):
        return True
    if not change.released and change.new_member_epoch != STATIC_LEAVE_EPOCH:
        return False
    if change.old_pending:
        return True
    watch = life.watches.get(change.member_id)
    before_ms = change.position.record_timestamp_ms - life.options.rules.answer_within_ms
    if watch is None or not _owes_since(liveness, watch, before_ms):
        return False
    identity = life.members.owner(change.member_id).identity
    return any(life.moves.owner_of(held) != identity for held in each(change.old_assigned))


def _owes_since(liveness: Liveness, watch: MemberWatch, at_ms: int) -> bool:
    since_ms = liveness.owes_since_ms(watch)
    return since_ms is not None and since_ms <= at_ms


def _lacks_revocation(change: MemberAssigned, group_type: GroupType) -> bool:
    """Whether a member lost what no record had asked it to give up, so that this record and others may be missing.

    Members of share groups are never asked, nor is one that reports that it no longer has the partitions.
    """
    if change.released or group_type is GroupType.SHARE:
        return False
    kept = union(change.new_assigned, change.new_pending)
    return bool(minus(minus(change.old_assigned, kept), change.old_pending))
