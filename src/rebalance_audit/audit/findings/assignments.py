"""What the assignment shows: partitions with two owners, or none; unequal shares, and needless moves."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import field
from itertools import chain
from typing import TypeAlias

from rebalance_audit.audit.causes.departures import evidence_at
from rebalance_audit.audit.epochs.epoch_span import EpochSpan
from rebalance_audit.audit.findings.finding import AtLogEnd, Ending, Severity
from rebalance_audit.audit.findings.watcher import ASSIGNING_TYPES, Lasting, Trail, Watcher
from rebalance_audit.audit.verdicts.cause import Evidence
from rebalance_audit.replay.changes import (
    Anomaly,
    AnomalyKind,
    GenerationCompleted,
    GroupStateChanged,
    GroupType,
    Position,
)
from rebalance_audit.replay.groups import ClassicGroup, Group
from rebalance_audit.replay.partitions import TopicPartition, each, text_of
from rebalance_audit.sentences.reason import CodedReason, because

NumberGaps: TypeAlias = tuple[tuple[int, int], ...]
"""Ranges of absent numbers in ascending order, each as (first, last)."""


class TwoOwners(Watcher):
    """Looks for a partition that is in two assignments at the same time."""

    kind = "two_owners"
    definition = (
        "A partition was in the assignments of two members at once: of one classic generation, or of a consumer "
        "group whose coordinator should have refused it; info where records are missing."
    )
    changes = (Anomaly, GenerationCompleted)
    severity = Severity.CRITICAL
    other_severity = Severity.INFO

    _began: Position | None = None
    _last_ms: int = 0
    _times: int = 0
    _topics: set[str] = field(default_factory=set)
    _members: set[str] = field(default_factory=set)
    _trail: Trail = field(default_factory=Trail)
    _incomplete: bool = False
    _lasts: bool = False
    """Two members of a consumer group have a partition now."""

    def changed(self, change: Anomaly | GenerationCompleted, group: Group) -> None:
        """Check every new assignment."""
        if isinstance(change, GenerationCompleted):
            if isinstance(group, ClassicGroup):
                self._look(change.position, group)
        elif change.kind is AnomalyKind.PARTITION_OWNED_TWICE and not self.scene.life.overlaps.open:
            self._note(change.position, because("anomaly", text=change.detail), ())

    def wrote(self, position: Position, group: Group) -> None:
        """Follow how long two members of a consumer group have a partition."""
        overlaps = self.scene.life.overlaps
        if not (overlaps.open or overlaps.fresh or self._lasts):
            return
        by_members: defaultdict[tuple[str, str], list[TopicPartition]] = defaultdict(list)
        for partition, overlap in overlaps.fresh.items():
            by_members[overlap.first_member_id, overlap.second_member_id].append(partition)
        for (first, second), partitions in by_members.items():
            names = sorted({self._name_of(partition) for partition in partitions})
            got = because(
                "got_partitions",
                first=first,
                second=second,
                partitions=len(partitions),
                topics=names,
            )
            self._note(position, got, names)
            self._members.update((first, second))
        if self._lasts and not overlaps.open:
            self._last_ms = position.record_timestamp_ms
        self._lasts = bool(overlaps.open)

    def _name_of(self, partition: TopicPartition) -> str:
        topic = partition[0]
        name = topic if isinstance(topic, str) else self.scene.outside.topic_name(topic)
        return name or text_of(topic)

    def ended(self, end: Ending) -> None:
        """One finding for all of them."""
        if self._began is not None:
            last_ms = end.known_ms if self._lasts else self._last_ms
            lasted_ms = (last_ms or 0) - self._began.record_timestamp_ms
            reasons = [because("two_owners", lasted=_lasted(self._times, lasted_ms))]
            if self._incomplete:
                reasons.append(because("gap_looks_alike"))
            self.find(
                self._began,
                last_ms,
                reasons,
                self._trail.evidence(),
                members=sorted(self._members),
                topics=sorted(self._topics),
                other=self._incomplete,
            )

    def _look(self, position: Position, group: ClassicGroup) -> None:
        shares = sum([member.partition_count for member in group.members.values()])
        if shares == sum(map(len, self.scene.life.moves.owners.values())):
            return  # the target contains each partition only once
        owners: dict[TopicPartition, str] = {}
        for member in group.members.values():
            for partition in each(member.assigned):
                other = owners.setdefault(partition, member.member_id)
                if other != member.member_id:
                    topic = text_of(partition[0])
                    twice = because(
                        "assigned_twice",
                        partition=f"{topic}-{partition[1]}",
                        first=other,
                        second=member.member_id,
                    )
                    self._note(position, twice, (topic,))
                    return

    def _note(self, position: Position, fact: CodedReason, topics: Sequence[str]) -> None:
        span = self.scene.life.span
        self._incomplete |= span is None or span.gap
        if self._began is None:
            self._began = position
        self._last_ms = position.record_timestamp_ms
        self._times += 1
        self._topics.update(topics)
        self._trail.add(Evidence(*position[:3], fact))


def _lasted(times: int, lasted_ms: int) -> CodedReason | None:
    if times > 1 and lasted_ms > 0:
        return because("two_owners_times_within", times=times, ms=lasted_ms)
    if times > 1:
        return because("two_owners_times", times=times)
    return because("two_owners_for", ms=lasted_ms) if lasted_ms > 0 else None


class LostPartition(Watcher):
    """Compares the topics to which a settled group subscribes with the partitions assigned in it."""

    kind = "lost_partition"
    is_of_subject = True
    definition = (
        "For at least {unowned_ms} a topic or a partition that a settled group subscribes to was "
        "in no assignment; a warning where only some of its partitions are missing."
    )
    changes = (GenerationCompleted, GroupStateChanged)
    severity = Severity.CRITICAL
    other_severity = Severity.WARNING
    at_log_end = AtLogEnd.APPEARS

    _lasting: Lasting[tuple[str, NumberGaps]] = field(default_factory=Lasting)
    _highest: dict[str, int] = field(default_factory=dict)
    """Topic -> highest partition number ever assigned, while it is subscribed to."""

    def epoch_settled(self, span: EpochSpan, position: Position, group: Group) -> None:
        """Check the new assignment; a classic one was checked with its record."""
        if span.protocol != GroupType.CLASSIC:
            self._look(position)

    def changed(self, change: GenerationCompleted | GroupStateChanged, group: Group) -> None:
        """A static member's return can change subscriptions without an epoch; an empty group has no subscriptions."""
        if isinstance(change, GenerationCompleted):
            self._look(change.position)
        elif not group.members:
            self._close(self._lasting.clear(), Ending(change.position.record_timestamp_ms))

    def ended(self, end: Ending) -> None:
        """Judge partitions that still have no owner at the end."""
        self._close(self._lasting.clear(), end)

    def _look(self, position: Position) -> None:
        life = self.scene.life
        if life.protocol not in ASSIGNING_TYPES:
            return
        rebalance = life.rebalance
        if (
            rebalance is not None
            and rebalance.settled_at_ms is not None
            and rebalance.settled_outcome == "stable"
        ):
            return  # a cooperative generation took partitions away, and the next one hands them out
        generation = life.previous_generation
        if generation is not None and generation.unread():
            self._close(self._lasting.clear(), Ending(position.record_timestamp_ms))
            return  # what is assigned is unknown
        assigned: dict[str, AbstractSet[int]] = {}
        nameless = False
        for topic, held in life.moves.owners.items():
            name = topic if isinstance(topic, str) else self.scene.outside.topic_name(topic)
            if name is None:
                nameless = True
            else:
                assigned[name] = assigned[name] | held.keys() if name in assigned else held.keys()
        topics = {watch.stint.identity.subscribed_topics for watch in life.watches.values()}
        subscribed = dict.fromkeys(chain.from_iterable(topics))
        missing: dict[tuple[str, NumberGaps], Position] = {}
        highest: dict[str, int] = {}
        for topic in subscribed:
            numbers = assigned.get(topic, frozenset())
            most = max(self._highest.get(topic, -1), max(numbers, default=-1))
            if most >= 0:
                highest[topic] = most
            if numbers:
                if len(numbers) <= most:
                    missing[topic, number_gaps(numbers, most)] = position
            elif not nameless and self.scene.outside.topic_existed(
                topic, position.record_timestamp_ms
            ):
                missing[topic, ()] = position
        self._highest = highest
        self._close(self._lasting.update(missing), Ending(position.record_timestamp_ms))

    def _close(
        self,
        ended: list[tuple[tuple[str, NumberGaps], Position]],
        end: Ending,
    ) -> None:
        least_ms = self.rules.unowned_ms
        for (topic, gaps), since in ended:
            if not end.reached(since.record_timestamp_ms + least_ms):
                continue
            lasted = end.lasted(since.record_timestamp_ms, least_ms)
            reason = because("topic_unassigned", topic=topic, lasted=lasted)
            if gaps:
                reason = because("partitions_unassigned", topic=topic, lasted=lasted, gaps=gaps)
            self.find(
                since,
                end.known_ms,
                reason,
                (evidence_at(since, "lacks_topic", topic=topic),),
                topics=[topic],
                subject=topic,
                other=bool(gaps),
            )


def number_gaps(numbers: Iterable[int], highest: int) -> NumberGaps:
    """The ranges of 0 to `highest` that `numbers` leaves out; their count comes from clients and may be 2³¹.

    Costs as much as sorting `numbers`.
    """
    gaps = []
    expected = 0
    for number in sorted(numbers):
        if number > highest:
            break
        if number > expected:
            gaps.append((expected, number - 1))
        expected = max(expected, number + 1)
    if expected <= highest:
        gaps.append((expected, highest))
    return tuple(gaps)


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
