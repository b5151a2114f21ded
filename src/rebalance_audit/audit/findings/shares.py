"""How the assignment divides partitions: unequal shares, needless moves."""

from collections import defaultdict
from dataclasses import field

from rebalance_audit.audit.causes.departures import evidence_at
from rebalance_audit.audit.epochs.epoch_span import EpochSpan
from rebalance_audit.audit.findings.finding import AtLogEnd, Ending, Severity
from rebalance_audit.audit.findings.watcher import ASSIGNING_TYPES, Watcher
from rebalance_audit.audit.verdicts.cause import Evidence
from rebalance_audit.replay.changes import GroupStateChanged, Position
from rebalance_audit.replay.groups import Group
from rebalance_audit.sentences.reason import CodedReason, because

_WORST = 6
"""Number of epochs that a finding about all of them shows."""


class UnbalancedAssignment(Watcher):
    """Compares the shares of members that subscribe to the same topics."""

    kind = "unbalanced_assignment"
    definition = (
        "For at least {unbalanced_ms} a member had {unbalanced_factor} times the mean share, and "
        "{unbalanced_difference} partitions more than another one with the same subscription."
    )
    changes = (GroupStateChanged,)
    severity = Severity.INFO
    at_log_end = AtLogEnd.APPEARS

    _began: Position | None = None
    _unequal: CodedReason | None = None
    """What the latest assignment showed, without how long it lasts."""
    _members: list[str] = field(default_factory=list)

    def epoch_settled(self, span: EpochSpan, position: Position, group: Group) -> None:
        """Check the new assignment."""
        if self.scene.life.protocol not in ASSIGNING_TYPES:
            return
        found = self._judge(span, group)
        if found is None:
            self._close(Ending(position.record_timestamp_ms))
            return
        self._unequal, self._members = found
        if self._began is None:
            self._began = position

    def changed(self, change: GroupStateChanged, group: Group) -> None:
        """An empty group is not unbalanced."""
        if not group.members:
            self._close(Ending(change.position.record_timestamp_ms))

    def ended(self, end: Ending) -> None:
        """The condition may still last when the log ends."""
        self._close(end)

    def _judge(self, span: EpochSpan, group: Group) -> tuple[CodedReason, list[str]] | None:
        if span.is_unread:
            return None
        watches, members_now = self.scene.life.watches, group.members
        difference, factor = self.rules.unbalanced_difference, self.rules.unbalanced_factor
        counts = [watch.partitions for watch in watches.values()]
        if not counts or max(counts) - min(counts) < difference:
            return None
        shares: defaultdict[tuple[tuple[str, ...], str | None], list[tuple[int, str]]]
        shares = defaultdict(list)
        for member_id, watch in watches.items():
            if member_id in members_now:
                identity = watch.stint.identity
                subscription = (identity.subscribed_topics, identity.subscribed_regex)
                shares[subscription].append((watch.partitions, member_id))
        for members in shares.values():
            (least, _), (most, who) = min(members), max(members)
            if most - least < difference:
                continue
            mean = sum([share for share, _ in members]) / len(members)
            if most >= factor * mean:
                reason = because(
                    "unbalanced",
                    member=who,
                    most=most,
                    mean=round(mean, 1),
                    least=least,
                    members=len(members),
                    assignor=span.assignor or "unknown",
                    lasted=None,
                )
                return reason, [who]
        return None

    def _close(self, end: Ending) -> None:
        began, self._began = self._began, None
        least_ms, unequal = self.rules.unbalanced_ms, self._unequal
        if (
            began is None
            or unequal is None
            or not end.reached(began.record_timestamp_ms + least_ms)
        ):
            return
        self.find(
            began,
            end.known_ms,
            CodedReason(
                unequal.code,
                {**unequal.facts, "lasted": end.lasted(began.record_timestamp_ms, least_ms)},
            ),
            (evidence_at(began, "assignment_began"),),
            members=self._members,
        )


class UnstickyAssignment(Watcher):
    """Sums up the moves, and how many of them joins and departures required."""

    kind = "unsticky_assignment"
    definition = (
        "Over one life of the group assignments moved partitions from one member to another at least {unsticky_factor} "
        "times as often as members that came and went required (by equal shares), and {unsticky_moves} times more "
        "often, or as many times more often as the group has partitions."
    )
    severity = Severity.INFO

    _began: Position | None = None
    _last_ms: int = 0
    _moved: int = 0
    _needed: float = 0.0
    _partitions: int = 0
    """The largest number of partitions that an epoch assigned."""
    _epochs: int = 0
    _assignors: dict[str, None] = field(default_factory=dict)
    _worst: list[tuple[float, int, Evidence]] = field(default_factory=list)
    _members: int = 0

    def epoch_ended(self, span: EpochSpan, end: Ending) -> None:
        """Add one epoch to the sums."""
        before, self._members = self._members, span.members
        if span.protocol not in ASSIGNING_TYPES or not span.partitions or span.gap or not before:
            return
        moved = span.partitions_moved or 0
        share = 0.0
        if span.members:
            share += span.members_joined / max(span.members, span.members_joined)
        if span.members_left:
            share += span.members_left / max(before, span.members_left)
        needed = min(1.0, share) * span.partitions
        self._needed += needed
        self._partitions = max(self._partitions, span.partitions)
        if not moved:
            return
        if self._began is None:
            self._began = span.first_position
        self._last_ms = span.first_position.record_timestamp_ms
        self._moved += moved
        self._epochs += 1
        if span.assignor and len(self._assignors) < 8:
            self._assignors[span.assignor] = None
        if len(self._worst) == _WORST and self._worst[-1][0] <= needed - moved:
            return
        evidence = evidence_at(
            span.first_position,
            "moved_partitions",
            epoch=span.epoch,
            moved=moved,
            partitions=span.partitions,
            needed=round(needed),
        )
        self._worst.append((needed - moved, span.first_position.log_offset, evidence))
        self._worst.sort(key=lambda item: item[:2])
        del self._worst[_WORST:]

    def ended(self, end: Ending) -> None:
        """One finding for the group's life."""
        began, moved, needed = self._began, self._moved, self._needed
        if (
            began is not None
            and moved - needed >= max(self.rules.unsticky_moves, self._partitions)
            and moved >= self.rules.unsticky_factor * needed
        ):
            self.find(
                began,
                self._last_ms,
                because(
                    "unsticky",
                    moved=moved,
                    epochs=self._epochs,
                    needed=round(needed),
                    assignors=list(self._assignors) or ["unknown"],
                ),
                [evidence for _, _, evidence in self._worst],
            )
