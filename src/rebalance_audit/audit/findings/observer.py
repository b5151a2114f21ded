"""Passes the history of one group to every kind of finding, alongside the audit that makes the rows."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rebalance_audit.audit.epochs.epoch_span import EpochSpan
from rebalance_audit.audit.findings.finding import Ending, Finding
from rebalance_audit.audit.findings.kinds import WATCHERS
from rebalance_audit.audit.findings.repeats import Repeats
from rebalance_audit.audit.findings.watcher import Scene, Watcher
from rebalance_audit.audit.group.life import Life
from rebalance_audit.audit.lag.end_offsets import PartitionSamples
from rebalance_audit.audit.lag.standstills import Standstill
from rebalance_audit.audit.members.stint import Stint
from rebalance_audit.audit.options import ExternalFacts
from rebalance_audit.audit.rows import FINDINGS, Emit, Row
from rebalance_audit.audit.writes import Write
from rebalance_audit.replay.changes import MemberAssigned, Position
from rebalance_audit.replay.groups import UNREVOKED, Group
from rebalance_audit.replay.partitions import TopicPartition


class GroupFindings:
    """Follows one `Life`. Call `wrote` after each write, and `finish` before the life itself finishes."""

    _incarnation: int
    _settled: bool
    _alive: bool
    _last_ms: int

    def __init__(self, life: Life, outside: ExternalFacts, emit: Emit) -> None:
        self._life = life
        self._emit = emit
        self._incarnation = life.incarnation
        self._repeats = Repeats(self._report, life.options.findings.repeat_pause_ms)
        scene = Scene(life, outside, self._repeats.add)
        self._watchers = [of_kind(scene) for of_kind in WATCHERS]
        scene.watchers.update((watcher.kind, watcher) for watcher in self._watchers)
        self._on_coming = self._overriding(Watcher.write_comes)
        self._on_began = self._overriding(Watcher.epoch_began)
        self._on_gap = self._overriding(Watcher.gap_came)
        self._on_settled = self._overriding(Watcher.epoch_settled)
        self._on_ended = self._overriding(Watcher.epoch_ended)
        self._on_members = self._overriding(Watcher.members_changed)
        self._on_revocation = self._overriding(Watcher.revocation)
        self._on_wrote = self._overriding(Watcher.wrote)
        self._on_stood = self._overriding(Watcher.stood_still)
        self._on_change: dict[type, list[Watcher]] = {}
        for watcher in self._watchers:
            for kind in watcher.changes:
                self._on_change.setdefault(kind, []).append(watcher)
        self._span: EpochSpan | None = None
        """The life's span as of the last write."""
        self._settled = False
        self._alive = False
        self.due_ms: int | None = None
        """After `finish`: the earliest log end (epoch ms) at which the findings would differ; None = never."""
        self._arrivals = list[Stint]()
        """Member ids that appeared in the write that is being judged."""
        self._departures = list[Row]()
        """Rows of gold.members of those that went in it."""
        life.observe(
            self._arrivals.append, self._departures.append, self.stood_still, self.costs_known
        )
        self._last_ms = 0

    def stood_still(
        self, partition: TopicPartition, stood: Standstill, samples: PartitionSamples | None
    ) -> None:
        """A partition stood still in a rebalance."""
        for watcher in self._on_stood:
            watcher.stood_still(partition, stood, samples)

    def costs_known(self) -> None:
        """What the last rebalance cost is known."""
        for watcher in self._on_stood:
            watcher.costs_known()

    def parts(self) -> Mapping[str, object]:
        """Every object that holds state: this one, and each kind of finding."""
        return {
            "findings": self,
            "repeats": self._repeats,
            **{watcher.kind: watcher for watcher in self._watchers},
        }

    def resumed(self) -> None:
        """Called after the state of the parts and of the life has been restored."""
        self._span = self._life.span

    def write_comes(self, position: Position) -> None:
        """The audit is about to judge the write that begins at `position`."""
        if self._alive:
            for watcher in self._on_coming:
                watcher.write_comes(position)

    def wrote(self, write: Write, kinds: Mapping[type, Sequence[Any]], group: Group | None) -> None:
        """The audit has judged a write, whose changes by their type are `kinds`; `group`: None if it was deleted."""
        life, position = self._life, write.last
        self._last_ms = max(self._last_ms, position.record_timestamp_ms)
        if self._alive and (group is None or life.incarnation != self._incarnation):
            self._end(position)
        self._incarnation = life.incarnation
        self._alive = group is not None
        if group is None:
            self._arrivals.clear()
            self._departures.clear()
            return
        self._follow_epochs(position, group)
        if self._arrivals or self._departures:
            arrivals, now = list(self._arrivals), self._incarnation
            departures = [row for row in self._departures if row["incarnation"] == now]
            self._arrivals.clear()
            self._departures.clear()
            for watcher in self._on_members:
                watcher.members_changed(arrivals, departures, position)
        if not self._on_change.keys().isdisjoint(kinds):
            for change in write.changes:
                for watcher in self._on_change.get(type(change), ()):
                    watcher.changed(change, group)
        for assigned in kinds.get(MemberAssigned, ()):
            if UNREVOKED in (assigned.old_state, assigned.new_state):
                for watcher in self._on_revocation:
                    watcher.revocation(assigned, group)
        for watcher in self._on_wrote:
            watcher.wrote(position, group)

    def finish(self, log_end_ms: int | None) -> None:
        """The log ends at `log_end_ms`, or with the group's last record if that is None.

        What lasts is known up to a last record that cannot be decoded, and no longer.
        """
        if not self._alive:
            return
        end_ms = self._last_ms if log_end_ms is None else max(log_end_ms, self._last_ms)
        lost_ms = self._life.states.unknown_since_ms
        end = Ending(end_ms, is_open=True) if lost_ms is None else Ending(lost_ms)
        if self._span is not None:
            self._close_span(self._span, end)
        self._close(end)
        self.due_ms = end.due_ms

    def _follow_epochs(self, position: Position, group: Group) -> None:
        span = self._life.span
        if span is not self._span:
            if self._span is not None:
                before = self._span
                began = span.first_position if span is not None else position
                ended_ms = before.ended_at_ms or began.record_timestamp_ms
                if span is not None and span.gap:
                    for watcher in self._on_gap:
                        watcher.gap_came()
                self._close_span(before, Ending(ended_ms))
            self._span, self._settled = span, False
            if span is not None:
                for watcher in self._on_began:
                    watcher.epoch_began(span)
        if span is not None and not self._settled and span.outcome == "converged":
            self._settled = True
            for watcher in self._on_settled:
                watcher.epoch_settled(span, position, group)

    def _close_span(self, span: EpochSpan, end: Ending) -> None:
        for watcher in self._on_ended:
            watcher.epoch_ended(span, end)

    def _end(self, position: Position) -> None:
        """The incarnation is over; the life's rows have what it still had."""
        end = Ending(position.record_timestamp_ms)
        if self._span is not None:
            self._close_span(self._span, end)
        self._span = None
        self._close(end)

    def _close(self, end: Ending) -> None:
        for watcher in self._watchers:
            watcher.ended(end)
        for watcher in self._watchers:
            watcher.forget()
        self._repeats.close()

    def _report(self, finding: Finding) -> None:
        self._emit(FINDINGS, finding.row(self._life.group_id, self._incarnation))

    def _overriding(self, hook: Callable[..., None]) -> list[Watcher]:
        name = hook.__name__
        return [watcher for watcher in self._watchers if getattr(type(watcher), name) is not hook]
