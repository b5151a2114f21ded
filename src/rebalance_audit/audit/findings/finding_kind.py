"""What all findings of one kind have in common."""

from enum import StrEnum
from typing import ClassVar

from rebalance_audit.audit.findings.finding import Severity


class AtLogEnd(StrEnum):
    """How a finding depends on how far the log goes beyond the group's last record."""

    SETTLED = "not at all"
    APPEARS = "it appears once it has lasted that long; `to_at` is null while it lasts"
    ENDS = "`to_at` is null until the log goes on for that long without it"


class FindingKind:
    """One of the closed list of findings; whoever finds it inherits from this."""

    kind: ClassVar[str]
    definition: ClassVar[str]
    """One sentence; names the thresholds as {name}."""
    severity: ClassVar[Severity]
    other_severity: ClassVar[Severity | None] = None
    """Of the cases that are more, or less, grave."""
    advice: ClassVar[str]
    at_log_end: ClassVar[AtLogEnd] = AtLogEnd.SETTLED
    """What the end of the log alone can change."""

    @classmethod
    def severities(cls) -> str:
        """`warning`, or `warning or critical`."""
        return " or ".join(filter(None, (cls.severity, cls.other_severity)))
