"""A finding: what happened, from when to when, the records that show it, and what to do; and its kind."""

from collections.abc import Sequence
from enum import StrEnum
from hashlib import sha256
from typing import ClassVar, NamedTuple

from rebalance_audit.audit.rows import Row
from rebalance_audit.audit.verdicts.cause import Evidence, stated
from rebalance_audit.replay.changes import Position
from rebalance_audit.sentences.reason import CodedReason, because

EVIDENCE_LIMIT = 12
MEMBERS_LIMIT = 20
TOPICS_LIMIT = 20
ID_DIGITS = 24


class Severity(StrEnum):
    """How urgent a finding is."""

    INFO = "info"
    """Worth knowing; nothing is broken."""
    WARNING = "warning"
    """Costs time or hides a fault."""
    CRITICAL = "critical"
    """Records are probably not consumed, or consumed twice."""


class Finding(NamedTuple):
    """One finding of one group; `subject` distinguishes findings of one kind that begin at the same record."""

    kind: str
    severity: Severity
    began: Position
    ended_ms: int | None
    """Epoch ms; None if it still lasts when the log ends."""
    reasons: Sequence[CodedReason]
    advice: CodedReason
    evidence: Sequence[Evidence]
    member_ids: Sequence[str] = ()
    topics: Sequence[str] = ()
    subject: str = ""

    def row(self, group_id: str, incarnation: int) -> Row:
        """The row of gold.findings. The id depends only on the log: another run over it gives the same id."""
        identity = (
            self.kind,
            group_id,
            incarnation,
            self.began.log_partition,
            self.began.log_offset,
            self.subject,
        )
        began_ms = self.began.record_timestamp_ms
        # Clocks of two coordinators differ: nothing ends before it began.
        ended_ms = None if self.ended_ms is None else max(self.ended_ms, began_ms)
        return {
            "finding_id": sha256(repr(identity).encode()).hexdigest()[:ID_DIGITS],
            "kind": self.kind,
            "severity": self.severity.value,
            "group_id": group_id,
            "incarnation": incarnation,
            "log_partition": self.began.log_partition,
            "from_at": began_ms,
            "to_at": ended_ms,
            "from_offset": self.began.log_offset,
            "member_ids": list(self.member_ids[:MEMBERS_LIMIT]),
            "topics": sorted(self.topics),
            **stated(self.reasons, self.evidence[:EVIDENCE_LIMIT], (self.advice,)),
        }


class AtLogEnd(StrEnum):
    """How a finding depends on how far the log extends beyond the group's last record."""

    SETTLED = "not at all"
    APPEARS = "it appears once it has lasted that long; `to_at` is null while it lasts"
    ENDS = "`to_at` is null until the log goes on for that long without it"


class FindingKind:
    """One kind of the closed list of findings; the class that finds it inherits from this one."""

    kind: ClassVar[str]
    definition: ClassVar[str]
    """One sentence; `{name}` is replaced by the threshold of that name."""
    severity: ClassVar[Severity]
    other_severity: ClassVar[Severity | None] = None
    """Severity of the cases that are more, or less, severe than usual."""
    at_log_end: ClassVar[AtLogEnd] = AtLogEnd.SETTLED
    """What the log's end by itself can change."""

    @classmethod
    def severities(cls) -> str:
        """The severities as text: `warning`, or `warning or critical`."""
        return " or ".join(filter(None, (cls.severity, cls.other_severity)))


class Ending:
    """A moment: that of the record that ended something, or the log's end for what still goes on then.

    The log's end moves on while nothing happens to a group. So every question about it goes through `reached`, which
    notes from which log end on the answer, and with it a finding, would differ.
    """

    __slots__ = ("at_ms", "due_ms", "is_open")

    def __init__(self, at_ms: int, *, is_open: bool = False) -> None:
        self.at_ms = at_ms
        self.is_open = is_open
        """True if only the log ended."""
        self.due_ms: int | None = None
        """The earliest log end (epoch ms) at which a question asked so far has a different answer; None = never."""

    @property
    def known_ms(self) -> int | None:
        """The moment (epoch ms) if it is that of a record, else None."""
        return None if self.is_open else self.at_ms

    def reached(self, moment_ms: int) -> bool:
        """Whether `moment_ms` had come by the end."""
        if self.at_ms >= moment_ms:
            return True
        if self.is_open and (self.due_ms is None or moment_ms < self.due_ms):
            self.due_ms = moment_ms
        return False

    def hides(self, moment_ms: int) -> bool:
        """Whether the log ends before `moment_ms`, so that what goes on may go on until then."""
        return self.is_open and not self.reached(moment_ms)

    def lasted(self, began_ms: int, least_ms: int) -> CodedReason:
        """How long something that began then lasted: exactly, or at least, while it still goes on."""
        if self.is_open:
            return because("lasted_at_least", ms=least_ms)
        return because("lasted", ms=self.at_ms - began_ms)
