"""What the findings of one kind have in common."""

from enum import StrEnum
from typing import ClassVar

from rebalance_audit.audit.findings.finding import Severity


class AtLogEnd(StrEnum):
    """How a finding depends on how far the log extends beyond the group's last record."""

    SETTLED = "not at all"
    APPEARS = "it appears once it has lasted that long; `to_at` is null while it lasts"
    ENDS = "`to_at` is null until the log goes on for that long without it"


class FindingKind:
    """One kind of the closed list of findings; the class that finds it inherits from this one."""

    kind: ClassVar[str]
    definition: ClassVar[str]
    """One sentence; {name} stands for a threshold."""
    severity: ClassVar[Severity]
    other_severity: ClassVar[Severity | None] = None
    """Severity of the cases that are more, or less, severe than usual."""
    at_log_end: ClassVar[AtLogEnd] = AtLogEnd.SETTLED
    """What the log's end by itself can change."""

    @classmethod
    def severities(cls) -> str:
        """The severities as text: `warning`, or `warning or critical`."""
        return " or ".join(filter(None, (cls.severity, cls.other_severity)))
