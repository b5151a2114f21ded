"""What a kind of finding sees of a group's history, and how it reports."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, ClassVar, Generic, TypeVar

from rebalance_audit.audit.epochs.epoch_span import EpochSpan
from rebalance_audit.audit.findings.finding import EVIDENCE_LIMIT, Ending, Finding, FindingKind
from rebalance_audit.audit.group.life import Life
from rebalance_audit.audit.lag.end_offsets import PartitionSamples
from rebalance_audit.audit.lag.standstills import Standstill
from rebalance_audit.audit.members.stint import Stint
from rebalance_audit.audit.options import AuditOptions, ExternalFacts
from rebalance_audit.audit.rows import Row
from rebalance_audit.audit.thresholds import FindingRules
from rebalance_audit.audit.verdicts.cause import Evidence, RebalanceCause
from rebalance_audit.replay.changes import GroupType, MemberAssigned, Position
from rebalance_audit.replay.groups import Group
from rebalance_audit.replay.partitions import TopicPartition
from rebalance_audit.sentences.reason import CodedReason
from rebalance_audit.sentences.render import advice_for

Key = TypeVar("Key")

ASSIGNING_TYPES = (GroupType.CLASSIC, GroupType.CONSUMER)
"""Types of groups in which each partition has one owner."""


@dataclass(slots=True, frozen=True)
class Scene:
    """What all kinds of findings share."""

    life: Life
    outside: ExternalFacts
    report: Callable[[Finding, str], None]
    """Called with a finding and with what it has in common with those that are one with it."""
    watchers: dict[str, "Watcher"] = field(default_factory=dict)
    """The other kinds, by their names."""

    @property
    def options(self) -> AuditOptions:
        """Names and times from sources outside the log."""
        return self.life.options

    @property
    def rules(self) -> FindingRules:
        """The thresholds."""
        return self.life.options.findings


@dataclass(init=False, repr=False, eq=False)
class Watcher(FindingKind):
    """A kind found in a group's history. It keeps only the group's current state and windows of a fixed length."""

    is_of_subject: ClassVar[bool] = False
    """Whether findings are one only if they are of the same subject, as an instance id."""
    changes: ClassVar[tuple[type, ...]] = ()
    """Types of the changes for which `changed` is called."""
    _state: ClassVar[Sequence[Field[Any]]] = ()

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.rules = scene.rules
        """The thresholds."""
        self.forget()

    def __init_subclass__(cls) -> None:
        """What a kind annotates is its state, with what it is before the first record of a life."""
        dataclass(init=False, repr=False, eq=False)(cls)
        cls._state = fields(cls)

    def forget(self) -> None:
        """Set the state as it is before a life: the one before is over, and everything has been reported."""
        own = vars(self)
        for each in self._state:
            make = each.default_factory
            own[each.name] = each.default if make is MISSING else make()

    def write_comes(self, position: Position) -> None:
        """The write that begins at `position` is about to be judged: everything is still as it was before."""

    def epoch_began(self, span: EpochSpan) -> None:
        """A new epoch or generation began; its causes are known, its progress is as of the write."""

    def gap_came(self) -> None:
        """The log has a hole between the last epoch and the next, which will now end and begin."""

    def epoch_ended(self, span: EpochSpan, end: Ending) -> None:
        """The epoch is over: the next one began, or the group or the log ended."""

    def epoch_settled(self, span: EpochSpan, position: Position, group: Group) -> None:
        """The write that ends at `position` made the last member reach the epoch."""

    def members_changed(
        self, arrivals: Sequence[Stint], departures: Sequence[Row], position: Position
    ) -> None:
        """Member ids came (one stint each) or went (one row of gold.members each) in the write at `position`."""

    def changed(self, change: Any, group: Group) -> None:
        """A change of a type in `changes`; `group` is as of the end of the whole write."""

    def revocation(self, change: MemberAssigned, group: Group) -> None:
        """A member was asked to revoke partitions, or is asked no longer; `group` as in `changed`."""

    def wrote(self, position: Position, group: Group) -> None:
        """A write ended at `position`; `group` is the group after it."""

    def stood_still(
        self, partition: TopicPartition, stood: Standstill, samples: PartitionSamples | None
    ) -> None:
        """A partition, by its topic's name, stood still in a rebalance; its samples of end offsets if there are any."""

    def costs_known(self) -> None:
        """All that stood still in the last rebalance is known."""

    def ended(self, end: Ending) -> None:
        """The incarnation or the log ends: report what is left; `forget` comes next."""

    def find(
        self,
        began: Position,
        ended_ms: int | None,
        reasons: CodedReason | Sequence[CodedReason],
        evidence: Sequence[Evidence],
        *,
        members: Sequence[str] = (),
        topics: Sequence[str] = (),
        subject: str = "",
        other: bool = False,
        advice: CodedReason | None = None,
    ) -> None:
        """Report a finding of this kind; `other` gives it the kind's other severity, `advice` other advice."""
        self.scene.report(
            Finding(
                self.kind,
                (self.other_severity if other else None) or self.severity,
                began,
                ended_ms,
                (reasons,) if isinstance(reasons, CodedReason) else reasons,
                advice or advice_for(self.kind),
                evidence,
                members,
                topics,
                subject,
            ),
            subject if self.is_of_subject else "",
        )


def truly_changed(
    arrivals: Sequence[Stint], departures: Sequence[Row]
) -> tuple[Sequence[Stint], Sequence[Row]]:
    """Arrivals and departures without those of static members that only changed their member id."""
    replaced = {
        row["next_member_id"]: row["member_id"]
        for row in departures
        if row["left_how"] == RebalanceCause.STATIC_MEMBER_REPLACED.text
    }
    if not replaced:
        return arrivals, departures
    gone = set(replaced.values())
    return (
        [stint for stint in arrivals if stint.member_id not in replaced],
        [row for row in departures if row["member_id"] not in gone],
    )


@dataclass(slots=True)
class Trail:
    """Evidence of something that may go on without limit: the first records that show it, and the last ones."""

    first: list[Evidence] = field(default_factory=list)
    last: list[Evidence] = field(default_factory=list)
    length: int = 0

    def add(self, evidence: Evidence) -> None:
        """Add one record."""
        self.length += 1
        half = EVIDENCE_LIMIT // 2
        if len(self.first) < half:
            self.first.append(evidence)
            return
        self.last.append(evidence)
        if len(self.last) > half:
            del self.last[0]

    def evidence(self) -> list[Evidence]:
        """The evidence that was kept, in order."""
        return [*self.first, *self.last]


@dataclass(slots=True)
class Lasting(Generic[Key]):
    """Conditions that become findings once they have lasted long enough."""

    since: dict[Key, Position] = field(default_factory=dict)

    def update(self, conditions: Mapping[Key, Position]) -> list[tuple[Key, Position]]:
        """Set the conditions that hold now, each with its first record; returns those that ended."""
        ended = [(key, since) for key, since in self.since.items() if key not in conditions]
        for key, position in conditions.items():
            self.since.setdefault(key, position)
        for key, _ in ended:
            del self.since[key]
        return ended

    def clear(self) -> list[tuple[Key, Position]]:
        """End all conditions; returns those that held."""
        return self.update({})


class AfterGap(Watcher):
    """Knows when the group may have members that only the log still has: their tombstones are in a hole.

    That is over when every member has reached an epoch. A log that begins in the middle of a group's life is no hole:
    members that were gone by then are not in it.
    """

    _is_doubtful: bool = False

    def gap_came(self) -> None:
        """Doubt how members go on from the last epoch before the hole."""
        self._is_doubtful = True

    def epoch_settled(self, span: EpochSpan, position: Position, group: Group) -> None:
        """Every member is alive."""
        self._is_doubtful = False
