"""What a comparison of two copies of one log shows. Only a lake that has both can make it."""

from rebalance_audit.audit.findings.finding import Severity
from rebalance_audit.audit.findings.finding_kind import FindingKind


class SourcesDiffer(FindingKind):
    """Two copies that are not from the same log, or a damaged copy."""

    kind = "sources_differ"
    definition = (
        "Two sources of one cluster have different bytes for one offset. The record ingested first "
        "is in bronze and was audited; the other is kept in `silver.quarantine`. "
        "One finding for each partition and source."
    )
    severity = Severity.WARNING
