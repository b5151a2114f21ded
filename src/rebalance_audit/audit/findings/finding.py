"""A finding: what happened, from when to when, the records that show it, and what to do."""

from collections.abc import Sequence
from enum import StrEnum
from hashlib import sha256
from typing import NamedTuple

from rebalance_audit.audit.rows import Row
from rebalance_audit.audit.verdicts.cause import Evidence
from rebalance_audit.audit.verdicts.statements import stated
from rebalance_audit.replay.changes import Position
from rebalance_audit.sentences.reason import CodedReason

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
