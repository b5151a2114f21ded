"""What really happened, as rows: every epoch with its real causes, every member's end, every use of a partition.

What the coordinator does counts once it is in the log: the truth of a batch that a dying broker never wrote is
dropped with the batch.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from rebalance_audit.audit.verdicts.cause import RebalanceCause
from rebalance_audit.coordinator.reasons import BumpReason, Trigger
from rebalance_audit.coordinator.requests.offsets import OffsetCommitRequest
from rebalance_audit.replay.changes import (
    Change,
    GenerationCompleted,
    GroupEpochBumped,
    GroupRemoved,
    GroupType,
    MemberUnsubscribed,
    TargetInstalled,
)
from rebalance_audit.replay.groups import ClassicGroup, GroupSlot, ModernGroup
from rebalance_audit.sim.brokers.batch_writer import LoggedRecord
from rebalance_audit.sim.brokers.broker import (
    Changed,
    Happening,
    Observer,
    ServedPartition,
    by_group,
)
from rebalance_audit.sim.brokers.partition_log import LoggedBatch
from rebalance_audit.sim.holdings import Use
from rebalance_audit.sim.truth.causes import Decisions, Reason, Topics, cause_of, reasons_of
from rebalance_audit.sim.truth.members import (
    AssignmentTruth,
    GroupLook,
    MembersOf,
    MemberTruth,
    assignment_rows,
    look_at,
)
from rebalance_audit.wire.topic_names import topic_id_text

Row = dict[str, object]
Note = Callable[[], None]


_UPGRADED: Final = BumpReason(Trigger.GROUP_UPGRADED)


@dataclass(slots=True)
class EpochTruth:
    """One group epoch or generation."""

    group_id: str
    incarnation: int
    epoch: int
    protocol: str
    reasons: tuple[Reason, ...]
    started_at_ms: int
    join_started_at_ms: int | None = None
    target_installed_at_ms: int | None = None
    converged_at_ms: int | None = None
    meanwhile: tuple[Reason, ...] = ()
    """What else happened in it or before its record, but did not cause it."""
    is_empty: bool = False
    """Whether it left no members; a member that comes later without an epoch of its own does not converge on it."""

    def rows(self) -> Iterator[Row]:
        """One row per cause, the earliest first; then one per thing that happened besides."""
        unknown = Reason(RebalanceCause.UNKNOWN, self.started_at_ms)
        for kind, reason in (
            *(("epoch", reason) for reason in self.reasons or (unknown,)),
            *(("meanwhile", reason) for reason in self.meanwhile),
        ):
            yield {
                "kind": kind,
                "group_id": self.group_id,
                "incarnation": self.incarnation,
                "epoch": self.epoch,
                "protocol": self.protocol,
                "cause": reason.cause.value,
                "caused_at": reason.at_ms,
                "member_id": reason.member_id,
                "instance_id": reason.instance_id,
                "started_at": self.started_at_ms,
                "join_started_at": self.join_started_at_ms,
                "target_installed_at": self.target_installed_at_ms,
                "converged_at": self.converged_at_ms,
            }


@dataclass(slots=True)
class GroupTruth:
    """What is known of one group id."""

    group_id: str
    incarnation: int = 0
    had_epochs: bool = False
    epochs: list[EpochTruth] = field(default_factory=list)
    awaiting: list[EpochTruth] = field(default_factory=list)
    """Epochs that have no target yet; in classic groups there are none."""
    members: MembersOf = field(default_factory=MembersOf)
    assignments: AssignmentTruth = field(default_factory=AssignmentTruth)
    topics: Topics | None = None
    """All but classic groups: the subscribed topics as of the newest epoch."""

    def covers(self, topics: Topics | None) -> None:
        """The newest epoch has these topics."""
        self.topics = topics or self.topics

    def begin_anew(self) -> None:
        """The group was deleted, or an empty one starts counting again."""
        self.incarnation += 1
        self.had_epochs = False
        self.awaiting.clear()
        self.assignments.begin_anew()

    def taken_over(self, *, continues: bool) -> None:
        """Another protocol took the group's place, and may continue its count."""
        if not continues and not self.members.present and self.had_epochs:
            self.begin_anew()

    def add(self, epoch: EpochTruth) -> None:
        """A new epoch is in the log."""
        epoch.incarnation = self.incarnation
        self.epochs.append(epoch)
        self.had_epochs = True

    def happened(self, beside: tuple[Reason, ...]) -> None:
        """Something happened in the newest epoch without causing another one."""
        if beside and self.epochs:
            self.epochs[-1].meanwhile += beside

    def target_installed(self, assignment_epoch: int, at_ms: int) -> None:
        """Epochs up to this one have a target."""
        for epoch in self.awaiting:
            if epoch.epoch <= assignment_epoch:
                epoch.target_installed_at_ms = at_ms
        self.awaiting = [epoch for epoch in self.awaiting if epoch.epoch > assignment_epoch]

    def emptied(self) -> None:
        """No member is left to assign anything to."""
        self.awaiting.clear()
        if self.epochs:
            self.epochs[-1].is_empty = True

    def converged(self, at_ms: int) -> None:
        """Every member has reached the newest epoch."""
        newest = self.epochs[-1] if self.epochs else None
        if newest is not None and newest.converged_at_ms is None and not newest.is_empty:
            newest.converged_at_ms = at_ms


class TruthRecorder(Observer):
    """Observes coordinators and clients, and reports at the end what happened."""

    def __init__(self, name_of: Callable[[bytes], str]) -> None:
        """Nothing happened yet; `name_of` knows the topics. Times are those of each coordinator's clock."""
        self._name_of = name_of
        self._groups: dict[str, GroupTruth] = {}
        self._decisions: dict[int, Decisions] = {}
        self._pending: dict[int, list[Note]] = {}
        self._alone_behind: dict[int, dict[str, str | None]] = {}
        """Partition -> groups with at most one member below the group's epoch, and that member."""

    # --- what it observes --------------------------------------------------------------------------

    def moved(self, shard: ServedPartition, happening: Happening, changed: Changed) -> None:
        """Note what a request or timer did; it counts when its batch is written."""
        now_ms = shard.now_ms
        self._note_decisions(self._decisions[shard.number], happening, now_ms)
        if not changed or isinstance(happening.request, OffsetCommitRequest):
            return
        notes = self._pending.setdefault(shard.number, [])
        for slot, changes in by_group(changed):
            self._note_group(shard, slot, changes, happening, now_ms, notes)

    def flushed(self, shard: ServedPartition, batch: LoggedBatch) -> None:
        """What was pending is in the log."""
        del batch
        for note in self._pending.pop(shard.number, ()):
            note()

    def loaded(self, shard: ServedPartition, lost: Sequence[LoggedRecord]) -> None:
        """What was not written never happened, and phases in memory are forgotten."""
        del lost
        self._pending.pop(shard.number, None)
        self._decisions[shard.number] = Decisions()
        self._alone_behind.pop(shard.number, None)

    # --- what it says ------------------------------------------------------------------------------

    def rows(self, uses: Sequence[Use]) -> Iterator[Row]:
        """All rows, group by group in the order in which they appeared, then the uses of partitions."""
        for truth in self._groups.values():
            for epoch in truth.epochs:
                yield from epoch.rows()
        for truth in self._groups.values():
            for member in truth.members.all():
                yield _member_row(truth.group_id, member)
        for truth in self._groups.values():
            yield from assignment_rows(truth.group_id, truth.assignments, self._name_of)
        for use in uses:
            yield {
                "kind": "ownership",
                "group_id": use.group_id,
                "topic_id": topic_id_text(use.topic_id),
                "topic_partition": use.topic_partition,
                "client_id": use.client,
                "member_id": use.member_id,
                "from": use.from_ms,
                "to": use.to_ms,
                "first_offset": use.first_offset,
                "next_offset": use.next_offset,
            }

    def epochs(self) -> list[EpochTruth]:
        """All epochs."""
        return [epoch for truth in self._groups.values() for epoch in truth.epochs]

    # --- what the coordinator decides --------------------------------------------------------------

    def _note_decisions(self, decisions: Decisions, happening: Happening, now_ms: int) -> None:
        for departure in happening.departures:
            group_id, epoch, why = departure
            end = Reason(cause_of(why, happening), now_ms, why.member_id, why.instance_id)
            decisions.ended(group_id, why.member_id, end.cause)
            decisions.happened(group_id, epoch, end)
        for group_id, generation, why in happening.meanwhile:
            also = Reason(cause_of(why, happening), now_ms, why.member_id, why.instance_id)
            decisions.happened(group_id, generation, also)
        for bump in happening.bumps:
            group_id = bump.group_id
            truth = self._groups.get(group_id)
            recorded = None if truth is None else truth.topics
            before = decisions.topics.get(group_id, recorded)
            decisions.bumped(bump, reasons_of(bump, happening, before, now_ms))

    # --- one write of one group --------------------------------------------------------------------

    def _note_group(
        self,
        shard: ServedPartition,
        slot: GroupSlot,
        changes: list[Change],
        happening: Happening,
        now_ms: int,
        notes: list[Note],
    ) -> None:
        if not any(not _is_offset(change) for change in changes):
            return
        truth = self._groups.setdefault(slot.group_id, GroupTruth(slot.group_id))
        group = slot.group
        decisions = self._decisions[shard.number]
        upgraded = any(
            bump.group_id == slot.group_id and _UPGRADED in bump.reasons for bump in happening.bumps
        )
        if any(isinstance(change, GroupRemoved) for change in changes):
            # An upgrade takes along all members there are, even none in the middle of a join phase.
            going_on = partial(truth.taken_over, continues=upgraded)
            notes.append(truth.begin_anew if group is None else going_on)
        if isinstance(group, ModernGroup):
            self._note_modern(truth, group, changes, decisions, now_ms, notes, upgraded=upgraded)
        elif isinstance(group, ClassicGroup):
            self._note_classic(truth, group, changes, decisions, now_ms, notes)
        ends = decisions.take_ends(slot.group_id)
        look = look_at(group, changes)
        behind = self._alone_behind.setdefault(shard.number, {})
        if isinstance(group, ClassicGroup) and _goes_on_without_rebalance(group, look, behind):
            notes.append(lambda: truth.converged(now_ms))
        _note_behind(behind, slot)
        left = [each.member_id for each in changes if isinstance(each, MemberUnsubscribed)]
        notes.append(lambda: truth.assignments.follow(look, self._name_of, now_ms))
        notes.append(
            lambda: truth.assignments.arrive(truth.incarnation, left, look.arrived, now_ms)
        )
        notes.append(lambda: truth.members.follow(look, changes, ends, now_ms))

    def _note_modern(
        self,
        truth: GroupTruth,
        group: ModernGroup,
        changes: list[Change],
        decisions: Decisions,
        now_ms: int,
        notes: list[Note],
        *,
        upgraded: bool,
    ) -> None:
        notes.append(partial(truth.covers, decisions.topics.get(group.group_id)))
        for change in changes:
            if isinstance(change, GroupEpochBumped) and change.new_epoch != change.old_epoch:
                group_id, epoch = group.group_id, change.new_epoch
                reasons, _ = decisions.epoch_recorded(group_id, epoch)
                found = EpochTruth(
                    group_id,
                    0,
                    epoch,
                    group.group_type,
                    reasons,
                    now_ms,
                    meanwhile=decisions.meanwhile(group_id, epoch, reasons),
                )
                notes.append(partial(_add_modern, truth, found, upgraded=upgraded))
            elif isinstance(change, TargetInstalled) and change.new_assignment_epoch >= 0:
                notes.append(partial(truth.target_installed, change.new_assignment_epoch, now_ms))
        # What bumped nothing happened in the epoch that already existed.
        beside = decisions.meanwhile(group.group_id, group.group_epoch + 1, ())
        notes.append(partial(truth.happened, beside))
        if not group.members:
            notes.append(truth.emptied)
        if _has_arrived(group):
            notes.append(lambda: truth.converged(now_ms))

    def _note_classic(
        self,
        truth: GroupTruth,
        group: ClassicGroup,
        changes: list[Change],
        decisions: Decisions,
        now_ms: int,
        notes: list[Note],
    ) -> None:
        for change in changes:
            if not isinstance(change, GenerationCompleted):
                continue
            was_modern = change.old_generation is None and _was_modern(changes)
            if change.new_generation == (change.old_generation or 0) and not was_modern:
                continue
            if was_modern:
                # The epoch existed before: what follows from the downgrade belongs to the next generation.
                continue
            generation = change.new_generation
            reasons, join_started_ms = decisions.epoch_recorded(group.group_id, generation)
            found = EpochTruth(
                group.group_id,
                0,
                generation,
                GroupType.CLASSIC,
                reasons,
                group.current_state_timestamp_ms,
                join_started_ms,
                now_ms if group.members else None,
                now_ms if group.members else None,
                decisions.meanwhile(group.group_id, generation, reasons),
            )
            notes.append(partial(_add_classic, truth, found))


def _has_arrived(group: ModernGroup) -> bool:
    """Whether all members have reached the newest epoch; the states of share and streams groups mean something else."""
    is_assigned = group.group_epoch <= group.assignment_epoch
    return bool(group.members) and is_assigned and not group.unconverged_count


def _was_modern(changes: list[Change]) -> bool:
    """Whether the write removed a consumer group."""
    return any(
        isinstance(each, GroupRemoved) and each.group_type is GroupType.CONSUMER for each in changes
    )


def _note_behind(behind: dict[str, str | None], slot: GroupSlot) -> None:
    """Whether all members, or all but one, are at the group's epoch."""
    group = slot.group
    behind.pop(slot.group_id, None)
    if isinstance(group, ModernGroup) and group.members and group.unconverged_count <= 1:
        behind[slot.group_id] = next(iter(group.unconverged), None)


def _goes_on_without_rebalance(
    group: ClassicGroup, look: GroupLook, behind: Mapping[str, str | None]
) -> bool:
    """Whether this downgrade is the moment at which the last member of a consumer group reached its epoch.

    A static member replaced the one that was below the epoch, and the group becomes a classic one in the same write.
    """
    return (
        bool(look.arrived)
        and set(look.arrived.values()) == {group.generation}
        and behind.get(group.group_id, "") not in {None, "", *group.members}
    )


def _add_modern(truth: GroupTruth, epoch: EpochTruth, *, upgraded: bool) -> None:
    if truth.had_epochs and truth.epochs[-1].epoch == epoch.epoch:
        return  # an upgrade takes the generation over: no new epoch
    created = Reason(RebalanceCause.GROUP_CREATED, epoch.started_at_ms)
    if not truth.had_epochs and upgraded:
        epoch.reasons = (created, *epoch.reasons)
    elif not truth.had_epochs and created.cause not in {each.cause for each in epoch.reasons}:
        # Its first members brought no known topics, which from 4.3 on leaves no epoch.
        epoch.meanwhile = (created, *epoch.meanwhile)
    truth.add(epoch)
    truth.awaiting.append(epoch)


def _add_classic(truth: GroupTruth, epoch: EpochTruth) -> None:
    if not truth.had_epochs:
        epoch.reasons = (
            Reason(RebalanceCause.GROUP_CREATED, epoch.started_at_ms),
            *epoch.reasons,
        )
    truth.add(epoch)


def _member_row(group_id: str, member: MemberTruth) -> Row:
    return {
        "kind": "member",
        "group_id": group_id,
        "member_id": member.member_id,
        "instance_id": member.instance_id,
        "joined_at": member.joined_at_ms,
        "ended_at": member.ended_at_ms,
        "end": member.end,
    }


def _is_offset(change: Change) -> bool:
    return type(change).__name__.startswith(("Offset", "Transaction"))
