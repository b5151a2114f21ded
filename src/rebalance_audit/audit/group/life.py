"""One group id over time: the state that outlives changes of protocol and incarnation, and where rows are emitted.

A *life* is one incarnation. It ends when the group is deleted, or when an empty group restarts its epoch counter under
another protocol. A conversion that carries the counter over (online upgrade or downgrade) continues the life.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import takewhile

from rebalance_audit import limits
from rebalance_audit.audit.causes.classic_scene import Generation
from rebalance_audit.audit.epochs.epoch_span import EpochSpan
from rebalance_audit.audit.epochs.target_moves import TargetMoves
from rebalance_audit.audit.group.ends import (
    AWAY_MS,
    EndsOfMembers,
    clients_come_back,
    ids_come_back,
)
from rebalance_audit.audit.group.group_members import GroupMembers
from rebalance_audit.audit.group.group_states import GroupStates
from rebalance_audit.audit.group.present import group_now, log_end
from rebalance_audit.audit.group.progress_tracker import ProgressTracker
from rebalance_audit.audit.group.rebalance import OnStandstill, Rebalance, RebalanceCosts
from rebalance_audit.audit.members.stint import MemberEnd, MemberWatch, Stint
from rebalance_audit.audit.options import AuditOptions
from rebalance_audit.audit.ownership.commit_book import CommitBook
from rebalance_audit.audit.ownership.overlaps import Overlaps
from rebalance_audit.audit.ownership.ownership import Ownership
from rebalance_audit.audit.rows import (
    CONVERGENCE,
    EPOCHS,
    GROUP_STATES,
    REBALANCE_CAUSES,
    Emit,
    Row,
)
from rebalance_audit.audit.testimony.witness import Witness
from rebalance_audit.audit.verdicts.cause import Certainty, RebalanceCause, Verdict
from rebalance_audit.audit.writes import Write, is_other_coordinator
from rebalance_audit.replay.changes import (
    Change,
    GroupStateChanged,
    GroupType,
    MemberSubscribed,
    Position,
)
from rebalance_audit.replay.groups import Group

_AWAITING_LIMIT = limits.AWAITED_EPOCHS.most
"""Superseded epochs kept for a target that may still come; more are emitted without one, to bound memory."""


class Life:
    """The state that the classic and the modern audit share. Two kinds of code know it, as in Kafka's own coordinators.

    Only this class changes it: every attribute is assigned by a method here, and the same write, verdicts and spans
    make the same state. All others read it and judge: the audits of a write, and what they ask (`conversions`,
    `doubt`, `join_phases`, causes, findings), hand in what they decided.
    """

    incarnation: int = 0
    protocol: GroupType | None = None
    deleted: bool = False
    gap: bool = False
    """A record of the group has been lost since the last epoch began."""
    span: EpochSpan | None = None
    rebalance: Rebalance | None = None
    previous_generation: Generation | None = None
    """The last classic generation; None in other protocols and at the start of a life."""
    created_at: Position | None = None
    """The record that created the classic group of this life, with generation 0."""
    _awaiting: list[EpochSpan]
    _had_epochs: bool = False
    _rebalances: int = 0

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
        self.due_ms: int | None = None
        """After `finish`: the earliest log end (epoch ms) at which the rows would differ without a new record."""
        self.progress = ProgressTracker(self)
        self.members = GroupMembers(group_id, emit, self.witness, self.progress)
        self.away = self.members.away
        self.moves = TargetMoves()
        self.overlaps = Overlaps(is_whole=self.is_whole)
        self.commits = CommitBook(log_partition, is_whole=self.is_whole)
        self.ownership = Ownership(
            group_id, emit, options.topic_of, self._count_unowned, self.commits.end
        )
        self.costs = RebalanceCosts(emit, self.commits, self.ownership, options.end_offsets)
        self.ends = EndsOfMembers(
            options.rules, lambda: self.watches, self.away, self.commits, self.ownership
        )
        self.states = GroupStates(group_id, lambda row: emit(GROUP_STATES, row))
        self._awaiting = []

    def parts(self) -> Mapping[str, object]:
        """Every object that holds state."""
        return {
            "life": self,
            "members": self.members,
            "away": self.away,
            "target": self.moves,
            "ownership": self.ownership,
            "overlaps": self.overlaps,
            "commits": self.commits,
            "usual_pause": self.commits.usual_pause,
            **self.costs.parts(),
            "group_state": self.states,
        }

    def observe(
        self,
        on_member: Callable[[Stint], None],
        on_departure: Callable[[Row], None],
        on_standstill: OnStandstill,
        on_settled: Callable[[], None],
    ) -> None:
        """Call these with every member id that appears, with the row of every one that goes, and of the costs.

        The row has `last_sign_leader_epoch`, too.
        """
        self.members.on_member, self.members.on_departure = on_member, on_departure
        self.costs.on_standstill, self.costs.on_settled = on_standstill, on_settled

    @property
    def watches(self) -> Mapping[str, MemberWatch]:
        """The members, by their ids."""
        return self.members.watches

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

    def restart(
        self, protocol: GroupType, position: Position, *, keeps_members: bool = False
    ) -> None:
        """A group that does not continue the previous one begins at `position`.

        `keeps_members`: only its epochs begin again; the record that deleted the group is not in the log.
        """
        kept = dict(self.watches) if keeps_members else {}
        if self.protocol is not None and not self.deleted:
            self._end(position, "deleted")
        if self.deleted or self._had_epochs:
            self.incarnation += 1
        self.ownership.incarnation = self.incarnation
        self.ownership.is_shared = protocol is GroupType.SHARE
        self.protocol = protocol
        self.progress.forget_arrivals()
        self.members.restart(self.incarnation, protocol, kept)
        self.deleted = self._had_epochs = False
        self._rebalances = 0

    def convert(self, protocol: GroupType, position: Position, epoch: int) -> None:
        """The group goes on under another protocol after this epoch or generation."""
        self.ownership.convert(position, epoch)
        self.moves.clear()
        self.protocol = protocol
        self.members.protocol = str(protocol)
        self.previous_generation = self.created_at = None

    def delete(self, write: Write) -> None:
        """The write deleted the group."""
        if self.protocol is not None and not self.deleted:
            self._end(write.last, "deleted")
            self.deleted = True

    def finish(self, group: Group | None) -> None:
        """The log ends, and leaves the group like this: emit everything that is still open."""
        self._settle_absences()
        end_ms, present = log_end(self), group_now(group, self)
        if (phase := present.join_phase) is not None and self.previous_generation is not None:
            again = self.open_rebalance(phase.prepared.at_ms, None, continues=True)
            again.join_again(self.previous_generation)
        continues = self.rebalance is not None and self.rebalance.settled_at_ms is None
        if continues and end_ms is not None:
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
        self.members.finish()
        self.states.leave(
            None, self.incarnation, present.state_columns(self.options.partition_name)
        )

    def _end(self, position: Position, outcome: str) -> None:
        last_epoch = self.span.epoch if self.span else None
        self.judge_absences((), position.record_timestamp_ms)
        self._close_span(outcome)
        self.drop_awaiting()
        self.end_rebalance(position.record_timestamp_ms, outcome)
        self.costs.close()
        self.ownership.end_all(position, last_epoch, is_whole=self.is_whole)
        self.commits.forget()
        deleted = MemberEnd(RebalanceCause.GROUP_DELETED, Certainty.PROBABLE, last_epoch)
        for member_id in list(self.watches):
            self.members.close(member_id, position, deleted)
        self.states.leave(position, self.incarnation)
        self.moves.clear()
        self.overlaps.forget()
        self.span = self.previous_generation = self.created_at = None
        self.members.begin_epoch()

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
        self.members.begin_epoch()

    def create(self, position: Position) -> None:
        """A classic group begins with generation 0, which has no members."""
        self.created_at = position

    def follow(self, generation: Generation) -> None:
        """A classic group has this generation now."""
        self.previous_generation = generation

    def correct(self, verdicts: tuple[Verdict, ...]) -> None:
        """The causes of the current epoch are better known.

        A rebalance that is over has been reported, and which epoch of several had which cause is not known.
        """
        if self.span is not None:
            self.span.verdicts = verdicts
            if self.rebalance is not None and self.rebalance.epochs == 1:
                self.rebalance.judge(self.span)

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
        self, started_at_ms: int | None, earliest_ms: int | None, *, continues: bool = False
    ) -> Rebalance:
        """The rebalance that is going on, or a new one; with `continues` also one that may have ended."""
        before = self.rebalance
        continues = continues and before is not None and before.settled_outcome == "stable"
        if before is not None and before.settled_at_ms is not None and not continues:
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

    def judge_absences(self, clients: Collection[tuple[str, str]], at_ms: int) -> None:
        """A classic group that was left empty has these clients now (ids and hosts), or none by then (epoch ms)."""
        if self.away.has_rows:
            if self.span is not None:
                self.correct(clients_come_back(clients, at_ms, self.span.verdicts))
            self._emit_away()

    def come_back(self, joined: Collection[MemberSubscribed]) -> None:
        """Members join: the end of a member id among them is now better known, unless a broker's log has it."""
        span, rebalance = self.span, self.rebalance
        is_first = rebalance is not None and rebalance.epochs <= 1
        if self.witness is None and span is not None and is_first:
            self.correct(ids_come_back(joined, span.verdicts))

    def _settle_absences(self) -> None:
        """The log ends: if it shows long enough that the clients did not come back, they stay away."""
        since_ms, end_ms = self.away.since_ms, self.options.log_end_ms
        if since_ms is not None and end_ms is not None:
            if end_ms >= since_ms + AWAY_MS:
                self.judge_absences((), since_ms + AWAY_MS)
            else:
                self.due_ms = since_ms + AWAY_MS
        self._emit_away()

    def _emit_away(self) -> None:
        self.members.emit_away(() if self.span is None else self.span.verdicts)

    # -- partitions -----------------------------------------------------------------------------

    def lose(self) -> None:
        """A record that may have been of this group cannot be read."""
        self.gap = True
        self.overlaps.lose()

    def doubt(self, *, ended: bool = True, gap: bool = False) -> None:
        """Records may be missing before this write: durations across it are unknown; `ended`: those before as well.

        `gap`: they are certainly missing.
        """
        self.gap |= gap
        self.ownership.doubt()
        for span in self._spans:
            reached = span.converged_at_ms is not None
            span.is_doubted |= ended or not reached
            span.is_doubted_since |= reached
        if self.rebalance is not None:
            self.rebalance.is_doubted = True

    def confirm_unowned(self, now_ms: int) -> None:
        """An epoch or the log ends: its unowned time counts where a member certainly subscribes to the partition."""
        is_wanted = self.moves.is_certainly_wanted(self.options.topic_of, self.watches.values())
        self.ownership.confirm(is_wanted, now_ms, is_end=True)

    def _count_unowned(self, partitions: int, from_ms: int, to_ms: int) -> None:
        """Add unowned time to the epochs and the rebalance in which it falls."""
        for span in self._spans:
            span.count_unowned(partitions, from_ms, to_ms)
        if self.rebalance is not None:
            self.rebalance.count_unowned(partitions, from_ms, to_ms)
