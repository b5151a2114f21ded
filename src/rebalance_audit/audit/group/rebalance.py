"""A rebalance as users see it: from the moment the group is no longer stable until it is stable again.

Its row waits until the commits after it are known, and so what it cost.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from rebalance_audit import limits
from rebalance_audit.audit.causes.classic_scene import Generation
from rebalance_audit.audit.epochs.epoch_span import EpochSpan
from rebalance_audit.audit.group.held_up import HoldUps
from rebalance_audit.audit.lag.end_offsets import EndOffsetsOf, PartitionSamples
from rebalance_audit.audit.lag.rebalance_cost import RebalanceCost
from rebalance_audit.audit.lag.standstills import Standstill
from rebalance_audit.audit.ownership.commit_book import CommitBook
from rebalance_audit.audit.ownership.ownership import Ownership
from rebalance_audit.audit.rows import REBALANCES, Emit, Row, completeness, duration_ms
from rebalance_audit.bounds import NOTHING, Bounds, bounds_columns
from rebalance_audit.replay.changes import GroupType
from rebalance_audit.replay.partitions import Topic, TopicPartition

_EPOCHS_MAX: Final = 1_000
BLOCKERS_MAX: Final = limits.BLOCKERS.most
"""Bounds memory: in a group that never becomes stable, every client that comes and goes adds one."""


@dataclass(slots=True)
class Rebalance:
    """One rebalance, which may span several epochs."""

    group_id: str
    incarnation: int
    rebalance_seq: int
    log_partition: int
    protocol: str
    started_at_ms: int | None
    started_at_earliest_ms: int | None = None
    ended_at_ms: int | None = None
    first_epoch: int | None = None
    last_epoch: int | None = None
    epochs: int = 0
    causes: list[str] = field(default_factory=list)
    primary_cause: str | None = None
    primary_certainty: str | None = None
    members_joined: int = 0
    members_left: int = 0
    partitions_moved: int = 0
    first_owners: dict[TopicPartition, str] = field(default_factory=dict)
    """For every partition that the rebalance moved: its owner before the rebalance."""
    unowned_partition_ms: int = 0
    """Exact, from the records; a classic group has bounds instead."""
    not_stable: Bounds | None = None
    """Classic: time not stable, summed over its generations."""
    unowned: Bounds | None = None
    is_doubted: bool = False
    """Records of its time may be missing, so that its unowned time is unknown."""
    is_elsewhere: bool = False
    """The coordinator moved during it: its unowned time has no upper bound."""
    settled_at_ms: int | None = None
    """When it ended, unless the next generation shows otherwise; None while it goes on.

    A cooperative generation took partitions away, which the next one may assign. Or it left a classic group empty, and
    the next one shows whether the clients came back at once.
    """
    settled_outcome: str = "stable"
    blocked_by: set[str] = field(default_factory=set)
    hold_ups: HoldUps = field(default_factory=HoldUps)
    began: list[tuple[int, int]] = field(default_factory=list)
    """(epoch, when it began in epoch ms) of its first epoch and of the last ones, no more than `_EPOCHS_MAX`."""
    protocol_type: str | None = None
    """Classic: as in its epochs."""
    owns_partitions: bool = True
    is_unread: bool = False
    """As in its epochs, of any of them."""
    gap: bool = False
    follows_start: bool = False
    is_counted: bool = True
    """Both as in its epochs, of all of them."""

    def begin_epoch(self, span: EpochSpan, last_signs: Mapping[str, int] | None = None) -> None:
        """An epoch of this rebalance started; its causes are known.

        `last_signs`: when members that it removed were last heard of (epoch ms); None in a classic group.
        """
        if last_signs is not None:
            self.hold_ups.depart(span.verdicts, last_signs, self.started_at_ms)
        if self.first_epoch is None:
            self.first_epoch = span.epoch
            self.judge(span)
        else:
            self.causes += [each for each in _causes(span) if each not in self.causes]
        self.last_epoch = span.epoch
        self.epochs += 1
        if span.protocol != GroupType.CLASSIC:
            self.began.append((span.epoch, span.first_position.record_timestamp_ms))
            if len(self.began) > _EPOCHS_MAX:
                del self.began[1]
        self.settled_at_ms, self.settled_outcome = None, "stable"
        if span.not_stable is not None:
            self.not_stable = span.not_stable.plus(self.not_stable or NOTHING)
        self.protocol_type = span.protocol_type or self.protocol_type
        self.owns_partitions = span.owns_partitions
        self.is_unread |= span.is_unread
        if span.unowned is not None and span.owns_partitions:
            self.unowned = span.unowned.plus(self.unowned or NOTHING)
        self.members_joined += span.members_joined
        self.members_left += span.members_left
        self.gap |= span.gap
        self.follows_start |= span.follows_start
        self.is_counted &= span.is_counted
        self.is_doubted |= span.is_doubted or span.is_unowned_unknown

    def join_again(self, last: Generation) -> None:
        """A join phase is open after this generation: no record shows who joined, or what they own meanwhile."""
        self.settled_at_ms, self.is_counted = None, False
        self.is_doubted = self.is_unread = True
        self.protocol_type = last.protocol_type or self.protocol_type
        self.owns_partitions = last.kind.owns_partitions

    def began_after(self, epoch: int) -> int | None:
        """When the first of its epochs after this one began (epoch ms), as far as they are kept; None without one."""
        return next((at_ms for number, at_ms in self.began if number > epoch), None)

    def judge(self, first: EpochSpan) -> None:
        """Take over the causes of the first epoch, the only one so far."""
        if first.verdicts:
            self.primary_cause = first.verdicts[0].cause.text
            self.primary_certainty = first.verdicts[0].certainty.text
        self.causes = _causes(first)

    def end_epoch(self, span: EpochSpan) -> None:
        """The epoch is over for this rebalance: converged, superseded or emptied."""
        self.is_elsewhere |= span.is_cut
        self.is_doubted |= span.unowned_time() is None
        for progress in span.progress.values():
            if progress.waited_for:
                self.wait_for(progress.waited_for)
        if span.protocol != GroupType.CLASSIC:
            until_ms = self.ended_at_ms if span.ended_at_ms is None else span.ended_at_ms
            self.hold_ups.end_epoch(span, until_ms)

    def wait_for(self, member_ids: Iterable[str]) -> None:
        """Note members that others waited for; the first `BLOCKERS_MAX` of a rebalance are kept."""
        for member_id in sorted(member_ids):
            if len(self.blocked_by) < BLOCKERS_MAX:
                self.blocked_by.add(member_id)

    def count_unowned(self, partitions: int, from_ms: int, to_ms: int) -> None:
        """Add the part of the time without owner that falls into the rebalance, where records show all of it."""
        if self.started_at_ms is not None and self.unowned is None:
            overlap_ms = to_ms - max(from_ms, self.started_at_ms)
            self.unowned_partition_ms += partitions * max(0, overlap_ms)

    def move(self, old_owners: Mapping[TopicPartition, str]) -> None:
        """Note partitions that a target moved away from their owners."""
        self.partitions_moved += len(old_owners)
        if not self.first_owners:
            self.first_owners.update(old_owners)
            return
        for partition, old_owner in old_owners.items():
            self.first_owners.setdefault(partition, old_owner)

    def _lasted(self) -> Bounds | None:
        """How long the group was not stable, from the first epoch to the last; None while the rebalance goes on.

        Between the two generations of a cooperative rebalance the coordinator briefly calls the group stable.
        """
        lasted_ms = duration_ms(self.started_at_ms, self.ended_at_ms)
        if lasted_ms is None or self.ended_at_ms is None:
            return None
        if self.not_stable is None:
            return Bounds.exactly(max(0, lasted_ms))
        earliest_ms = self.started_at_earliest_ms
        most = None if earliest_ms is None else self.ended_at_ms - earliest_ms
        return Bounds.between(self.not_stable.least, most, self.not_stable.estimate)

    def row(
        self,
        outcome: str,
        target: Mapping[Topic, Mapping[int, str]],
        now: Row | None = None,
    ) -> Row:
        """The row of gold.rebalances; a partition that ends at its first owner was moved for nothing.

        `now`: the columns of one that goes on: for whom the group waits, and when the log ends.
        """
        unowned = self.unowned
        if unowned is None and not self.is_doubted and self.owns_partitions:
            known_ms = self.unowned_partition_ms
            unowned = Bounds(known_ms, None if self.is_elsewhere else known_ms, known_ms)
        lasted, started_ms = self._lasted(), self.started_at_ms
        if self.ended_at_ms is not None and lasted is not None and lasted.estimate is not None:
            started_ms = self.ended_at_ms - lasted.estimate
        self.hold_ups.settle()
        held_up = now or self.hold_ups.columns(started_ms, self.ended_at_ms)
        named = [each for each in held_up["held_up_member_ids"] if each is not None]
        is_counted = self.is_counted and not self.gap
        has_target = self.owns_partitions and not self.is_unread
        wasted = 0
        for (topic, number), owner in self.first_owners.items():
            held = target.get(topic)
            if held is not None and held.get(number) == owner:
                wasted += 1
        return {
            "group_id": self.group_id,
            "incarnation": self.incarnation,
            "rebalance_seq": self.rebalance_seq,
            "log_partition": self.log_partition,
            "protocol": self.protocol,
            "protocol_type": self.protocol_type,
            "started_at": self.started_at_ms,
            "started_at_earliest": self.started_at_earliest_ms,
            "ended_at": self.ended_at_ms,
            "duration_ms": duration_ms(self.started_at_ms, self.ended_at_ms),
            "first_epoch": self.first_epoch,
            "last_epoch": self.last_epoch,
            "epochs": self.epochs,
            "primary_cause": self.primary_cause,
            "primary_certainty": self.primary_certainty,
            "causes": list(self.causes),
            "members_joined": self.members_joined if is_counted else None,
            "members_left": self.members_left if is_counted else None,
            "partitions_moved": None
            if self.gap or self.follows_start or not has_target
            else self.partitions_moved,
            "wasted_moves": wasted if has_target else None,
            "unowned_partition_ms": None if unowned is None else unowned.exact,
            **bounds_columns(lasted, "duration"),
            **bounds_columns(unowned, "unowned_partition"),
            "slowest_member_id": named[0] if named else None,
            "blocked_by": sorted({*named, *sorted(self.blocked_by)[: BLOCKERS_MAX - len(named)]}),
            "open_until": None,
            **held_up,
            **self.hold_ups.account.columns(None if lasted is None else lasted.likely),
            "outcome": outcome,
            "completeness": completeness(self.gap),
        }


def _causes(span: EpochSpan) -> list[str]:
    """Each once, in their order."""
    return list(dict.fromkeys(verdict.cause.text for verdict in span.verdicts))


RESUMES_WITHIN_MS: Final = 600_000
"""A first commit that comes later than this after the assignment shows nothing about the rebalance."""


OnStandstill: TypeAlias = Callable[[TopicPartition, Standstill, PartitionSamples | None], None]


class RebalanceCosts:
    """The row of the last rebalance waits here until the next one begins, or the group or the log ends."""

    _waiting: Row | None = None
    _cost: RebalanceCost
    """Of the rebalance that goes on, or of the waiting row."""
    _began_ms: int | None = None
    """Earliest start of that rebalance (epoch ms); None if it has no bound."""
    _ended_ms: int | None = None
    """None while it goes on."""

    def __init__(
        self, emit: Emit, commits: CommitBook, ownership: Ownership, end_offsets: EndOffsetsOf
    ) -> None:
        self._emit = emit
        self._standstills = commits.standstills
        self._ownership = ownership
        self._end_offsets = end_offsets
        self._cost = RebalanceCost()
        self.on_standstill: OnStandstill | None = None
        """Called with each standstill that a rebalance accounts for."""
        self.on_settled: Callable[[], None] | None = None
        """Called when the cost of a rebalance is known."""

    def parts(self) -> Mapping[str, object]:
        """Every object that holds state."""
        return {"costs": self, "standstills": self._standstills}

    def begin(self, began_ms: int | None) -> None:
        """A rebalance begins; what the last one cost is known."""
        self.close()
        self._began_ms, self._ended_ms = began_ms, None

    def end(self, row: Row, ended_ms: int | None) -> None:
        """The rebalance is over, or still goes on when the log ends (None); its row lacks the cost."""
        self._waiting, self._ended_ms = row, ended_ms

    def add(self, partition: TopicPartition, stood: Standstill) -> None:
        """Account for a standstill that is over, if it ended within the rebalance."""
        ended_ms, resumed_ms = self._ended_ms, stood.resumed_ms
        if resumed_ms is None or (ended_ms is not None and resumed_ms > ended_ms):
            return
        if stood.next_ms is not None and stood.next_ms > resumed_ms + RESUMES_WITHIN_MS:
            stood = stood._replace(next_ms=None, next_committed=None)
        samples = self._end_offsets(str(partition[0]), partition[1])
        counted = self._cost.add(stood, samples, self._began_ms)
        if counted and self.on_standstill is not None:
            self.on_standstill(partition, stood, samples)

    def close(self) -> None:
        """Emit the waiting row: the group's next rebalance begins, or the group or the log ends."""
        row, ended_ms = self._waiting, self._ended_ms
        if row is not None:
            for partition, stood in self._standstills.over(self._ownership.held_since_ms, ended_ms):
                self.add(partition, stood)
            self._emit(REBALANCES, {**row, **self._cost.columns()})
            if ended_ms is not None:
                self._standstills.settled(self._ownership.held_since_ms, ended_ms)
            if self.on_settled is not None:
                self.on_settled()
        self._waiting = self._ended_ms = None
        self._cost = RebalanceCost()
