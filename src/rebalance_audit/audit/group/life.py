"""One group id over time: the state that outlives changes of protocol and incarnation, and where rows are emitted.

A *life* is one incarnation. It ends when the group is deleted, or when an empty group restarts its epoch counter under
another protocol. A conversion that carries the counter over (online upgrade or downgrade) continues the life.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile

from rebalance_audit import limits
from rebalance_audit.audit.causes.classic_scene import Generation
from rebalance_audit.audit.epochs.epoch_span import EpochSpan
from rebalance_audit.audit.epochs.target_moves import TargetMoves
from rebalance_audit.audit.group.absences import Absences
from rebalance_audit.audit.group.away import Away
from rebalance_audit.audit.group.ends import EndsOfMembers, as_logged
from rebalance_audit.audit.group.group_states import GroupStates
from rebalance_audit.audit.group.present import group_now, log_end
from rebalance_audit.audit.group.progress_tracker import ProgressTracker
from rebalance_audit.audit.group.rebalance import Rebalance
from rebalance_audit.audit.group.rebalance_costs import RebalanceCosts
from rebalance_audit.audit.members.member_watch import MemberWatch
from rebalance_audit.audit.members.stint import Identity, Stint
from rebalance_audit.audit.members.tally import MemberTallies
from rebalance_audit.audit.options import AuditOptions
from rebalance_audit.audit.ownership.commit_book import CommitBook
from rebalance_audit.audit.ownership.overlaps import Overlaps
from rebalance_audit.audit.ownership.ownership import Owner, Ownership
from rebalance_audit.audit.rows import (
    CONVERGENCE,
    EPOCHS,
    GROUP_STATES,
    MEMBERS,
    REBALANCE_CAUSES,
    Emit,
    Row,
)
from rebalance_audit.audit.testimony.witness import Witness
from rebalance_audit.audit.verdicts.cause import Certainty, RebalanceCause
from rebalance_audit.audit.writes import Write, is_other_coordinator
from rebalance_audit.replay.changes import Change, GroupStateChanged, GroupType, Position
from rebalance_audit.replay.groups.slot import Group
from rebalance_audit.replay.partitions import TopicPartition
from rebalance_audit.wire.topic_names import topic_id_text

_AWAITING_LIMIT = limits.AWAITED_EPOCHS.most
"""Superseded epochs kept for a target that may still come; more are emitted without one, to bound memory."""


class Life:
    """The state that the classic and the modern audit share."""

    incarnation: int
    protocol: GroupType | None
    deleted: bool
    gap: bool
    """A record of the group has been lost since the last epoch began."""
    watches: dict[str, MemberWatch]
    span: EpochSpan | None
    rebalance: Rebalance | None
    previous_generation: Generation | None
    """The last classic generation; None in other protocols and at the start of a life."""
    created_at: Position | None
    """The record that created the classic group of this life, with generation 0."""
    joined_since: int
    left_since: int
    _awaiting: list[EpochSpan]
    _had_epochs: bool
    _rebalances: int

    def __init__(
        self, group_id: str, log_partition: int, emit: Emit, options: AuditOptions
    ) -> None:
        self.group_id = group_id
        self.log_partition = log_partition
        self.options = options
        facts = options.broker_facts(group_id, log_partition)
        self.witness = Witness(facts) if facts else None
        """What the brokers logged about the group; it is no part of the state, nor is `is_whole`."""
        self.is_whole = options.is_whole(log_partition)
        """Whether the partition lacks no record; None if unknown."""
        self._emit = emit
        self.on_member: Callable[[Stint], None] | None = None
        """Called for every member id that appears."""
        self.on_departure: Callable[[Row], None] | None = None
        """Called with the row of every member id that goes, and with `last_sign_leader_epoch`."""
        self.due_ms: int | None = None
        """After `finish`: the earliest log end (epoch ms) at which the rows would differ without a new record."""
        self.incarnation = 0
        self.protocol = None
        self.deleted = False
        self.gap = False
        self.watches = {}
        self.away = Away()
        self.moves = TargetMoves()
        self.overlaps = Overlaps(is_whole=self.is_whole)
        self.commits = CommitBook(log_partition, is_whole=self.is_whole)
        self.ownership = Ownership(
            group_id, emit, self._topic_of, self._count_unowned, self.commits.end
        )
        self.costs = RebalanceCosts(emit, self.commits, self.ownership, options.end_offsets)
        self.ends = EndsOfMembers(
            options.rules, lambda: self.watches, self.away, self.commits, self.ownership
        )
        self.span = self.rebalance = self.previous_generation = self.created_at = None
        self.joined_since = self.left_since = 0
        self.states = GroupStates(group_id, lambda row: emit(GROUP_STATES, row))
        self._awaiting = []
        self._had_epochs, self._rebalances = False, 0
        self.progress = ProgressTracker(self)
        self.absences = Absences(self)
        self.tallies = MemberTallies(lambda: self.watches)

    def parts(self) -> Mapping[str, object]:
        """Every object that holds state."""
        return {
            "life": self,
            "away": self.away,
            "target": self.moves,
            "ownership": self.ownership,
            "overlaps": self.overlaps,
            "commits": self.commits,
            "usual_pause": self.commits.usual_pause,
            **self.costs.parts(),
            "group_state": self.states,
        }

    @property
    def _spans(self) -> Sequence[EpochSpan]:
        return self._awaiting if self.span is None else [*self._awaiting, self.span]

    # -- writes ---------------------------------------------------------------------------------

    def begin_write(self, write: Write) -> None:
        """Advance time to the write."""
        before = self.ownership.written
        if before is not None and is_other_coordinator(before, write.first):
            for span in self._spans:
                span.move()
        self.ownership.begin_write(write.first)
        self.overlaps.begin_write()

    def end_write(
        self, write: Write, kinds: Mapping[type, Sequence[Change]], group: Group | None
    ) -> None:
        """Note the group's state after the write, whose changes by their type are `kinds`."""
        self.ownership.settle()
        self.progress.last_signs.clear()
        if group is not None:
            moved, gap = kinds.get(GroupStateChanged), self.span is not None and self.span.gap
            decided = moved[-1].position if moved else write.last
            protocol = self.protocol or GroupType.CLASSIC
            self.states.enter(decided, protocol, group, self.incarnation, gap=gap)

    def written(self) -> None:
        """All parts have processed the write."""
        for span in takewhile(lambda span: span.settled_slowest is None, reversed(self._awaiting)):
            span.settle()

    # -- lives ----------------------------------------------------------------------------------

    def restart(self, protocol: GroupType, position: Position) -> None:
        """A group that does not continue the previous one begins at `position`."""
        if self.protocol is not None and not self.deleted:
            self._end(position, "deleted")
        if self.deleted or self._had_epochs:
            self.incarnation += 1
        self.ownership.incarnation = self.incarnation
        self.ownership.is_shared = protocol is GroupType.SHARE
        self.protocol = protocol
        self.progress.forget_arrivals()
        self.tallies.forget()
        self.deleted = self._had_epochs = False
        self._rebalances = 0

    def delete(self, write: Write) -> None:
        """The write deleted the group."""
        if self.protocol is not None and not self.deleted:
            self._end(write.last, "deleted")
            self.deleted = True

    def finish(self, group: Group | None) -> None:
        """The log ends, and leaves the group like this: emit everything that is still open."""
        self.absences.settle()
        end_ms, present = log_end(self), group_now(group, self)
        if (phase := present.join_phase) is not None and self.previous_generation is not None:
            again = self.open_rebalance(phase.prepared.at_ms, None, goes_on=True)
            again.join_again(self.previous_generation)
        goes_on = self.rebalance is not None and self.rebalance.settled_at_ms is None
        if goes_on and end_ms is not None:
            # Its row says until when it has been going on, and it adds to each hour of gold.group_hours.
            self.due_ms = end_ms + 1
            self.confirm_unowned(end_ms)
            present.add_unconsumed(group, self.ownership.unowned())
        elif present.due_ms is not None:
            self.due_ms = min(self.due_ms or present.due_ms, present.due_ms)
        self._close_span("open")
        self.drop_awaiting()
        self.end_rebalance(None, "open", {**present.held_up_columns(), "open_until": end_ms})
        self.costs.close()
        self.ownership.finish()
        for watch in self.watches.values():
            self.emit_member(watch.stint)
        self.watches.clear()
        self.tallies.forget()
        self.states.leave(None, self.incarnation, present.state_columns(self._partition_name))

    def _end(self, position: Position, outcome: str) -> None:
        last_epoch = self.span.epoch if self.span else None
        self.absences.judge((), position.record_timestamp_ms)
        self._close_span(outcome)
        self.drop_awaiting()
        self.end_rebalance(position.record_timestamp_ms, outcome)
        self.costs.close()
        self.ownership.end_all(position, last_epoch, is_whole=self.is_whole)
        self.commits.forget()
        how = RebalanceCause.GROUP_DELETED, Certainty.PROBABLE
        for member_id in list(self.watches):
            self.close_member(member_id, position, *how, last_epoch)
        self.states.leave(position, self.incarnation)
        self.moves.clear()
        self.overlaps.forget()
        self.span = self.previous_generation = self.created_at = None
        self.joined_since = self.left_since = 0

    # -- epochs ---------------------------------------------------------------------------------

    def open_span(self, span: EpochSpan) -> None:
        """A new epoch begins; the previous one is superseded unless every member had reached it."""
        before = self.span
        if before is not None:
            before.ended_at_ms = span.first_position.record_timestamp_ms
            if before.outcome is None:
                before.superseded_by = span.epoch
            self._close_span("superseded")
        self.span = span
        if span.protocol == GroupType.CLASSIC:
            self.progress.forget_arrivals()
        self._had_epochs = True
        self.gap = False
        self.joined_since = self.left_since = 0

    def converge(self, at_ms: int, *, takes_away: bool = False) -> None:
        """Every member has reached the current epoch.

        `takes_away`: a cooperative generation took partitions away that only the next one assigns again.
        """
        if self.span is not None and self.span.outcome is None:
            self.span.converged_at_ms = at_ms
            self.span.outcome = "converged"
            if self.rebalance is not None and takes_away:
                self.rebalance.settled_at_ms = at_ms
            elif self.rebalance is not None:
                self.end_rebalance(at_ms, "stable")

    def empty(self, at_ms: int) -> None:
        """The current epoch left the group without members."""
        if self.span is not None:
            self.span.outcome = "emptied"
        self.ownership.forget_unowned()
        if self.rebalance is not None and self.away.has_rows:
            self.rebalance.settled_at_ms, self.rebalance.settled_outcome = at_ms, "emptied"
        elif self.rebalance is not None:
            self.end_rebalance(at_ms, "emptied")

    def install_target(self, assignment_epoch: int, at_ms: int) -> None:
        """The target completes the superseded epochs up to its own epoch."""
        for span in self._awaiting:
            if span.epoch <= assignment_epoch:
                if not span.is_doubted:  # otherwise an earlier target may be missing
                    span.target_installed_at_ms = at_ms
                self._emit(EPOCHS, span.epoch_row())
        self._awaiting = [span for span in self._awaiting if span.epoch > assignment_epoch]

    def drop_awaiting(self) -> None:
        """No member is left to assign anything to: epochs without a target never get one."""
        for span in self._awaiting:
            self._emit(EPOCHS, span.epoch_row())
        self._awaiting.clear()

    def _close_span(self, outcome: str) -> None:
        span = self.span
        if span is None:
            return
        if span.outcome is None:
            span.outcome = outcome
            span.is_unowned_unknown |= self.is_whole is False and outcome != "open"
        if span.protocol != GroupType.CLASSIC:
            self.progress.complete(span)
        if self.rebalance is not None and self.rebalance.rebalance_seq == span.rebalance_seq:
            self.rebalance.end_epoch(span)
        for verdict in span.verdicts:
            self.options.note_cause(self.group_id, verdict)
        for row in span.cause_rows():
            self._emit(REBALANCE_CAUSES, row)
        for row in span.convergence_rows():
            self._emit(CONVERGENCE, row)
        if span.awaits_target() and len(self._awaiting) < _AWAITING_LIMIT:
            self._awaiting.append(span)
        else:
            self._emit(EPOCHS, span.epoch_row())
        self.span = None

    # -- rebalances -----------------------------------------------------------------------------

    def open_rebalance(
        self, started_at_ms: int | None, earliest_ms: int | None, *, goes_on: bool = False
    ) -> Rebalance:
        """The rebalance that is going on, or a new one; with `goes_on` also one that may have ended."""
        before = self.rebalance
        if (
            before is not None
            and before.settled_at_ms is not None
            and not (goes_on and before.settled_outcome == "stable")
        ):
            self.end_rebalance(before.settled_at_ms, before.settled_outcome)
        if self.rebalance is None:
            self.rebalance = Rebalance(
                self.group_id,
                self.incarnation,
                self._rebalances,
                self.log_partition,
                str(self.protocol),
                started_at_ms,
                earliest_ms,
            )
            self._rebalances += 1
            self.costs.begin(started_at_ms if earliest_ms is None else earliest_ms)
        return self.rebalance

    def end_rebalance(self, at_ms: int | None, outcome: str, now: Row | None = None) -> None:
        """The group is stable, empty or gone at `at_ms`; None: the log ends first, and shows `now`."""
        rebalance = self.rebalance
        if rebalance is None:
            return
        if rebalance.settled_at_ms is not None:
            at_ms, outcome = rebalance.settled_at_ms, rebalance.settled_outcome
        rebalance.ended_at_ms = at_ms
        if self.span is not None and self.span.rebalance_seq == rebalance.rebalance_seq:
            rebalance.end_epoch(self.span)
        now = now if at_ms is None else None
        self.costs.end(rebalance.row(outcome, self.moves.owners, now), at_ms)
        self.rebalance = None

    # -- members --------------------------------------------------------------------------------

    def open_member(
        self,
        member_id: str,
        identity: Identity,
        epoch: int | None,
        position: Position,
        *,
        gap: bool,
    ) -> MemberWatch:
        """Start to follow a member id."""
        began_at_ms = position.record_timestamp_ms
        stint = Stint(member_id, identity, str(self.protocol), epoch, position, began_at_ms, gap)
        watch = MemberWatch(stint, position)
        self.watches[member_id] = watch
        self.progress.arrived(member_id)
        self.tallies.set(member_id, identity)
        if self.on_member is not None:
            self.on_member(stint)
        return watch

    def close_member(
        self,
        member_id: str,
        position: Position,
        cause: RebalanceCause,
        certainty: Certainty,
        last_epoch: int | None,
        *,
        waits: bool = False,
        closed_weight: float | None = None,
    ) -> None:
        """Stop following a member id that is gone; if it `waits`, its row comes once the next generation is known.

        `closed_weight`: as in gold.members.
        """
        progress = self.progress.of(member_id)
        watch = self.watches.pop(member_id, None)
        if watch is None:
            return
        self.progress.left(watch)
        self.tallies.remove(member_id)
        stint = watch.stint
        cause, certainty = as_logged(self.witness, watch, position, cause, certainty)
        stint.left_at_ms = position.record_timestamp_ms
        stint.left_how, stint.left_certainty = cause, certainty
        stint.last_epoch = last_epoch
        row = stint.row(self.group_id, self.incarnation) | {"closed_weight": closed_weight}
        if waits:
            self.away.wait(stint)
        else:
            self._emit(MEMBERS, row)
        if self.on_departure is not None:
            self.on_departure({**row, "last_sign_leader_epoch": watch.last_sign.leader_epoch})
        if progress is not None and progress.outcome is None:
            progress.outcome = "left"

    def emit_member(self, stint: Stint) -> None:
        """Emit the row of a member id."""
        self._emit(MEMBERS, stint.row(self.group_id, self.incarnation))

    def identify(self, watch: MemberWatch, identity: Identity) -> None:
        """What the member says about itself from now on."""
        watch.stint.identity = identity
        self.tallies.set(watch.stint.member_id, identity)

    def owner(self, member_id: str) -> Owner:
        """The member as an owner of partitions."""
        watch = self.watches.get(member_id)
        return Owner.of(member_id, None if watch is None else watch.stint.identity)

    # -- partitions -----------------------------------------------------------------------------

    def _topic_of(self, partition: TopicPartition) -> tuple[str | None, str | None]:
        topic = partition[0]
        if isinstance(topic, str):
            return None, topic
        return topic_id_text(topic), self.options.topic_name(topic)

    def _partition_name(self, partition: TopicPartition) -> str:
        topic_id, topic = self._topic_of(partition)
        return f"{topic or topic_id}-{partition[1]}"

    def doubt(self, *, ended: bool = True) -> None:
        """Records may be missing before this write: durations across it are unknown; `ended`: those before as well."""
        self.ownership.doubt()
        for span in self._spans:
            reached = span.converged_at_ms is not None
            span.is_doubted |= ended or not reached
            span.is_doubted_since |= reached
        if self.rebalance is not None:
            self.rebalance.is_doubted = True

    def confirm_unowned(self, now_ms: int) -> None:
        """An epoch or the log ends: its unowned time counts where a member certainly subscribes to the partition."""
        is_wanted = self.moves.is_certainly_wanted(self._topic_of, self.watches.values())
        self.ownership.confirm(is_wanted, now_ms, is_end=True)

    def _count_unowned(self, partitions: int, from_ms: int, to_ms: int) -> None:
        """Add unowned time to the epochs and the rebalance in which it falls."""
        for span in self._spans:
            span.count_unowned(partitions, from_ms, to_ms)
        if self.rebalance is not None:
            self.rebalance.count_unowned(partitions, from_ms, to_ms)
